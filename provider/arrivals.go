package provider

import (
	"crypto/sha256"
	"strconv"
	"strings"

	"github.com/onceward/onceward"
)

// maxItems bounds the events of one delivery. Senders stop at some thousands;
// a body of five megabytes can hold millions of empty items.
const maxItems = 10_000

// Arrivals reads the events out of an authentic request: one, or one for each
// item of a batch. It never fails. What is authentic but cannot be used is held
// for a person, with a reason; if even its identity cannot be read, its event
// id is the digest of its bytes, so that its copies are duplicates of it.
//
// An empty batch is one ignored arrival: some senders probe with it.
func (s *Source) Arrivals(r *Request) []onceward.Arrival {
	in := input{r: r}
	s.decode(&in)
	if in.reader != nil {
		defer s.fields.plan.close(in.reader)
	}
	switch {
	case s.fields.items != nil:
		return s.batch(&in)
	case s.fields.lists != nil:
		return s.lists(&in)
	}
	list := make([]onceward.Arrival, 1)
	s.arrival(&in, &list[0], r.Body)
	return list
}

// decode prepares the body for reading, if anything is to be read from it.
func (s *Source) decode(in *input) {
	body, err := DecodeBody(in.r.coding(), in.r.Body, s.maxBody)
	if err != nil {
		in.coding = "body cannot be read: " + err.Error()
		return
	}
	in.body, in.form = body, body
	if s.contract.document != nil {
		doc := s.contract.document(in.r, body)
		if doc.why != "" {
			in.coding = doc.why
			return
		}
		in.body, in.raws = doc.text, doc.raws
	}
	if s.fields.plan.slots > 0 {
		in.reader = s.fields.plan.open(in.body)
	}
}

// arrival fills one arrival whose own bytes are raw.
func (s *Source) arrival(in *input, a *onceward.Arrival, raw []byte) {
	a.Raw, a.Content = raw, sha256.Sum256(raw)
	a.HideID = s.hideIDs
	a.Verdict = onceward.Accepted
	in.digests = a.Content
	form := in.r.isForm()
	a.Key = s.base
	if why := s.identify(in, a, form); why != "" {
		a.Key = s.base
		a.Key.EventID = contentID(a.Content)
		hold(a, why)
	}
	a.Shown = shown(a.Key.EventID)
	s.classify(in, a, form)
	if a.Verdict == onceward.Accepted && s.repeats[a.Key.EventID] {
		a.Key.EventID += repeatMark + strconv.FormatInt(in.r.Now.UnixNano(), 10)
	}
}

// hold quarantines an arrival; the first reason stays.
func hold(a *onceward.Arrival, why string) {
	if a.Verdict == onceward.Accepted {
		a.Verdict, a.Reason = onceward.QuarantinedBy, why
	}
}

// identify fills the identity. The sender's marker and account are part of it,
// so if they cannot be read there is none.
func (s *Source) identify(in *input, a *onceward.Arrival, form bool) (why string) {
	f := &s.fields
	list := f.id
	if form {
		list = f.formID
	}
	if f.byScheme {
		if name := s.scheme.idHeader(in.r); name != "" {
			a.Key.EventID, why = in.required("id", &expression{kind: fromHeader, text: name, name: name})
			list = nil
		}
	}
	if list != nil {
		a.Key.EventID, why = in.id(list)
		for i := 0; i < len(f.others) && why != "" && f.byScheme; i++ {
			if id, whyNot := in.id(f.others[i]); whyNot == "" {
				a.Key.EventID, why = id, ""
			}
		}
	}
	if why != "" {
		return why
	}
	if a.Key.Account, why = in.optional("account", f.account); why != "" {
		return why
	}
	marker, why := in.optional("mode", f.mode)
	if why != "" {
		return why
	}
	if marker != "" && s.contract.ModeNames != nil {
		name, known := s.contract.ModeNames[marker]
		if !known {
			return "mode: " + f.mode.display() + " is neither of the sender's markers"
		}
		marker = name
	}
	a.Key.Mode = marker
	return ""
}

// classify reads what an operation is chosen by. What cannot be read here does
// not change the identity: when a person lets the event go, a later copy must
// still be its duplicate.
func (s *Source) classify(in *input, a *onceward.Arrival, form bool) {
	f := &s.fields
	switch {
	case s.mode == "" || a.Key.Mode == s.mode || a.Verdict != onceward.Accepted:
	case a.Key.Mode == "":
		hold(a, "mode: "+f.mode.display()+" is missing, and mode is "+s.mode)
	default:
		hold(a, "marker "+a.Key.Mode+" contradicts mode "+s.mode)
	}
	kind := f.kind
	if form {
		kind = f.formKind
	}
	var why string
	if a.Type, why = in.needed("type", kind, f.typed); why != "" {
		hold(a, why)
	}
	if a.Version, why = in.needed("version", f.version, f.versioned); why != "" {
		hold(a, why)
	}
	if f.versioned && why == "" && !matchesAny(s.versions, a.Version) {
		hold(a, "version "+a.Version+" is not in versions")
	}
	if f.order != nil {
		if why = s.inStream(in, a); why != "" {
			hold(a, why)
		}
	}
	if f.occurred != nil {
		if found := in.read(f.occurred); found.state == present {
			a.OccurredAt, _ = instant(found.text)
		}
	}
}

// needed reads a value that must be there only if the configuration says so.
func (in *input) needed(name string, e *expression, must bool) (text, why string) {
	if must {
		return in.required(name, e)
	}
	return in.optional(name, e)
}

// batch makes an arrival of every item.
func (s *Source) batch(in *input) []onceward.Arrival {
	why, items := "", jsonValue{}
	switch {
	case in.coding != "":
		why = in.coding
	case in.reader.problem != readable:
		why = in.reader.explain()
	default:
		items = in.reader.values[s.fields.items.slot]
		switch {
		case items.repeated:
			why = "items: " + s.fields.items.text + " stands twice in the body"
		case items.kind == 0:
			why = "items: " + s.fields.items.text + " is missing"
		case items.kind != '[':
			why = "items: " + s.fields.items.text + " is not a list"
		}
	}
	var list []onceward.Arrival
	if why == "" {
		if list = s.split(in, items); len(list) > maxItems {
			why = "items: " + s.fields.items.text + " has more than " + strconv.Itoa(maxItems) + " items"
		}
	}
	if why == "" && len(list) > 0 {
		return list
	}
	return s.whole(in, why)
}

// lists makes an arrival of every item of a contract's own batches.
func (s *Source) lists(in *input) []onceward.Arrival {
	f := &s.fields
	why := in.coding
	var items []span
	if why == "" {
		if in.reader == nil { // nothing else is read from the body
			in.reader = f.plan.open(in.body)
			defer f.plan.close(in.reader)
		}
		found := false
		switch items, found = f.lists.find(in.body); {
		case in.reader.problem != readable:
			why = in.reader.explain()
		case !found && s.contract.Single:
			list := make([]onceward.Arrival, 1)
			in.item = f.itemPlan.openAt(in.body, 0) // the body is the one item
			s.arrival(in, &list[0], in.r.Body)
			f.itemPlan.close(in.item)
			return list
		case !found:
			why = "items: " + f.lists.text + " is missing, or not a list"
		case len(items) > maxItems:
			why = "items: " + f.lists.text + " has more than " + strconv.Itoa(maxItems) + " items"
		}
	}
	if why != "" || len(items) == 0 {
		return s.whole(in, why)
	}
	list := make([]onceward.Arrival, len(items))
	for i, item := range items {
		in.item = f.itemPlan.openAt(in.body, item.start)
		if f.outerPlan.slots > 0 {
			in.outer = f.outerPlan.openAt(in.body, item.outer)
		}
		a := &list[i]
		raw := in.body[item.start:item.end:item.end]
		if i < len(in.raws) {
			raw = in.raws[i]
		}
		s.arrival(in, a, raw)
		a.Item, a.Of = i+1, len(items)
		f.itemPlan.close(in.item)
		if in.outer != nil {
			f.outerPlan.close(in.outer)
		}
	}
	return list
}

// whole is the one arrival of a batch that is empty, or that why says cannot
// be taken apart.
func (s *Source) whole(in *input, why string) []onceward.Arrival {
	whole := onceward.Arrival{Key: s.base, Raw: in.r.Body, Content: sha256.Sum256(in.r.Body), HideID: s.hideIDs, Verdict: onceward.Ignored, Reason: "the batch is empty"}
	whole.Key.EventID = contentID(whole.Content)
	if why != "" {
		whole.Verdict, whole.Reason = onceward.QuarantinedBy, why
	}
	return []onceward.Arrival{whole}
}

// split reads the items one after the other; it stops behind the limit.
func (s *Source) split(in *input, items jsonValue) []onceward.Arrival {
	var list []onceward.Arrival
	pos := items.start + 1
	for len(list) <= maxItems {
		in.item = s.fields.itemPlan.openAt(in.body, pos)
		if in.item.problem != readable { // the list ends here: the whole was valid
			s.fields.itemPlan.close(in.item)
			break
		}
		end := in.item.pos
		list = append(list, onceward.Arrival{})
		a := &list[len(list)-1]
		s.arrival(in, a, in.body[in.item.from:end:end])
		a.Item = len(list)
		in.item.space()
		pos = in.item.pos + 1
		last := in.body[in.item.pos] != ','
		s.fields.itemPlan.close(in.item)
		if last {
			break
		}
	}
	for i := range list {
		list[i].Of = len(list)
	}
	return list
}

// Level reports whether a delivery only says that something changed, so that
// an unchanged copy of it runs again. Of senders with an older and a newer
// kind of notification it is the form that says so.
func (s *Source) Level(r *Request) bool {
	return s.contract.Level && (len(s.contract.FormID) == 0 || r.isForm())
}

// repeatMark stands between an id that is never deduplicated and the moment of
// its delivery, which makes every delivery an event of its own.
const repeatMark = " @ "

// Repeats reports whether the arrival's id is one of those that are never
// deduplicated: every delivery of it is a new event.
func (s *Source) Repeats(a onceward.Arrival) bool {
	id, _, marked := strings.Cut(a.Key.EventID, repeatMark)
	return marked && s.repeats[id]
}

// BodyPart says whether the signed body of an arrival is to be remembered,
// because the event's id is not inside the signature: then a captured request
// with a fresh id is a known body under another id. Where the type is part of
// the identity, part is the type: one body may come under two.
func (s *Source) BodyPart(a onceward.Arrival) (part string, remember bool) {
	nameless := a.Verdict == onceward.QuarantinedBy && a.Key.EventID == contentID(a.Content)
	if !s.fields.remember || nameless || s.Repeats(a) {
		return "", false
	}
	if s.fields.typeInID {
		part = a.Type
	}
	return part, true
}

// matchesAny reports whether a version fits one of the patterns, in which *
// stands for any text.
func matchesAny(patterns []string, version string) bool {
	for _, p := range patterns {
		if matches(p, version) {
			return true
		}
	}
	return false
}

func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	text, ok := strings.CutPrefix(text, parts[0])
	if len(parts) == 1 {
		return ok && text == ""
	}
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(text, part)
		ok = ok && found
		text = after
	}
	return ok && strings.HasSuffix(text, parts[len(parts)-1])
}
