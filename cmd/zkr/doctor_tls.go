package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"strings"
	"time"
)

// whyNoTLS explains why a server cannot be spoken to in TLS; "" if it can.
func (d *doctor) whyNoTLS(ctx context.Context, addr string, sessionErr error) string {
	conn, err := d.open(ctx, addr)
	if err == nil {
		conn.Close()
		// In TLS 1.3 a server refuses a client's certificate after the handshake.
		if refusesCertificate(sessionErr) {
			return d.whyRefused()
		}
		return ""
	}
	var (
		plainText tls.RecordHeaderError
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &authority):
		return "its certificate is signed by none that is trusted here: see --tls-ca"
	case errors.As(err, &hostname):
		return "its certificate is for another name (" + hostname.Error() + "): see --tls-server-name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return whyExpired(invalid.Cert, "its certificate")
	case errors.As(err, &invalid):
		return "its certificate is not valid: " + invalid.Error()
	case refusesCertificate(err):
		return d.whyRefused()
	case errors.As(err, &plainText) || d.speaksPlain(ctx, addr):
		return "it speaks no TLS there: leave --tls away, or take its secure port"
	}
	return "no TLS comes about: " + err.Error()
}

// refusesCertificate reports whether a server has sent one of the alerts about the
// client's certificate. Which one says little: a missing certificate is a bad one to
// ZooKeeper, and so is one of another signer.
func refusesCertificate(err error) bool {
	text := err.Error()
	return strings.Contains(text, "remote error: tls:") && strings.Contains(text, "certificate")
}

func (d *doctor) whyRefused() string {
	if len(d.tls.Certificates) == 0 {
		return "it wants a client's certificate: see --tls-cert and --tls-key"
	}
	leaf := d.tls.Certificates[0].Leaf
	if leaf != nil && (time.Now().After(leaf.NotAfter) || time.Now().Before(leaf.NotBefore)) {
		return whyExpired(leaf, "the certificate of --tls-cert")
	}
	return "it does not accept the certificate of --tls-cert: is its signer in the servers' trust store?"
}

func whyExpired(cert *x509.Certificate, which string) string {
	if time.Now().Before(cert.NotBefore) {
		return which + " is valid from " + when(cert.NotBefore) + " on only: is this machine's clock wrong?"
	}
	return which + " expired at " + when(cert.NotAfter) + ": renew it, unless this machine's clock is wrong"
}

func when(t time.Time) string { return t.UTC().Format(time.RFC3339) }
