// Package security tests TLS, credentials and ACLs on real servers: what their own
// TLS says of certificates, and which ACL each znode of each recipe gets there.
package security
