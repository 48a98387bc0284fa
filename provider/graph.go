package provider

import (
	"crypto/sha256"
	"crypto/subtle"
	"time"
)

// graph carries the secret of the subscription in every item.
func graph() Contract {
	return completed(Contract{
		Name: "microsoft-graph", Title: "Microsoft Graph change notifications", Category: "productivity", SourceDocs: []string{"Microsoft Graph Docs: Receive change notifications through webhooks"}, Confidence: "verified-from-docs",
		Scheme: "graph-client-state", Rotation: "each subscription has a clientState of its own: configure all that post to this source",
		Items: "body:value", ID: []string{"item:id"},
		OtherIDs: [][]string{
			{"item:subscriptionId", "item:resource", "item:changeType", `item:resourceData.\@odata\.etag`},
			{"item:subscriptionId", "item:lifecycleEvent", "item:subscriptionExpirationDateTime"},
		},
		Scope: "one tenant and subscription", Account: "item:tenantId|item:organizationId",
		IDNote: "the notification's id; where a resource has none, subscription, resource, change and version; what has none of these is held for a person",
		Type:   "item:changeType|item:lifecycleEvent", Handshake: "a POST with validationToken in the query, which wants it back as text within 10 seconds", greet: graphValidation, Deadline: 3 * time.Second,
		Success: Reply{Status: 202, ContentType: "text/plain"}, RetryOn: "anything but 2xx, for 4 hours", RetryHorizon: 4 * hour, Memory: 7 * day,
		Volatile: []string{"subscriptionExpirationDateTime"},
		notes: []string{
			"clientState authenticates the caller and nothing about the body; an item without it makes the whole delivery invalid",
			"the tokens of rich notifications (validationTokens) are not verified here",
			"an endpoint that answers too slowly too often is throttled",
		},
		newScheme: newGraph, sample: sampled("updated", `{"value":[{"id":"{id}","subscriptionId":"s1","clientState":"","changeType":"updated","resource":"users/1/messages/{n}","tenantId":"84bd8158-6d4d-4958-8b9f-9d6445542f95",`+
			`"subscriptionExpirationDateTime":"2036-12-31T00:00:00Z","resourceData":{"id":"{n}"}}]}`),
	})
}

type graphScheme struct {
	secrets []tokenPlace
	lists   *itemLists
	item    *lookup
}

func newGraph(o *Options) (scheme, error) {
	list, err := secrets(o)
	if err != nil {
		return nil, err
	}
	g := &graphScheme{item: lookFor("clientState")}
	if g.lists, err = parseLists("body:value"); err != nil {
		return nil, err
	}
	for _, s := range list {
		if len(s.Value) > 128 {
			return nil, wrong("secrets", "%s has %d characters; a clientState has at most 128", s.Label, len(s.Value))
		}
		g.secrets = append(g.secrets, newTokenPlace(s.Label, "", "", s.Value))
	}
	return g, nil
}

func (g *graphScheme) items(body []byte) ([]span, *Refusal) {
	plan := newPlan()
	r := plan.open(body)
	problem := r.problem
	plan.close(r)
	list, found := []span(nil), false
	if problem == readable {
		list, found = g.lists.find(body)
	}
	switch {
	case !found:
		return nil, refuse(MalformedBody, "the body has no list called value, in whose items the secrets are")
	case len(list) == 0:
		return nil, refuse(MissingSignature, "value is empty, so nothing proves the sender")
	case len(list) > maxItems:
		return nil, refuse(MalformedBody, "value has more than %d items", maxItems)
	}
	return list, nil
}

func (g *graphScheme) verify(_ *Request, body []byte) (verified, *Refusal) {
	list, refusal := g.items(body)
	if refusal != nil {
		return verified{}, refusal
	}
	var v verified
	for i, item := range list {
		f := g.item.at(body, item.start)
		sent, state := f.text("clientState")
		f.close()
		sum := sha256.Sum256([]byte(sent))
		fits := false
		for _, s := range g.secrets {
			if state == present && subtle.ConstantTimeCompare(sum[:], s.sum[:]) == 1 {
				fits, v.label = true, s.label
			}
		}
		if !fits {
			return verified{}, refuse(ClientStateMismatch, "clientState of item %d is none of the %d configured; every item has to have it", i+1, len(g.secrets))
		}
	}
	return v, nil
}

func (g *graphScheme) sign(r *Request, body []byte) error {
	list, refusal := g.items(body)
	if refusal != nil {
		return refusal
	}
	var edits []edit
	for i, item := range list {
		f := g.item.at(body, item.start)
		edits = append(edits, edit{f.value("clientState"), g.secrets[0].value})
		f.close()
		if place := edits[i]; place.kind == 0 || place.repeated {
			return refuse(MalformedBody, "item %d has no clientState", i+1)
		}
	}
	r.Body = spliced(body, edits)
	return nil
}

func (g *graphScheme) covers(*expression) bool { return false }

func (g *graphScheme) idHeader(*Request) string { return "" }

// graphValidation sends the token back as plain text that no browser takes for
// anything else.
func graphValidation(r *Request, _ []Secret) (Reply, bool) {
	token := field(&expression{kind: fromQuery, name: "validationToken"}, r.query()).text
	if r.Method != "POST" || token == "" || len(token) > 4096 {
		return Reply{}, false
	}
	return Reply{Status: 200, ContentType: "text/plain", Body: []byte(token), Header: map[string]string{"X-Content-Type-Options": "nosniff"}}, true
}
