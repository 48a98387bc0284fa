package provider_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onceward/onceward/provider"
)

// known is a vector with what an independent implementation said about it.
type known struct {
	provider.Vector
	Expect            string   `json:"expect"`
	Reason            string   `json:"reason"`
	ExpectEventIDs    []string `json:"expect_event_ids"`
	ExpectTenant      string   `json:"expect_tenant"`
	ExpectEnvironment string   `json:"expect_environment"`
	ExpectBody        *string  `json:"expect_response_body"`
	ExpectResponse    *struct {
		Status      int               `json:"status"`
		Body        string            `json:"body"`
		ContentType string            `json:"content_type"`
		BodyJSON    json.RawMessage   `json:"body_json"`
		Headers     map[string]string `json:"headers"`
	} `json:"expect_response"`
}

func TestVectors(t *testing.T) {
	files, err := filepath.Glob("testdata/vectors*.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []known
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var file struct{ Vectors []known }
		if err := json.Unmarshal(data, &file); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, file.Vectors...)
	}
	if len(all) < 238 {
		t.Fatalf("only %d vectors", len(all))
	}
	t.Run("every sender has one", func(t *testing.T) {
		has := map[string]bool{}
		for _, v := range all {
			has[v.Provider] = true
		}
		for _, c := range provider.Contracts() {
			if !has[c.Name] && c.Category != "generic" {
				t.Errorf("%s has no known answer; give it at least one that is valid and one that is not, computed by something else than this package", c.Name)
			}
		}
	})
	for _, v := range all {
		t.Run(v.ID, func(t *testing.T) {
			got := v.Check()
			if want := v.Expect == "valid"; got.Valid != want || got.Reason != v.Reason {
				t.Fatalf("valid %v, reason %q (%s); want %v, %q", got.Valid, got.Reason, got.Detail, want, v.Reason)
			}
			if v.ExpectEventIDs != nil && got.Valid {
				if diff := cmp.Diff(v.ExpectEventIDs, got.Events); diff != "" {
					t.Error(diff)
				}
			}
			if v.ExpectTenant != got.Account && v.ExpectTenant != "" {
				t.Errorf("account %q, want %q", got.Account, v.ExpectTenant)
			}
			if v.ExpectEnvironment != got.Mode && v.ExpectEnvironment != "" {
				t.Errorf("mode %q, want %q", got.Mode, v.ExpectEnvironment)
			}
			if v.ExpectBody != nil && (got.Response == nil || got.Response.Body != *v.ExpectBody) {
				t.Errorf("response %+v, want %q", got.Response, *v.ExpectBody)
			}
			if want := v.ExpectResponse; want != nil {
				if want.BodyJSON != nil && got.Response != nil && provider.Equivalent(want.BodyJSON, []byte(got.Response.Body), nil) {
					want.Body = got.Response.Body
				}
				if got.Response == nil || got.Response.Status != want.Status || got.Response.Body != want.Body || want.ContentType != "" && got.Response.ContentType != want.ContentType {
					t.Fatalf("response %+v, want %+v", got.Response, want)
				}
				for name, value := range want.Headers {
					if got.Response.Headers[name] != value {
						t.Errorf("header %s is %q, want %q", name, got.Response.Headers[name], value)
					}
				}
			}
		})
	}
}

func TestVectorVerdicts(t *testing.T) {
	for _, test := range []struct {
		name string
		line string
		want provider.VectorVerdict
	}{
		{
			"a sender that is not built in is unknown",
			`{"provider":"fax"}`,
			provider.VectorVerdict{Reason: "unknown-provider", Detail: "provider fax is not built in", Events: []string{}},
		},
		{
			"an extraction needs no secret, and joins parts with a bar",
			`{"provider":"shopify","kind":"extract","headers":{"x-shopify-topic":"orders/create","x-shopify-event-id":"e1"},"body":"{}"}`,
			provider.VectorVerdict{Valid: true, EventID: "orders/create|e1", Type: "orders/create", Events: []string{"orders/create|e1"}},
		},
		{
			"an authentic request without an identity is valid and has no event id",
			`{"provider":"github","kind":"signature","secret":"mysecret","headers":{"X-Hub-Signature-256":"sha256=4864d2759938a15468b5df9ade20bf161da9b4f737ea61794142f3484236bda3"},"body":"{\"foo\":\"bar\"}"}`,
			provider.VectorVerdict{Valid: true, Detail: "quarantined: id: header X-GitHub-Delivery is missing", Secret: "secret 1", Events: []string{}},
		},
		{
			"a signature vector without key material is not judged",
			`{"provider":"stripe","body":"{}"}`,
			provider.VectorVerdict{Reason: "invalid-options", Detail: "secrets: provider stripe needs at least one secret", Events: []string{}},
		},
		{
			"labelled secrets, and nothing is authenticated by none",
			`{"provider":"none","secrets":{},"body":"x"}`,
			provider.VectorVerdict{Valid: true, EventID: "sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881", Events: []string{"sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}},
		},
		{
			"a labelled secret is named",
			`{"provider":"github","secrets":{"primary":"mysecret","a":"other"},"headers":{"X-Hub-Signature-256":"sha256=4864d2759938a15468b5df9ade20bf161da9b4f737ea61794142f3484236bda3","x-github-delivery":"d"},"body":"{\"foo\":\"bar\"}","tolerance_seconds":300,"now":1}`,
			provider.VectorVerdict{Valid: true, EventID: "d", Secret: "primary", Events: []string{"d"}},
		},
		{
			"a body in base64 is read byte for byte",
			`{"provider":"github","secrets":["other","mysecret"],"headers":{"X-Hub-Signature-256":"sha256=4864d2759938a15468b5df9ade20bf161da9b4f737ea61794142f3484236bda3","x-github-delivery":"d","x-github-event":"ping"},"body_base64":"eyJmb28iOiJiYXIifQ=="}`,
			provider.VectorVerdict{Valid: true, EventID: "d", Type: "ping", Secret: "secret 2", Events: []string{"d"}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var v provider.Vector
			if err := json.Unmarshal([]byte(test.line), &v); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, v.Check()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
