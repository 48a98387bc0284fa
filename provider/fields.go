package provider

import (
	"slices"
	"strings"
)

// fields are a source's compiled expressions. The paths into the body share
// one plan, those into an item another, so that each is read once.
type fields struct {
	id, formID        []*expression
	kind, formKind    *expression
	occurred, version *expression
	account, mode     *expression
	others            [][]*expression // tried when id is not there
	items             *expression
	lists             *itemLists // instead of items, for a contract's own batches
	outerPlan         *jsonPlan
	sent              *expression // when the body was sent, in a plan of its own
	sentPlan          *jsonPlan
	sentKey           []byte // of sent, as it stands in a body without blanks
	plan, itemPlan    *jsonPlan
	typed, versioned  bool // configured here, so needed
	timed             bool // occurred_at is configured here
	signed            bool // the whole id is inside the signature
	byScheme          bool // the id's header depends on the request
	typeInID          bool
	remember          bool      // signed bodies are to be remembered
	order             *ordering // nil without an order
}

// maxIDParts keeps a joined id readable.
const maxIDParts = 16

// compile reads the options over the contract's expressions.
func (f *fields) compile(s *Source, o *Options) error {
	c := &s.contract
	f.plan, f.itemPlan, f.outerPlan = newPlan(), newPlan(), newPlan()
	f.typed, f.versioned, f.timed = o.Type != "", len(o.Versions) > 0, o.OccurredAt != ""
	if err := f.compileItems(c, o); err != nil {
		return err
	}
	if err := f.compileID(s, o); err != nil {
		return err
	}
	if f.versioned && o.Version == "" && c.Version == "" {
		return wrong("versions", "needs version: the expression that says which version an event has")
	}
	for _, one := range []struct {
		field, own, contract string
		to                   **expression
	}{
		{"type", o.Type, c.Type, &f.kind},
		{"occurred_at", o.OccurredAt, c.OccurredAt, &f.occurred},
		{"version", o.Version, c.Version, &f.version},
		{"account", "", c.Account, &f.account},
		{"mode", "", c.Mode, &f.mode},
		{"type", "", c.FormType, &f.formKind},
	} {
		text := one.own
		if text == "" {
			text = one.contract
		}
		if text == "" {
			continue
		}
		alternatives := []string{text}
		if text == one.contract {
			alternatives = strings.Split(text, "|")
		}
		for i := range alternatives {
			e, err := f.expression(one.field, alternatives[i])
			if err != nil {
				return err
			}
			*one.to = e
			one.to = &e.or
		}
	}
	if err := f.compileOrder(s, &o.Order); err != nil {
		return err
	}
	// Most senders post no forms, but a client may say so of any body: only a
	// contract that knows forms reads them in another way.
	if f.typed || s.contract.FormType == "" && len(s.contract.FormID) == 0 {
		f.formKind = f.kind
	}
	if c.BodyTime != "" {
		e, err := parseExpression("body_time", c.BodyTime)
		if err != nil {
			return err
		}
		f.sent, f.sentPlan = e, newPlan()
		e.slot = f.sentPlan.add(e.path)
		if e.kind == fromBody && len(e.path) == 1 && e.or == nil {
			f.sentKey = append(appendJSON(nil, e.path[0]), ':')
		}
	}
	f.judge(s)
	return nil
}

func (f *fields) compileItems(c *Contract, o *Options) (err error) {
	switch {
	case o.Items == "" && c.Items == "":
		return nil
	case o.Items == "":
		f.lists, err = parseLists(c.Items)
		return err
	case len(o.ID) == 0:
		return wrong("id", "a batch needs its own: with items, say where each item's id is (item:PATH)")
	}
	if f.items, err = parseItems(o.Items); err != nil {
		return err
	}
	f.items.slot = f.plan.add(f.items.path)
	return nil
}

func (f *fields) compileID(s *Source, o *Options) error {
	list := o.ID
	if len(list) == 0 {
		list = s.contract.ID
		f.byScheme = true
	}
	if len(list) == 0 {
		return wrong("id", "is missing: where the event's id is (header:NAME, body:PATH, form:NAME, query:NAME or body-sha256)")
	}
	if len(list) > maxIDParts {
		return wrong("id", "has %d parts, more than %d", len(list), maxIDParts)
	}
	perItem := f.lists != nil
	for _, text := range list {
		e, err := f.idPart(text, f.byScheme)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(f.id, e.same) {
			return wrong("id", "%q stands in the list twice", text)
		}
		f.id = append(f.id, e)
		perItem = perItem || e.kind == fromItem || e.kind == fromDigest
	}
	if f.items != nil && !perItem {
		return wrong("id", "%s is the same for every item of a batch; at least one part must be item:PATH", strings.Join(list, ", "))
	}
	f.formID = f.id
	if len(o.ID) == 0 {
		for _, other := range s.contract.OtherIDs {
			var parts []*expression
			for _, text := range other {
				e, err := f.idPart(text, true)
				if err != nil {
					return err
				}
				parts = append(parts, e)
			}
			f.others = append(f.others, parts)
		}
	}
	if len(o.ID) == 0 && len(s.contract.FormID) > 0 {
		f.formID = nil
		for _, text := range s.contract.FormID {
			e, err := f.expression("id", text)
			if err != nil {
				return err
			}
			f.formID = append(f.formID, e)
		}
	}
	return nil
}

// idPart compiles one part of an identity; a contract may mark it as optional.
func (f *fields) idPart(text string, contract bool) (*expression, error) {
	plain, maybe := text, false
	if contract {
		plain, maybe = strings.CutSuffix(text, "?")
	}
	e, err := f.expression("id", plain)
	if err == nil {
		e.maybe = maybe
	}
	return e, err
}

// expression compiles one expression and gives it its place in a plan.
func (f *fields) expression(field, text string) (*expression, error) {
	e, err := parseExpression(field, text)
	if err != nil {
		return nil, err
	}
	switch e.kind {
	case fromBody:
		e.slot = f.plan.add(e.path)
	case fromOuter:
		if f.lists == nil {
			return nil, wrong(field, "%q is for contracts with lists of lists", text)
		}
		e.slot = f.outerPlan.add(e.path)
	case fromItem:
		if f.items == nil && f.lists == nil {
			return nil, wrong(field, "%q needs items: where the items of the batch are", text)
		}
		e.slot = f.itemPlan.add(e.path)
	}
	return e, nil
}

// judge finds out whether the id is inside the signature.
func (f *fields) judge(s *Source) {
	f.signed = true
	body := &expression{kind: fromBody}
	for _, e := range slices.Concat(append([][]*expression{f.id, f.formID}, f.others...)...) {
		if f.byScheme && e.kind == fromHeader && s.scheme.idHeader(&Request{}) != "" {
			f.signed = f.signed && s.scheme.covers(body)
			continue
		}
		f.signed = f.signed && s.scheme.covers(e)
		f.typeInID = f.typeInID || e.same(f.kind)
	}
	// Without a signature over the body there is nothing to remember: whoever
	// holds one request can change any byte of it.
	f.remember = !f.signed && s.scheme.covers(body)
}
