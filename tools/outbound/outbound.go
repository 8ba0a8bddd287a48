// Package outbound makes the HTTP client for addresses that an operator declared:
// services that tools talk to by themselves. It follows no redirect, uses no proxy
// and no connection twice, so that nothing is ever sent again unasked, and it checks
// each address when it is dialled, since a name may mean another one by then.
package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"
)

// Errors of an exchange that did not take place. Their texts hold no address.
var (
	ErrForbidden = errors.New("the address is never allowed: link-local, metadata or multicast")
	ErrName      = errors.New("the host name is not known")
	ErrRefused   = errors.New("the service refused the connection or cannot be reached")
	ErrTrust     = errors.New("the service's certificate is not trusted")
	ErrExchange  = errors.New("the exchange with the service failed")
)

// dialTimeout is for one address.
const dialTimeout = 10 * time.Second

// Transport gives a transport that checks what it dials. Private addresses and
// loopback are allowed: whoever declared the address chose them. A nil pool
// trusts the certificate authorities of the system.
func Transport(roots *x509.CertPool) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, Control: func(_, address string, _ syscall.RawConn) error {
		return check(address)
	}}
	return &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		TLSHandshakeTimeout:    dialTimeout,
		TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{}, // HTTP/1.1 only
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// Client gives a client over a transport that takes an answer as it is, a
// redirect included.
func Client(rt http.RoundTripper) *http.Client {
	return &http.Client{Transport: rt, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// metadata are the services of clouds that hand out credentials, outside the
// link-local networks.
var metadata = []string{"100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254", "fd20:ce::254"}

// check refuses what no operator can have meant. The IPv4 address inside an IPv6
// one of NAT64 (RFC 6052) counts too.
func check(address string) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return ErrForbidden
	}
	a := ap.Addr().Unmap().WithZone("")
	if b := a.As16(); netip.MustParsePrefix("64:ff9b::/96").Contains(a) {
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	if a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() || slices.Contains(metadata, a.String()) {
		return ErrForbidden
	}
	return nil
}

// Plain names what went wrong without the addresses, names and credentials that
// the libraries put into their errors. What it does not know is ErrExchange.
func Plain(err error) error {
	for _, known := range []error{ErrForbidden, context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, known) {
			return known
		}
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return context.DeadlineExceeded
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return ErrName
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return ErrTrust
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return ErrRefused
	}
	return ErrExchange
}

// Errors of an address in the configuration.
var (
	errAddress     = errors.New("it must be an http or https address with a host")
	errCredentials = errors.New("credentials belong into headers")
)

// Address reads a declared address.
func Address(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errAddress // without the text, which may hold a credential
	}
	if u.User != nil {
		return nil, errCredentials
	}
	return u, nil
}
