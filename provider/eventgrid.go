package provider

import (
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// eventGrid proves nothing by itself: a secret in the URL or a header, or a
// token of Entra ID, is configured with the subscription.
func eventGrid() Contract {
	return completed(Contract{
		Name: "azure-event-grid", Title: "Azure Event Grid (webhook, Event Grid schema)", Category: "cloud", SourceDocs: []string{"Azure Docs: Event Grid delivery and retry", "Azure Docs: Webhook event delivery"}, Confidence: "verified-from-docs",
		Scheme: "static-token | oidc-jwt", Credentials: []string{"Authorization"},
		Rotation: "by hand: query:NAME=VALUE (a parameter of the endpoint's URL) or header:NAME=VALUE (a delivery property), both while you change it; or Entra ID: aud=…, iss=… and its keys (jwks=https://…, or a JWK)",
		Items:    "body", ID: []string{"item:topic", "item:id"}, Scope: "one topic", IDNote: "publishers choose ids, so the topic is part of it", Type: "item:eventType", OccurredAt: "item:eventTime", Version: "item:dataVersion",
		Handshake: "a POST of type SubscriptionValidation, whose code is sent back as JSON with exactly 200", answer: eventGridValidation, Deadline: 30 * time.Second,
		RetryOn: "anything but 200 to 204: after 10 s, 30 s, 1, 5, 10 and 30 minutes, then hourly", StopOn: "400 and 413 at once; 401, 403 and 404 are sent again after 5 minutes", RetryHorizon: day, Memory: 7 * day,
		notes: []string{unprovenNote}, trial: []string{"query:secret=onceward-dev-secret"}, newScheme: newEventGrid,
		sample: sampled("Microsoft.Storage.BlobCreated", `[{"id":"{id}","topic":"/subscriptions/sample","subject":"/blobServices/default/containers/c/blobs/{n}","eventType":"Microsoft.Storage.BlobCreated",`+
			`{at:"eventTime":"{rfc3339}",}"dataVersion":"1","metadataVersion":"1","data":{"api":"PutBlob","contentLength":{n}}}]`, "Aeg-Event-Type", "Notification"),
	})
}

func newEventGrid(o *Options) (scheme, error) {
	list, err := secrets(o)
	if err != nil {
		return nil, err
	}
	t := &tokenScheme{}
	signed := *o
	signed.Secrets = nil
	for _, s := range list {
		name, _, _ := strings.Cut(s.Value, "=")
		switch {
		case name == "aud" || name == "iss" || name == "jwks" || strings.HasPrefix(s.Value, "{") || strings.HasPrefix(s.Value, "-----BEGIN "):
			signed.Secrets = append(signed.Secrets, s)
		default:
			places, err := placesOf(s, "Authorization", withBearer)
			if err != nil {
				return nil, err
			}
			t.places = append(t.places, places...)
		}
	}
	if len(signed.Secrets) == 0 {
		return t, nil
	}
	m, err := readMaterial(&signed, nil, "aud", "iss", "jwks")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"aud", "iss"} {
		if len(m.settings[name]) == 0 {
			return nil, wrong("secrets", "lack %s=…: every token of Entra ID has a good signature, so what it has to say must be configured", name)
		}
	}
	t.bearer = &bearerRules{m, o.Keys, jwsRules{
		algorithms: []jose.SignatureAlgorithm{jose.RS256},
		url:        "https://login.microsoftonline.com/common/discovery/v2.0/keys",
		claims:     []claimRule{{"iss", m.settings["iss"]}, {"aud", m.settings["aud"]}},
	}}
	return t, nil
}

func eventGridValidation(r *Request) (Reply, bool) {
	if kind, _ := r.header("Aeg-Event-Type"); kind != "SubscriptionValidation" {
		return Reply{}, false
	}
	f, ok := lookFor("0.eventType", "0.data.validationCode").read(r.Body)
	defer f.close()
	kind, _ := f.text("0.eventType")
	code, state := f.text("0.data.validationCode")
	if !ok || kind != "Microsoft.EventGrid.SubscriptionValidationEvent" || state != present {
		return Reply{}, false
	}
	return Reply{Status: 200, ContentType: "application/json", Body: append(appendJSON([]byte(`{"validationResponse":`), code), '}')}, true
}
