package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/onceward/onceward/bench/report"
)

// versionOf asks the binary under test what it is, which also finds out early
// that there is none.
func versionOf(ctx context.Context, gateway string) (string, error) {
	out, err := exec.CommandContext(ctx, gateway, "version").Output()
	if err != nil {
		return "", fmt.Errorf("ask the gateway for its version (build it first: make build): %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// machine describes the machine in words and names nothing that is private.
func (l *lab) machine() string {
	words := []string{fmt.Sprintf("%d cores", runtime.NumCPU())}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		if gib := parseMemory(string(text)); gib > 0 {
			words = append(words, fmt.Sprintf("%.0f GiB of memory", gib))
		}
	}
	system := runtime.GOOS
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		system = "Linux " + kernel(string(text))
	}
	if l.busy != "" {
		words = append(words, "load average of "+l.busy+" before the first run (much above 0 means that others took part)")
	}
	return strings.Join(append(words, system+" ("+runtime.GOARCH+")", "data on "+fileSystem(l.work)), ", ") + "; sender, servers and destination share the cores"
}

// loadAverage is how many others wanted to run in the last minute.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	average, _, _ := strings.Cut(string(text), " ")
	return average
}

// kernel keeps the release's numbers: what follows them is the builder's.
func kernel(release string) string {
	release, _, _ = strings.Cut(strings.TrimSpace(release), "-")
	return release
}

func parseMemory(meminfo string) float64 {
	for line := range strings.Lines(meminfo) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "MemTotal:" {
			kib, err := strconv.ParseFloat(fields[1], 64)
			if err == nil {
				return kib / (1 << 20)
			}
		}
	}
	return 0
}

// page puts what was found into words.
func (l *lab) page(began time.Time, rows []report.Row) *report.Page {
	versions := []string{l.version, "bench and baselines with " + runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == "github.com/ncruces/go-sqlite3" {
				versions = append(versions, "SQLite driver ncruces/go-sqlite3 "+d.Version)
			}
		}
	}
	return &report.Page{Date: began, Took: time.Since(began), Machine: l.machine(), Versions: versions, Method: l.method(), Rows: rows}
}

func (l *lab) method() []string {
	return []string{
		fmt.Sprintf("**Method.** Sender, server and destination are processes of their own on one machine and talk over loopback. Bodies are %s of signed JSON in the sender's layout, "+
			"different in every event and under ids that never repeat. Each figure is the median of %d runs of %v, after %v of warming up, "+
			"with a fresh process and an empty store for every run (end to end is measured from the first delivery, without warming up); the runs of what is compared take turns, and a ratio is taken within its turn. Every store waits for the disk (WAL, synchronous=FULL).",
			"1 KiB", l.rounds, l.duration, l.warmup),
		"**Baselines.** *Null*: a `net/http` server that reads the body, checks the signature and the signed time, answers 200 and stores nothing. " +
			"*Naive*: the same, with one `INSERT … ON CONFLICT DO NOTHING` for each delivery over `database/sql`, 16 connections, on the gateway's SQLite driver. " +
			"*One append*: 4 KiB and fdatasync on the same disk in the same turn. Latencies at an offered rate count from the time at which a delivery was due. " +
			"Only ratios carry over to other machines.",
	}
}
