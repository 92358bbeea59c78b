package fence_test

import (
	"testing"

	"github.com/zkrecipes/zkrecipes/integration/fence/database"
)

func TestMain(m *testing.M) { database.Main(m) }
