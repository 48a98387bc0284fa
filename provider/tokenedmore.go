package provider

import (
	"encoding/base64"
	"strings"
	"time"
)

// tokenedMore are further senders that sign nothing, of clouds and operations.
func tokenedMore() []Contract {
	return []Contract{
		completed(Contract{
			Name: "auth0-event-streams", Title: "Auth0 Event Streams (webhook)", Category: "identity", Confidence: "verified-from-docs",
			SourceDocs: []string{"Auth0 Docs: Create an Event Stream", "Auth0 Docs: Events best practices", "Auth0 Docs: Event testing, observability and failure recovery", "auth0-cli docs: event-streams redeliver"},
			Scheme:     "static-token", Credentials: []string{"Authorization"}, Rotation: "by hand: a bearer token, or user:password; configure both while you change it",
			ID: []string{"body:id"}, Scope: "one tenant", Account: "body:source", IDNote: "the event's id (evt_…), under which it is also delivered by hand, days later",
			Type: "body:type", OccurredAt: "body:time", Version: "body:specversion", RetryOn: "5xx and silence; after 1, 2 and 4 seconds", StopOn: "every 4xx", Final4xx: true,
			RetryHorizon: time.Minute, ManualWindow: 14 * day, Memory: 14 * day, notes: []string{unprovenNote}, newScheme: tokens("Authorization", anyAuthorization),
			sample: sampled("user.created", `{"specversion":"1.0","id":"{id}","source":"urn:auth0:sample","type":"user.created",{at:"time":"{rfc3339}",}"data":{"object":{"user_id":"auth0|{n}","email":"user{n}@example.com"}}}`),
		}),
		completed(Contract{
			Name: "mailchimp", Title: "Mailchimp Marketing webhooks", Category: "email", Confidence: "verified-from-docs",
			SourceDocs: []string{"Mailchimp Developer: Synchronize Audience Data with Webhooks", "Mailchimp Developer release notes: 410 from an audience webhook disables it (2021-04-05)"},
			Scheme:     "secret-url", Rotation: "by hand: a secret in the URL's query, written as query:NAME=VALUE; configure both while you change it",
			ID: []string{"form:type", "form:fired_at", "form:data[id]", "form:data[list_id]"},
			OtherIDs: [][]string{
				{"form:type", "form:fired_at", "form:data[new_id]", "form:data[list_id]"},
				{"form:type", "form:fired_at", "form:data[email]", "form:data[list_id]"},
			},
			Scope: "one audience", Account: "form:data[list_id]", IDNote: "there is no event id: type, time, member and audience; the time has whole seconds", Type: "form:type",
			Handshake: "GET or HEAD to the URL, which wants a 200", greet: anyGreeting, RetryOn: "anything but 2xx, for 75 minutes", Unsubs: "410 disables the webhook at once", RetryHorizon: 75 * time.Minute, Memory: 3 * day,
			notes: []string{unprovenNote, "fired_at has no time zone, so it is not read as a time"}, trial: []string{"query:secret=onceward-dev-secret"}, newScheme: tokens("Authorization", func(string) []string { return nil }),
			sample: mailchimpSample,
		}),
		completed(Contract{
			Name: "aws-eventbridge", Title: "Amazon EventBridge API destinations", Category: "cloud", SourceDocs: []string{"Amazon EventBridge User Guide: Event retry policy and dead-letter queues"}, Confidence: "verified-from-docs",
			Scheme: "static-token", Credentials: []string{"Authorization", "X-Api-Key"}, Rotation: "the connection's: a key in X-Api-Key, header:NAME=VALUE where it is another header, header:Authorization=Basic … for a password; configure both while you change it",
			ID: []string{"body:id"}, Scope: "one account, region and rule", Account: "body:account", IDNote: "the event's id, the same on a retry, a redrive and a replay of the archive; two rules deliver it twice; an input transformer must keep it",
			Type: "body:detail-type", OccurredAt: "body:time", Version: "body:version", Deadline: 5 * time.Second, RetryOn: "401, 407, 409, 429, 5xx and silence; 185 times", StopOn: "every other 4xx",
			RetryHorizon: day, ManualWindow: 14 * day, Memory: 14 * day, Volatile: []string{"replay-name"}, notes: []string{unprovenNote}, newScheme: tokens("X-Api-Key", nil),
			sample: sampled("EC2 Instance State-change Notification", `{"version":"0","id":"{id}","detail-type":"EC2 Instance State-change Notification","source":"aws.ec2","account":"123456789012",{at:"time":"{rfc3339}",}`+
				`"region":"eu-central-1","resources":[],"detail":{"instance-id":"i-{n}","state":"running"}}`),
		}),
		completed(Contract{
			Name: "datadog", Title: "Datadog Webhooks integration", Category: "ops", SourceDocs: []string{"Datadog Docs: Webhooks integration"}, Confidence: "verified-from-docs",
			Scheme: "static-token", Credentials: []string{"Authorization"}, Rotation: "by hand: user:password, a token of Authorization, or header:NAME=VALUE of a custom header; configure both while you change it",
			ID: []string{"body:id", "body:transition"}, Scope: "one organization", Account: "body:org",
			IDNote: `the payload is yours to write; make it {"id":"$ID","transition":"$ALERT_TRANSITION","type":"$EVENT_TYPE","date":"$DATE","org":"$ORG_ID","title":"$EVENT_TITLE"}: $AGGREG_KEY groups alerts and is no identity`,
			Type:   "body:type", OccurredAt: "body:date", Deadline: 15 * time.Second, RetryOn: "5xx and silence; 5 times", StopOn: "every 4xx", Final4xx: true, RetryHorizon: hour, Memory: 2 * day,
			notes: []string{unprovenNote, "without $ID in the payload there is no identity, and events are held"}, newScheme: tokens("Authorization", anyAuthorization),
			sample: sampled("metric_alert_monitor", `{"id":"{id}","transition":"Triggered","type":"metric_alert_monitor",{at:"date":"{rfc3339}",}"org":"1","title":"Sample {n}"}`),
		}),
	}
}

// anyAuthorization spells a secret in every way in which it may be configured
// on the other side.
func anyAuthorization(secret string) []string {
	if strings.Contains(secret, ":") {
		return []string{"Basic " + base64.StdEncoding.EncodeToString([]byte(secret)), secret, "Bearer " + secret}
	}
	return []string{"Bearer " + secret, secret}
}

// anyGreeting answers a look at the URL.
func anyGreeting(r *Request, _ []Secret) (Reply, bool) {
	return Reply{Status: 200, ContentType: "text/plain"}, r.Method == "GET" || r.Method == "HEAD"
}

func mailchimpSample(d *draft) {
	d.kind = "subscribe"
	d.form("type", d.kind, "fired_at", d.when().UTC().Format(time.DateTime), "data[id]", d.id, "data[list_id]", "list1", "data[email]", "user@example.com", "data[merges][EMAIL]", "user@example.com")
}
