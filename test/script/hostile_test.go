package script_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func writeFile(path string, content []byte) error { return os.WriteFile(path, content, 0o600) }

// killRoundsCommand posts one event and kills the gateway the moment the status
// line of the 2xx arrives, so many times, each time starting it again:
// kill-rounds count source.
func killRoundsCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	usage(ts, len(args) == 2, "kill-rounds count source")
	count, err := strconv.Atoi(args[0])
	ts.Check(err)
	w := of(ts)
	for range count {
		w.rounds++
		id := fmt.Sprint("kill-round-", w.rounds)
		m := message{source: args[1], path: "/in/" + args[1], method: http.MethodPost, body: []byte(`{"id":"` + id + `"}`), sign: signer{on: true, scheme: schemeOf(args[1]), id: id}}
		lines, err := m.sign.lines(m.body)
		ts.Check(err)
		m.lines = lines
		c, err := net.Dial("tcp", strings.TrimPrefix(w.running(ts).intake, "http://"))
		ts.Check(err)
		m.write(c)
		line, err := bufio.NewReader(c).ReadString('\n')
		w.gateway.kill()
		c.Close()
		ts.Check(err)
		if !strings.HasPrefix(line, "HTTP/1.1 200 ") {
			ts.Fatalf("round %d was answered %q", w.rounds, line)
		}
		ts.Check(w.start(ts, "onceward.yaml"))
	}
}

// floodCommand sends a chunked body that does not end before so many bytes, and
// says how it was answered and that most of it was not read: flood source MiB.
func floodCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	usage(ts, len(args) == 2, "flood source MiB")
	size, err := strconv.Atoi(args[1])
	ts.Check(err)
	c, err := net.Dial("tcp", strings.TrimPrefix(ts.Getenv("INTAKE"), "http://"))
	ts.Check(err)
	defer c.Close()
	ts.Check(c.SetDeadline(time.Now().Add(patience)))
	answered := make(chan reply, 1)
	go func() {
		r, err := readReply(bufio.NewReader(c))
		if err != nil {
			r.body = []byte(err.Error())
		}
		answered <- r
	}()
	fmt.Fprintf(c, "POST /in/%s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", args[0])
	chunk := []byte("10000\r\n" + strings.Repeat("x", 0x10000) + "\r\n")
	written := 0
	for written < size<<20 {
		n, err := c.Write(chunk)
		written += n
		if err != nil {
			break
		}
	}
	r := <-answered
	fmt.Fprintf(ts.Stdout(), "%d\n%s", r.status, r.body)
	if most := 64 << 20; written > most { // the largest cap, and what the kernel holds
		ts.Fatalf("%d bytes of the %d MiB were taken", written, size)
	}
}

// hoardCommand opens so many connections that each send a body but for its last
// byte, and prints what each is answered before that: hoard count source body.
// Then all of them leave.
func hoardCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	usage(ts, len(args) == 3, "hoard count source body")
	count, err := strconv.Atoi(args[0])
	ts.Check(err)
	body := readBody(ts, args[2])
	var said tally
	for range count {
		c, err := net.Dial("tcp", strings.TrimPrefix(ts.Getenv("INTAKE"), "http://"))
		ts.Check(err)
		defer c.Close()
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			if r, err := readReply(bufio.NewReader(c)); err == nil {
				said.add(r, nil)
			}
		}()
		fmt.Fprintf(c, "POST /in/%s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", args[1], len(body))
		if _, err := c.Write(body[:len(body)-1]); err != nil {
			<-answered // it was refused before all of it was out
		}
	}
	within(ts, "a refusal", func() (bool, string) {
		said.mu.Lock()
		defer said.mu.Unlock()
		return len(said.by) > 0, "none"
	})
	said.mu.Lock()
	defer said.mu.Unlock()
	said.print(ts)
}

// slowCommand opens connections whose header, or whose body, does not come on,
// and waits until each is cut. It prints how.
func slowCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	usage(ts, len(args) == 1, "slow source")
	start := "POST /in/" + args[0] + " HTTP/1.1\r\nHost: x\r\n"
	kinds := []struct{ name, sent string }{
		{"header", start + "X-Slow: "},
		{"nothing", ""},
		{"body", start + "Content-Length: 1000\r\n\r\n{"},
		{"chunk", start + "Transfer-Encoding: chunked\r\n\r\n3e8\r\n{"},
	}
	said := make([]string, len(kinds))
	var all sync.WaitGroup
	for i, kind := range kinds {
		all.Go(func() { said[i] = cut(ts.Getenv("INTAKE"), kind.sent) })
	}
	all.Wait()
	for i, kind := range kinds {
		fmt.Fprintf(ts.Stdout(), "%s: %s\n", kind.name, said[i])
	}
}

func cut(intake, sent string) string {
	c, err := net.Dial("tcp", strings.TrimPrefix(intake, "http://"))
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return err.Error()
	}
	if _, err := io.WriteString(c, sent); err != nil {
		return err.Error()
	}
	content, err := io.ReadAll(c)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "never cut"
	}
	if len(content) == 0 {
		return "cut"
	}
	line, _, _ := strings.Cut(string(content), "\r\n")
	return line + ", then cut"
}

// memoryCommand notes the gateway's resident memory, or asserts that it has
// grown by less than so many MiB since: memory note | memory grown MiB.
func memoryCommand(ts *testscript.TestScript, neg bool, args []string) {
	positive(ts, neg)
	usage(ts, len(args) > 0, "memory note | memory grown MiB")
	now, err := of(ts).running(ts).rss()
	ts.Check(err)
	if args[0] == "note" {
		ts.Setenv("RSS", strconv.Itoa(now))
		return
	}
	usage(ts, args[0] == "grown" && len(args) == 2, "memory note | memory grown MiB")
	before, err := strconv.Atoi(ts.Getenv("RSS"))
	ts.Check(err)
	most, err := strconv.Atoi(args[1])
	ts.Check(err)
	if grown := (now - before) >> 10; grown >= most {
		ts.Fatalf("memory grew by %d MiB from %d MiB", grown, before>>10)
	}
}
