package provider

import (
	"crypto/sha256"
	"crypto/subtle"
	"slices"
	"strings"
	"time"
)

// gitlab sends a token by default, and signs as Standard Webhooks do when a
// signing token (whsec_…) is set.
func gitlab() Contract {
	return Contract{
		Name:       "gitlab",
		Title:      "GitLab",
		Revision:   "1",
		Category:   "developer",
		SourceDocs: []string{"GitLab Docs: Webhooks", "GitLab MR 230944 (webhook signing token)", "GitLab issue 14888 / 388692 (Idempotency-Key)"},
		Confidence: "verified-from-docs",

		Scheme:      "static-token | standard-webhooks",
		Headers:     []string{"X-Gitlab-Token", "webhook-id", "webhook-timestamp", "webhook-signature"},
		Credentials: []string{gitlabTokenHeader},
		Tolerance:   5 * time.Minute,
		Rotation:    "none: configure the old and the new secret while you change it",

		ID:     []string{"header:Idempotency-Key"},
		Scope:  "one webhook",
		IDNote: "the delivery's idempotency key (the same as webhook-id): X-Gitlab-Event-UUID groups a chain of events, and X-Gitlab-Webhook-UUID names the webhook's configuration",
		Type:   "header:X-Gitlab-Event",

		Handshake: "none",
		Deadline:  10 * time.Second,
		Success:   Reply{Status: 200},
		RetryOn:   "failures, a bounded number of times that is not published",
		Unsubs:    "4 failures in a row disable the webhook for up to 24 h, 40 for good",

		Memory: 7 * 24 * time.Hour,

		newScheme: newGitlabScheme,
		sample:    gitlabSample,
	}
}

// gitlabScheme accepts both ways while a webhook moves from one to the other.
// A request that carries a signature is judged by it alone if a signing token
// is configured, so that its id is the signed one.
type gitlabScheme struct {
	message *messageScheme // nil without a signing token
	tokens  []gitlabToken
	first   Secret
}

type gitlabToken struct {
	label string
	sum   [32]byte
}

const gitlabTokenHeader = "X-Gitlab-Token"

func newGitlabScheme(o *Options) (scheme, error) {
	list, err := secrets(o)
	if err != nil {
		return nil, err
	}
	g := &gitlabScheme{first: list[0]}
	signing := *o
	signing.Secrets = nil
	for _, s := range list {
		if strings.HasPrefix(s.Value, "whsec_") || strings.HasPrefix(s.Value, "v1,whsec_") {
			signing.Secrets = append(signing.Secrets, s)
			continue
		}
		g.tokens = append(g.tokens, gitlabToken{s.Label, sha256.Sum256([]byte(s.Value))})
	}
	if len(signing.Secrets) > 0 {
		if g.message, err = newMessageScheme(&signing, standardHeaders()); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func (g *gitlabScheme) judgedBySignature(r *Request) bool {
	return g.message != nil && (len(g.tokens) == 0 || len(r.values("Webhook-Signature")) > 0)
}

func (g *gitlabScheme) verify(r *Request, body []byte) (verified, *Refusal) {
	if g.judgedBySignature(r) {
		return g.message.verify(r, body)
	}
	sent, state := r.header(gitlabTokenHeader)
	if state == absent {
		return verified{}, refuse(MissingHeader, "header %s is missing", gitlabTokenHeader)
	}
	sum := sha256.Sum256([]byte(sent)) // equal lengths, so that the comparison tells nothing
	for _, t := range g.tokens {
		if subtle.ConstantTimeCompare(sum[:], t.sum[:]) == 1 {
			return verified{label: t.label}, nil
		}
	}
	return verified{}, refuse(TokenMismatch, "the token in %s is none of the %d configured", gitlabTokenHeader, len(g.tokens))
}

func (g *gitlabScheme) sign(r *Request, body []byte) error {
	if g.message != nil && g.message.first == g.first {
		return g.message.sign(r, body)
	}
	r.Header.Set(gitlabTokenHeader, g.first.Value)
	return nil
}

// covers is true only if every request is signed: a token covers nothing.
func (g *gitlabScheme) covers(e *expression) bool {
	return len(g.tokens) == 0 && g.message.covers(e)
}

func (g *gitlabScheme) idHeader(r *Request) string {
	if g.judgedBySignature(r) {
		return g.message.idHeader(r)
	}
	return "Idempotency-Key"
}

func (g *gitlabScheme) describe(c *Contract) {
	if len(g.tokens) > 0 {
		c.notes = append(c.notes, "the token authenticates the caller and nothing about the body: whoever sees one request can make up any other; a signing token (whsec_…) is better")
	}
	if g.message == nil {
		c.Tolerance = 0
	} else if len(g.tokens) == 0 {
		c.BodySigned = true
		if slices.Equal(c.ID, []string{"header:Idempotency-Key"}) {
			c.ID = []string{"header:webhook-id"}
		}
	}
}

func gitlabSample(d *draft) {
	d.kind = "Push Hook"
	d.header("X-Gitlab-Event", d.kind)
	d.header("X-Gitlab-Instance", "https://gitlab.example.com")
	d.header("Idempotency-Key", d.id)
	d.header("Webhook-Id", d.id)
	d.json(`{"object_kind":"push","event_name":"push","before":"95790bf891e76fee5e1747ab589903a6a1f80f22","after":"{sha}",` +
		`"ref":"refs/heads/main","checkout_sha":"{sha}","user_username":"example","project_id":15,"project":{"id":15,"name":"Sample",` +
		`"path_with_namespace":"example/sample"},"commits":[{"id":"{sha}","message":"change number {n}"}],"total_commits_count":1}`)
}
