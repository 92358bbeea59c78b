// Package doctor breaks real servers and locks in the ways that are met, and has
// zkr doctor name what is wrong. What it says of faults that no real server makes
// by itself is tested beside it.
package doctor
