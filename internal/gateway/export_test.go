package gateway

import "net/http"

// Servers are the HTTP servers of the listeners, by name.
func (g *Gateway) Servers() map[string]*http.Server {
	all := map[string]*http.Server{}
	for _, s := range g.servers {
		all[s.name] = s.http
	}
	return all
}
