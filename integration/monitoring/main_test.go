package monitoring

import (
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }
