// Package release tests what people download: that it is made of the commit that
// it names, and of nothing else.
package release
