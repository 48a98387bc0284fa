package script_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// The bench's secrets. They are made up and protect nothing.
const (
	hubSecret      = "test-secret-not-real-01"
	shopSecret     = "test-secret-not-real-02"
	paySecret      = "test-secret-not-real-03"
	slackSecret    = "test-secret-not-real-05"
	standardSecret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
)

// signer makes the headers that a sender would make.
type signer struct {
	on     bool
	scheme string
	secret string // the bench's when empty
	// literal takes a Standard Webhooks secret as bytes, without decoding.
	literal bool
	id      string // identity header; none when empty
	age     time.Duration
}

// schemeOf is how a source of the bench signs; what follows a hyphen in its
// name is only another configuration of it.
func schemeOf(source string) string {
	source, _, _ = strings.Cut(source, "-")
	switch source {
	case "gh", "gj", "batch":
		return "hub"
	}
	return source
}

func (s signer) lines(body []byte) ([]string, error) {
	at := time.Now().Add(-s.age).Unix()
	var lines []string
	if name := map[string]string{"hub": "X-GitHub-Delivery", "shop": "X-Shopify-Event-Id", "std": "webhook-id"}[s.scheme]; s.id != "" && name != "" {
		lines = append(lines, name+": "+s.id)
	}
	if !s.on {
		return lines, nil
	}
	secret := func(bench string) []byte {
		if s.secret != "" {
			return []byte(s.secret)
		}
		return []byte(bench)
	}
	switch s.scheme {
	case "hub":
		lines = append(lines, "X-Hub-Signature-256: sha256="+hex.EncodeToString(mac(secret(hubSecret), body)))
	case "shop":
		lines = append(lines, "X-Shopify-Hmac-Sha256: "+base64.StdEncoding.EncodeToString(mac(secret(shopSecret), body)))
	case "pay":
		sum := mac(secret(paySecret), fmt.Appendf(nil, "%d.%s", at, body))
		lines = append(lines, fmt.Sprintf("Stripe-Signature: t=%d,v1=%x", at, sum))
	case "slack":
		sum := mac(secret(slackSecret), fmt.Appendf(nil, "v0:%d:%s", at, body))
		lines = append(lines, fmt.Sprintf("X-Slack-Request-Timestamp: %d", at), fmt.Sprintf("X-Slack-Signature: v0=%x", sum))
	case "std":
		key := secret(standardSecret)
		if !s.literal {
			var err error
			if key, err = base64.StdEncoding.DecodeString(strings.TrimPrefix(string(key), "whsec_")); err != nil {
				return nil, err
			}
		}
		sum := mac(key, fmt.Appendf(nil, "%s.%d.%s", s.id, at, body))
		lines = append(lines, fmt.Sprintf("webhook-timestamp: %d", at), "webhook-signature: v1,"+base64.StdEncoding.EncodeToString(sum))
	default:
		return nil, fmt.Errorf("the bench has no scheme for a source %s; use -as", s.scheme)
	}
	return lines, nil
}

func mac(key, text []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(text)
	return h.Sum(nil)
}
