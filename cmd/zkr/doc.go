// Command zkr runs commands under distributed locks on ZooKeeper, or while they
// lead, shows who holds and who waits and what is wrong with an ensemble, gets locks
// back, raises fencing tokens above those of an ensemble that was lost, shows what
// they are good for, and runs a server to try things out on.
//
//	zkr lock /locks/report -- ./report.sh
//	zkr elect /election/controller -- ./controller
//	zkr leader /election/controller
//	zkr ls /
//	zkr queue /locks/report
//	zkr doctor /locks/report
//	zkr fence show /locks/report
//	zkr demo
//	zkr testserver
//
// "zkr help" tells the rest, the exit codes among it.
//
// Each command is one file that adds itself to the table in commands.go, and a
// function of its arguments, its standard streams and its environment that
// returns an exit code, so that tests run it like any other function.
package main
