package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/onceward/onceward/provider"
)

// demoCommand proves the promise on this machine, with the real binary.
type demoCommand struct {
	Keep bool `help:"Keep the folder with the store and the logs."`
}

// What the demo does; the numbers that it must arrive at follow from these.
const (
	demoEvents  = 200 // ordinary events
	demoCopies  = 5   // deliveries of each
	demoSenders = 16  // at once
	demoStuck   = 8   // in the middle of their call when the gateway is killed
	demoAltered = 3   // known ids with other content
	demoForged  = 5   // with a wrong signature
	demoWithin  = 50 * time.Second
)

// demo is one run.
type demo struct {
	a          *app
	dir        string
	far, once  *farSide // deduplicates by key; cannot deduplicate
	process    *gatewayProcess
	api        client
	source     *provider.Source
	forger     *provider.Source
	deliveries atomic.Int64
	answered   map[string]int // by status of the answer
	mu         sync.Mutex
}

// Run plays the whole story and fails loudly when a number is off.
func (d *demoCommand) Run(ctx context.Context, a *app) (err error) {
	ctx, cancel := context.WithTimeout(ctx, demoWithin)
	defer cancel()
	dir, err := os.MkdirTemp("", "onceward-demo-")
	if err != nil {
		return err
	}
	if !d.Keep {
		defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	}
	m := &demo{a: a, dir: dir, answered: map[string]int{}}
	defer func() { err = m.close(err) }()
	if err := m.prepare(ctx); err != nil {
		return err
	}
	if err := m.play(ctx); err != nil {
		return err
	}
	if d.Keep {
		fmt.Fprintf(a.stdout, "\nkept in %s\n", dir)
	}
	return m.verdict(ctx)
}

func (m *demo) say(format string, args ...any) {
	fmt.Fprintf(m.a.stdout, format+"\n", args...)
}

func (m *demo) prepare(ctx context.Context) (err error) {
	if m.far, err = newFarSide("127.0.0.1:0"); err != nil {
		return err
	}
	if m.once, err = newFarSide("127.0.0.1:0"); err != nil {
		return err
	}
	m.far.fails = 2 // two of ten first calls are answered 503
	intake, err := freeAddress()
	if err != nil {
		return err
	}
	admin, err := freeAddress()
	if err != nil {
		return err
	}
	m.api = client{base: "http://" + admin}
	m.process = &gatewayProcess{dir: m.dir, intake: intake, admin: admin}
	if m.source, err = demoSource(provider.Trial("stripe")[0]); err != nil {
		return err
	}
	if m.forger, err = demoSource("not-the-secret"); err != nil {
		return err
	}
	if err := os.WriteFile(m.process.config(), []byte(m.config()), 0o600); err != nil {
		return err
	}
	return m.process.start(ctx)
}

func demoSource(secret string) (*provider.Source, error) {
	return provider.New(provider.Options{Provider: "stripe", SourceID: "stripe", Secrets: []provider.Secret{{Label: "secret 1", Value: secret}}})
}

func (m *demo) config() string {
	return fmt.Sprintf(`store: %q
intake: {listen: %q}
admin: {listen: %q}
sources:
  stripe:
    provider: stripe
    secrets: [%q]
destinations:
  shop:   # deduplicates our key
    url: %s
    effect: keyed
    result: header:Onceward-Result
    retry: {attempts: 20, first: 50ms, max: 400ms}
    allow_private: true
  press:  # does not
    url: %s
    effect: unsafe
    allow_private: true
operations:
  fulfil: {source: stripe, types: ["payment_intent.*", "charge.*", "checkout.*"], destination: shop}
  print: {source: stripe, types: ["demo.print"], destination: press}
log: {level: info, format: json}
`, "sqlite:"+filepath.Join(m.dir, "onceward.db"), m.process.intake, m.process.admin, provider.Trial("stripe")[0], m.far.url(), m.once.url())
}

func (m *demo) play(ctx context.Context) error {
	m.say("1. %d events, %d signed copies each, %d senders at once; the shop answers 503 to every fifth first call", demoEvents, demoCopies, demoSenders)
	if err := m.deliver(ctx, "evt_demo_%04d", demoEvents, demoCopies, 0); err != nil {
		return err
	}
	if err := m.waitApplied(ctx, m.far, demoEvents); err != nil {
		return err
	}
	m.say("2. %d known ids arrive with other content, %d deliveries are forged", demoAltered, demoForged)
	if err := m.deliver(ctx, "evt_demo_%04d", demoAltered, 1, 7); err != nil {
		return err
	}
	for i := range demoForged {
		if err := m.post(ctx, m.forger, fmt.Sprintf("evt_forged_%d", i), 0, http.StatusUnauthorized); err != nil {
			return err
		}
	}
	m.say("3. %d more events and one for a press that cannot deduplicate; both sides do their work and never answer", demoStuck)
	m.far.setHold(true)
	m.once.setHold(true)
	if err := m.deliver(ctx, "evt_stuck_%d", demoStuck, 1, 0); err != nil {
		return err
	}
	if err := m.post(ctx, m.source, "evt_press", -1, http.StatusOK); err != nil {
		return err
	}
	if err := m.far.waitHeld(ctx, demoStuck); err != nil {
		return err
	}
	if err := m.once.waitHeld(ctx, 1); err != nil {
		return err
	}
	m.say("4. kill -9, in the middle of all nine calls; restart")
	if err := m.process.kill(); err != nil {
		return err
	}
	m.far.setHold(false)
	m.once.setHold(false)
	if err := m.process.start(ctx); err != nil {
		return err
	}
	m.say("5. the senders repeat everything")
	if err := m.deliver(ctx, "evt_demo_%04d", demoEvents, 1, 0); err != nil {
		return err
	}
	return m.deliver(ctx, "evt_stuck_%d", demoStuck, 1, 0)
}

// deliver sends copies of n events, all mixed, until each was acknowledged.
func (m *demo) deliver(ctx context.Context, pattern string, n, copies, vary int) error {
	var wg sync.WaitGroup
	slots := make(chan struct{}, demoSenders)
	fault := make(chan error, 1)
	for i := range n * copies {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			// Copies of one event go out next to each other, so that they race.
			if err := m.post(ctx, m.source, fmt.Sprintf(pattern, i/copies), vary, http.StatusOK); err != nil {
				select {
				case fault <- err:
				default:
				}
			}
		})
	}
	wg.Wait()
	select {
	case err := <-fault:
		return err
	default:
		return nil
	}
}

// post delivers one copy, again and again until it is answered at all, as a
// sender would. vary changes the content; -1 makes it an event for the press.
func (m *demo) post(ctx context.Context, source *provider.Source, id string, vary, want int) error {
	request := source.Sample(id, max(vary, 0))
	if vary < 0 {
		request.Body = fmt.Appendf(nil, `{"id":%q,"object":"event","type":"demo.print","livemode":false}`, id)
	}
	for {
		request.Now = time.Now()
		if err := source.Sign(request); err != nil {
			return err
		}
		out, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+m.process.intake+"/in/stripe", bytes.NewReader(request.Body))
		if err != nil {
			return err
		}
		out.Header = request.Header
		m.deliveries.Add(1)
		resp, err := http.DefaultClient.Do(out)
		if err != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("demo: no answer within %s", demoWithin)
			}
			continue
		}
		_, _ = io.Copy(io.Discard, resp.Body) // only its status counts
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			return fmt.Errorf("demo: %s was answered %d, not %d", id, resp.StatusCode, want)
		}
		m.mu.Lock()
		m.answered[resp.Header.Get("Onceward-Status")]++
		m.mu.Unlock()
		return nil
	}
}

func (m *demo) waitApplied(ctx context.Context, f *farSide, n int) error {
	if err := f.wait(ctx, func() bool { return len(f.applied) >= n }); err != nil {
		return fmt.Errorf("demo: the far side has %d effects, not %d: %w", f.effects(), n, err)
	}
	return nil
}

// close ends what the run started; a fault brings the gateway's last words.
func (m *demo) close(err error) error {
	if m.process != nil {
		m.process.stop()
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, m.process.lastWords())
		}
	}
	for _, f := range []*farSide{m.far, m.once} {
		if f != nil {
			f.setHold(false)
			f.close()
		}
	}
	return err
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// row is one line of the demo's table.
type row struct {
	what      string
	got, want int
}

func (m *demo) verdict(ctx context.Context) error {
	effects := demoEvents + demoStuck
	story, err := m.outcome(ctx, effects+1)
	if err != nil {
		return err
	}
	rows := []row{
		{"deliveries that were acknowledged", m.acknowledged(), demoEvents*(demoCopies+1) + demoAltered + 2*demoStuck + 1},
		{"  of these recorded as new events", story.events, demoEvents + demoStuck + 1},
		{"  of these answered as duplicates", m.answered["duplicate"], demoEvents*demoCopies + demoStuck},
		{"  of these kept as conflicts", m.answered["conflict"], demoAltered},
		{"forged deliveries, refused and not recorded", m.answered[""], demoForged},
		{"effects at the shop (deduplicates our key)", m.far.effects(), effects},
		{"effects at the press (cannot deduplicate)", m.once.effects(), 1},
		{"calls to the press", m.once.allCalls(), 1},
		{"operations completed", story.completed, effects},
		{"operations recovered after the crash", story.recovered, demoStuck},
		{"outcomes that nobody can know, and that say so", story.unknown, 1},
	}
	table := tabwriter.NewWriter(m.a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\n\tGOT\tEXPECTED\t")
	off := 0
	for _, r := range rows {
		mark := ""
		if r.got != r.want {
			mark, off = "  <- off", off+1
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%s\n", r.what, r.got, r.want, mark)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if off > 0 {
		return fmt.Errorf("demo: %d numbers are off; onceward demo --keep leaves the store and the logs", off)
	}
	m.say("\nEach event had each of its effects once. %d deliveries went out, the shop was called %d times.", m.deliveries.Load(), m.far.allCalls())
	m.say("The press may or may not have printed when the gateway died; Onceward does not guess and does not")
	m.say("print again: it waits for a person (%s operations resolve).", strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe"))
	return nil
}
