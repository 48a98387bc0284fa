-- +goose Up

-- The installation's secrets for digests; rotated by adding a row.
CREATE TABLE pepper (
  name    TEXT PRIMARY KEY,
  secret  BLOB NOT NULL,
  created INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Small facts of the store itself.
CREATE TABLE setting (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE source (
  id          INTEGER PRIMARY KEY,
  tenant      TEXT NOT NULL,
  name        TEXT NOT NULL,
  environment TEXT NOT NULL,
  UNIQUE (tenant, name, environment)
) STRICT;

-- Operation names; only configuration adds rows.
CREATE TABLE label (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

-- The memory of keys; sqlitestore/ledger.go has how they come here. Narrow on
-- purpose: how many keys fit a page decides how many pages a commit dirties.
CREATE TABLE ledger (
  key   BLOB PRIMARY KEY CHECK (length(key) = 16),
  event INTEGER NOT NULL CHECK (event > 0)
) STRICT, WITHOUT ROWID;

-- What is known of each key; appended in order of arrival.
CREATE TABLE event (
  id          INTEGER PRIMARY KEY,
  key         BLOB NOT NULL,
  body        BLOB,              -- second ledger key: the signed body, where the id is not signed
  source      INTEGER NOT NULL,
  mode        TEXT,
  account     TEXT,
  event_id    TEXT,
  type        TEXT,
  version     TEXT,
  occurred_at INTEGER,           -- times are UTC microseconds everywhere
  content     BLOB NOT NULL CHECK (length(content) = 32),
  verdict     INTEGER NOT NULL CHECK (verdict = 1 OR verdict = 4 OR verdict = 5),
  reason      TEXT,
  segment     INTEGER,           -- where its payload is, until that is dropped
  slot        INTEGER,
  item        INTEGER,
  items       INTEGER,
  secret      TEXT,
  remote      TEXT,
  deliveries  INTEGER NOT NULL DEFAULT 1,
  conflicts   INTEGER NOT NULL DEFAULT 0,
  last_seen   INTEGER NOT NULL,
  keep        INTEGER NOT NULL,  -- remembered at least so long after last_seen
  forget_at   INTEGER,           -- and no longer than until then
  erased      INTEGER            -- when what it carried was erased
) STRICT;
CREATE INDEX event_quarantined ON event (id) WHERE verdict = 4;

-- Payloads of one commit, compressed together; dropped on their own clock.
CREATE TABLE segment (
  id      INTEGER PRIMARY KEY,
  expires INTEGER NOT NULL,
  first   INTEGER NOT NULL,      -- its events are among these
  last    INTEGER NOT NULL,
  size    INTEGER NOT NULL,      -- bytes before compression
  data    BLOB NOT NULL
) STRICT;
CREATE INDEX segment_expires ON segment (expires);

-- The unit of state. due_at: when it may run, or when its lease ends.
CREATE TABLE operation (
  event      INTEGER NOT NULL,
  n          INTEGER NOT NULL,
  label      INTEGER NOT NULL,
  generation INTEGER NOT NULL DEFAULT 0,
  state      INTEGER NOT NULL CHECK (state BETWEEN 1 AND 8),
  effect     INTEGER NOT NULL CHECK (effect BETWEEN 1 AND 4),
  fence      INTEGER NOT NULL,
  attempt    INTEGER NOT NULL,
  budget     INTEGER NOT NULL DEFAULT 0,
  intent     INTEGER NOT NULL CHECK (intent BETWEEN 0 AND 1),
  flags      INTEGER NOT NULL DEFAULT 0,
  redelivery INTEGER NOT NULL DEFAULT 0,
  revision   BLOB CHECK (revision IS NULL OR length(revision) = 32), -- the later content that it carries
  owner      TEXT,
  due_at     INTEGER,
  result     TEXT,
  reason     TEXT,
  changed    INTEGER NOT NULL,
  stream     INTEGER,            -- where it is ordered, and at which place
  place      BLOB,
  step       INTEGER NOT NULL DEFAULT 0 CHECK (step >= 0), -- that runs or is next; the earlier ones are in table step
  plan       TEXT,               -- names of its steps; null for a single one without a name
  intent_at  INTEGER,            -- when the step's first call may have been made
  ask_at     INTEGER,            -- unknown outcome: when the other side is asked next
  sent_by    INTEGER,            -- and the moment after which the call cannot have been sent
  PRIMARY KEY (event, n),
  -- No IN lists here: SQLite builds a table for each of them, at every write.
  CHECK ((state < 4 OR state = 5) = (due_at IS NOT NULL) OR (stream IS NOT NULL AND due_at IS NULL AND (state = 1 OR state = 5))),
  CHECK ((stream IS NULL) = (place IS NULL) AND (place IS NULL OR length(place) = 16)),
  CHECK (owner IS NULL OR state = 2 OR state = 3),
  CHECK (intent = 0 OR state = 2 OR state = 6 OR state = 7),
  CHECK (attempt > 0 OR NOT (state = 2 OR state = 3 OR state = 6)),
  CHECK (intent = 0 OR intent_at IS NOT NULL),
  CHECK (ask_at IS NULL OR state = 6 AND effect = 3 AND sent_by IS NOT NULL)
) STRICT, WITHOUT ROWID;
CREATE INDEX operation_due ON operation (label, step, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX operation_ask ON operation (label, step, ask_at) WHERE ask_at IS NOT NULL;
CREATE INDEX operation_stream ON operation (stream, place) WHERE stream IS NOT NULL;
CREATE INDEX operation_waiting ON operation (stream, place) WHERE stream IS NOT NULL AND state <> 4;
-- What runs again is recorded once, whoever asks for it at the same time.
CREATE UNIQUE INDEX operation_again ON operation (event, label, ifnull(revision, x''), generation, redelivery)
 WHERE generation > 0 OR redelivery > 0 OR revision IS NOT NULL;
CREATE INDEX operation_parked ON operation (state, event, n) WHERE state >= 6;

-- How the operations of one name from one source are ordered today.
CREATE TABLE ordering (
  id     INTEGER PRIMARY KEY,
  label  INTEGER NOT NULL,
  source INTEGER NOT NULL,
  mode   INTEGER NOT NULL CHECK (mode BETWEEN 1 AND 3),
  tie    INTEGER NOT NULL,
  on_gap INTEGER NOT NULL,
  gap    INTEGER NOT NULL,
  skip   INTEGER NOT NULL,
  hold   INTEGER NOT NULL,
  UNIQUE (label, source)
) STRICT;

-- Those that share an ordering key are a stream.
CREATE TABLE stream (
  id        INTEGER PRIMARY KEY,
  label     INTEGER NOT NULL,
  key       BLOB NOT NULL CHECK (length(key) = 16),
  ordering  INTEGER NOT NULL,
  begun     INTEGER NOT NULL DEFAULT 0,
  first     BLOB,
  applied   BLOB,
  content   BLOB,
  gap_since INTEGER,
  UNIQUE (label, key)
) STRICT;

-- +goose StatementBegin
CREATE TRIGGER operation_guard BEFORE UPDATE ON operation
WHEN (old.state = 4 AND (new.state <> 4 OR new.fence <> old.fence OR new.result IS NOT old.result)) -- a dispute may still be noted
 OR new.fence < old.fence OR (new.step < old.step AND new.generation = old.generation)
BEGIN
  SELECT RAISE(ABORT, 'operation_guard: completed is terminal, and neither a fence nor a step falls');
END;
-- +goose StatementEnd

-- Recovery points: steps that are done. Written in the commit that moves the
-- operation past them, and never changed.
CREATE TABLE step (
  event      INTEGER NOT NULL,
  n          INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  step       INTEGER NOT NULL,
  name       TEXT NOT NULL,
  result     TEXT,
  attempt    INTEGER NOT NULL,
  fence      INTEGER NOT NULL,
  at         INTEGER NOT NULL,
  PRIMARY KEY (event, n, generation, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempt (
  event   INTEGER NOT NULL,
  n       INTEGER NOT NULL,
  fence   INTEGER NOT NULL,
  number  INTEGER NOT NULL,
  owner   TEXT NOT NULL,
  started INTEGER NOT NULL,
  ended   INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  status  INTEGER,
  state   INTEGER NOT NULL,
  reason  TEXT,
  PRIMARY KEY (event, n, fence)
) STRICT, WITHOUT ROWID;

-- Later arrivals of an event; the first is the event's own row.
CREATE TABLE delivery (
  event   INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  verdict INTEGER NOT NULL,
  count   INTEGER NOT NULL,
  secret  TEXT,
  remote  TEXT,
  PRIMARY KEY (event, at, verdict)
) STRICT, WITHOUT ROWID;

-- Deliveries that contradict their event, each content once.
CREATE TABLE evidence (
  id          INTEGER PRIMARY KEY, -- from the events' numbers, never used again
  event       INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  count       INTEGER NOT NULL,
  content     BLOB NOT NULL,
  type        TEXT,
  version     TEXT,
  occurred_at INTEGER,
  decided     INTEGER NOT NULL DEFAULT 0 CHECK (decided BETWEEN 0 AND 6),
  decided_at  INTEGER,
  segment     INTEGER,
  slot        INTEGER,
  UNIQUE (event, content),
  CHECK ((decided = 0) = (decided_at IS NULL))
) STRICT;
CREATE INDEX evidence_open ON evidence (id) WHERE decided = 0;

CREATE TABLE audit (
  id       INTEGER PRIMARY KEY,
  at       INTEGER NOT NULL,
  actor    TEXT NOT NULL,
  action   TEXT NOT NULL,
  target   TEXT NOT NULL,
  event    INTEGER,
  n        INTEGER,
  before   TEXT,
  after    TEXT,
  fence    INTEGER,
  reason   TEXT,
  evidence TEXT,
  mode     TEXT,                 -- of the replay that it was part of
  consent  INTEGER NOT NULL DEFAULT 0 CHECK (consent BETWEEN 0 AND 1) -- the risk of a second effect was accepted
) STRICT;
CREATE INDEX audit_event ON audit (event) WHERE event IS NOT NULL;

-- Decisions about every event that a filter finds, carried out step by step.
CREATE TABLE bulk (
  id         INTEGER PRIMARY KEY,
  at         INTEGER NOT NULL,
  mode       INTEGER NOT NULL CHECK (mode BETWEEN 1 AND 4),
  actor      TEXT NOT NULL,
  reason     TEXT NOT NULL,
  consent    INTEGER NOT NULL,
  source     TEXT NOT NULL,      -- the filter: empty text and 0 do not filter
  account    TEXT NOT NULL,
  type       TEXT NOT NULL,
  status     TEXT NOT NULL,
  search     TEXT NOT NULL,
  since      INTEGER,
  until      INTEGER,
  operations TEXT NOT NULL,      -- names, with commas between them
  expect     INTEGER NOT NULL,
  cursor     TEXT NOT NULL DEFAULT '',
  seen       INTEGER NOT NULL DEFAULT 0,
  changed    INTEGER NOT NULL DEFAULT 0,
  left_alone INTEGER NOT NULL DEFAULT 0,
  refused    INTEGER NOT NULL DEFAULT 0,
  refusal    TEXT,
  ended      INTEGER,
  cancelled  INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX bulk_running ON bulk (id) WHERE ended IS NULL;

-- Requests of people that named themselves, so that each is carried out once.
CREATE TABLE request (
  actor TEXT NOT NULL,
  name  TEXT NOT NULL,
  asked BLOB NOT NULL CHECK (length(asked) = 32), -- print of what it asked for
  at    INTEGER NOT NULL,
  PRIMARY KEY (actor, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE pause (
  destination TEXT PRIMARY KEY,
  at          INTEGER NOT NULL,
  actor       TEXT NOT NULL,
  reason      TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- How many operations stand where, kept in the commits that move them.
CREATE TABLE counter (
  label INTEGER NOT NULL,
  state INTEGER NOT NULL,
  n     INTEGER NOT NULL,
  PRIMARY KEY (label, state)
) STRICT, WITHOUT ROWID;

-- Index of the senders' ids for people. Filled behind the intake in sorted
-- steps; what is newer than setting 'reference_upto' is found by scanning.
CREATE TABLE reference (
  hash  INTEGER NOT NULL,
  event INTEGER NOT NULL,
  PRIMARY KEY (hash, event)
) STRICT, WITHOUT ROWID;
