// Package zkserver runs real ZooKeeper servers for tests, alone or as an
// ensemble, with every connection under control.
//
//	func TestMain(m *testing.M) { zkserver.Main(m) } // leak check, end of what is shared
//
//	func TestSomething(t *testing.T) {
//		e := zkserver.Shared(t)  // one server for all tests of the package
//		root := zkserver.Path(t) // a path of this test alone
//		e.Connect()              // "127.0.0.1:12345", through a proxy
//	}
//
//	func TestWithFaults(t *testing.T) {
//		e := zkserver.Start(t, zkserver.Config{Servers: 3}) // closed at the test's end
//		leader, err := e.Leader(ctx)
//		follower := e.Followers(ctx)[0]
//		err = leader.Kill()                 // or Freeze, Thaw, Restart, Wipe, Configure
//		e.Isolate(follower)                 // from its peers; its clients stay
//		e.Link(leader, follower).Stall()    // one direction; Pass, Blackhole, Delay
//		p, err := follower.NewProxy()       // for one client alone: p.Addr()
//		cut := p.CutAfter(jute.OpCreate, 1) // the next create commits, its reply is dropped
//	}
//
// Faults on connections are those of package proxy. Every client port has a
// proxy before it ([Server.Addr]; [Server.DirectAddr] goes past it), and so has
// every server's way to every other server's quorum and election port: the
// servers are configured with the proxies' addresses, so that each of the six
// directions in an ensemble of three can be stopped alone.
//
// # Where the servers come from
//
// In this order:
//
//  1. ZK_SERVERS=host:port,… names servers that run already. Only [Shared] uses
//     them; [Start] needs servers that it may kill.
//  2. Docker, where an engine answers: the image that ZK_IMAGE names, else the
//     official one where it can be pulled, else one that
//     scripts/zookeeper-image.sh makes of Debian's packages.
//  3. Local Java processes, from the release unpacked at ZK_HOME, else from
//     Debian's packages (scripts/zookeeper-jars.sh).
//
// ZK_PROVIDER=docker or local forces one of the last two; a test that names the
// other one in its Config is skipped. ZK_VERSION (3.8, 3.9) is the version where
// a test names none. Which one ran is printed. Where there is none, tests are
// skipped, and fail if CI is set.
//
// Every server listens on loopback alone and dies with the test binary.
//
// # What differs from a production server
//
// Data lies on a tmpfs without fsync unless [Config].Storage is [Disk]; ticks
// are 500 ms, so that sessions of a second are allowed and expiry is soon; the
// Java process starts fast rather than running fast (one compiler, a small
// heap). Measurements want Disk and, in Config.JVM, "-XX:TieredStopAtLevel=4".
package zkserver
