package intake

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// keptHeader writes the sender's headers as they are kept: one line a value, in
// order of name. What describes the connection, and what is a credential that
// was meant for us, is not kept.
func keptHeader(h http.Header, credentials []string) []byte {
	names := make([]string, 0, 24)
	size := 0
	hops := h["Connection"]
	for name, values := range h {
		if dropped(name) || hops != nil && listed(hops, name) || slices.ContainsFunc(credentials, func(c string) bool { return strings.EqualFold(c, name) }) {
			continue
		}
		names = append(names, name)
		for _, v := range values {
			size += len(name) + len(v) + 3
		}
	}
	slices.Sort(names)
	b := make([]byte, 0, size)
	for _, name := range names {
		for _, v := range h[name] {
			b = append(b, name...)
			b = append(b, ": "...)
			b = append(b, v...)
			b = append(b, '\n')
		}
	}
	return b
}

// listed reports whether Connection names the header: then it describes the
// connection, too.
func listed(hops []string, name string) bool {
	for _, line := range hops {
		for hop := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(hop), name) {
				return true
			}
		}
	}
	return false
}

func dropped(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade", "Expect", "Host", "Content-Length", "Accept-Encoding", "Cookie", "Authorization":
		return true
	}
	return false
}

// publicURL is the address that the sender posted to, for schemes that sign it.
// It is configured: what a proxy tells of it is not to be trusted.
func (h *Handler) publicURL(r *http.Request) string {
	if h.o.PublicURL != "" {
		return strings.TrimSuffix(h.o.PublicURL, "/") + r.URL.RequestURI()
	}
	return "http://" + r.Host + r.URL.RequestURI()
}

// remote is the address that the delivery came from. Only a trusted proxy's
// word counts for more than the connection's own.
func (h *Handler) remote(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	addr := peer.Addr().Unmap()
	if len(h.o.TrustedProxies) == 0 || !h.trusted(addr) {
		return addr.String()
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		next, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break
		}
		if addr = next.Unmap(); !h.trusted(addr) {
			break
		}
	}
	return addr.String()
}

func (h *Handler) trusted(a netip.Addr) bool {
	return slices.ContainsFunc(h.o.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(a) })
}
