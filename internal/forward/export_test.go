package forward

import "net/netip"

// Public is what decides about an address, for tests that must not dial
// anybody's server to see that it would be dialled.
func Public(a netip.Addr) bool { return public(a) }
