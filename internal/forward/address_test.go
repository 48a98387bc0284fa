package forward_test

import (
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/forward"
	"github.com/onceward/onceward/internal/testkit"
)

func guarded(d *forward.Destination, _ *forward.Options) { d.AllowPrivate = false }

func TestPrivateAddressesAreRefusedInEverySpelling(t *testing.T) {
	for _, host := range []string{
		"127.0.0.1", "127.1.2.3", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
		"169.254.169.254", "100.64.0.1", "100.127.255.254", "192.0.0.8", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1",
		"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"[::]", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]", "[::ffff:a9fe:a9fe]", "[::127.0.0.1]",
		"[fc00::1]", "[fd12:3456::1]", "[fe80::1]", "[fe80::1%25lo]", "[fec0::1]", "[ff02::1]", "[100::1]",
		"[64:ff9b::7f00:1]", "[64:ff9b::a00:1]", "[64:ff9b:1::1]", "[2001::1]", "[2001:10::1]", "[2001:20::1]", "[2001:db8::1]", "[2002:7f00:1::1]", "[3fff::1]",
		"public@127.0.0.1", "localhost",
	} {
		t.Run(host, func(t *testing.T) {
			a := do(client(t, "http://"+host+":9/x", onceward.Unsafe, guarded))
			check(t, a, forward.NotApplied, "private addresses not allowed")
			if a.Sent {
				t.Error("something was sent")
			}
		})
	}
}

func TestOddSpellingsNeverReachALoopbackServer(t *testing.T) {
	// Whether a name like these is a number is for the resolver to say; what
	// matters is that no spelling gets through.
	sink := testkit.NewSink(t, nil)
	at := ":" + port(t, sink.URL)
	for _, host := range []string{"2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "127.0.0.1.", "LOCALHOST", "①②⑦.⓪.⓪.①"} {
		c, err := forward.New(forward.Destination{Name: "d", URL: "http://" + host + at, Effect: onceward.Unsafe}, forward.Options{
			Resolver: resolver(t, func(string) []net.IP { return []net.IP{net.IPv4(127, 0, 0, 1)} }),
		})
		if err != nil {
			continue
		}
		if a := do(c); a.Kind != forward.NotApplied || a.Sent {
			t.Errorf("%s: got %+v", host, a)
		}
	}
	if n := len(sink.Requests()); n != 0 {
		t.Errorf("the loopback server saw %d requests", n)
	}
}

func TestOrdinaryAddressesArePublic(t *testing.T) {
	for _, a := range []string{
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.1", "93.184.216.34", "100.63.255.255", "100.128.0.1", "126.255.255.255", "128.0.0.1", "169.253.1.1", "172.15.0.1", "172.32.0.1",
		"191.255.255.255", "192.0.1.1", "192.169.0.1", "198.17.255.255", "198.20.0.1", "223.255.255.255",
		"2606:4700::1111", "2001:4860:4860::8888", "2a00:1450::1", "2400:cb00::1", "::ffff:8.8.8.8", "2001:200::1", "2003::1", "3ffe::1",
	} {
		if !forward.Public(netip.MustParseAddr(a)) {
			t.Errorf("%s is refused", a)
		}
	}
}

func TestANameThatChangesAfterTheCheckIsRefused(t *testing.T) {
	// Allowed means that the address stood the check of its own connection.
	// Here the name first leads nowhere, then to the loopback server: whatever
	// was learned about the name before counts for nothing.
	sink := testkit.NewSink(t, nil)
	var lookups atomic.Int64
	r := resolver(t, func(string) []net.IP {
		if lookups.Add(1) <= 2 { // one for each address family
			return nil
		}
		return []net.IP{net.IPv4(127, 0, 0, 1)}
	})
	c := client(t, "http://destination.example:"+port(t, sink.URL), onceward.Keyed, guarded, func(_ *forward.Destination, o *forward.Options) { o.Resolver = r })
	check(t, do(c), forward.NotApplied, "no such host")
	for range 3 {
		check(t, do(c), forward.NotApplied, "private addresses not allowed")
	}
	if n := len(sink.Requests()); n != 0 {
		t.Errorf("the loopback server saw %d requests", n)
	}
}

func TestSeveralAddressesOneOfThemPrivate(t *testing.T) {
	sink := testkit.NewSink(t, nil)
	r := resolver(t, func(string) []net.IP {
		return []net.IP{net.IPv4(240, 0, 0, 1), net.IPv4(127, 0, 0, 1), net.ParseIP("::1")}
	})
	c := client(t, "http://destination.example:"+port(t, sink.URL), onceward.Unsafe, guarded, func(_ *forward.Destination, o *forward.Options) { o.Resolver = r })
	check(t, do(c), forward.NotApplied, "private addresses not allowed")
	if n := len(sink.Requests()); n != 0 {
		t.Errorf("the loopback server saw %d requests", n)
	}
}

func TestAllowedPrivateAddressesAreCalled(t *testing.T) {
	sink := testkit.NewSink(t, nil)
	c := client(t, strings.Replace(sink.URL, "127.0.0.1", "localhost", 1), onceward.Unsafe)
	check(t, do(c), forward.Completed, "")
}

func TestNoProxyIsTakenFromTheEnvironment(t *testing.T) {
	proxy := testkit.NewSink(t, nil)
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	t.Setenv("ALL_PROXY", proxy.URL)
	c := client(t, "http://destination.example/", onceward.Unsafe, guarded, func(_ *forward.Destination, o *forward.Options) {
		o.Resolver = resolver(t, func(string) []net.IP { return []net.IP{net.IPv4(127, 0, 0, 1)} })
	})
	check(t, do(c), forward.NotApplied, "private addresses not allowed")
	if n := len(proxy.Requests()); n != 0 {
		t.Errorf("the proxy saw %d requests", n)
	}
}
