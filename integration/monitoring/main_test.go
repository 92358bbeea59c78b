package monitoring

import (
	"os"
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/leakcheck"
)

func TestMain(m *testing.M) {
	if os.Getenv(asPaused) != "" {
		bePaused()
		return
	}
	leakcheck.Main(m)
}
