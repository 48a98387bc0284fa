package forward

import (
	"errors"
	"net/netip"
	"net/url"
	"syscall"
)

var errPrivate = errors.New("private addresses not allowed")

// refusePrivate is asked by the dialer about the very address it is about to
// connect to, on every connection. A check at an earlier time, or of the name,
// would be worth nothing: the name may resolve differently the next time, and
// one address has many spellings.
func refusePrivate(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || !public(ap.Addr()) {
		return errPrivate
	}
	return nil
}

// public reports whether an address can be somebody's public server: global
// unicast, outside the special-purpose blocks of the IANA registries, and not
// another way of writing an IPv4 address, which a gateway on the way may turn
// into one of ours.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsValid() || !a.IsGlobalUnicast() || a.IsPrivate() {
		return false // also loopback, link-local, multicast, unspecified, broadcast
	}
	if a.Is4() {
		return ordinary4(a.As4())
	}
	return ordinary6(a.As16())
}

// ordinary4 reports whether an IPv4 address is outside the special blocks.
func ordinary4(b [4]byte) bool {
	switch {
	case b[0] == 0, // this network
		b[0] == 100 && b[1]&0xc0 == 64,           // carrier-grade NAT
		b[0] == 192 && b[1] == 0 && b[2] == 0,    // protocol assignments
		b[0] == 192 && b[1] == 0 && b[2] == 2,    // documentation
		b[0] == 192 && b[1] == 88 && b[2] == 99,  // 6to4 relays
		b[0] == 198 && b[1]&0xfe == 18,           // benchmarking
		b[0] == 198 && b[1] == 51 && b[2] == 100, // documentation
		b[0] == 203 && b[1] == 0 && b[2] == 113,  // documentation
		b[0] >= 240:                              // reserved, broadcast
		return false
	}
	return true
}

// ordinary6 reports whether an IPv6 address is outside the special blocks. Only
// 2000::/3 is handed out to servers; NAT64 (64:ff9b::/96, 64:ff9b:1::/48),
// unique-local, IPv4-compatible and discard-only addresses all lie outside it.
func ordinary6(b [16]byte) bool {
	switch {
	case b[0]&0xe0 != 0x20,
		b[0] == 0x20 && b[1] == 0x01 && b[2]&0xfe == 0,               // 2001::/23: Teredo, ORCHID, benchmarking
		b[0] == 0x20 && b[1] == 0x01 && b[2] == 0x0d && b[3] == 0xb8, // documentation
		b[0] == 0x20 && b[1] == 0x02,                                 // 6to4
		b[0] == 0x3f && b[1] == 0xff && b[2]&0xf0 == 0:               // documentation
		return false
	}
	return true
}

// IsPrivate reports whether a URL names a private address outright, so that
// every call to it would be refused. A name may turn out to be private when it
// is dialled; that is not asked here.
func IsPrivate(destination string) bool {
	u, err := url.Parse(destination)
	if err != nil {
		return false
	}
	if u.Hostname() == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(u.Hostname())
	return err == nil && !public(a)
}
