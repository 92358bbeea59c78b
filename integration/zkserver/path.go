package zkserver

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Path returns a path below the root, named after the test, that no other test
// and no other run of it uses. It does not create it.
func Path(t testing.TB) string {
	name := strings.NewReplacer("/", "-", " ", "_").Replace(t.Name())
	return fmt.Sprintf("/%s-%08x", name, rand.Uint32())
}
