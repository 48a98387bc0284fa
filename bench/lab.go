package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/onceward/onceward/bench/event"
	"github.com/onceward/onceward/bench/load"
	"github.com/onceward/onceward/bench/report"
)

// lab is where everything is measured: how long, how often, on which disk.
type lab struct {
	settings
	self     string // this program
	wanted   wanted
	rounds   int
	duration time.Duration
	warmup   time.Duration
	work     string // removed at the end
	made     int    // directories in it
	seed     uint64
	version  string // of the gateway
	busy     string // the load average at the beginning
	sweep    string // how often gateways sweep; their default when empty
}

// family is a group of rows whose runs alternate.
type family struct {
	ids []string
	run func(context.Context, *lab) ([]report.Row, error)
}

func families() []family {
	return []family{
		{[]string{"P1", "P3", "P4", "P8", "P9"}, saturationRows},
		{[]string{"P5"}, latencyRows},
		{[]string{"P6"}, copiesRows},
		{[]string{"P10"}, startRows},
		{[]string{"P13"}, isolationRows},
		{[]string{"P7", "P10", "P11"}, grownRows},
		{[]string{"V1"}, verifyRows},
	}
}

// wanted are the ids of rows to measure; none means all.
type wanted []string

func (w wanted) any(ids ...string) bool {
	return len(w) == 0 || slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(w, id) })
}

func parseWanted(only string) (wanted, error) {
	var w wanted
	var known []string
	for _, f := range families() {
		known = append(known, f.ids...)
	}
	for id := range strings.SplitSeq(only, ",") {
		id = strings.ToUpper(strings.TrimSpace(id))
		switch {
		case id == "":
		case !slices.Contains(known, id):
			return nil, fmt.Errorf("-only %s: there is no such row; the rows are %s", id, strings.Join(known, ", "))
		default:
			w = append(w, id)
		}
	}
	return w, nil
}

func newLab(ctx context.Context, s settings) (*lab, error) {
	l := &lab{settings: s, rounds: 3, duration: 10 * time.Second, warmup: 500 * time.Millisecond, seed: uint64(time.Now().UnixNano()), busy: loadAverage()}
	if s.quick {
		l.rounds, l.duration = 1, 2*time.Second
	}
	var err error
	if l.wanted, err = parseWanted(s.only); err != nil {
		return nil, err
	}
	if l.self, err = os.Executable(); err != nil {
		return nil, err
	}
	if l.gateway, err = filepath.Abs(s.gateway); err != nil {
		return nil, err
	}
	if l.version, err = versionOf(ctx, l.gateway); err != nil {
		return nil, err
	}
	root, err := filepath.Abs(s.dir)
	if err != nil {
		return nil, err
	}
	if fileSystem(root) == memoryFileSystem {
		return nil, errors.New("the data would lie in memory, where a flush costs nothing; -dir must name a directory on a disk")
	}
	if l.work, err = os.MkdirTemp(root, ".bench-*"); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *lab) close() error { return os.RemoveAll(l.work) }

// fresh makes an empty directory, and a function that removes it.
func (l *lab) fresh() (dir string, remove func(), err error) {
	l.made++
	dir = filepath.Join(l.work, fmt.Sprint(l.made))
	return dir, func() { _ = os.RemoveAll(dir) }, os.Mkdir(dir, 0o700) // close removes what is left
}

// corpus makes events that no run had before.
func (l *lab) corpus(style event.Style, address, name string) *event.Corpus {
	l.seed++
	return event.New(event.Options{Style: style, Host: address, Path: intakePath(name), Secret: secret, Seed: l.seed})
}

// load sends a corpus.
func (l *lab) load(ctx context.Context, c *event.Corpus, address string, o load.Options) (*load.Result, error) {
	o.Address = address
	o.Requests = func() load.Requests { return c.Writer() }
	return load.Run(ctx, o)
}

func (l *lab) say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// figure is what one run found. Fields that do not apply are zero.
type figure struct {
	rate        float64 // a second
	p50, p99    time.Duration
	late        time.Duration // median of what the sender was late
	notAccepted int64
	cores       float64 // processor time of the server in a second
	senderCores float64
	peak        float64 // memory, MB
	perEvent    float64 // bytes on disk
	wrong       int64   // ids that did not have exactly one effect
}

func (f figure) String() string {
	var b strings.Builder
	part := func(present bool, format string, args ...any) {
		if present {
			fmt.Fprintf(&b, " "+format, args...)
		}
	}
	part(f.rate > 0, "%8.0f/s", f.rate)
	part(f.p50 > 0, "p50 %.2f ms", milliseconds(f.p50))
	part(f.p99 > 0, "p99 %.2f ms", milliseconds(f.p99))
	part(f.late > 0, "sender late %.2f ms", milliseconds(f.late))
	part(f.cores > 0, "server %.2f cores, sender %.2f", f.cores, f.senderCores)
	part(f.peak > 0, "peak %.1f MB", f.peak)
	part(f.perEvent > 0, "%.0f bytes on disk per event", f.perEvent)
	part(f.notAccepted > 0, "NOT ACCEPTED %d", f.notAccepted)
	part(f.wrong > 0, "WRONG EFFECTS %d", f.wrong)
	return b.String()
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// arm is one side of a comparison.
type arm struct {
	name string
	run  func(context.Context) (figure, error)
}

// alternate runs the arms in turn, A B A B …, so that whatever else happens on
// the machine happens to all of them.
func (l *lab) alternate(ctx context.Context, arms []arm) (map[string][]figure, error) {
	found := map[string][]figure{}
	for round := range l.rounds {
		for _, a := range arms {
			f, err := a.run(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", a.name, err)
			}
			l.say("run %d  %-34s%s", round+1, a.name, f)
			found[a.name] = append(found[a.name], f)
		}
	}
	return found, nil
}

// each picks one number out of every figure.
func each(figures []figure, number func(figure) float64) []float64 {
	var all []float64
	for _, f := range figures {
		all = append(all, number(f))
	}
	return all
}

func rate(f figure) float64 { return f.rate }
