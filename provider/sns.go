package provider

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// sns signs a list of the body's fields with a certificate that the body names.
func sns() Contract {
	return completed(Contract{
		Name: "aws-sns", Title: "Amazon SNS HTTP/S subscriptions", Category: "cloud", Confidence: "verified-from-sdk-code",
		SourceDocs: []string{"Amazon SNS Developer Guide: Message delivery retries", "aws-js-sns-message-validator index.js"},
		Scheme:     "aws-sns", BodySigned: true,
		Rotation: "Amazon's: the body names the certificate, which is only fetched from sns.REGION.amazonaws.com. Secrets are the topics that may be delivered, as topic=arn:aws:sns:…, and certificates (PEM) that are trusted without fetching",
		ID:       []string{"body:MessageId"}, IDSigned: true, Scope: "one topic", Account: "body:TopicArn",
		IDNote: "the message's id, the same on every retry and redrive; a publisher that sends twice makes two", Type: "body:Type", OccurredAt: "body:Timestamp",
		Handshake: "SubscriptionConfirmation: an event of its own, whose SubscribeURL is to be visited once; only that of a configured topic, at Amazon's own host",
		Deadline:  15 * time.Second, RetryOn: "5xx, 429 and silence; 3 times by default", StopOn: "every 4xx but 429", RetryHorizon: hour, ManualWindow: 14 * day, Memory: 15 * day,
		notes: []string{
			"MessageAttributes and UnsubscribeURL are not signed",
			"raw message delivery has neither envelope nor signature, and is refused",
			"the signature proves Amazon and not your account: without topic=… any account's topic is accepted",
		},
		trial: []string{trialRSA, "topic=arn:aws:sns:us-west-2:123456789012:sample"}, newScheme: newSNS, sample: sampled("Notification", `{"Type":"Notification","MessageId":"{id}","TopicArn":"arn:aws:sns:us-west-2:123456789012:sample","Subject":"Sample {n}","Message":"{\"order\":{n}}",`+
			`{at:"Timestamp":"{rfc3339}",}"SignatureVersion":"2","Signature":"","SigningCertURL":"https://sns.us-west-2.amazonaws.com/SimpleNotificationService-sample.pem"}`, "Content-Type", "text/plain; charset=UTF-8", "X-Amz-Sns-Message-Type", "Notification", "X-Amz-Sns-Message-Id", "{id}"),
	})
}

// snsSigned are the fields that are signed, by type.
func snsSigned(kind string) []string {
	switch kind {
	case "Notification":
		return []string{"Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"}
	case "SubscriptionConfirmation", "UnsubscribeConfirmation":
		return []string{"Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"}
	}
	return nil
}

// snsHost are the hosts of certificates and of confirmations.
var snsHost = regexp.MustCompile(`^sns\.[a-z0-9-]{3,}\.amazonaws\.com(\.cn)?$`)

type snsScheme struct {
	*material
	published Keys
	body      *lookup
}

func newSNS(o *Options) (scheme, error) {
	m, err := readMaterial(o, nil, "topic")
	if err != nil {
		return nil, err
	}
	if len(m.rsaKeys()) != len(m.keys) {
		return nil, wrong("secrets", "hold a key that is not RSA, as this sender's are")
	}
	paths := append(snsSigned("SubscriptionConfirmation"), "Subject", "SignatureVersion", "SigningCertURL", "Signature")
	return &snsScheme{m, o.Keys, lookFor(paths...)}, nil
}

// trustedURL reports whether a URL is https at a host that is pinned.
func trustedURL(text string, host func(string) bool) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https" && u.User == nil && u.Port() == "" && host(strings.ToLower(u.Hostname()))
}

func (s *snsScheme) verify(_ *Request, body []byte) (verified, *Refusal) {
	f, ok := s.body.read(body)
	defer f.close()
	if !ok {
		return verified{}, refuse(MalformedBody, "the body is not JSON, and the signature is inside it")
	}
	kind, _ := f.text("Type")
	names := snsSigned(kind)
	if names == nil {
		return verified{}, refuse(MalformedBody, "Type is neither Notification nor one of the confirmations; is raw message delivery switched on?")
	}
	sent, _ := f.text("Signature")
	if sent == "" {
		return verified{}, refuse(MissingSignature, "the body has no Signature")
	}
	hash := crypto.SHA256
	switch version, _ := f.text("SignatureVersion"); version {
	case "1":
		hash = crypto.SHA1
	case "2":
	default:
		return verified{}, refuse(UnsupportedVersion, "SignatureVersion says neither 1 nor 2")
	}
	at, _ := f.text("SigningCertURL")
	if !trustedURL(at, snsHost.MatchString) || !strings.HasSuffix(at, ".pem") {
		return verified{}, refuse(CertNotTrusted, "SigningCertURL is not a certificate at sns.REGION.amazonaws.com, over https")
	}
	topic, _ := f.text("TopicArn")
	if allowed := s.settings["topic"]; len(allowed) > 0 && !slices.Contains(allowed, topic) {
		return verified{}, refuse(ClaimMismatch+":TopicArn", "the topic is none of the %d configured", len(allowed))
	}
	sum, whole := snsSum(f, names, hash)
	if !whole {
		return verified{}, refuse(MalformedBody, "a signed field stands twice, or is no text")
	}
	keys, refusal := s.keysAt(at)
	if refusal != nil {
		return verified{}, refusal
	}
	signature, _ := decoded(sent, "base64")
	label, ok := verifyRSA(keys, hash, sum, signature)
	if !ok {
		return verified{}, mismatch("Signature", len(keys))
	}
	v := verified{label: label}
	stamp, _ := f.text("Timestamp")
	v.signed, v.timed = instant(stamp)
	return v, nil
}

// keysAt returns the trusted certificates, or the one that the URL names: the
// pinned host over https vouches for it, as Amazon publishes it without the
// chain to a root.
func (s *snsScheme) keysAt(url string) ([]pairKey, *Refusal) {
	if len(s.keys) > 0 {
		return s.keys, nil
	}
	return fetchedCertificate(s.published, url, nil)
}

// fetchedCertificate asks for the certificate at a URL that is trusted.
func fetchedCertificate(published Keys, url string, names []string) ([]pairKey, *Refusal) {
	if published == nil {
		return nil, refuse(KeyUnavailable, "the sender's certificate cannot be fetched here; give it as a secret (PEM)")
	}
	cert, err := published.Certificate(url, names)
	if err != nil {
		return nil, &Refusal{KeyUnavailable, "the sender's certificate could not be fetched: " + err.Error(), err}
	}
	return []pairKey{{label: "the sender's certificate", public: cert.PublicKey}}, nil
}

// snsSum is the digest of the signed fields that are there, each as its name
// and its value in lines.
func snsSum(f found, names []string, hash crypto.Hash) (sum []byte, whole bool) {
	d := hash.New()
	for _, name := range names {
		text, state := f.text(name)
		if state == ambiguous {
			return nil, false
		}
		if state == present {
			d.Write([]byte(name + "\n" + text + "\n"))
		}
	}
	return d.Sum(nil), true
}

// confirm returns the SubscribeURL of a confirmation for a topic that is
// configured. Anybody can have Amazon sign one for a topic of theirs, so
// without topics nothing is confirmed.
func (s *snsScheme) confirm(r *Request) (string, bool) {
	f, ok := s.body.read(r.Body)
	defer f.close()
	if kind, _ := f.text("Type"); !ok || kind != "SubscriptionConfirmation" {
		return "", false
	}
	topic, _ := f.text("TopicArn")
	at, _ := f.text("SubscribeURL")
	if !slices.Contains(s.settings["topic"], topic) || !trustedURL(at, snsHost.MatchString) {
		return "", false
	}
	_, query, _ := strings.Cut(at, "?")
	return at, field(&expression{kind: fromQuery, name: "Action"}, query).text == "ConfirmSubscription"
}

func (s *snsScheme) timed() bool { return true }

func (s *snsScheme) sign(r *Request, body []byte) error {
	k, err := s.signer()
	if err != nil {
		return err
	}
	f, ok := s.body.read(body)
	defer f.close()
	kind, _ := f.text("Type")
	sum, whole := snsSum(f, snsSigned(kind), crypto.SHA256)
	private, is := k.private.(*rsa.PrivateKey)
	if !ok || !whole || !is {
		return refuse(MalformedBody, "the body is no message of this sender's, or the key is not RSA")
	}
	signature, err := rsa.SignPKCS1v15(rand.Reader, private, crypto.SHA256, sum)
	if err != nil {
		return wrong("secrets", "%s cannot sign", k.label)
	}
	if r.Body, ok = f.splice(body, "Signature", base64.StdEncoding.EncodeToString(signature)); !ok {
		return refuse(MalformedBody, "the body has no place for a signature: Signature")
	}
	return nil
}

func (s *snsScheme) covers(e *expression) bool {
	if e.kind != fromBody {
		return false
	}
	return len(e.path) == 0 || len(e.path) == 1 && (e.path[0] == "Subject" || slices.Contains(snsSigned("SubscriptionConfirmation"), e.path[0]))
}

func (s *snsScheme) idHeader(*Request) string { return "" }
