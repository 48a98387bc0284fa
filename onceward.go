// Package onceward is the vocabulary and the rules of Onceward: keys, states,
// leases, outcomes, and the table of what may follow what. It imports only the
// standard library and knows no store, no network and no clock.
//
// For each operation key, within its configured memory, Onceward commits at
// most one local effect, and never lets automation repeat an outside effect
// that it cannot prove safe to repeat. Handlers may run more than once. When an
// outside result cannot be known, Onceward says so and stops.
//
// An [Admission] is one delivery on its way in; it makes an [Event] and one
// [Operation] per effect. A worker takes an operation under a [Lease] and
// settles it with an [Outcome]. [Transitions] is the whole state machine;
// [Operation.Take], [Operation.Settle] and their siblings are its only code, and
// every store runs exactly these.
package onceward
