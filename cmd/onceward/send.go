package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/onceward/onceward/provider"
)

// sendCommand signs an event as a sender would and posts it.
type sendCommand struct {
	Provider string        `help:"Sender to sign as." required:""`
	URL      string        `help:"Intake URL; the default is the source of that name at a local gateway." placeholder:"URL"`
	Secret   []string      `help:"Signing secret, or file:PATH; repeat it for senders that need a key and settings. The default is what onceward dev uses." sep:"none" placeholder:"SECRET"`
	ID       string        `help:"Event id; the default is a new one." placeholder:"ID"`
	Body     string        `help:"File with the body to send instead of a sample; - is standard input." placeholder:"FILE"`
	Header   []string      `help:"Header to send as well, 'Name: value'; may be repeated." short:"H" sep:"none" placeholder:"LINE"`
	Copies   int           `help:"How many copies to send." default:"1"`
	Parallel int           `help:"How many of them at once." default:"1"`
	Alter    bool          `help:"Give every copy but the first another content under the same id."`
	Timeout  time.Duration `help:"How long to wait for each answer." default:"15s"`

	// at is when the event happened: the same in every copy, whenever that is
	// signed and sent.
	at time.Time
}

// sent is what came of one delivery.
type sent struct {
	Copy   int     `json:"copy"`
	Status int     `json:"status"`
	Answer string  `json:"answer"`
	Event  string  `json:"event"`
	Millis float64 `json:"milliseconds"`
	Error  string  `json:"error,omitempty"`
}

// Run sends the copies and prints what each was answered. It fails when any of
// them was not answered with success.
func (s *sendCommand) Run(ctx context.Context, a *app) error {
	if s.Copies < 1 || s.Parallel < 1 {
		return misuse("--copies and --parallel are at least 1")
	}
	source, err := s.source()
	if err != nil {
		return err
	}
	if s.ID == "" {
		s.ID = "evt_" + strings.ToLower(rand.Text()[:16])
	}
	if s.URL == "" {
		s.URL = "http://" + devIntake + "/in/" + s.Provider
	}
	s.at = time.Now()
	results := make([]sent, s.Copies)
	var wg sync.WaitGroup
	slots := make(chan struct{}, s.Parallel)
	for i := range results {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			results[i] = s.deliver(ctx, source, i)
		})
	}
	wg.Wait()
	return s.print(a, results)
}

func (s *sendCommand) source() (*provider.Source, error) {
	secrets := provider.Trial(s.Provider)
	if len(s.Secret) > 0 {
		secrets = nil
		for _, one := range s.Secret {
			value, err := secretValue(one)
			if err != nil {
				return nil, err
			}
			secrets = append(secrets, value)
		}
	}
	o := provider.Options{Provider: s.Provider, SourceID: s.Provider, Signature: devSignature(s.Provider)}
	if s.Provider == "hmac" {
		o.ID, o.Type = []string{"body:id"}, "body:type"
	}
	for i, value := range secrets {
		o.Secrets = append(o.Secrets, provider.Secret{Label: fmt.Sprintf("secret %d", i+1), Value: value})
	}
	return provider.New(o)
}

func (s *sendCommand) deliver(ctx context.Context, source *provider.Source, n int) sent {
	result := sent{Copy: n + 1}
	request, err := s.request(source, n)
	if err != nil {
		result.Error = err.Error()
		return result
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	out, err := http.NewRequestWithContext(ctx, http.MethodPost, request.URL, bytes.NewReader(request.Body))
	if err != nil {
		result.Error = "the URL cannot be used"
		return result
	}
	out.Header = request.Header
	began := time.Now()
	resp, err := http.DefaultClient.Do(out)
	result.Millis = float64(time.Since(began).Microseconds()) / 1000
	if err != nil {
		result.Error = "no answer from " + s.URL + "; is the gateway running (onceward dev)?"
		return result
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // what is there of it is shown
	result.Status, result.Event = resp.StatusCode, resp.Header.Get("Onceward-Event")
	if result.Answer = resp.Header.Get("Onceward-Status"); result.Answer == "" {
		var p struct{ Detail string }
		if json.Unmarshal(body, &p) == nil {
			result.Answer = p.Detail
		}
	}
	return result
}

func (s *sendCommand) request(source *provider.Source, n int) (*provider.Request, error) {
	vary := 0
	if s.Alter {
		vary = n
	}
	request := source.SampleAt(s.ID, vary, s.at)
	if s.Body != "" {
		body, err := readBody(s.Body)
		if err != nil {
			return nil, err
		}
		request.Body = body
		if s.Alter && n > 0 {
			request.Body = append(request.Body, []byte(strings.Repeat(" ", n))...)
		}
	}
	for _, h := range s.Header {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return nil, misuse("a header is written 'Name: value'")
		}
		request.Header.Set(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	request.URL, request.Now = s.URL, time.Now()
	return request, source.Sign(request)
}

func (s *sendCommand) print(a *app, results []sent) error {
	failed := 0
	for i := range results {
		if results[i].Error != "" || results[i].Status >= 300 {
			failed++
		}
	}
	if a.json {
		out := json.NewEncoder(a.stdout)
		for i := range results {
			if err := out.Encode(results[i]); err != nil {
				return err
			}
		}
	} else {
		table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "COPY\tSTATUS\tANSWER\tEVENT\tTOOK")
		for _, r := range results {
			fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%.1f ms\n", r.Copy, orDash(statusText(r.Status)), printable(r.Answer+r.Error), orDash(printable(r.Event)), r.Millis)
		}
		if err := table.Flush(); err != nil {
			return err
		}
		if event := results[0].Event; event != "" {
			fmt.Fprintf(a.stdout, "\nThe whole story of it: %s events show %s\n", os.Args[0], printable(event))
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d deliveries were not accepted", failed, len(results))
	}
	return nil
}

func statusText(code int) string {
	if code == 0 {
		return ""
	}
	return fmt.Sprint(code)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func span(d time.Duration) string {
	switch {
	case d == 0:
		return ""
	case d%(24*time.Hour) == 0:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
	return d.String()
}
