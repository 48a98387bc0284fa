package provider

// special are the senders with a scheme of their own, each in its own file.
func special() []Contract {
	return []Contract{
		box(), square(), twilio(), twilioEventStreams(), trello(), docusign(),
		adyenStandard(), hubspot(), contentful(), mailgun(), mandrill(), braintree(),
	}
}
