package provider

import "slices"

// special are the senders with a scheme of their own, each in its own file.
func special() []Contract {
	return slices.Concat([]Contract{
		box(), square(), twilio(), twilioEventStreams(), trello(), docusign(),
		adyenStandard(), hubspot(), contentful(), mailgun(), mandrill(), braintree(),
		discord(), telnyx(), sendgrid(), sns(), paypal(), plaid(), pubsub(), setPush(),
		graph(), eventGrid(), cloudEvents(), salesforceOutbound(),
	}, tokened(), tokenedMore())
}
