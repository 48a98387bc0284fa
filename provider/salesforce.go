package provider

import "time"

// salesforceOutbound posts SOAP that nothing signs.
func salesforceOutbound() Contract {
	return completed(Contract{
		Name: "salesforce-outbound", Title: "Salesforce Outbound Messages (SOAP)", Category: "crm", Confidence: "verified-from-docs",
		SourceDocs: []string{"Salesforce SOAP API Developer Guide: Outbound Messaging / Understanding Notifications", "Salesforce SOAP API Developer Guide: Understanding the Outbound Messaging WSDL", "Salesforce Help: Outbound Message considerations"},
		Scheme:     "none | static-token", Rotation: "the sender's client certificate is for what stands in front of the gateway; a secret in the endpoint's URL is written as query:NAME=VALUE",
		Reads: "the SOAP body as JSON, by local names; item: is one Notification",
		Items: "body:Envelope.Body.notifications.Notification", ID: []string{"item:Id"}, Scope: "one organization", Account: "body:Envelope.Body.notifications.OrganizationId",
		IDNote: "the notification's id (04l…), which is documented as the way to find copies; the record's is the same for every change of it",
		Type:   "body:Envelope.Body.notifications.ActionId", OccurredAt: "item:sObject.SystemModstamp", Deadline: 60 * time.Second,
		Success: Reply{Status: 200, ContentType: "text/xml; charset=utf-8", Body: []byte(salesforceAck)},
		RetryOn: "anything but a SOAP Ack of true, as a whole batch", RetryHorizon: day, ManualWindow: 7 * day, Memory: 14 * day, Volatile: []string{"*"},
		notes: []string{
			"NOTHING IS SIGNED: let only Salesforce's addresses or client certificate through to this source, and put a secret into the URL",
			"values are those of the time of sending: a copy may say something newer under the same id, and is still a copy",
		},
		document: func(_ *Request, body []byte) document { return xmlDocument(body, "Notification") }, trial: []string{"query:secret=onceward-dev-secret"}, newScheme: newSalesforce, sample: salesforceSample,
	})
}

const salesforceAck = `<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body>` +
	`<notificationsResponse xmlns="http://soap.sforce.com/2005/09/outbound"><Ack>true</Ack></notificationsResponse></soapenv:Body></soapenv:Envelope>`

// newSalesforce does without a secret, which its weaknesses say.
func newSalesforce(o *Options) (scheme, error) {
	if len(o.Secrets) == 0 {
		return unsigned{}, nil
	}
	return tokens("Authorization", withBearer)(o)
}

func salesforceSample(d *draft) {
	d.kind = "04k000000000001"
	d.header("Content-Type", "text/xml; charset=utf-8")
	d.header("SOAPAction", `""`)
	stamp := ""
	if !d.at.IsZero() {
		stamp = "<sf:SystemModstamp>" + d.at.UTC().Format(time.RFC3339) + "</sf:SystemModstamp>"
	}
	d.json(`<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body>` +
		`<notifications xmlns="http://soap.sforce.com/2005/09/outbound"><OrganizationId>00Dxx</OrganizationId><ActionId>04k000000000001</ActionId>` +
		`<Notification><Id>{id}</Id><sObject xmlns:sf="urn:sobject.enterprise.soap.sforce.com"><sf:Id>001{n}</sf:Id><sf:Name>Sample {n}</sf:Name>` + stamp +
		`</sObject></Notification></notifications></soapenv:Body></soapenv:Envelope>`)
}
