package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of processor time in /proc, the same on every Linux.
const tick = 10 * time.Millisecond

// processorTime returns what a process used so far; 0 where /proc is missing.
func processorTime(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	return parseProcessorTime(string(text))
}

// parseProcessorTime adds user and system time. The second field is the
// program's name in parentheses and may contain anything, so that the fields
// are counted from its end.
func parseProcessorTime(stat string) time.Duration {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	const user, system = 11, 12
	if len(fields) <= system {
		return 0
	}
	u, err1 := strconv.ParseInt(fields[user], 10, 64)
	s, err2 := strconv.ParseInt(fields[system], 10, 64)
	if err1 != nil || err2 != nil {
		return 0
	}
	return time.Duration(u+s) * tick
}

// peakMemory returns the most memory that a process had resident, in megabytes
// (of 2^20 bytes).
func peakMemory(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return parsePeakMemory(string(text))
}

func parsePeakMemory(status string) (float64, error) {
	for line := range strings.Lines(status) {
		value, found := strings.CutPrefix(line, "VmHWM:")
		if !found {
			continue
		}
		kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 64)
		if err != nil {
			return 0, fmt.Errorf("read VmHWM: %w", err)
		}
		return kib / 1024, nil
	}
	return 0, fmt.Errorf("the process's status has no VmHWM")
}
