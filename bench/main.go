// Command bench measures the gateway, as the binary that is shipped, against
// handlers that bound it from both sides, in the same run on the same machine:
// one that checks the signature and stores nothing, and one that inserts every
// delivery by itself. Only ratios mean something elsewhere, so every row has
// its baseline beside it.
//
// It owns the processes, the order of the runs and the page that comes out.
// What is sent is package event's, how it is sent is package load's, how it is
// shown is package report's.
//
//	go run ./bench -gateway ./bin/onceward [-quick] [-only P1,P4] [-out FILE]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/onceward/onceward/bench/report"
)

func main() {
	// Children die with the thread that started them; this one lives as long
	// as the program.
	runtime.LockOSThread()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if len(os.Args) > 1 && isRole(os.Args[1]) {
		err = playRole(ctx, os.Args[1], os.Args[2:])
	} else {
		err = measure(ctx, os.Args[1:])
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// settings are what the command line says.
type settings struct {
	gateway string
	quick   bool
	only    string
	out     string
	dir     string
	million int
}

const page = "docs/performance.md"

func parse(args []string) (settings, error) {
	var s settings
	set := flag.NewFlagSet("bench", flag.ContinueOnError)
	set.StringVar(&s.gateway, "gateway", "./bin/onceward", "the binary to measure")
	set.BoolVar(&s.quick, "quick", false, "one run of two seconds for each figure: rough, and not for the page")
	set.StringVar(&s.only, "only", "", "rows to measure, such as P1,P4; all when empty")
	set.StringVar(&s.out, "out", "", "page to rewrite; "+page+" when everything is measured, none otherwise")
	set.StringVar(&s.dir, "dir", ".", "where the data go, on the disk that is to be measured")
	set.IntVar(&s.million, "million", 0, "also measure with so many million events remembered (P7, P10, P11); filling takes a minute or two for each")
	if err := set.Parse(args); err != nil {
		return s, err
	}
	if set.NArg() > 0 {
		return s, fmt.Errorf("%q is not understood; bench takes flags only (-h lists them)", set.Arg(0))
	}
	if s.out == "" && !s.quick && s.only == "" {
		s.out = page
	}
	return s, nil
}

func measure(ctx context.Context, args []string) (err error) {
	s, err := parse(args)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute+time.Duration(s.million)*15*time.Minute)
	defer cancel()
	l, err := newLab(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	began := time.Now()
	var rows []report.Row
	for _, f := range families() {
		if !l.wanted.any(f.ids...) {
			continue
		}
		found, err := f.run(ctx, l)
		if err != nil {
			return fmt.Errorf("measure %s: %w", strings.Join(f.ids, ", "), err)
		}
		for _, r := range found {
			if l.wanted.any(r.ID) {
				rows = append(rows, r)
			}
		}
	}
	fmt.Print("\n", report.Table(rows))
	if s.out == "" {
		return nil
	}
	return write(s.out, l.page(began, rows))
}

// write rewrites the page's generated part.
func write(path string, p *report.Page) error {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(report.Rewrite(string(old), p.Markdown())), 0o644)
}
