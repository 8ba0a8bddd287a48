package httpapi

import (
	"errors"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// Errors of the address check.
var (
	errForbidden = errors.New("the address is never allowed: link-local, metadata, multicast or reserved")
	errPrivate   = errors.New("the address is private and the tool does not declare private_network")
)

// dialTimeout is for one address.
const dialTimeout = 10 * time.Second

// newDialer checks every address at the moment it is dialled: the name may have
// meant another one a moment before.
func newDialer(private bool) *net.Dialer {
	return &net.Dialer{
		Timeout: dialTimeout,
		Control: func(_, address string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(address)
			if err != nil {
				return errForbidden
			}
			return checkAddress(ap.Addr(), private)
		},
	}
}

// Special-purpose networks, from the IANA IPv4 and IPv6 special-purpose registries.
var (
	privateNetworks = prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "127.0.0.0/8", "::1/128", "fc00::/7")
	reserved        = prefixes(
		"0.0.0.0/8", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
		"169.254.0.0/16", "fe80::/10", "fec0::/10", "ff00::/8", "::/128", "100::/64", "2001::/23", "2001:db8::/32", "64:ff9b:1::/48",
		// Metadata services outside the link-local networks.
		"100.100.100.200/32", "192.0.0.192/32", "168.63.129.16/32", "fd00:ec2::254/128", "fd20:ce::254/128",
	)
	nat64  = netip.MustParsePrefix("64:ff9b::/96")
	sixTo4 = netip.MustParsePrefix("2002::/16")
)

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// checkAddress says whether an address may be dialled.
func checkAddress(a netip.Addr, private bool) error {
	a = embedded(a.Unmap().WithZone(""))
	for _, p := range reserved {
		if p.Contains(a) {
			return errForbidden
		}
	}
	if private {
		return nil
	}
	for _, p := range privateNetworks {
		if p.Contains(a) {
			return errPrivate
		}
	}
	return nil
}

// embedded gives the IPv4 address that an IPv6 address of a transition mechanism leads to.
func embedded(a netip.Addr) netip.Addr {
	bytes := a.As16()
	switch {
	case nat64.Contains(a):
		return netip.AddrFrom4([4]byte(bytes[12:16]))
	case sixTo4.Contains(a):
		return netip.AddrFrom4([4]byte(bytes[2:6]))
	case a.Is6() && [12]byte(bytes[:12]) == [12]byte{}: // deprecated IPv4-compatible form
		if v4 := netip.AddrFrom4([4]byte(bytes[12:16])); a != netip.IPv6Loopback() && !a.IsUnspecified() {
			return v4
		}
	}
	return a
}
