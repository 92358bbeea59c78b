package zkserver

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

// Storage says where servers keep their data.
type Storage int

const (
	// Memory keeps data on a tmpfs where there is room for it, without fsync:
	// fast, and it survives the kill of a server.
	Memory Storage = iota
	// Disk keeps data in the temporary folder, with the server's own defaults:
	// each transaction is forced to disk. Use it for measurements.
	Disk
)

// DefaultVersion is the version used where a Config names none and ZK_VERSION
// is unset.
const DefaultVersion = "3.8"

// Config says what to start. The zero value is one server of the default
// version with its data in memory.
type Config struct {
	Version  string        // "3.8" or "3.9"; default ZK_VERSION, else DefaultVersion
	Servers  int           // 1 or more; default 1
	Provider Provider      // default: see the package comment
	Tick     time.Duration // tickTime; default 500 ms
	Storage  Storage

	// Settings are lines of zoo.cfg and win over those that the package
	// writes. See defaultSettings for what differs from the server's own.
	Settings map[string]string
	// JVM are flags of the Java process, the last of a kind wins. What
	// ZooKeeper reads as a system property only, like jute.maxbuffer or
	// znode.container.checkIntervalMs, goes here: "-Djute.maxbuffer=4194304".
	JVM []string

	_ struct{}
}

func (c Config) withDefaults() Config {
	c.Version = cmp.Or(c.Version, os.Getenv("ZK_VERSION"), DefaultVersion)
	c.Servers = cmp.Or(c.Servers, 1)
	c.Tick = cmp.Or(c.Tick, 500*time.Millisecond)
	c.Settings = maps.Clone(c.Settings)
	c.JVM = slices.Clone(c.JVM)
	return c
}

func (c Config) validate() error {
	if c.Version != "3.8" && c.Version != "3.9" {
		return fmt.Errorf("zkserver: version %q: must be 3.8 or 3.9", c.Version)
	}
	if c.Servers < 1 {
		return fmt.Errorf("zkserver: %d servers: must be 1 or more", c.Servers)
	}
	if c.Tick < time.Millisecond {
		return fmt.Errorf("zkserver: tick %v: must be 1 ms or more", c.Tick)
	}
	return nil
}

// defaultSettings differ from the server's own where tests need it: sessions
// from 2 ticks (the server's own minimum) up to a minute, containers and TTL
// nodes, every four-letter word, no admin server (it needs a fixed port), and
// as many connections as a test likes from one address.
func (c Config) defaultSettings() map[string]string {
	s := map[string]string{
		"tickTime":               fmt.Sprint(c.Tick.Milliseconds()),
		"initLimit":              "20",
		"syncLimit":              "10",
		"maxSessionTimeout":      "60000",
		"maxClientCnxns":         "0",
		"extendedTypesEnabled":   "true",
		"4lw.commands.whitelist": "*",
		"admin.enableServer":     "false",
	}
	if c.Storage == Memory {
		s["forceSync"] = "no"
		s["preAllocSize"] = "1024" // KiB; the default, 64 MiB a log file, fills a small tmpfs
	}
	return s
}

// flags are the Java process's. A test's server lives for seconds: the quick
// compiler alone and the simple collector start it in half the time.
func (c Config) flags() []string {
	return append([]string{
		"-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Djava.net.preferIPv4Stack=true",
		"-Dorg.slf4j.simpleLogger.showDateTime=true",
		"-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
		"-Dorg.slf4j.simpleLogger.showShortLogName=true",
	}, c.JVM...)
}

// render returns zoo.cfg; fixed are the lines that no test may change.
func (c Config) render(fixed map[string]string) string {
	all := c.defaultSettings()
	maps.Copy(all, c.Settings)
	maps.Copy(all, fixed)
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "%s=%s\n", k, all[k])
	}
	return b.String()
}
