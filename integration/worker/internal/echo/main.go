// Command echo is the worker of package worker's own tests.
package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

func main() {
	fmt.Fprintln(os.Stderr, "echo starts")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		command, rest, _ := strings.Cut(lines.Text(), " ")
		switch command {
		case "say":
			fmt.Println(rest)
		case "count":
			n, _ := strconv.Atoi(rest)
			for i := range n {
				fmt.Println(i)
			}
		case "child": // inherits the output and outlives its parent
			cmd := exec.Command("sleep", "1000")
			cmd.Stdout = os.Stdout
			if err := cmd.Start(); err != nil {
				fmt.Println(err)
				continue
			}
			fmt.Println(cmd.Process.Pid)
		case "exit":
			code, _ := strconv.Atoi(rest)
			os.Exit(code)
		}
	}
}
