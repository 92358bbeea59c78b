package chaos_test

import (
	"testing"

	"github.com/zkrecipes/zkrecipes/integration/zkserver"
)

func TestMain(m *testing.M) { zkserver.Main(m) }
