-- Instants are milliseconds since 1970-01-01 UTC by the clock of whoever wrote them; money is micro-USD;
-- digests and UUIDs are BLOBs. docs/formats/store.md says what the columns mean.

-- What is remembered of an address. kind: 0 tombstone, 1 match, 2 no_match, 3 ambiguous, 4 rejected.
CREATE TABLE entry (
  id              INTEGER PRIMARY KEY,
  pool            INTEGER NOT NULL,
  key             BLOB    NOT NULL CHECK (length(key) = 32),
  building_key    BLOB    CHECK (length(building_key) = 32),
  gen             INTEGER NOT NULL,
  kind            INTEGER NOT NULL,
  answered_at     INTEGER NOT NULL,
  fresh_until     INTEGER NOT NULL,
  stale_until     INTEGER NOT NULL,
  erase_after     INTEGER NOT NULL,
  no_match_streak INTEGER NOT NULL,
  pinned          INTEGER NOT NULL,
  provider        TEXT    NOT NULL,
  intent          BLOB,
  payload         BLOB    NOT NULL,
  UNIQUE (pool, key)
) STRICT;
CREATE INDEX entry_erase ON entry (erase_after);
-- An address without a unit is its own building and is found by its key.
CREATE INDEX entry_building ON entry (building_key) WHERE building_key <> key;

-- What was asked, beside the entry so that reading answers stays cheap.
CREATE TABLE entry_source (
  entry      INTEGER PRIMARY KEY,
  query_json TEXT NOT NULL,
  pre_image  BLOB NOT NULL
) STRICT;

-- The right to buy for one window. phase: 1 in flight, 2 cooling down or free again, 3 blocked.
-- asked: providers that have answered in this window, one a line.
CREATE TABLE claim (
  pool            INTEGER NOT NULL,
  key             BLOB    NOT NULL CHECK (length(key) = 32),
  gen             INTEGER NOT NULL,
  attempt         INTEGER NOT NULL,
  intent          BLOB    NOT NULL,
  owner           BLOB    NOT NULL,
  fence           INTEGER NOT NULL,
  phase           INTEGER NOT NULL,
  deadline        INTEGER NOT NULL,
  provider        TEXT    NOT NULL,
  asked           TEXT    NOT NULL,
  ignore_no_match INTEGER NOT NULL,
  query_json      TEXT    NOT NULL,
  pre_image       BLOB    NOT NULL,
  PRIMARY KEY (pool, key)
) STRICT, WITHOUT ROWID;

-- event: 1 prepared, 2 answered, 3 refused, 4 unknown, 5 void, 6 reconciled. Rows are only ever added.
-- seq of a prepared row is the fence of its claim.
CREATE TABLE ledger (
  seq                 INTEGER PRIMARY KEY,
  intent              BLOB    NOT NULL CHECK (length(intent) = 16),
  event               INTEGER NOT NULL,
  at                  INTEGER NOT NULL,
  pool                INTEGER NOT NULL,
  key                 BLOB    NOT NULL,
  gen                 INTEGER NOT NULL,
  attempt             INTEGER NOT NULL,
  owner               BLOB    NOT NULL,
  provider            TEXT    NOT NULL,
  cause               INTEGER NOT NULL,
  bulk                INTEGER NOT NULL,
  http_status         INTEGER NOT NULL,
  reason              TEXT    NOT NULL,
  provider_request_id TEXT    NOT NULL,
  billed              INTEGER NOT NULL,
  units               INTEGER NOT NULL,
  price_micro_usd     INTEGER NOT NULL,
  redundant           INTEGER NOT NULL,
  late                INTEGER NOT NULL,
  UNIQUE (intent, event)
) STRICT;
CREATE INDEX ledger_at ON ledger (at);
CREATE INDEX ledger_slot ON ledger (pool, key) WHERE event = 1;

-- One provider's own "no such address", while others of the chain may still know it.
CREATE TABLE no_match (
  pool     INTEGER NOT NULL,
  key      BLOB    NOT NULL,
  provider TEXT    NOT NULL,
  until    INTEGER NOT NULL,
  PRIMARY KEY (pool, key, provider)
) STRICT, WITHOUT ROWID;
CREATE INDEX no_match_until ON no_match (until);

-- Address points the user owns. AUTOINCREMENT: an id that has been given is never given again.
CREATE TABLE place_source (
  id        INTEGER PRIMARY KEY,
  name      TEXT    NOT NULL UNIQUE,
  points    INTEGER NOT NULL,
  keys      INTEGER NOT NULL,
  loaded_at INTEGER NOT NULL
) STRICT;
CREATE TABLE place (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  source       INTEGER NOT NULL,
  source_id    TEXT    NOT NULL,
  lat_deg      REAL    NOT NULL,
  lng_deg      REAL    NOT NULL,
  house_number TEXT    NOT NULL,
  street       TEXT    NOT NULL,
  unit         TEXT    NOT NULL,
  city         TEXT    NOT NULL,
  district     TEXT    NOT NULL,
  region       TEXT    NOT NULL,
  postcode     TEXT    NOT NULL,
  country      TEXT    NOT NULL
) STRICT;
-- digest: the first 16 bytes of the key; a point has several keys. at: the coordinates rounded to 1e-6
-- degrees, as one integer, so that "how many different points" is answered by the index alone.
CREATE TABLE place_key (
  digest BLOB    NOT NULL,
  at     INTEGER NOT NULL,
  place  INTEGER NOT NULL,
  PRIMARY KEY (digest, at, place)
) STRICT, WITHOUT ROWID;

CREATE TABLE batch (
  number     INTEGER PRIMARY KEY AUTOINCREMENT,
  id         BLOB    NOT NULL UNIQUE CHECK (length(id) = 16),
  identity   BLOB    NOT NULL CHECK (length(identity) = 32),
  label      TEXT    NOT NULL,
  state      TEXT    NOT NULL,
  rows       INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  refresh_before INTEGER NOT NULL,
  summary    TEXT    NOT NULL
) STRICT;
CREATE INDEX batch_identity ON batch (identity);
CREATE TABLE chunk (
  batch       INTEGER NOT NULL,
  number      INTEGER NOT NULL,
  erase_after INTEGER NOT NULL,
  bytes       BLOB    NOT NULL,
  UNIQUE (batch, number)
) STRICT;
CREATE INDEX chunk_erase ON chunk (erase_after);
