package conformance_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/recipetest"
	"github.com/zkrecipes/zkrecipes/recipes"
)

// The suites that the recipes' own tests run on zktest, on every kind of server.
func TestRecipesOnAnyServer(t *testing.T) {
	for name, suite := range map[string]func(*testing.T, recipetest.Dialer){
		"Mutex": recipetest.Mutex, "RWMutex": recipetest.RWMutex, "Semaphore": recipetest.Semaphore,
		"Election": recipetest.Election, "Barrier": recipetest.Barrier,
	} {
		for _, k := range kinds {
			t.Run(name+" on "+k.name, func(t *testing.T) {
				addr := k.start(t, aside)
				suite(t, func(t *testing.T, opts ...recipes.Option) *recipes.Client {
					opts = append([]recipes.Option{recipes.WithSessionTimeout(10 * time.Second), recipes.WithTickTime(tick)}, opts...)
					c, err := recipes.Dial(t.Context(), addr, opts...)
					require.NoError(t, err)
					t.Cleanup(c.Close)
					return c
				})
			})
		}
	}
}
