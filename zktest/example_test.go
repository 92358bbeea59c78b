package zktest_test

import (
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkrecipes/zkrecipes/zktest"
)

// In a test it is zktest.Start(t), and no error to look at.
func ExampleNew() {
	srv, err := zktest.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()

	conn, _, err := zk.Connect(srv.Addrs(), 10*time.Second, zk.WithLogger(quiet{}), zk.WithLogInfo(false))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	path, err := conn.Create("/job-", []byte("report"), zk.FlagSequence, zk.WorldACL(zk.PermAll))
	fmt.Println(path, err)
	z, _ := srv.Get(path)
	fmt.Printf("%s\n", z.Data)
	// Output:
	// /job-0000000000 <nil>
	// report
}

// The reply to a create is lost: did it happen?
func ExampleServer_On() {
	srv, _ := zktest.New()
	defer srv.Close()
	conn, _, _ := zk.Connect(srv.Addrs(), 10*time.Second, zk.WithLogger(quiet{}), zk.WithLogInfo(false))
	defer conn.Close()

	srv.On(zktest.Match{Op: zktest.OpCreate, Path: "/lock"}).DropReply()
	_, err := conn.Create("/lock", nil, 0, zk.WorldACL(zk.PermAll))
	fmt.Println("the client is told:", err)
	_, there := srv.Get("/lock")
	fmt.Println("it was made:", there)
	// Output:
	// the client is told: zk: connection closed
	// it was made: true
}

// A client whose network is gone, while the others go on.
func ExampleServer_Cable() {
	srv, _ := zktest.New(zktest.WithInMemory())
	defer srv.Close()
	cable := srv.Cable()
	conn, _, _ := zk.Connect(srv.Addrs(), 10*time.Second, zk.WithDialer(cable.Dial), zk.WithLogger(quiet{}), zk.WithLogInfo(false))
	defer conn.Close()
	_, _, err := conn.Exists("/")
	fmt.Println("before:", err)

	cable.Stall(zktest.BothWays)
	_, err = cable.Dial("tcp", srv.Addrs()[0], 10*time.Millisecond)
	fmt.Println("stalled, a new connection:", err)
	cable.Restore()
	_, _, err = conn.Exists("/")
	fmt.Println("restored:", err)
	// Output:
	// before: <nil>
	// stalled, a new connection: dial tcp: context deadline exceeded
	// restored: <nil>
}

func ExampleServer_Dump() {
	srv, _ := zktest.New()
	defer srv.Close()
	_ = srv.Create("/locks", nil)
	_ = srv.Create("/locks/held-by", []byte("host-1"))
	fmt.Print(srv.Dump())
	// Output:
	// / "" czxid 0x0 mzxid 0x0 version 0 cversion 0
	// /locks "" czxid 0x1 mzxid 0x1 version 0 cversion 1
	// /locks/held-by "host-1" czxid 0x2 mzxid 0x2 version 0 cversion 0
}
