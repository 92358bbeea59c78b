package election_test

import (
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/recipetest"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// What holds on real servers too. Its time is real.
func TestElectionOnAnyServer(t *testing.T) {
	srv := zktest.Start(t, zktest.WithTick(zkrtest.Tick))
	recipetest.Election(t, func(t *testing.T, opts ...recipes.Option) *recipes.Client {
		return zkrtest.Dial(t, srv, opts...)
	})
}
