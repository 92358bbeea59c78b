// Package election_test lets candidates of this library stand in elections on
// real servers: among themselves while servers, networks and processes fail, and
// with those of Apache Curator and kazoo. It also has participants of barriers wait
// for theirs.
package election_test

import (
	"testing"

	"github.com/zkrecipes/zkrecipes/integration/zkserver"
)

func TestMain(m *testing.M) { zkserver.Main(m) }
