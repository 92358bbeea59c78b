package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/zkrecipes/zkrecipes/recipes"
)

// secrets are the flags that say how to prove who one is, and to whom. What is
// secret stands in files: a command line can be read by every user of the machine.
type secrets struct {
	tls        bool
	ca         string // files
	cert, key  string
	serverName string
	authFile   string
}

func (s *secrets) register(fs *flags) {
	fs.BoolVar(&s.tls, "tls", false, "speak TLS; each of the other --tls flags does the same")
	fs.StringVar(&s.ca, "tls-ca", "", "trust servers whose certificate one of this PEM `FILE` has signed (default those that\nthe machine trusts)")
	fs.StringVar(&s.cert, "tls-cert", "", "the client's certificate, a PEM `FILE`")
	fs.StringVar(&s.key, "tls-key", "", "the key of that, a PEM `FILE`")
	fs.StringVar(&s.serverName, "tls-server-name", "", "the `NAME` that the servers' certificate is for (default the host's of SERVERS)")
	fs.StringVar(&s.authFile, "auth-file", "", "credentials, a `FILE` with lines such as \"digest user:password\"; keep it readable\nfor its owner alone")
}

// options reads the files. An error never shows what stands in them.
func (s *secrets) options() ([]recipes.Option, error) {
	var opts []recipes.Option
	cfg, err := s.tlsConfig()
	if err != nil {
		return nil, err
	}
	if cfg != nil {
		opts = append(opts, recipes.WithTLS(cfg))
	}
	creds, err := s.credentials()
	if err != nil {
		return nil, err
	}
	for _, c := range creds {
		opts = append(opts, recipes.WithAuth(c.scheme, c.secret))
	}
	return opts, nil
}

// tlsConfig returns nil where no TLS is asked for.
func (s *secrets) tlsConfig() (*tls.Config, error) {
	if !s.tls && s.ca == "" && s.cert == "" && s.key == "" && s.serverName == "" {
		return nil, nil
	}
	if (s.cert == "") != (s.key == "") {
		return nil, usagef("--tls-cert and --tls-key need each other")
	}
	cfg := &tls.Config{ServerName: s.serverName, MinVersion: tls.VersionTLS12}
	if s.ca != "" {
		pem, err := readSmall("tls-ca", s.ca)
		if err != nil {
			return nil, err
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, usagef("--tls-ca %s: no certificate in it, want PEM", s.ca)
		}
	}
	if s.cert != "" {
		pair, err := s.keyPair()
		if err != nil {
			return nil, err
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg, nil
}

func (s *secrets) keyPair() (tls.Certificate, error) {
	cert, err := readSmall("tls-cert", s.cert)
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := readSmall("tls-key", s.key)
	if err != nil {
		return tls.Certificate{}, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return tls.Certificate{}, usagef("--tls-cert %s and --tls-key %s: %s", s.cert, s.key, err)
	}
	return pair, nil
}

// credential is one line of the file of credentials.
type credential struct {
	scheme string
	secret []byte
}

// user is what a credential of the digest scheme shows in an ACL.
func (c credential) user() string {
	user, _, _ := bytes.Cut(c.secret, []byte(":"))
	return string(user)
}

// credentials reads them; there are none where no file was named.
func (s *secrets) credentials() ([]credential, error) {
	if s.authFile == "" {
		return nil, nil
	}
	text, err := readSmall("auth-file", s.authFile)
	if err != nil {
		return nil, err
	}
	var creds []credential
	for i, line := range bytes.Split(text, []byte("\n")) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		scheme, secret, _ := bytes.Cut(line, []byte(" "))
		secret = bytes.TrimSpace(secret)
		// The line is not shown, for it may be a password.
		if len(secret) == 0 || bytes.ContainsRune(scheme, ':') {
			return nil, usagef("--auth-file %s, line %d: want a scheme, a space and a credential", s.authFile, i+1)
		}
		if string(scheme) == "digest" && bytes.IndexByte(secret, ':') < 1 {
			return nil, usagef("--auth-file %s, line %d: want user:password behind digest", s.authFile, i+1)
		}
		creds = append(creds, credential{string(scheme), secret})
	}
	if len(creds) == 0 {
		return nil, usagef("--auth-file %s: no credentials in it", s.authFile)
	}
	return creds, nil
}

// maxSmall is more than any file of certificates or credentials has.
const maxSmall = 1 << 20

// readSmall reads the file that a flag names.
func readSmall(flag, name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, usagef("--%s %s: %s", flag, name, reason(err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSmall+1))
	if err != nil {
		return nil, usagef("--%s %s: %s", flag, name, reason(err))
	}
	if len(text) > maxSmall {
		return nil, usagef("--%s %s: more than %d bytes", flag, name, maxSmall)
	}
	return text, nil
}

// reason is what an error about a file says, without its name.
func reason(err error) string {
	if p := (*os.PathError)(nil); errors.As(err, &p) {
		return p.Err.Error()
	}
	return fmt.Sprint(err)
}
