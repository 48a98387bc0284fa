package provider

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

// setPush takes Security Event Tokens: the body is one signed token.
func setPush() Contract {
	return completed(Contract{
		Name: "rfc8935-set-push", Title: "RFC 8935 SET push (OpenID SSF, CAEP, RISC)", Category: "identity", Confidence: "verified-from-docs",
		SourceDocs: []string{"RFC 8935", "IETF 104 secevent slides: push delivery", "RFC 8417", "OpenID CAEP 1.0", "OpenID Shared Signals Framework 1.0"},
		Scheme:     "set-jwt", BodySigned: true,
		Rotation: "the transmitter's: keys are found by their id in its published set (jwks=https://…), or given as JWK. The secrets also say what a token has to say: iss=… and aud=…",
		Reads:    "the token's claims; event_uri is the first of events, event_time its time",
		ID:       []string{"body:jti"}, IDSigned: true, Scope: "one issuer", Account: "body:iss", IDNote: "the token's id, the same when it is sent again; txn groups tokens and is no identity",
		Type: "body:event_uri", OccurredAt: "body:event_time|body:toe|body:iat", Handshake: "a verification event, which is an event like the others",
		Success: Reply{Status: 202, ContentType: "application/json"}, RetryOn: "the transmitter's choice; a copy is answered 202 as well", RetryHorizon: 0, Memory: 90 * day, Volatile: []string{"iat"},
		trial: []string{trialRSA, "iss=https://idp.example.com/", "aud=onceward-dev"}, document: setDocument, newScheme: newSetPush, refused: setRefused, sample: sampled("https://schemas.openid.net/secevent/caep/event-type/session-revoked",
			`{"jti":"{id}","sub_id":{"format":"email","email":"user{n}@example.com"},"events":{"https://schemas.openid.net/secevent/caep/event-type/session-revoked":{{at:"event_timestamp":{unix},}"initiating_entity":"policy"}}}`),
	})
}

type setScheme struct {
	*material
	published Keys
	rules     jwsRules
}

func newSetPush(o *Options) (scheme, error) {
	m, err := readMaterial(o, nil, "iss", "aud", "jwks")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"iss", "aud"} {
		if len(m.settings[name]) == 0 {
			return nil, wrong("secrets", "lack %s=…: what a token has to say must be configured", name)
		}
	}
	for _, at := range m.settings["jwks"] {
		if u, err := url.Parse(at); err != nil || u.Scheme != "https" || u.Host == "" {
			return nil, wrong("secrets", "jwks=… is not an https URL")
		}
	}
	if len(m.settings["jwks"])+len(m.keys) == 0 {
		return nil, wrong("secrets", "lack the transmitter's keys: jwks=https://…, or a JWK")
	}
	return &setScheme{m, o.Keys, jwsRules{
		algorithms: []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.PS256, jose.ES384, jose.RS384, jose.RS512},
		types:      []string{"secevent+jwt"},
		claims:     []claimRule{{"iss", m.settings["iss"]}, {"aud", m.settings["aud"]}},
	}}, nil
}

func (s *setScheme) verify(_ *Request, body []byte) (verified, *Refusal) {
	t, refusal := s.verifyJWS(string(bytes.TrimSpace(body)), &s.rules, s.published)
	if refusal != nil {
		return verified{}, refusal
	}
	defer t.claims.close()
	v := verified{label: t.label, expires: t.expires()}
	v.signed, v.timed = t.time("iat")
	return v, nil
}

func (s *setScheme) timed() bool { return true }

// sign takes claims, or a token whose claims are to be signed anew.
func (s *setScheme) sign(r *Request, body []byte) error {
	claims := map[string]any{}
	if inside, ok := tokenPayload(body); ok {
		body = inside
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if decoder.Decode(&claims) != nil {
		return refuse(MalformedBody, "the body is neither claims as JSON nor a token")
	}
	claims["iss"], claims["aud"], claims["iat"] = s.settings["iss"][0], s.settings["aud"][0], r.Now.Unix()
	payload, err := json.Marshal(claims)
	if err != nil {
		return err
	}
	text, err := s.signJWS(payload, "secevent+jwt", &s.rules)
	if err == nil {
		r.Body = []byte(text)
		r.Header.Set("Content-Type", "application/secevent+jwt")
	}
	return err
}

func (s *setScheme) covers(e *expression) bool { return e.kind != fromHeader && e.kind != fromQuery }

func (s *setScheme) idHeader(*Request) string { return "" }

// tokenPayload decodes the claims of a compact token, verified or not.
func tokenPayload(body []byte) ([]byte, bool) {
	parts := strings.Split(string(bytes.TrimSpace(body[:min(len(body), maxToken)])), ".")
	if len(parts) != 3 {
		return nil, false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	return payload, err == nil
}

var setEvents = lookFor("events")

// setDocument reads the claims, with the first event's name in front.
func setDocument(_ *Request, body []byte) document {
	payload, ok := tokenPayload(body)
	if !ok {
		return document{why: "body is not a signed token"}
	}
	f, ok := setEvents.read(payload)
	defer f.close()
	if v := f.value("events"); ok && v.kind == '{' && !v.repeated {
		decoder := json.NewDecoder(bytes.NewReader(payload[v.start:v.end]))
		_, _ = decoder.Token() // the brace, which is there
		if name, err := decoder.Token(); err == nil {
			if uri, is := name.(string); is {
				var event struct {
					At json.Number `json:"event_timestamp"`
				}
				_ = decoder.Decode(&event) // without a time it has none
				if event.At != "" {
					return document{text: withMember(payload, "event_uri", uri, "event_time", event.At.String())}
				}
				return document{text: withMember(payload, "event_uri", uri)}
			}
		}
	}
	return document{text: payload}
}

// setRefused says what is wrong in the words of RFC 8935, section 2.4.
func setRefused(e *Refusal) Reply {
	code := "authentication_failed"
	switch e.Reason {
	case MalformedBody, MalformedSignature, MissingSignature, TypMismatch:
		code = "invalid_request"
	case UnknownKid, AlgNotAllowed, SignatureMismatch:
		code = "invalid_key"
	case ClaimMismatch + ":iss":
		code = "invalid_issuer"
	case ClaimMismatch + ":aud":
		code = "invalid_audience"
	}
	body := append(appendJSON([]byte(`{"err":`), code), `,"description":`...)
	body = append(appendJSON(body, "the security event token was not accepted"), '}')
	return Reply{Status: 400, ContentType: "application/json", Body: body, Header: map[string]string{"Content-Language": "en"}}
}
