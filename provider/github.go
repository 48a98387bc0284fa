package provider

import "time"

// github signs the body and nothing else; its delivery id stands in a header.
func github() Contract {
	sig := Signature{Header: "X-Hub-Signature-256", Prefix: "sha256="}
	return Contract{
		Name:       "github",
		Title:      "GitHub (repository, organization and App webhooks)",
		Revision:   "1",
		Category:   "developer",
		SourceDocs: []string{"GitHub Docs: Best practices for using webhooks", "GitHub Docs: Validating webhook deliveries", "GitHub Docs: Handling failed webhook deliveries", "octokit/webhooks-methods.js test/verify.test.ts"},
		Confidence: "verified-from-sdk-code",

		Scheme:     "hub-sha256",
		Headers:    []string{sig.Header},
		Signature:  sig,
		Rotation:   "one secret at a time: configure the old and the new one while you change it; the SHA-1 header is never a fallback",
		BodySigned: true,

		ID:     []string{"header:X-GitHub-Delivery"},
		Scope:  "one webhook: a repository, an organization and an App each get one event under their own id",
		IDNote: "the delivery GUID: a redelivery, by hand or by API, uses it again",
		Type:   "header:X-GitHub-Event",

		Handshake: "a ping event on creation, which wants a 2xx and no challenge; it is an event like the others",
		Deadline:  10 * time.Second,
		Success:   Reply{Status: 200},
		RetryOn:   "nothing: there are no automatic retries",
		StopOn:    "everything but 2xx, until somebody redelivers it",

		ManualWindow: 3 * 24 * time.Hour,
		Memory:       7 * 24 * time.Hour,
		MaxBody:      25 << 20,

		notes: []string{"the event's type stands in an unsigned header"},

		newScheme: func(o *Options) (scheme, error) { return newHeaderScheme(sig.decoded(o), o) },
		sample:    githubSample,
	}
}

func githubSample(d *draft) {
	d.kind = "push"
	d.header("User-Agent", "GitHub-Hookshot/044aadd")
	d.header("X-GitHub-Delivery", d.id)
	d.header("X-GitHub-Event", d.kind)
	d.header("X-GitHub-Hook-ID", "292430182")
	d.json(`{
  "ref": "refs/heads/main",
  "before": "6113728f27ae82c7b1a177c8d03f9e96e0adf246",
  "after": "{sha}",
  "created": false,
  "deleted": false,
  "forced": false,
  "repository": {
    "id": 186853002,
    "name": "Hello-World",
    "full_name": "example/Hello-World",
    "private": false,
    "default_branch": "main"
  },
  "pusher": {
    "name": "example",
    "email": "pusher@example.com"
  },
  "commits": [
    {
      "id": "{sha}",
      "message": "change number {n}",{at:
      "timestamp": "{rfc3339}",}
      "added": [],
      "removed": [],
      "modified": ["README.md"]
    }
  ]
}`)
}
