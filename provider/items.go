package provider

import (
	"slices"
	"strings"
)

// itemLists say where the items of a contract's batches are: one or more ways
// through lists of lists, such as entry.*.changes.*.value.messages.
type itemLists struct {
	text string
	ways [][]listStep
}

// listStep is the way to one list, from the root or from an item of the list
// before.
type listStep struct {
	plan *jsonPlan
	slot int
}

// span is a value in the body; outer is the item of the list before, or zero.
type span struct{ start, end, outer int }

// parseLists reads a contract's items: paths with * for every item of a list,
// several with | in between.
func parseLists(text string) (*itemLists, error) {
	lists := &itemLists{text: text}
	for _, one := range strings.Split(text, "|") {
		var way []listStep
		for _, part := range strings.Split(strings.TrimPrefix(strings.TrimPrefix(one, "body"), ":"), ".*.") {
			step := listStep{plan: newPlan()}
			var path []string
			if part != "" {
				var rule string
				if path, rule = parsePath(part); rule != "" {
					return nil, wrong("items", "%q: %s", text, rule)
				}
			}
			step.slot = step.plan.add(path)
			way = append(way, step)
		}
		lists.ways = append(lists.ways, way)
	}
	return lists, nil
}

// proofs returns the items of a body whose proof of the sender stands in each
// of them: signatures or secrets. name is the list's, for refusals.
func (l *itemLists) proofs(body []byte, name, proof string) ([]span, *Refusal) {
	plan := newPlan()
	r := plan.open(body)
	problem := r.problem
	plan.close(r)
	if problem != readable {
		return nil, refuse(MalformedBody, "the body is not JSON, and the %s are inside it", proof)
	}
	list, found := l.find(body)
	switch {
	case !found:
		return nil, refuse(MalformedBody, "the body has no list %s, in whose items the %s are", name, proof)
	case len(list) == 0:
		return nil, refuse(MissingSignature, "%s is empty, so nothing proves the sender", name)
	case len(list) > maxItems:
		return nil, refuse(MalformedBody, "%s has more than %d items", name, maxItems)
	}
	return list, nil
}

// find returns where the items are, in the order in which they stand in the
// body, and whether any of the lists was there.
func (l *itemLists) find(body []byte) (items []span, found bool) {
	start := 0
	if len(body) >= 3 && string(body[:3]) == "\uFEFF" {
		start = 3
	}
	for _, way := range l.ways {
		w := walk{body: body, items: items}
		w.step(way, span{start: start})
		items, found = w.items, found || w.found
	}
	if len(l.ways) > 1 {
		slices.SortStableFunc(items, func(a, b span) int { return a.start - b.start })
	}
	return items, found
}

type walk struct {
	body  []byte
	items []span
	found bool
}

// step visits the lists of the first step within one value. Each value is read
// once for each level, so a body costs its length times the levels.
func (w *walk) step(way []listStep, in span) {
	r := way[0].plan.openAt(w.body, in.start)
	v := r.values[way[0].slot]
	way[0].plan.close(r)
	if v.kind != '[' || v.repeated {
		return
	}
	w.found = w.found || len(way) == 1
	each := newPlan()
	for pos := v.start + 1; len(w.items) <= maxItems; {
		r := each.openAt(w.body, pos)
		if r.problem != readable { // the list ends here: the whole was valid
			each.close(r)
			return
		}
		item := span{r.from, r.pos, in.start}
		r.space()
		last := r.pos >= len(w.body) || w.body[r.pos] != ','
		pos = r.pos + 1
		each.close(r)
		if len(way) == 1 {
			w.items = append(w.items, item)
		} else {
			w.step(way[1:], item)
		}
		if last {
			return
		}
	}
}
