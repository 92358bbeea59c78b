package fence_test

import (
	"github.com/zkrecipes/zkrecipes/fence"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// A lease is what a context carries for httpfence's Transport.
var _ fence.Holder = (*recipes.Lease)(nil)
