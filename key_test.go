package onceward_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/onceward/onceward"
)

func key() onceward.Key {
	return onceward.Key{Tenant: "acme", Source: "pay", Environment: "production", Mode: "live", Account: "acct_1", EventID: "evt_1"}
}

func TestAKeyNamesThePartThatCannotBeUsed(t *testing.T) {
	long := strings.Repeat("x", onceward.MaxKeyPart)
	for name, test := range map[string]struct {
		change func(*onceward.Key)
		part   string // empty when the key is good
	}{
		"all parts given":                     {func(*onceward.Key) {}, ""},
		"only source and event id":            {func(k *onceward.Key) { *k = onceward.Key{Source: "s", EventID: "e"} }, ""},
		"parts of exactly the longest length": {func(k *onceward.Key) { k.EventID, k.Account = long, long }, ""},
		"bytes that are no text":              {func(k *onceward.Key) { k.EventID = "\x00\xff|" }, ""},
		"no source":                           {func(k *onceward.Key) { k.Source = "" }, "source"},
		"no event id":                         {func(k *onceward.Key) { k.EventID = "" }, "event id"},
		"a tenant that is too long":           {func(k *onceward.Key) { k.Tenant = long + "x" }, "tenant"},
		"a source that is too long":           {func(k *onceward.Key) { k.Source = long + "x" }, "source"},
		"an environment that is too long":     {func(k *onceward.Key) { k.Environment = long + "x" }, "environment"},
		"a mode that is too long":             {func(k *onceward.Key) { k.Mode = long + "x" }, "mode"},
		"an account that is too long":         {func(k *onceward.Key) { k.Account = long + "x" }, "account"},
		"an event id that is too long":        {func(k *onceward.Key) { k.EventID = long + "x" }, "event id"},
	} {
		t.Run(name, func(t *testing.T) {
			k := key()
			test.change(&k)
			err := k.Validate()
			var broken *onceward.KeyError
			switch {
			case test.part == "" && err != nil:
				t.Fatalf("a good key was refused: %v", err)
			case test.part == "":
			case !errors.As(err, &broken) || broken.Part != test.part:
				t.Fatalf("got %v, want a KeyError about %s", err, test.part)
			case strings.Contains(err.Error(), "xxx"):
				t.Fatal("the error repeats what the sender wrote")
			}
		})
	}
}

// neighbours are keys that a careless encoding would take for each other.
func neighbours() []onceward.Key {
	return []onceward.Key{
		{Source: "a", EventID: "bc"},
		{Source: "ab", EventID: "c"},
		{Source: "a", EventID: "b", Account: "c"},
		{Source: "a", Account: "b", EventID: "c"},
		{Source: "a", Mode: "b", EventID: "c"},
		{Tenant: "a", Source: "b", EventID: "c"},
		{Source: "a", Environment: "b", EventID: "c"},
		{Source: "a\x01b", EventID: "c"},
		{Source: "a", EventID: "\x01bc"},
		{Source: "a", EventID: "b\x00c"},
		{Source: "a", EventID: "b", Mode: "\x00"},
		{Source: "a", EventID: strings.Repeat("b", 127)},
		{Source: "a", EventID: strings.Repeat("b", 128)},
		{Source: "a", EventID: "b|c"},
		{},
	}
}

func TestDifferentKeysHaveDifferentBytesDigestsAndDownstreamKeys(t *testing.T) {
	pepper := onceward.Pepper{Name: "p", Secret: []byte("pepper")}
	bytes, digests, downstream := map[string]int{}, map[onceward.Digest]int{}, map[string]int{}
	for i, k := range neighbours() {
		b, err := k.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		d := pepper.Digest(k)
		if n, taken := bytes[string(b)]; taken {
			t.Errorf("keys %d and %d have the same bytes", n, i)
		}
		if n, taken := digests[d]; taken {
			t.Errorf("keys %d and %d have the same digest", n, i)
		}
		if n, taken := downstream[d.Downstream("fulfil", 0, "")]; taken {
			t.Errorf("keys %d and %d have the same downstream key", n, i)
		}
		bytes[string(b)], digests[d], downstream[d.Downstream("fulfil", 0, "")] = i, i, i
	}
}

func TestBytesThatAreNoKeyAreRefused(t *testing.T) {
	good, _ := key().AppendBinary(nil)
	for name, b := range map[string][]byte{
		"nothing":                        nil,
		"a part that is cut short":       good[:len(good)-1],
		"a part that is missing":         good[:1],
		"something behind":               append(append([]byte(nil), good...), 0),
		"a length beyond the end":        {0xff, 0x01},
		"a length that does not end":     {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"a length beyond what int holds": {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
	} {
		t.Run(name, func(t *testing.T) {
			k := key()
			if err := k.UnmarshalBinary(b); err == nil {
				t.Fatalf("read as %+v", k)
			}
			if k != key() {
				t.Fatal("the key was changed although the bytes were refused")
			}
		})
	}
}

func FuzzKey(f *testing.F) {
	for _, k := range neighbours() {
		f.Add(k.Tenant, k.Source, k.Environment, k.Mode, k.Account, k.EventID, "a", "", "", "", "", "bc")
	}
	f.Fuzz(func(t *testing.T, a, b, c, d, e, g, h, i, j, k, l, m string) {
		first, second := onceward.Key{a, b, c, d, e, g}, onceward.Key{h, i, j, k, l, m}
		one, _ := first.AppendBinary([]byte("before"))
		two, _ := second.AppendBinary([]byte("before"))
		if (string(one) == string(two)) != (first == second) {
			t.Fatalf("%+v and %+v: equal bytes must mean equal keys, and the reverse", first, second)
		}
		var back onceward.Key
		if err := back.UnmarshalBinary(one[len("before"):]); err != nil || back != first {
			t.Fatalf("%+v came back as %+v, %v", first, back, err)
		}
	})
}

func FuzzKeyBytes(f *testing.F) {
	for _, k := range neighbours() {
		b, _ := k.AppendBinary(nil)
		f.Add(b)
	}
	f.Add([]byte{0x80, 0x00, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var k, again onceward.Key
		if k.UnmarshalBinary(b) != nil {
			return
		}
		written, _ := k.AppendBinary(nil)
		if err := again.UnmarshalBinary(written); err != nil || again != k {
			t.Fatalf("%+v came back as %+v, %v", k, again, err)
		}
		if string(written) != string(b) {
			t.Fatalf("%x and %x are two spellings of one key", b, written)
		}
	})
}

func TestADigestDependsOnThePepperAndTheKeyAlone(t *testing.T) {
	p := onceward.Pepper{Name: "p1", Secret: []byte("0123456789abcdef0123456789abcdef")}
	d := p.Digest(key())
	if got, want := d.String(), "7b988268758e0faeab900bb711e50f6c"; got != want {
		t.Errorf("digest %s, want %s: a changed digest makes every known event new", got, want)
	}
	if d.IsZero() || !(onceward.Digest{}).IsZero() {
		t.Error("IsZero is wrong")
	}
	h := p.Hasher()
	for range 2 { // a hasher that is used again must not remember
		if h.Digest(onceward.Key{Source: "other", EventID: "x"}) == d || h.Digest(key()) != d {
			t.Fatal("a hasher's digest depends on what it hashed before")
		}
	}
	renamed := p
	renamed.Name = "p2"
	if renamed.Digest(key()) != d {
		t.Error("the pepper's name is part of the digest")
	}
	if (onceward.Pepper{Secret: []byte("other")}).Digest(key()) == d {
		t.Error("another pepper gives the same digest")
	}
}

func TestASignedBodyIsRememberedApartFromKeys(t *testing.T) {
	h := onceward.Pepper{Secret: []byte("pepper")}.Hasher()
	sha := [32]byte{1}
	body := h.Body(key(), "", sha)
	other := key()
	other.EventID = "evt_2"
	for name, test := range map[string]struct {
		got  onceward.Digest
		same bool
	}{
		"another event id":   {h.Body(other, "", sha), true},
		"another body":       {h.Body(key(), "", [32]byte{2}), false},
		"another part":       {h.Body(key(), "orders/paid", sha), false},
		"another source":     {h.Body(onceward.Key{Source: "x", EventID: "evt_1"}, "", sha), false},
		"the event's digest": {h.Digest(key()), false},
	} {
		if (test.got == body) != test.same {
			t.Errorf("%s: same digest is %v, want %v", name, test.got == body, test.same)
		}
	}
}

func TestDownstreamKeysAreStableShortAndDistinct(t *testing.T) {
	d := onceward.Digest{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	// These are on record at other people's servers. They never change.
	golden := map[string]string{
		d.Downstream("fulfil", 0, ""):           "ow_aaaqeayeaudaocajbifqydiob5ubreydqjlt7zy",
		d.Downstream("fulfil", 1, ""):           "ow_aaaqeayeaudaocajbifqydiob5xdxyg5ptzjphq",
		d.Downstream("fulfil", 0, "account"):    "ow_aaaqeayeaudaocajbifqydiob6j2zxpcv3uakai",
		d.Downstream("onboard", 0, ""):          "ow_aaaqeayeaudaocajbifqydiob5c2gr274ddxira",
		d.Downstream("fulfi", 0, "l"):           "ow_aaaqeayeaudaocajbifqydiob5h2bspnnkbfqjy",
		d.Downstream("fulfil", 300, ""):         "ow_aaaqeayeaudaocajbifqydiob5uvpjsfj7xlwui",
		onceward.Digest{}.Downstream("", 0, ""): "ow_aaaaaaaaaaaaaaaaaaaaaaaaadmcpizopv4xtrq",
	}
	if len(golden) != 7 {
		t.Fatalf("only %d of 7 keys are distinct", len(golden))
	}
	for got, want := range golden {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	long := d.Downstream(strings.Repeat("operation", 100), 1<<40, strings.Repeat("step", 100))
	for _, k := range []string{long, d.Downstream("fulfil", 0, "")} {
		if len(k) != 42 || strings.Trim(k[3:], "abcdefghijklmnopqrstuvwxyz234567") != "" || !strings.HasPrefix(k, "ow_") {
			t.Errorf("%q is not ow_ and 39 characters of base32", k)
		}
	}
}

func TestADownstreamKeyLeadsBackToItsEvent(t *testing.T) {
	d := onceward.Pepper{Secret: []byte("p")}.Digest(key())
	for _, k := range []string{d.Downstream("fulfil", 0, ""), d.Downstream("other", 7, "step")} {
		if got, err := onceward.ParseDownstream(k); err != nil || got != d {
			t.Errorf("%s: %s, %v, want %s", k, got, err, d)
		}
	}
	good := d.Downstream("fulfil", 0, "")
	for name, text := range map[string]string{
		"nothing":            "",
		"only the prefix":    "ow_",
		"without the prefix": good[3:],
		"the prefix twice":   "ow_" + good,
		"one too short":      good[:41],
		"one too long":       good + "a",
		"other letters":      strings.ToUpper(good),
		"a digit of no base": good[:41] + "1",
		"an event id":        onceward.EventID(5).String(),
		"a line break":       good[:20] + "\n" + good[20:],
	} {
		if got, err := onceward.ParseDownstream(text); err == nil {
			t.Errorf("%s: %q was read as %s", name, text, got)
		}
	}
}

func FuzzParseDownstream(f *testing.F) {
	f.Add(onceward.Digest{1}.Downstream("fulfil", 0, ""))
	f.Add("ow_")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := onceward.ParseDownstream(text)
		if err == nil && !strings.HasPrefix(text, d.Downstream("x", 0, "")[:3+25]) {
			t.Fatalf("%q does not carry %s", text, d)
		}
	})
}
