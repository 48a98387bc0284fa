package main

import "net/http"

// null is the upper bound: a net/http server that reads the body, checks the
// signature and answers. It stores nothing, so nothing durable can be faster.
type null struct{ *verifier }

func newNull(v *verifier) http.Handler { return null{v} }

func (n null) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b, ok := n.body(r)
	defer n.giveBack(b)
	if !ok {
		http.Error(w, "the signature does not hold", http.StatusUnauthorized)
		return
	}
	accept(w)
}

func accept(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"status":"accepted"}`)) // the sender may be gone
}
