package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"net/http"
	"strings"
	"time"

	"github.com/onceward/onceward/bench/event"
	"github.com/onceward/onceward/bench/report"
	"github.com/onceward/onceward/provider"
)

// verifyRows ask what finding and checking a signature costs beside the HMAC
// that it rests on. Every sender whose signature is one HMAC in one header is
// measured in this process, and the slowest beside its HMAC is shown.
func verifyRows(ctx context.Context, l *lab) ([]report.Row, error) {
	row := report.Row{ID: "V1", What: "verifications ÷ bare HMACs of the same body, slowest sender", Must: report.AtLeast(1 / 1.3)}
	names := map[string]bool{}
	senders := 0
	for range l.rounds {
		slowest, name := [2]float64{1, 1e9}, ""
		senders = 0
		for _, c := range provider.Contracts() {
			if c.Signature.Header == "" || c.Category == "generic" || c.NeedBody && c.Items != "" {
				continue
			}
			own, bare, err := verifyCost(ctx, c)
			if err != nil {
				return nil, fmt.Errorf("verify as %s: %w", c.Name, err)
			}
			senders++
			if own/bare < slowest[0]/slowest[1] || name == "" {
				slowest, name = [2]float64{own, bare}, c.Name
			}
		}
		row.Own, row.Baseline = append(row.Own, slowest[0]), append(row.Baseline, slowest[1])
		names[name] = true
	}
	var list []string
	for name := range names {
		list = append(list, name)
	}
	row.Note = fmt.Sprintf("of %d senders the slowest was %s; a bare HMAC is a new state, the body, the sum and the comparison", senders, strings.Join(list, ", "))
	l.say("       %s: %.2f", row.What, row.Figure())
	return []report.Row{row}, nil
}

const verifyFor = 20 * time.Millisecond // for each of the two, in turn, three times

// verifyCost measures how often in a second a sender's signature over a body of
// one kilobyte is verified, and how often its bare HMAC is.
func verifyCost(ctx context.Context, c provider.Contract) (own, bare float64, err error) {
	key := bytes.Repeat([]byte{'k'}, 32)
	secret := provider.Secret{Label: "secret 1", Value: string(key)}
	switch c.Signature.Key {
	case "hex":
		secret.Value = hex.EncodeToString(key)
	case "base64":
		secret.Value = base64.StdEncoding.EncodeToString(key)
	}
	s, err := provider.New(provider.Options{Provider: c.Name, SourceID: "bench", Secrets: []provider.Secret{secret}})
	if err != nil {
		return 0, 0, err
	}
	now := time.Now()
	r := s.SampleAt("evt_bench", 1, now)
	r.Now, r.URL, r.Method = now, "https://hooks.example.com/in/bench", http.MethodPost
	r.Body = append(r.Body, bytes.Repeat([]byte{' '}, max(event.Size-len(r.Body), 0))...)
	if err := s.Sign(r); err != nil {
		return 0, 0, err
	}
	algorithm := map[string]func() hash.Hash{"": sha256.New, "sha256": sha256.New, "sha1": sha1.New, "sha512": sha512.New}[c.Signature.Algorithm]
	reference := hmac.New(algorithm, key)
	reference.Write(r.Body)
	sum := reference.Sum(nil)
	var fault error
	for range 3 {
		own = max(own, perSecond(ctx, func() {
			if _, err := s.Verify(r); err != nil {
				fault = err
			}
		}))
		bare = max(bare, perSecond(ctx, func() {
			m := hmac.New(algorithm, key)
			m.Write(r.Body)
			if !hmac.Equal(m.Sum(nil), sum) {
				fault = fmt.Errorf("the HMAC is not the same twice")
			}
		}))
	}
	return own, bare, fault
}

func perSecond(ctx context.Context, f func()) float64 {
	began, n := time.Now(), 0
	for time.Since(began) < verifyFor && ctx.Err() == nil {
		for range 50 {
			f()
		}
		n += 50
	}
	return float64(n) / time.Since(began).Seconds()
}
