package event

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"time"
)

// stripeBody returns a body in Stripe's layout and says where the event's id
// stands in it. What differs between two real events differs here too: ids,
// people, amounts, times, cards, and the long token of the receipt's address,
// which fills the body up to its size.
func stripeBody(r *rand.Rand, now time.Time) (body []byte, id int) {
	created := now.Add(-time.Duration(r.IntN(90_000)) * time.Millisecond).Unix()
	buyer := somebody(r)
	head := fmt.Appendf(nil, `{
  "id": "%s",
  "object": "event",
  "api_version": "2025-09-30.clover",
  "created": %d,
  "data": {
    "object": {
      "id": "ch_3S%s",
      "object": "charge",
      "amount": %d,
      "billing_details": {
        "email": "%s",
        "name": "%s"
      },
      "created": %d,
      "currency": "%s",
      "customer": "cus_T%s",
      "metadata": {
        "order": "%d"
      },
      "payment_intent": "pi_3S%s",
      "card": {
        "brand": "%s",
        "exp_month": %d,
        "exp_year": %d,
        "last4": "%04d"
      },
      "receipt_url": "https://pay.stripe.com/receipts/`,
		blank(stripeIDLength), created, text(r, 22), 100+r.IntN(90_000), buyer.email, buyer.name,
		created-int64(r.IntN(3)), pick(r, currencies), text(r, 13), 100_000+r.IntN(900_000), text(r, 22), pick(r, brands),
		1+r.IntN(12), 2026+r.IntN(6), r.IntN(10_000))
	tail := fmt.Appendf(nil, `",
      "status": "succeeded"
    }
  },
  "livemode": true,
  "pending_webhooks": %d,
  "request": {
    "id": "req_%s",
    "idempotency_key": null
  },
  "type": "%s"
}`, 1+r.IntN(3), text(r, 14), pick(r, chargeTypes))
	body = append(head, text(r, Size-len(head)-len(tail))...)
	body = append(body, tail...)
	return body, bytes.Index(body, blank(stripeIDLength))
}

// githubBody returns the body of a push and says where the commit stands that
// makes it unlike every other: GitHub's ids are not signed, so a gateway
// rightly takes an equal body under another id for a replay.
func githubBody(r *rand.Rand, now time.Time) (body []byte, commit int) {
	author := somebody(r)
	repository := pick(r, words) + "-" + pick(r, words)
	head := fmt.Appendf(nil, `{"ref":"refs/heads/%s","before":"%s","after":"%s","created":false,"deleted":false,"forced":%t,`+
		`"repository":{"id":%d,"name":"%s","full_name":"example/%s","private":%t,"default_branch":"main","pushed_at":%d},`+
		`"pusher":{"name":"%s","email":"%s"},"sender":{"login":"%s","id":%d,"type":"User"},`+
		`"commits":[{"id":"%s","tree_id":"%s","distinct":true,"timestamp":"%s","author":{"name":"%s","email":"%s"},"added":[],"removed":[],"modified":["%s/%s.go"],"message":"`,
		pick(r, words), hexText(r, commitLength), blank(commitLength), r.IntN(9) == 0, 100_000_000+r.IntN(800_000_000), repository, repository,
		r.IntN(2) == 0, now.Unix(), author.login, author.email, author.login, 1_000_000+r.IntN(90_000_000), hexText(r, commitLength),
		hexText(r, commitLength), now.UTC().Format(time.RFC3339), author.name, author.email, pick(r, words), pick(r, words))
	const tail = `"}]}`
	body = append(head, sentence(r, Size-len(head)-len(tail))...)
	body = append(body, tail...)
	return body, bytes.Index(body, blank(commitLength))
}

// sentence returns words of exactly n bytes.
func sentence(r *rand.Rand, n int) []byte {
	b := make([]byte, 0, n+16)
	for len(b) < n {
		b = append(append(b, pick(r, words)...), ' ')
	}
	return b[:n]
}

// text returns n random letters and digits.
func text(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = digits[r.IntN(len(digits))]
	}
	return b
}

func hexText(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = "0123456789abcdef"[r.IntN(16)]
	}
	return b
}
