package httpapi

import (
	"errors"
	"net/netip"
	"testing"
)

func TestCheckAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]struct{ public, declared error }{
		"93.184.216.34":            {nil, nil},
		"2606:2800:220:1::1":       {nil, nil},
		"127.0.0.1":                {errPrivate, nil},
		"::1":                      {errPrivate, nil},
		"10.1.2.3":                 {errPrivate, nil},
		"172.31.255.255":           {errPrivate, nil},
		"192.168.0.1":              {errPrivate, nil},
		"100.64.0.1":               {errPrivate, nil},
		"fd12::1":                  {errPrivate, nil},
		"::ffff:127.0.0.1":         {errPrivate, nil},
		"64:ff9b::7f00:1":          {errPrivate, nil},
		"2002:7f00:1::":            {errPrivate, nil},
		"::127.0.0.1":              {errPrivate, nil},
		"169.254.169.254":          {errForbidden, errForbidden},
		"::ffff:169.254.169.254":   {errForbidden, errForbidden},
		"64:ff9b::a9fe:a9fe":       {errForbidden, errForbidden},
		"100.100.100.200":          {errForbidden, errForbidden},
		"168.63.129.16":            {errForbidden, errForbidden},
		"fd00:ec2::254":            {errForbidden, errForbidden},
		"fe80::1%eth0":             {errForbidden, errForbidden},
		"0.0.0.0":                  {errForbidden, errForbidden},
		"::":                       {errForbidden, errForbidden},
		"224.0.0.1":                {errForbidden, errForbidden},
		"255.255.255.255":          {errForbidden, errForbidden},
		"ff02::1":                  {errForbidden, errForbidden},
		"2001:0:4136:e378:8000::1": {errForbidden, errForbidden},
	} {
		a := netip.MustParseAddr(address)
		if err := checkAddress(a, false); !errors.Is(err, want.public) {
			t.Errorf("%s: %v, want %v", address, err, want.public)
		}
		if err := checkAddress(a, true); !errors.Is(err, want.declared) {
			t.Errorf("%s with private_network: %v, want %v", address, err, want.declared)
		}
	}
}
