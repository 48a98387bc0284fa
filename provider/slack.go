package provider

import (
	"bytes"
	"time"
)

// slack signs "v0:{timestamp}:{body}". Events are JSON with an id; slash
// commands and interactions are forms without one.
func slack() Contract {
	sig := Signature{
		Header:    "X-Slack-Signature",
		Prefix:    "v0=",
		Content:   "v0:{timestamp}:{body}",
		Timestamp: "header:X-Slack-Request-Timestamp",
	}
	return Contract{
		Name:       "slack",
		Title:      "Slack (Events API, commands, interactivity)",
		Revision:   "1",
		Category:   "messaging",
		SourceDocs: []string{"python-slack-sdk tests/slack_sdk/signature/test_signature_verifier.py", "bolt-js test/unit/receivers/verify-request.spec.ts", "Slack Docs: HTTP request URLs"},
		Confidence: "verified-from-sdk-code",

		Scheme:     "slack-v0",
		Headers:    []string{sig.Header, "X-Slack-Request-Timestamp"},
		Signature:  sig,
		Tolerance:  5 * time.Minute,
		Rotation:   "the old signing secret stays valid for a grace period: configure both",
		BodySigned: true,

		ID: []string{"body:event_id"},
		// Every command and interaction carries a trigger id of its own in the
		// body, so the digest identifies it whatever shape the form has.
		FormID:     []string{"body-sha256"},
		Scope:      "all workspaces",
		IDSigned:   true,
		IDNote:     "the event's id (Ev…), the same on every retry; a form (command, interaction) has none and is identified by its digest",
		Type:       "body:event.type",
		FormType:   "form:command",
		OccurredAt: "body:event_time",
		// team_id repeats what is inside event_id's scope, and differs between
		// the copies of events in shared channels: it is no part of the identity.

		Handshake: "url_verification: a signed request whose challenge is sent back",
		Deadline:  3 * time.Second,
		Success:   Reply{Status: 200},
		RetryOn:   "anything but 2xx, and silence: at once, after 1 minute, after 5 minutes",
		StopOn:    "anything but 2xx with the header X-Slack-No-Retry: 1",
		Unsubs:    "more than 95 % failures within an hour",

		RetryHorizon: 24 * time.Hour, // with delayed events; 6 minutes without
		Memory:       3 * 24 * time.Hour,

		newScheme: func(o *Options) (scheme, error) { return newHeaderScheme(sig.decoded(o), o) },
		answer:    slackChallenge,
		sample:    slackSample,
	}
}

// slackChallenge answers a url_verification.
func slackChallenge(r *Request) (Reply, bool) {
	if !bytes.Contains(r.Body, []byte("url_verification")) {
		return Reply{}, false
	}
	plan := newPlan()
	kind := &expression{kind: fromBody, slot: plan.add([]string{"type"})}
	challenge := &expression{kind: fromBody, slot: plan.add([]string{"challenge"})}
	in := input{r: r, reader: plan.open(r.Body)}
	if in.read(kind).text != "url_verification" {
		return Reply{}, false
	}
	answer := in.read(challenge)
	if answer.state != present {
		return Reply{}, false
	}
	return Reply{Status: 200, ContentType: "text/plain", Body: []byte(answer.text)}, true
}

func slackSample(d *draft) {
	d.kind = "app_mention"
	d.json(`{"token":"sample","team_id":"T123ABC456","api_app_id":"A123ABC456","event":{"type":"app_mention","user":"U123ABC456",` +
		`"text":"sample {n}","ts":"1515449522.0000{n}","channel":"C123ABC456"},"type":"event_callback","event_id":"{id}"{at:,"event_time":{unix}}}`)
}
