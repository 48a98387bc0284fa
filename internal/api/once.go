package api

import (
	"fmt"
	"strings"
	"time"

	"github.com/onceward/onceward"
)

// account is what is on record of one operation. Whether its effect happened
// once is told from it, and never more certainly than it says.
type account struct {
	o        onceward.Operation
	to       string        // its destination
	memory   time.Duration // how long that remembers a key; 0 when nothing is said about it
	attempts int
	unclear  []unclear // without a clear answer, in order
	answered *onceward.Attempt
	found    *onceward.Audit // evidence that it happened
	begun    *onceward.Audit // the replay that it comes from
	earlier  int             // effects of its name that were there before it
}

// unclear is an attempt that may have had its effect.
type unclear struct {
	onceward.Attempt
	decided *onceward.Audit // what let it be repeated; nil when nothing had to
	to      string
	keyed   bool   // that destination deduplicates our key
	effect  string // empty when it is not on record: its step is done since
}

// account gathers what is on record of one operation.
func (s *server) account(o onceward.Operation, h onceward.History) account {
	t := account{o: o, to: named(s.destination(o)), memory: s.KeyMemory[o.Name]}
	for i := range h.Attempts {
		a := &h.Attempts[i]
		if a.Operation != o.ID {
			continue
		}
		t.attempts++
		switch {
		case a.Outcome == "completed":
			t.answered = a
		// An owner that was lost before its call had no effect; only a keyed
		// operation is taken over with its call in doubt.
		case a.Outcome == "ambiguous", a.Outcome == "lost" && (o.Effect == onceward.Keyed || a.State == onceward.UnknownOutcome):
			t.unclear = append(t.unclear, s.unclear(o, *a, h))
		}
	}
	for i := range h.Audits {
		a := &h.Audits[i]
		switch {
		case a.Operation != o.ID:
		case a.To == onceward.Completed.String() && a.Evidence != "":
			t.found = a
		case a.Mode != "" && a.Action == "T0b":
			t.begun = a
		}
	}
	for _, other := range h.Event.Operations {
		if other.Name == o.Name && other.Revision == o.Revision && other.ID.N < o.ID.N && other.State == onceward.Completed && !other.Superseded && other.Redelivery == 0 {
			t.earlier++
		}
	}
	return t
}

func (s *server) unclear(o onceward.Operation, a onceward.Attempt, h onceward.History) unclear {
	u := unclear{Attempt: a, to: named(s.destination(o)), keyed: o.Effect == onceward.Keyed, effect: o.Effect.String()}
	for _, p := range h.Steps {
		if p.Operation == o.ID && p.Generation == o.Generation && p.Attempt >= a.Number && p.N < o.Step { // of a step that is done since
			done := o
			done.Step = p.N
			u.to, u.keyed, u.effect = named(s.destination(done)), a.State != onceward.UnknownOutcome, ""
			break
		}
	}
	if a.State != onceward.UnknownOutcome && u.keyed {
		return u // repeated with the same key, by itself
	}
	for i := range h.Audits {
		d := &h.Audits[i]
		if d.Operation == o.ID && d.Fence > a.Fence && (d.To == onceward.Received.String() || d.To == onceward.FailedBeforeEffect.String()) {
			u.decided = d
			break
		}
	}
	return u
}

func named(destination string) string {
	if destination == "" {
		return "the destination"
	}
	return "destination " + destination
}

// absent reports that somebody looked and found that the call had no effect.
func (u unclear) absent() bool { return u.decided != nil && u.decided.Action == "T17" }

// risked are the attempts that were repeated although they may have had their
// effect and the destination does not deduplicate. Who finds the key absent
// later has answered for all of them.
func (t account) risked() (all []unclear) {
	for _, u := range t.unclear {
		switch {
		case u.absent():
			all = nil
		case u.decided != nil && u.decided.Consent && !u.keyed:
			all = append(all, u)
		}
	}
	return all
}

// forgotten reports that the same key was sent later than its destination is
// sure to remember it.
func (t account) forgotten() bool {
	if t.memory <= 0 || t.answered == nil || len(t.unclear) == 0 || t.o.Effect != onceward.Keyed {
		return false
	}
	first := t.firstKeyed()
	return !first.IsZero() && t.answered.Started.After(first.Add(t.memory))
}

// firstKeyed is when the present step's key may have been known first; zero when
// nothing is open about it.
func (t account) firstKeyed() (first time.Time) {
	for _, u := range t.unclear {
		switch {
		case u.effect == "" || u.absent():
			first = time.Time{}
		case first.IsZero():
			first = u.Started
		}
	}
	return first
}

// once says whether an operation had its effect once, and how that is known.
func (t account) once() (verdict, how string) {
	o := t.o
	switch {
	case o.Disputed:
		return "disputed", "A late report contradicts what was decided since. Count at the destination, by the key."
	case o.Superseded && o.Unknown:
		return "unknown", sentences(t.origin(), "A later one took its place after its outcome had been unknown: "+o.Reason+".", t.doubts())
	case o.Superseded:
		return "no_effect", "It never had its effect: " + o.Reason + "."
	case o.State == onceward.Completed:
		return t.completed()
	case o.State == onceward.UnknownOutcome:
		return "unknown", sentences(t.origin(), "A call was made and its outcome never came back ("+o.Reason+"). Automation does not repeat it.", t.doubts())
	case o.State == onceward.DeadLettered && o.Unknown:
		return "unknown", sentences(t.origin(), "It was given up after its outcome had been unknown: "+o.Reason+".", t.doubts())
	case o.State == onceward.DeadLettered && t.attempts == 0:
		return "no_effect", sentences(t.origin(), "It was given up before any attempt: "+o.Reason+".")
	case o.State == onceward.DeadLettered && len(t.unclear) == 0:
		return "no_effect", sentences(t.origin(), fmt.Sprintf("%s ended with proof that nothing happened, the last: %s.", counted(t.attempts, "attempt", "attempts"), o.Reason))
	case o.State == onceward.DeadLettered:
		return "no_effect", sentences(t.origin(), "The last attempt ended with proof that nothing happened: "+o.Reason+".", t.doubts())
	case o.State == onceward.Quarantined:
		return "no_effect", "It is held before any effect: " + o.Reason + "."
	case len(t.unclear) > 0:
		return "not_yet", sentences(t.origin(), t.doubts(), "It is on its way again.")
	}
	return "not_yet", sentences(t.origin(), "Nothing has had an effect so far, and it is on its way.")
}

func sentences(all ...string) string {
	var said []string
	for _, text := range all {
		if text != "" {
			said = append(said, text)
		}
	}
	return strings.Join(said, " ")
}

func (t account) completed() (verdict, how string) {
	verdict = "yes"
	switch {
	case t.o.Redelivery > 0 && t.o.Effect == onceward.Keyed:
		verdict = "redelivered"
	case t.o.Redelivery > 0, t.begun != nil && t.begun.Mode == onceward.Reexecute.String() && t.earlier > 0:
		verdict = "again"
	case len(t.risked()) > 0, t.forgotten():
		verdict = "at_least_once"
	}
	var proof string
	if len(t.unclear) == 0 && t.attempts > 1 && t.answered != nil {
		proof = "Every other attempt ended with proof that nothing happened, and what is completed is never run again."
	}
	return verdict, sentences(t.origin(), t.evidence(), t.doubts(), proof)
}

// origin says which replay an operation comes from.
func (t account) origin() string {
	b := t.begun
	switch {
	case b == nil && t.o.Redelivery > 0:
		return fmt.Sprintf("It is redelivery %d, which a person asked for, with the first one's key.", t.o.Redelivery)
	case b == nil:
		return ""
	case b.Mode == onceward.Redeliver.String() && t.o.Effect == onceward.Keyed:
		return fmt.Sprintf("Redelivery %d, sent again with the first one's key, so it is the same effect as far as %s deduplicates the key%s: %s, %s.", t.o.Redelivery, t.to, t.remembers(), b.Actor, b.Reason)
	case b.Mode == onceward.Redeliver.String():
		return fmt.Sprintf("Redelivery %d, sent again with the first one's key; %s does not deduplicate (%s), so it is a further effect, on purpose: %s, %s.", t.o.Redelivery, t.to, t.o.Effect, b.Actor, b.Reason)
	case b.Mode == onceward.Reexecute.String() && t.earlier > 1:
		return fmt.Sprintf("A further effect on purpose, under a new key: %s, %s.", b.Actor, b.Reason)
	case b.Mode == onceward.Reexecute.String() && t.earlier > 0:
		return fmt.Sprintf("A second effect on purpose, under a new key: %s, %s.", b.Actor, b.Reason)
	case b.Mode == onceward.Reexecute.String():
		return fmt.Sprintf("It runs under a new key in place of one that had no effect: %s, %s.", b.Actor, b.Reason)
	}
	return ""
}

func (t account) remembers() string {
	if t.memory <= 0 {
		return ""
	}
	return fmt.Sprintf(" (key_memory %s)", t.memory)
}

// evidence says how it is known that it happened.
func (t account) evidence() string {
	var b strings.Builder
	switch {
	case t.found != nil && t.found.Actor == "reconciler":
		fmt.Fprintf(&b, "%s was asked and has it: %s.", capital(t.to), t.found.Evidence)
	case t.found != nil && t.found.Actor == "late owner":
		fmt.Fprintf(&b, "Its answer came late: %s.", t.found.Evidence)
	case t.found != nil:
		fmt.Fprintf(&b, "%s found it at %s: %s.", t.found.Actor, t.to, t.found.Evidence)
	case t.answered != nil && t.answered.Status != 0:
		fmt.Fprintf(&b, "Attempt %d was answered %d.", t.answered.Number, t.answered.Status)
	case t.answered != nil:
		fmt.Fprintf(&b, "Attempt %d was answered with success.", t.answered.Number)
	default:
		b.WriteString("It is on record as completed.")
	}
	if t.o.Result != "" {
		fmt.Fprintf(&b, " The destination's reference is %s.", t.o.Result)
	}
	return b.String()
}

// doubts tells of the attempts without a clear answer, and why they were
// repeated. Having looked and having taken a risk are different sentences.
func (t account) doubts() string {
	var all []string
	keyed, risked := 0, t.risked()
	for _, u := range t.unclear {
		d := u.decided
		switch {
		case u.absent() && d.Actor == "reconciler":
			all = append(all, fmt.Sprintf("Attempt %d had no clear answer; %s was asked, and it had not happened: %s.", u.Number, u.to, d.Evidence))
		case u.absent():
			all = append(all, fmt.Sprintf("Attempt %d had no clear answer; %s looked, and it had not happened: %s.", u.Number, d.Actor, d.Evidence))
		case u.keyed:
			keyed++
			if d != nil && d.Consent {
				all = append(all, fmt.Sprintf("Attempt %d was repeated because %s wanted it: %s.", u.Number, d.Actor, d.Reason))
			}
		case d != nil && d.Consent && len(risked) > 0 && u.effect == "":
			all = append(all, fmt.Sprintf("Attempt %d is unknown, and %s accepted the risk of a second effect at %s: %s.", u.Number, d.Actor, u.to, d.Reason))
		case d != nil && d.Consent && len(risked) > 0:
			all = append(all, fmt.Sprintf("Attempt %d is unknown, %s does not deduplicate (%s), and %s accepted the risk: %s.", u.Number, u.to, u.effect, d.Actor, d.Reason))
		case d != nil && d.Consent:
			all = append(all, fmt.Sprintf("Attempt %d had no clear answer, and %s had it repeated at the risk of a second effect: %s.", u.Number, d.Actor, d.Reason))
		case t.o.State == onceward.Completed:
			all = append(all, fmt.Sprintf("Attempt %d had no clear answer.", u.Number))
		}
	}
	if keyed > 0 {
		all = append(all, t.sameKey(keyed))
	}
	return sentences(all...)
}

func (t account) sameKey(n int) string {
	attempts := counted(n, "attempt", "attempts")
	switch {
	case t.forgotten():
		return fmt.Sprintf("%s had no clear answer; the last one carried the same key, but %s after the first, and %s is sure to remember a key for %s only.",
			attempts, t.answered.Started.Sub(t.firstKeyed()).Round(time.Second), t.to, t.memory)
	case t.answered != nil && t.found == nil:
		return fmt.Sprintf("%s before it had no clear answer; all of them carried the same key, so it is one effect if %s deduplicates as it promises%s.", attempts, t.to, t.remembers())
	case t.found != nil, !t.o.State.Open():
		return fmt.Sprintf("%s had no clear answer; all of them carried the same key.", attempts)
	}
	return fmt.Sprintf("%s may have had its effect; it is repeated with the same key, which %s deduplicates%s.", attempts, t.to, t.remembers())
}

func capital(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// headlines say how often the effects of one name happened, where a person had
// one repeated: reading every operation as its own would sum up wrongly.
func headlines(all []account) (lines []string) {
	type group struct{ name, revision string }
	seen := map[group]bool{}
	for _, t := range all {
		g := group{t.o.Name, t.o.Revision}
		if seen[g] {
			continue
		}
		seen[g] = true
		sum, resent, more, least, asked := 0, 0, 0, false, false
		for _, other := range all {
			if (group{other.o.Name, other.o.Revision}) != g {
				continue
			}
			asked = asked || other.begun != nil && other.begun.Mode != onceward.Resume.String()
			switch verdict, _ := other.once(); verdict {
			case "yes", "again":
				sum++
			case "at_least_once":
				sum, least = sum+1, true
			case "redelivered":
				resent++
			case "no_effect":
			default:
				more++
			}
		}
		if !asked {
			continue
		}
		text := times(sum)
		if least {
			text = "at least " + text
		}
		if sum > 1 {
			text += ", on purpose"
		}
		switch {
		case resent == 1:
			text += ", and sent again with the same key"
		case resent > 1:
			text += ", and sent again " + times(resent) + " with the same key"
		}
		if more > 0 {
			text += ", and " + counted(more, "more has", "more have") + " not ended clearly"
		}
		lines = append(lines, t.o.Name+": "+text)
	}
	return lines
}

func times(n int) string {
	switch n {
	case 0:
		return "no effect"
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}
