// Command bench measures what a lock costs on a real ZooKeeper server and
// prints it as tables.
//
//	go run ./bench [-rounds 7] [-pairs 1000]
//
// Times of a machine that does other things swing; so what counts are ratios of
// medians of interleaved rounds, and the numbers of requests, which are exact.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	var cfg config
	flag.IntVar(&cfg.rounds, "rounds", 7, "interleaved rounds of each measurement")
	flag.IntVar(&cfg.pairs, "pairs", 1000, "acquires and releases in a round")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, cfg, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
