package provider

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// graph carries the secret of the subscription in every item.
func graph() Contract {
	return completed(Contract{
		Name: "microsoft-graph", Title: "Microsoft Graph change notifications", Category: "productivity", SourceDocs: []string{"Microsoft Graph Docs: Receive change notifications through webhooks", "Microsoft Graph Docs: Set up change notifications that include resource data"}, Confidence: "verified-from-docs",
		Scheme: "graph-client-state", Rotation: "each subscription has a clientState of its own: configure all that post to this source. For notifications with resource data app=APPLICATION and tenant=TENANT as well; the keys of their tokens are Microsoft's, found by their id in its published set",
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
			"with app=… and tenant=… configured, a delivery with encryptedContent has to bring validationTokens, and every one of them has to be Microsoft Graph's, for that application and tenant; without these settings they are not looked at",
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
	root    *lookup

	// Of notifications with resource data; nil without app=… in the secrets.
	material  *material
	published Keys
	rules     jwsRules
}

const (
	// graphPublisher is the application that makes the tokens of Microsoft
	// Graph's notifications.
	graphPublisher = "0bf30f3b-4a52-48df-9a82-234910c4a086"
	// maxGraphTokens bounds the tokens of a delivery: there is one for each pair
	// of application and tenant in it.
	maxGraphTokens = 16
)

func newGraph(o *Options) (scheme, error) {
	g := &graphScheme{item: lookFor("clientState", "encryptedContent"), root: lookFor("validationTokens"), published: o.Keys}
	states := *o
	if err := g.readTokens(&states); err != nil {
		return nil, err
	}
	list, err := secrets(&states)
	if err != nil {
		return nil, err
	}
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

// readTokens takes out of the secrets what is about tokens, when any of it is.
func (g *graphScheme) readTokens(o *Options) error {
	about := *o
	about.Secrets = nil
	var states []Secret
	for _, s := range o.Secrets {
		if name, _, found := strings.Cut(s.Value, "="); found && slices.Contains([]string{"app", "tenant", "jwks"}, name) || strings.HasPrefix(s.Value, "-----BEGIN ") || strings.HasPrefix(s.Value, "{") {
			about.Secrets = append(about.Secrets, s)
			continue
		}
		states = append(states, s)
	}
	if !slices.ContainsFunc(about.Secrets, func(s Secret) bool { return strings.HasPrefix(s.Value, "app=") }) {
		return nil // whatever they look like, they are what the items say
	}
	m, err := readMaterial(&about, nil, "app", "tenant", "jwks")
	if err != nil {
		return err
	}
	if len(m.settings["app"]) == 0 || len(m.settings["tenant"]) == 0 {
		return wrong("secrets", "have only one of app=… and tenant=…: a token has to be for an application, from a tenant")
	}
	var issuers []string
	for _, tenant := range m.settings["tenant"] {
		issuers = append(issuers, "https://sts.windows.net/"+tenant+"/", "https://login.microsoftonline.com/"+tenant+"/v2.0")
	}
	g.material, o.Secrets = m, states
	g.rules = jwsRules{
		algorithms: []jose.SignatureAlgorithm{jose.RS256},
		url:        "https://login.microsoftonline.com/common/discovery/v2.0/keys",
		claims:     []claimRule{{"iss", issuers}, {"aud", m.settings["app"]}},
	}
	return nil
}

// tokens checks the tokens of a delivery, which is rich when an item of it has
// resource data. It returns the earliest end of one.
func (g *graphScheme) tokens(body []byte, rich bool) (expires time.Time, refusal *Refusal) {
	f, _ := g.root.read(body) // it is JSON: its items were found
	defer f.close()
	value := f.value("validationTokens")
	if value.repeated {
		return expires, refuse(MalformedBody, "validationTokens stands twice")
	}
	var list []string
	if value.kind != 0 && value.kind != 'n' && json.Unmarshal(body[value.start:value.end], &list) != nil {
		return expires, refuse(MalformedBody, "validationTokens is no list of texts")
	}
	switch {
	case len(list) > maxGraphTokens:
		return expires, refuse(MalformedBody, "there are more than %d validationTokens", maxGraphTokens)
	case len(list) == 0 && rich:
		return expires, refuse(MissingSignature, "there is resource data and no validationTokens, which have to come with it")
	}
	for _, text := range list {
		t, refusal := g.material.verifyJWS(text, &g.rules, g.published)
		if refusal != nil {
			return expires, refusal
		}
		end, publisher := t.expires(), t.publisher()
		t.claims.close()
		switch {
		case publisher != graphPublisher:
			return expires, refuse(ClaimMismatch+":appid", "a token was not made for Microsoft Graph's publisher of notifications")
		case end.IsZero():
			return expires, refuse(Expired, "a token does not say when it ends (exp)")
		case expires.IsZero() || end.Before(expires):
			expires = end
		}
	}
	return expires, nil
}

// publisher is the application that asked for the token: appid in tokens of
// version 1, azp in those of version 2. One that has both is nobody's.
func (t token) publisher() string {
	first, a := t.claims.text("appid")
	second, b := t.claims.text("azp")
	switch {
	case a == present && b == absent:
		return first
	case a == absent && b == present:
		return second
	}
	return ""
}

func (g *graphScheme) verify(_ *Request, body []byte) (verified, *Refusal) {
	list, refusal := g.lists.proofs(body, "value", "secrets")
	if refusal != nil {
		return verified{}, refusal
	}
	var v verified
	rich := false
	for i, item := range list {
		f := g.item.at(body, item.start)
		sent, state := f.text("clientState")
		rich = rich || f.value("encryptedContent").kind != 0
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
	if g.material != nil {
		v.expires, refusal = g.tokens(body, rich)
	}
	return v, refusal
}

func (g *graphScheme) sign(r *Request, body []byte) error {
	list, refusal := g.lists.proofs(body, "value", "secrets")
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
