package provider

import "time"

// developers are code, builds, deployments and what watches them.
func developers() []Contract {
	return []Contract{
		signed(Signature{Header: "X-Gitea-Signature", Form: "payload"}, Contract{
			Name: "gitea", Title: "Gitea / Forgejo / Gogs", Category: "developer", SourceDocs: []string{"go-gitea/gitea services/webhook/deliver.go", "go-gitea/gitea models/webhook/hooktask.go"},
			Confidence: "verified-from-sdk-code", Scheme: "raw:gitea", ID: []string{"header:X-Gitea-Delivery"}, Scope: "one hook",
			IDNote: "the delivery's UUID; a replay by hand makes a new one, and is recognised by its body", Type: "header:X-Gitea-Event", Deadline: 5 * time.Second,
			RetryOn: "nothing: there are no retries", Memory: 7 * day, notes: []string{"the event's type stands in an unsigned header"},
			sample: sampled("push", `{"ref":"refs/heads/main","before":"28e1879d029cb852e4844d9c718537df08844e03","after":"{sha}","repository":{"id":1,"full_name":"example/sample"}}`, "X-Gitea-Delivery", "{id}", "X-Gitea-Event", "push"),
		}),
		signed(Signature{Header: "Circleci-Signature", Prefix: "v1="}, Contract{
			Name: "circleci", Title: "CircleCI (outbound webhooks)", Category: "developer", SourceDocs: []string{"CircleCI Docs: Webhook integration"}, Confidence: "verified-from-docs",
			Scheme: "circleci-v1", Rotation: "a list of versions; only v1 counts", ID: []string{"body:id"}, IDSigned: true, Scope: "one project", IDNote: "the event's id, which the sender says to deduplicate by",
			Type: "body:type", OccurredAt: "body:happened_at", Account: "body:organization.id", Memory: 7 * day,
			sample: sampled("workflow-completed", `{"type":"workflow-completed","id":"{id}",{at:"happened_at":"{rfc3339}",}"workflow":{"id":"w{n}","status":"success"},"organization":{"id":"org-1","name":"sample"}}`),
		}),
		signed(Signature{Header: "X-Buildkite-Signature", Prefix: "signature=", Content: "{timestamp}.{body}", Timestamp: "element:timestamp"}, Contract{
			Name: "buildkite", Title: "Buildkite", Category: "developer", SourceDocs: []string{"buildkite/docs pages/apis/webhooks/pipelines.md", "buildkite/docs pages/apis/webhooks/_webhook_signature.md"},
			Confidence: "verified-from-docs", Scheme: "buildkite", Tolerance: 5 * time.Minute, IDSigned: true, Scope: "one organization",
			ID: []string{"body:event", "body:build.id", "body:build.state?", "body:build.finished_at?"}, OtherIDs: [][]string{{"body:event", "body:job.id", "body:job.state?"}, {"body-sha256"}},
			IDNote: "no event id is documented: the event's name, the build or job, and its state", Type: "body:event", OccurredAt: "body:build.created_at",
			Handshake: "a ping event", Memory: 3 * day, notes: []string{"the body may show a later state of the build than the one that caused it"},
			sample: sampled("build.finished", `{"event":"build.finished","build":{"id":"{id}","number":{n},"state":"passed"{at:,"created_at":"{rfc3339}"}}}`, "X-Buildkite-Event", "build.finished"),
		}),
		signed(Signature{Header: "X-Vercel-Signature", Algorithm: "sha1"}, Contract{
			Name: "vercel", Title: "Vercel", Category: "developer", SourceDocs: []string{"Vercel Docs: Webhooks API Reference", "Vercel Docs: Webhooks (securing webhooks)"}, Confidence: "verified-from-docs",
			Scheme: "raw:vercel", Rotation: "an integration's secret is another one than an account's", ID: []string{"body:id"}, IDSigned: true, Scope: "one team",
			IDNote: "documented as the delivery's id: several webhooks of one team get one event under several", Type: "body:type", OccurredAt: "body:createdAt",
			Deadline: 30 * time.Second, RetryHorizon: day, Memory: 7 * day, notes: []string{"the HMAC is SHA-1, which is all that this sender offers"},
			sample: sampled("deployment.created", `{"id":"{id}","type":"deployment.created",{at:"createdAt":"{rfc3339}",}"payload":{"team":{"id":"team_1"},"deployment":{"id":"dpl_{n}"}}}`),
		}),
		signed(Signature{Header: "Sentry-Hook-Signature"}, Contract{
			Name: "sentry", Title: "Sentry (integration platform)", Category: "ops",
			SourceDocs: []string{"Sentry Docs: Integration platform webhooks", "getsentry/sentry src/sentry/sentry_apps/api/serializers/app_platform_event.py", "getsentry/sentry src/sentry/sentry_apps/tasks/sentry_apps.py"},
			Confidence: "verified-from-sdk-code", Scheme: "raw:sentry", Scope: "one installation",
			ID:       []string{"header:Sentry-Hook-Resource", "body:action", "body:data.event.event_id"},
			OtherIDs: [][]string{{"header:Sentry-Hook-Resource", "body:action", "body:data.comment_id"}, {"header:Sentry-Hook-Resource", "body:action", "body:data.issue.id", "body:data.issue.lastSeen?"}, {"header:Sentry-Hook-Resource", "body-sha256"}},
			IDNote:   "resource, action and object: Request-ID is made anew for every attempt, and so is the timestamp", Type: "header:Sentry-Hook-Resource", Account: "body:installation.uuid",
			Deadline: time.Second, RetryOn: "timeouts, connection errors and 5xx, three times, for published integrations only", StopOn: "4xx", Final4xx: true, RetryHorizon: 15 * time.Minute, Memory: 2 * day,
			notes:  []string{"the deadline is one second", "the resource stands in an unsigned header"},
			sample: sampled("issue", `{"action":"created","installation":{"uuid":"a8e5d37a-696c-4c54-adb5-b3f28d64c7de"},"data":{"issue":{"id":"{id}","title":"sample {n}"}}}`, "Sentry-Hook-Resource", "issue", "Request-ID", "{id}"),
		}),
		signed(Signature{Header: "X-PagerDuty-Signature", Prefix: "v1="}, Contract{
			Name: "pagerduty", Title: "PagerDuty (V3 webhooks)", Category: "ops", SourceDocs: []string{"go-pagerduty webhookv3/webhookv3_test.go"}, Confidence: "verified-from-sdk-code",
			Scheme: "pagerduty-v1", Rotation: "one v1 entry for each active secret", NeedBody: true, ID: []string{"body:event.id"}, IDSigned: true, Scope: "one account",
			IDNote: "the event's id, the same for every subscription; X-Webhook-Id is the subscription's", Type: "body:event.event_type", OccurredAt: "body:event.occurred_at",
			Handshake: "an optional pagey.ping event", Deadline: 5 * time.Second, Unsubs: "repeated failures disable the subscription for a while", RetryHorizon: day, Memory: 7 * day,
			sample: sampled("incident.triggered", `{"event":{"id":"{id}","event_type":"incident.triggered","resource_type":"incident",{at:"occurred_at":"{rfc3339}",}"data":{"id":"PD{n}","type":"incident","title":"sample {n}"}}}`),
		}),
		signed(Signature{Header: "X-Hub-Signature", Prefix: "sha256="}, Contract{
			Name: "bitbucket", Title: "Bitbucket Cloud", Category: "developer", SourceDocs: []string{"Atlassian Support: Bitbucket Cloud manage webhooks", "Atlassian Support KB: Troubleshoot webhooks"},
			Confidence: "from-memory", Scheme: "hub-sha256-legacyname", ID: []string{"header:X-Request-UUID"}, Scope: "one webhook",
			IDNote: "the request's UUID; X-Hook-UUID is the webhook's, and would drop every later event", Type: "header:X-Event-Key", Memory: 3 * day,
			RetryOn: "5xx, twice", RetryHorizon: 10 * time.Minute, notes: []string{"the event's type stands in an unsigned header", "a payload above 256 KB is not sent at all"},
			sample: sampled("repo:push", `{"push":{"changes":[{"new":{"target":{"hash":"{sha}"}}}]},"repository":{"uuid":"{673a6070-3421-46c9-9d48-90745f7bfe8e}","full_name":"example/sample"}}`, "X-Request-UUID", "{id}", "X-Event-Key", "repo:push"),
		}),
		signed(Signature{Header: "X-Hub-Signature", Prefix: "sha256="}, Contract{
			Name: "jira", Title: "Jira Cloud (administrators' webhooks)", Category: "productivity", SourceDocs: []string{"Atlassian Developer: Jira Cloud webhooks", "Atlassian Developer Community: New Jira Cloud webhook retry policy"},
			Confidence: "verified-from-docs", Scheme: "hub-sha256-legacyname", Rotation: "the secret is written once: make a new webhook", ID: []string{"header:X-Atlassian-Webhook-Identifier"}, Scope: "one site",
			IDNote: "the webhook event's identifier, unique within the site and the same on retries", Type: "body:webhookEvent", OccurredAt: "body:timestamp",
			Deadline: 20 * time.Second, RetryOn: "408, 409, 425, 429, 5xx and silence; 5 times", StopOn: "other 4xx", RetryHorizon: 75 * time.Minute, Memory: 3 * day,
			sample: sampled("jira:issue_created", `{{at:"timestamp":{unix}000,}"webhookEvent":"jira:issue_created","issue":{"id":"{n}","key":"ED-{n}","fields":{"summary":"sample {id}"}}}`, "X-Atlassian-Webhook-Identifier", "{id}"),
		}),
		signed(Signature{Header: "Sanity-Webhook-Signature", Prefix: "v1=", Encoding: "base64", Content: "{timestamp}.{body}", Timestamp: "element:t"}, Contract{
			Name: "sanity", Title: "Sanity", Category: "cms", SourceDocs: []string{"sanity-io/webhook-toolkit test/signature.test.ts", "Sanity changelog 2026-04-29"}, Confidence: "verified-from-sdk-code",
			Scheme: "sanity", ID: []string{"header:Idempotency-Key"}, OtherIDs: [][]string{{"header:Sanity-Transaction-Id", "header:Sanity-Document-Id"}}, Scope: "one project, dataset and webhook",
			IDNote: "the idempotency key, or transaction and document", Type: "header:Sanity-Operation", OccurredAt: "header:Sanity-Transaction-Time",
			Deadline: 30 * time.Second, RetryOn: "429 and 5xx; twice, 30 s apart", StopOn: "other 4xx", RetryHorizon: time.Minute, Memory: 2 * day,
			notes:  []string{"the operation stands in an unsigned header"},
			sample: sampled("create", `{"_id":"doc-{n}","_type":"post","title":"sample {id}"}`, "Idempotency-Key", "{id}", "Sanity-Operation", "create"),
		}),
	}
}
