// Package zkr tests the command line on real servers. Most of its tests live
// beside it, on the in-process server.
package zkr
