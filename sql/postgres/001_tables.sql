-- Instants are milliseconds since 1970-01-01 UTC by the server's clock; money is micro-USD. What the columns mean is
-- in docs/formats/store.md, what differs from SQLite in docs/formats/store-postgres.md. Everything lies in the schema
-- geonce, which `geonce migrate` has made.

CREATE FUNCTION geonce.now() RETURNS bigint LANGUAGE sql VOLATILE
AS $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

CREATE TABLE geonce.entry (
  pool            bigint   NOT NULL,
  key             bytea    NOT NULL CHECK (octet_length(key) = 32),
  building_key    bytea             CHECK (octet_length(building_key) = 32),
  gen             bigint   NOT NULL,
  kind            smallint NOT NULL,
  pinned          boolean  NOT NULL,
  no_match_streak integer  NOT NULL,
  answered_at     bigint   NOT NULL,
  fresh_until     bigint   NOT NULL,
  stale_until     bigint   NOT NULL,
  erase_after     bigint   NOT NULL,
  provider        text     NOT NULL,
  intent          uuid,
  payload         bytea    NOT NULL,
  query_json      text     NOT NULL,
  pre_image       bytea    NOT NULL,
  PRIMARY KEY (pool, key)
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05,
        autovacuum_vacuum_insert_scale_factor = 0.1);
CREATE INDEX entry_erase ON geonce.entry (erase_after);
CREATE INDEX entry_building ON geonce.entry (building_key) WHERE building_key <> key;

-- Small, and every row of it soon changed again or gone: half of each page is left free, so that changes stay on it.
-- Phase 0 is a row that only stands for the lock on its key; no transaction leaves one behind.
CREATE TABLE geonce.claim (
  pool            bigint   NOT NULL,
  key             bytea    NOT NULL CHECK (octet_length(key) = 32),
  gen             bigint   NOT NULL DEFAULT 0,
  attempt         integer  NOT NULL DEFAULT 1,
  intent          uuid,
  owner           uuid,
  fence           bigint   NOT NULL DEFAULT 0,
  phase           smallint NOT NULL DEFAULT 0,
  deadline        bigint   NOT NULL DEFAULT 0,
  provider        text     NOT NULL DEFAULT '',
  asked           text     NOT NULL DEFAULT '',
  ignore_no_match boolean  NOT NULL DEFAULT false,
  query_json      text     NOT NULL DEFAULT '',
  pre_image       bytea    NOT NULL DEFAULT '',
  PRIMARY KEY (pool, key)
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_cost_delay = 0);

-- Rows are only ever added. Intents are UUIDv7 and begin with their millisecond, so a month of intents is a range of
-- them. A row for which there is no month goes to ledger_other: nothing that was bought is ever without a row.
CREATE SEQUENCE geonce.ledger_seq;
CREATE TABLE geonce.ledger (
  seq                 bigint   NOT NULL DEFAULT nextval('geonce.ledger_seq'),
  intent              uuid     NOT NULL,
  event               smallint NOT NULL,
  at                  bigint   NOT NULL,
  pool                bigint   NOT NULL,
  key                 bytea    NOT NULL,
  gen                 bigint   NOT NULL,
  attempt             integer  NOT NULL,
  owner               uuid     NOT NULL,
  provider            text     NOT NULL,
  cause               smallint NOT NULL,
  bulk                boolean  NOT NULL,
  http_status         integer  NOT NULL,
  reason              text     NOT NULL,
  provider_request_id text     NOT NULL,
  billed              smallint NOT NULL,
  units               integer  NOT NULL,
  price_micro_usd     bigint   NOT NULL,
  redundant           boolean  NOT NULL,
  late                boolean  NOT NULL,
  PRIMARY KEY (intent, event)
) PARTITION BY RANGE (intent);
CREATE INDEX ledger_at ON geonce.ledger (at);
CREATE INDEX ledger_slot ON geonce.ledger (pool, key) WHERE event = 1;
CREATE TABLE geonce.ledger_other PARTITION OF geonce.ledger DEFAULT;

-- The first intent that can be made at an instant.
CREATE FUNCTION geonce.first_intent(at timestamptz) RETURNS uuid LANGUAGE sql STABLE
AS $$ SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid $$;

-- Makes the ledger's parts for this month and `ahead` more; returns how many are new. A month of which there are rows
-- already lies in ledger_other, and stays there. Waits for nobody longer than a second: it is tried again.
CREATE FUNCTION geonce.make_months(ahead integer) RETURNS integer LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog SET lock_timeout = '1s' AS $$
DECLARE
  month timestamptz;
  name text;
  low uuid;
  high uuid;
  made integer := 0;
BEGIN
  FOR i IN 0 .. ahead LOOP
    month := date_trunc('month', to_timestamp(geonce.now() / 1000.0) AT TIME ZONE 'UTC') AT TIME ZONE 'UTC';
    month := (month AT TIME ZONE 'UTC' + make_interval(months => i)) AT TIME ZONE 'UTC';
    name := 'ledger_' || to_char(month AT TIME ZONE 'UTC', 'YYYY_MM');
    CONTINUE WHEN to_regclass('geonce.' || name) IS NOT NULL;
    low := geonce.first_intent(month);
    high := geonce.first_intent((month AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC');
    CONTINUE WHEN EXISTS (SELECT FROM geonce.ledger_other WHERE intent >= low AND intent < high);
    EXECUTE format('CREATE TABLE geonce.%I PARTITION OF geonce.ledger FOR VALUES FROM (%L) TO (%L)', name, low, high);
    made := made + 1;
  END LOOP;
  RETURN made;
EXCEPTION WHEN lock_not_available OR duplicate_table OR check_violation THEN
  RETURN 0;
END $$;
SELECT geonce.make_months(3);

CREATE TABLE geonce.no_match (
  pool     bigint NOT NULL,
  key      bytea  NOT NULL,
  provider text   NOT NULL,
  until    bigint NOT NULL,
  PRIMARY KEY (pool, key, provider)
);
CREATE INDEX no_match_until ON geonce.no_match (until);

CREATE TABLE geonce.place_source (
  id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name      text   NOT NULL UNIQUE,
  points    bigint NOT NULL,
  keys      bigint NOT NULL,
  loaded_at bigint NOT NULL
);
CREATE SEQUENCE geonce.place_id;
CREATE TABLE geonce.place (
  id           bigint PRIMARY KEY,
  source       bigint NOT NULL,
  source_id    text   NOT NULL,
  lat_deg      double precision NOT NULL,
  lng_deg      double precision NOT NULL,
  house_number text   NOT NULL,
  street       text   NOT NULL,
  unit         text   NOT NULL,
  city         text   NOT NULL,
  district     text   NOT NULL,
  region       text   NOT NULL,
  postcode     text   NOT NULL,
  country      text   NOT NULL
);
CREATE TABLE geonce.place_key (
  digest bytea  NOT NULL,
  at     bigint NOT NULL,
  place  bigint NOT NULL,
  PRIMARY KEY (digest, at, place)
);

CREATE TABLE geonce.batch (
  number         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id             uuid   NOT NULL UNIQUE,
  identity       bytea  NOT NULL CHECK (octet_length(identity) = 32),
  label          text   NOT NULL,
  state          text   NOT NULL,
  rows           bigint NOT NULL,
  created_at     bigint NOT NULL,
  updated_at     bigint NOT NULL,
  refresh_before bigint NOT NULL,
  summary        text   NOT NULL
);
CREATE INDEX batch_identity ON geonce.batch (identity, number);
CREATE TABLE geonce.chunk (
  batch       bigint NOT NULL,
  number      bigint NOT NULL,
  erase_after bigint NOT NULL,
  bytes       bytea  NOT NULL,
  PRIMARY KEY (batch, number)
);
ALTER TABLE geonce.chunk ALTER bytes SET STORAGE EXTERNAL;  -- read and written once each: not worth compressing
CREATE INDEX chunk_erase ON geonce.chunk (erase_after);
