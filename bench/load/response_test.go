package load_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/onceward/onceward/bench/load"
)

const next = "HTTP/1.1 299 the next answer\r\n"

func TestReadResponse(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		status       int
		keep, broken bool
		ends         bool // the body reaches to the end of the connection
	}{
		{name: "a length", answer: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", status: 200, keep: true},
		{name: "header names in any case", answer: "HTTP/1.1 200 OK\r\ncontent-LENGTH:5\r\n\r\nhello", status: 200, keep: true},
		{name: "no reason phrase", answer: "HTTP/1.1 503\r\nContent-Length: 0\r\n\r\n", status: 503, keep: true},
		{name: "line feeds alone", answer: "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", status: 200, keep: true},
		{name: "no content has no body", answer: "HTTP/1.1 204 No Content\r\n\r\n", status: 204, keep: true},
		{name: "chunks, extensions and a trailer", answer: "HTTP/1.1 429 Too Many\r\nTransfer-Encoding: chunked\r\n\r\n4;x=1\r\nbusy\r\nA\r\n0123456789\r\n0\r\nAfter: 1\r\n\r\n", status: 429, keep: true},
		{name: "an interim answer comes first", answer: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", status: 200, keep: true},
		{name: "the server closes", answer: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", status: 200},
		{name: "an older server closes", answer: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", status: 200},
		{name: "no length reaches to the end", answer: "HTTP/1.1 200 OK\r\n\r\nall of it", status: 200, ends: true},

		{name: "nothing", answer: "", broken: true},
		{name: "another protocol", answer: "SSH-2.0-OpenSSH_9.6\r\n\r\n", broken: true},
		{name: "a status of two digits", answer: "HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n", broken: true},
		{name: "a status of four digits", answer: "HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n", broken: true},
		{name: "a head that ends early", answer: "HTTP/1.1 200 OK\r\nContent-Le", broken: true},
		{name: "a body that ends early", answer: "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", broken: true},
		{name: "chunks that end early", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", broken: true},
		{name: "a chunk longer than it says", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n", broken: true},
		{name: "a negative length", answer: "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", broken: true},
		{name: "two different lengths", answer: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", broken: true},
		{name: "a length beyond all bounds", answer: "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", broken: true},
		{name: "a line without a colon", answer: "HTTP/1.1 200 OK\r\nhello\r\n\r\n", broken: true},
		{name: "an endless line", answer: "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 10_000) + "\r\n\r\n", broken: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			whole := c.answer
			if !c.broken && !c.ends {
				whole += next
			}
			in := bufio.NewReaderSize(strings.NewReader(whole), 4096)
			status, keep, err := load.ReadResponse(in)
			if c.broken {
				if err == nil {
					t.Fatalf("read as %d", status)
				}
				return
			}
			if err != nil || status != c.status || keep != c.keep {
				t.Fatalf("status %d, keep %t, error %v; want %d, %t", status, keep, err, c.status, c.keep)
			}
			rest, err := io.ReadAll(in)
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.TrimPrefix(whole, c.answer); string(rest) != want {
				t.Errorf("left %q, want %q", rest, want)
			}
		})
	}
}

func FuzzReadResponse(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;x=1\r\nbusy\r\n0\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
		"HTTP/1.0 200 OK\r\n\r\nto the end",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		status, _, err := load.ReadResponse(bufio.NewReaderSize(bytes.NewReader(data), 4096))
		if err != nil {
			return
		}
		if status < 100 || status > 999 {
			t.Fatalf("status %d", status)
		}
		theirs, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(data)), nil)
		if err != nil {
			return
		}
		defer theirs.Body.Close()
		if interim := theirs.StatusCode < 200; !interim && theirs.StatusCode != status {
			t.Fatalf("status %d, net/http reads %d", status, theirs.StatusCode)
		}
	})
}
