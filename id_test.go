package onceward_test

import (
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func TestEventIDsRiseWhateverTheClockDoes(t *testing.T) {
	var ids onceward.EventIDs
	last := onceward.EventID(0)
	for _, at := range []time.Time{noon, noon, noon.Add(time.Millisecond), noon.Add(-time.Hour), noon.Add(-time.Hour), {}, noon.Add(time.Hour), noon} {
		id := ids.Next(at)
		if id <= last {
			t.Fatalf("%s after %s", id, last)
		}
		last = id
	}
	ids.Observe(last + 1000)
	if id := ids.Next(noon); id != last+1001 {
		t.Fatalf("%d after %d was observed", id, last+1000)
	}
	ids.Observe(1)
	if id := ids.Next(noon); id != last+1002 {
		t.Fatalf("an older id that was observed moved the sequence to %d", id)
	}
}

func TestConcurrentEventIDsAreDistinct(t *testing.T) {
	var ids onceward.EventIDs
	var mu sync.Mutex
	seen := map[onceward.EventID]bool{}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 200 {
				id := ids.Next(noon)
				mu.Lock()
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(seen) != 16*200 {
		t.Fatalf("%d distinct ids of %d", len(seen), 16*200)
	}
}

func TestAnEventIDTellsItsMillisecond(t *testing.T) {
	for _, at := range []time.Time{noon, noon.Add(123 * time.Millisecond), time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2290, 1, 1, 0, 0, 0, 0, time.UTC)} {
		if got := onceward.EventIDAt(at).Time(); !got.Equal(at) || got.Location() != time.UTC {
			t.Errorf("%s came back as %s", at, got)
		}
	}
	if got := onceward.EventIDAt(noon.Add(999 * time.Microsecond)); got != onceward.EventIDAt(noon) {
		t.Error("microseconds are part of an id")
	}
}

func TestTimesThatNoIDCanHaveAreTheNearestThatOneCan(t *testing.T) {
	// Filters come from people: until=9999-12-31 must mean everything.
	for _, early := range []time.Time{{}, time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-9999, 1, 1, 0, 0, 0, 0, time.UTC)} {
		if id := onceward.EventIDAt(early); id != 0 {
			t.Errorf("%s gives %d, want 0", early, id)
		}
	}
	last := onceward.EventIDAt(noon)
	for _, late := range []time.Time{time.Date(2298, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), time.UnixMilli(math.MaxInt64)} {
		id := onceward.EventIDAt(late)
		if id < last {
			t.Errorf("%s gives %d, which is before %d", late, id, last)
		}
		last = max(last, id)
	}
}

func TestTextsOfEventIDsSortAsTheNumbersDo(t *testing.T) {
	numbers := []onceward.EventID{0, 1, 31, 32, 1 << 20, onceward.EventIDAt(noon), onceward.EventIDAt(noon) + 1, onceward.EventIDAt(noon.Add(time.Hour)), math.MaxInt64}
	var texts []string
	for _, id := range numbers {
		texts = append(texts, id.String())
		if got, err := onceward.ParseEventID(id.String()); err != nil || got != id {
			t.Errorf("%d came back as %d, %v", id, got, err)
		}
		if got, err := onceward.ParseEventID(strings.ToUpper(id.String())); err != nil || got != id {
			t.Errorf("%d in capitals came back as %d, %v", id, got, err)
		}
	}
	if !slices.IsSorted(texts) {
		t.Errorf("not in order: %v", texts)
	}
	if got, want := numbers[5].String(), "evt_06b9h5xg00000"; got != want {
		t.Errorf("got %s, want %s: ids stand in people's notes", got, want)
	}
}

func TestTextsThatAreNoIDsAreRefused(t *testing.T) {
	event := onceward.EventIDAt(noon).String()
	for name, text := range map[string]string{
		"nothing":                  "",
		"only the prefix":          "evt_",
		"another prefix":           "ev_" + event[4:],
		"one too short":            event[:len(event)-1],
		"one too long":             event + "0",
		"a letter of no base":      event[:len(event)-1] + "u",
		"a space before":           " " + event,
		"a negative number":        "evt_" + "g000000000000",
		"a number of 65 bits":      "evt_" + "z000000000000",
		"letters that fold to one": "evt_" + "\u212a" + event[5:],
	} {
		if id, err := onceward.ParseEventID(text); err == nil {
			t.Errorf("%s: %q was read as event %d", name, text, id)
		}
	}
	op := "op_" + event[4:]
	for name, text := range map[string]string{
		"nothing":               "",
		"without a number":      op,
		"an empty number":       op + "_",
		"number zero":           op + "_0",
		"a negative number":     op + "_-1",
		"a sign":                op + "_+1",
		"a zero in front":       op + "_01",
		"two numbers":           op + "_1_2",
		"a number out of range": op + "_99999999999999999999",
		"an event's id":         event + "_1",
	} {
		if id, err := onceward.ParseOperationID(text); err == nil {
			t.Errorf("%s: %q was read as operation %v", name, text, id)
		}
	}
}

func FuzzParseEventID(f *testing.F) {
	f.Add("evt_0000000000000")
	f.Add("EVT_7zzzzzzzzzzzz")
	f.Add(onceward.EventIDAt(noon).String())
	f.Fuzz(func(t *testing.T, text string) {
		id, err := onceward.ParseEventID(text)
		if err == nil && (id < 0 || id.String() != strings.ToLower(text)) {
			t.Fatalf("%q was read as %d, which is written %q", text, id, id)
		}
	})
}

func FuzzParseOperationID(f *testing.F) {
	f.Add("op_0000000000000_1")
	f.Add(onceward.OperationID{Event: onceward.EventIDAt(noon), N: 12}.String())
	f.Fuzz(func(t *testing.T, text string) {
		id, err := onceward.ParseOperationID(text)
		if err == nil && (id.N < 1 || id.String() != strings.ToLower(text)) {
			t.Fatalf("%q was read as %v", text, id)
		}
	})
}
