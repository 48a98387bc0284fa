package forward_test

import (
	"context"
	"encoding/binary"
	"net"
	"net/url"
	"strings"
	"testing"
)

// resolver answers every address question from a function, over a pipe that
// speaks DNS as over TCP. Go's own resolver does the rest, as in production.
func resolver(t *testing.T, lookup func(name string) []net.IP) *net.Resolver {
	t.Helper()
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go serveDNS(far, lookup)
		return near, nil
	}}
}

func serveDNS(c net.Conn, lookup func(name string) []net.IP) {
	defer c.Close()
	for {
		var length [2]byte
		if _, err := c.Read(length[:]); err != nil {
			return
		}
		question := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := c.Read(question); err != nil {
			return
		}
		answer := answerDNS(question, lookup)
		out := binary.BigEndian.AppendUint16(nil, uint16(len(answer)))
		if _, err := c.Write(append(out, answer...)); err != nil {
			return
		}
	}
}

func answerDNS(q []byte, lookup func(name string) []net.IP) []byte {
	var labels []string
	at := 12
	for q[at] != 0 {
		n := int(q[at])
		labels = append(labels, string(q[at+1:at+1+n]))
		at += 1 + n
	}
	end := at + 5
	kind := binary.BigEndian.Uint16(q[at+1:])
	all := lookup(strings.Join(labels, "."))
	var records [][]byte
	for _, ip := range all {
		if v4 := ip.To4(); kind == 1 && v4 != nil {
			records = append(records, v4)
		} else if kind == 28 && v4 == nil {
			records = append(records, ip.To16())
		}
	}
	a := append([]byte{}, q[:2]...)
	if len(all) == 0 {
		a = append(a, 0x81, 0x83) // no such name
	} else {
		a = append(a, 0x81, 0x80)
	}
	a = append(a, 0, 1, 0, byte(len(records)), 0, 0, 0, 0)
	a = append(a, q[12:end]...)
	for _, r := range records {
		a = append(a, 0xc0, 12, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(len(r)))
		a = append(a, r...)
	}
	return a
}

func port(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Port()
}
