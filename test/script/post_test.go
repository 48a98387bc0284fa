package script_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// message is one delivery as a sender makes it.
type message struct {
	source, path string
	method       string
	lines        []string // header lines, written exactly so
	body         []byte
	edges        []int // chunked, cut at these places
	http2        bool
	sign         signer
}

// reply is what a sender got.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func (r reply) said() string { return r.header.Get("Onceward-Status") }

const postUsage = "post source body [-sign] [-id ID] [-secret S] [-literal] [-age D] [-as source] [-H line]… [-bytes line]… [-path P] [-method M] [-chunked a,b,…] [-http2]"

// parseMessage reads the arguments of post, deliver and storm.
func parseMessage(ts *testscript.TestScript, args []string) message {
	usage(ts, len(args) >= 2, postUsage)
	m := message{source: args[0], path: "/in/" + args[0], method: http.MethodPost, sign: signer{scheme: schemeOf(args[0])}, body: readBody(ts, args[1])}
	for args = args[2:]; len(args) > 0; args = args[1:] {
		switch args[0] {
		case "-sign":
			m.sign.on = true
			continue
		case "-literal":
			m.sign.literal = true
			continue
		case "-http2":
			m.http2 = true
			continue
		}
		usage(ts, len(args) > 1, postUsage)
		flag, value := args[0], args[1]
		args = args[1:]
		var err error
		switch flag {
		case "-id":
			m.sign.id = value
		case "-secret":
			m.sign.secret = value
		case "-age":
			m.sign.age, err = time.ParseDuration(value)
		case "-as":
			m.sign.scheme = schemeOf(value)
		case "-H":
			m.lines = append(m.lines, value)
		case "-bytes": // with Go's escapes, for bytes that are no text
			value, err = strconv.Unquote(`"` + value + `"`)
			m.lines = append(m.lines, value)
		case "-path":
			m.path = value
		case "-method":
			m.method = value
		case "-chunked":
			for edge := range strings.SplitSeq(value, ",") {
				n, err := strconv.Atoi(edge)
				ts.Check(err)
				m.edges = append(m.edges, n)
			}
		default:
			usage(ts, false, postUsage)
		}
		ts.Check(err)
	}
	return m
}

// readBody is a body as stories name it: "=text" stands for itself, NAME.b64 is
// decoded, NAME.raw is what the command body made, and of any other file the
// last newline, which an archive cannot leave out, is dropped.
func readBody(ts *testscript.TestScript, name string) []byte {
	if text, ok := strings.CutPrefix(name, "="); ok {
		return []byte(text)
	}
	content := []byte(ts.ReadFile(name))
	switch {
	case strings.HasSuffix(name, ".raw"):
		return content
	case strings.HasSuffix(name, ".b64"):
		decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(content)))
		ts.Check(err)
		return decoded
	}
	return bytes.TrimSuffix(content, []byte{'\n'})
}

// postCommand sends one delivery and prints "STATUS VERDICT", the headers and
// the body. $EVENT is then the event that it was told of.
func postCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	m := parseMessage(ts, args)
	r, err := m.send(ts.Getenv("INTAKE"))
	ts.Check(err)
	if event := r.header.Get("Onceward-Event"); event != "" {
		ts.Setenv("EVENT", event)
	}
	fmt.Fprintln(ts.Stdout(), strings.TrimSpace(fmt.Sprint(r.status, " ", r.said())))
	printHeader(ts.Stdout(), r.header)
	fmt.Fprintf(ts.Stdout(), "\n%s", r.body)
}

// waitPostCommand is post for a gateway that still has to recover: it repeats
// until the delivery is acknowledged, as a sender would.
func waitPostCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	m := parseMessage(ts, args)
	within(ts, "an acknowledgement", func() (bool, string) {
		r, err := m.send(ts.Getenv("INTAKE"))
		return err == nil && r.status == http.StatusOK, fmt.Sprint(r.status, err)
	})
}

func printHeader(w io.Writer, h http.Header) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if name == "Date" {
			continue // so that two answers can be compared
		}
		for _, value := range h[name] {
			fmt.Fprintf(w, "%s: %s\n", name, value)
		}
	}
}

func (m message) send(intake string) (reply, error) {
	lines, err := m.sign.lines(m.body)
	if err != nil {
		return reply{}, err
	}
	m.lines = slices.Concat(m.lines, lines)
	if m.http2 {
		return m.overHTTP2(intake)
	}
	c, err := net.Dial("tcp", strings.TrimPrefix(intake, "http://"))
	if err != nil {
		return reply{}, err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return reply{}, err
	}
	// An answer may come before the body is out, so the two go apart.
	go m.write(c)
	return readReply(bufio.NewReader(c))
}

// write sends the request byte for byte. Chunks leave one by one: each write
// is a packet of its own.
func (m message) write(c net.Conn) {
	var head bytes.Buffer
	fmt.Fprintf(&head, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n", m.method, m.path, c.RemoteAddr())
	for _, line := range m.lines {
		head.WriteString(line + "\r\n")
	}
	if m.edges == nil {
		fmt.Fprintf(&head, "Content-Length: %d\r\n\r\n", len(m.body))
		head.Write(m.body)
		_, _ = c.Write(head.Bytes()) // whether it arrived shows in the reply
		return
	}
	head.WriteString("Transfer-Encoding: chunked\r\n\r\n")
	_, _ = c.Write(head.Bytes())
	from := 0
	for _, to := range append(m.edges, len(m.body)) {
		fmt.Fprintf(c, "%x\r\n%s\r\n", to-from, m.body[from:to])
		from = to
	}
	fmt.Fprint(c, "0\r\n\r\n")
}

func readReply(in *bufio.Reader) (reply, error) {
	resp, err := http.ReadResponse(in, &http.Request{Method: http.MethodPost})
	if err != nil {
		return reply{}, fmt.Errorf("no answer: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, body}, err
}

func (m message) overHTTP2(intake string) (reply, error) {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	defer transport.CloseIdleConnections()
	return m.over(&http.Client{Transport: transport}, intake)
}

// over sends an already signed message with a client that keeps its connection.
func (m message) over(client *http.Client, intake string) (reply, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, intake+m.path, bytes.NewReader(m.body))
	if err != nil {
		return reply{}, err
	}
	for _, line := range m.lines {
		name, value, _ := strings.Cut(line, ":")
		req.Header.Add(name, strings.TrimSpace(value))
	}
	resp, err := client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, body}, err
}
