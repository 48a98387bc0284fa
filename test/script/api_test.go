package script_test

import (
	"net/http"
	"net/http/httptest"

	"github.com/rogpeppe/go-internal/testscript"
)

// senderAPICommand stands a sender's public API in: it answers every GET with a
// file.
func senderAPICommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	usage(ts, len(args) == 2, "sender-api name file")
	content := []byte(ts.ReadFile(args[1]))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(content) // the gateway's side says when it is missing
	}))
	of(ts).t.Cleanup(server.Close)
	ts.Setenv(variable(args[0]), server.URL)
}
