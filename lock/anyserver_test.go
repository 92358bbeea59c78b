package lock_test

import (
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/recipetest"
	"github.com/zkrecipes/zkrecipes/internal/zkrtest"
	"github.com/zkrecipes/zkrecipes/recipes"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// What holds on real servers too, where integration runs the same suite. Its
// time is real.
func TestOnAnyServer(t *testing.T) {
	for name, suite := range map[string]func(*testing.T, recipetest.Dialer){
		"Mutex": recipetest.Mutex, "RWMutex": recipetest.RWMutex, "Semaphore": recipetest.Semaphore,
	} {
		t.Run(name, func(t *testing.T) {
			srv := zktest.Start(t, zktest.WithTick(zkrtest.Tick))
			suite(t, func(t *testing.T, opts ...recipes.Option) *recipes.Client {
				return zkrtest.Dial(t, srv, opts...)
			})
		})
	}
}
