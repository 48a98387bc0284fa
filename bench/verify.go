package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// verifier checks Stripe's or GitHub's signature as cheaply as a careful
// programmer would by hand: no general contract, one pooled hash.
type verifier struct {
	github bool
	macs   sync.Pool
	bodies sync.Pool
}

func newVerifier(style, secret string) *verifier {
	v := &verifier{github: style == "github"}
	v.macs.New = func() any { return hmac.New(sha256.New, []byte(secret)) }
	v.bodies.New = func() any { return new(bytes.Buffer) }
	return v
}

// largestBody bounds what is read before a signature was checked.
const largestBody = 1 << 20

// tolerance is how old a signed time may be.
const tolerance = 5 * time.Minute

// body reads a request's body and checks its signature. The buffer is to be
// given back.
func (v *verifier) body(r *http.Request) (*bytes.Buffer, bool) {
	b, _ := v.bodies.Get().(*bytes.Buffer)
	b.Reset()
	if _, err := b.ReadFrom(io.LimitReader(r.Body, largestBody)); err != nil {
		return b, false
	}
	return b, v.verify(r.Header, b.Bytes(), time.Now()) == nil
}

func (v *verifier) giveBack(b *bytes.Buffer) { v.bodies.Put(b) }

var (
	errNoSignature = errors.New("the signature header is missing or has another form")
	errStale       = errors.New("the signed time is too far away")
	errSignature   = errors.New("the signature is wrong")
)

func (v *verifier) verify(h http.Header, body []byte, now time.Time) error {
	var stamp, sent string
	if v.github {
		sent = strings.TrimPrefix(h.Get("X-Hub-Signature-256"), "sha256=")
	} else {
		var ok bool
		if stamp, sent, ok = cutStripe(h.Get("Stripe-Signature")); !ok {
			return errNoSignature
		}
		at, err := strconv.ParseInt(stamp, 10, 64)
		if err != nil {
			return errNoSignature
		}
		if age := now.Sub(time.Unix(at, 0)); age > tolerance || age < -tolerance {
			return errStale
		}
	}
	var want [sha256.Size]byte
	if len(sent) != 2*len(want) {
		return errNoSignature
	}
	if _, err := hex.Decode(want[:], []byte(sent)); err != nil {
		return errNoSignature
	}
	if !v.matches(stamp, body, want[:]) {
		return errSignature
	}
	return nil
}

func (v *verifier) matches(stamp string, body, want []byte) bool {
	mac, _ := v.macs.Get().(hash.Hash)
	defer v.macs.Put(mac)
	mac.Reset()
	if !v.github {
		mac.Write([]byte(stamp + "."))
	}
	mac.Write(body)
	return hmac.Equal(mac.Sum(nil), want)
}

// cutStripe finds the time and the first v1 signature.
func cutStripe(header string) (stamp, signature string, ok bool) {
	for part := range strings.SplitSeq(header, ",") {
		switch name, value, _ := strings.Cut(part, "="); {
		case name == "t":
			stamp = value
		case name == "v1" && signature == "":
			signature = value
		}
	}
	return stamp, signature, stamp != "" && signature != ""
}
