-- needs step 8
-- For people with SQL: what is remembered, under names that dashboards and pipelines of the common recipes use. Nothing
-- past its life is shown. docs/how-to/query-with-sql.md describes the columns.

-- Little-endian, of at most eight bytes.
CREATE FUNCTION geonce.integer_at(bytes bytea, at integer, size integer) RETURNS bigint LANGUAGE plpgsql
IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog AS $$
DECLARE
  value bigint := 0;
BEGIN
  FOR i IN REVERSE size - 1 .. 0 LOOP
    value := (value << 8) | get_byte(bytes, at + i);
  END LOOP;
  RETURN value;
END $$;

-- Eight of them, as IEEE 754 says. Exact: a double holds 53 bits, and a power of two is one.
CREATE FUNCTION geonce.float8_at(bytes bytea, at integer) RETURNS double precision LANGUAGE plpgsql
IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog AS $$
DECLARE
  bits bigint := geonce.integer_at(bytes, at, 8);
  exponent integer;
  fraction double precision;
BEGIN
  exponent := (bits >> 52) & 2047;
  fraction := (bits & 4503599627370495)::double precision / 4503599627370496;
  RETURN CASE WHEN bits < 0 THEN -1 ELSE 1 END
       * CASE exponent WHEN 0 THEN fraction * 2.0::double precision ^ -1022
                       WHEN 2047 THEN 'NaN'::double precision
                       ELSE (1 + fraction) * 2.0::double precision ^ (exponent - 1023) END;
END $$;

-- The words of the codes of docs/formats/entry.md.
CREATE FUNCTION geonce.status_of(code integer) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT (ARRAY['match', 'no_match', 'ambiguous', 'rejected'])[code] $$;
CREATE FUNCTION geonce.precision_of(code integer) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT (ARRAY['rooftop', 'parcel', 'interpolated', 'street', 'postcode', 'locality', 'region', 'country',
                    'unknown'])[code + 1] $$;

-- docs/formats/entry.md. NULL where the bytes are none of it.
CREATE TYPE geonce.answer AS (
  status text, lat double precision, lng double precision, "precision" text, confidence double precision,
  partial boolean, country text, provider text, formatted text, place_id text, house_number text, street text,
  unit text, city text, state text, postcode text, reason text);
CREATE FUNCTION geonce.read_answer(payload bytea) RETURNS geonce.answer LANGUAGE plpgsql
IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog AS $$
DECLARE
  a geonce.answer;
  flags integer;
  at integer := 6;
  size integer;
  texts text[];
BEGIN
  IF octet_length(payload) < 26 OR get_byte(payload, 0) <> 1 THEN RETURN NULL; END IF;
  a.status := geonce.status_of(get_byte(payload, 1));
  flags := get_byte(payload, 2);
  a.precision := geonce.precision_of(get_byte(payload, 3));
  a.country := nullif(convert_from(substr(payload, 5, 2), 'UTF8'), 'ZZ');
  IF flags & 1 <> 0 THEN
    a.lat := geonce.float8_at(payload, at);
    a.lng := geonce.float8_at(payload, at + 8);
    at := at + 16;
  END IF;
  IF flags & 2 <> 0 THEN
    a.confidence := geonce.float8_at(payload, at);
    at := at + 8;
  END IF;
  a.partial := flags & 4 <> 0;
  FOR i IN 1 .. 10 LOOP
    size := get_byte(payload, at) + 256 * get_byte(payload, at + 1);
    texts[i] := nullif(convert_from(substr(payload, at + 3, size), 'UTF8'), '');
    at := at + 2 + size;
  END LOOP;
  a.provider := texts[1]; a.formatted := texts[2]; a.place_id := texts[3]; a.house_number := texts[4];
  a.street := texts[5]; a.unit := texts[6]; a.city := texts[7]; a.state := texts[8]; a.postcode := texts[9];
  a.reason := texts[10];
  IF a.lat IS NULL THEN a.precision := NULL; END IF;
  RETURN a;
EXCEPTION WHEN array_subscript_error OR character_not_in_repertoire OR substring_error THEN
  RETURN NULL;
END $$;

-- One line of what was asked; the program's own line is Query::one_line.
CREATE FUNCTION geonce.line_of(query_json text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog AS $$
  SELECT concat_ws(', ', q ->> 'text', q ->> 'house', q ->> 'po_box',
                   nullif(concat_ws(' ', q ->> 'house_number', q ->> 'road'), ''), q ->> 'unit', q ->> 'suburb',
                   q ->> 'city', nullif(concat_ws(' ', q ->> 'state', q ->> 'postcode'), ''))
  FROM (SELECT nullif(query_json, '')::jsonb AS q) AS parsed
$$;

CREATE FUNCTION geonce.instant(ms bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT to_timestamp(ms / 1000.0) $$;

-- A row per address, as a cache of look-ups has it.
CREATE VIEW geonce.geocode_cache AS
  SELECT encode(e.key, 'hex') AS cache_key,
         geonce.line_of(e.query_json) AS raw_input,
         nullif(e.query_json, '')::jsonb ->> 'country' AS country_code,
         CASE WHEN a.lat IS NOT NULL THEN jsonb_strip_nulls(jsonb_build_object(
           'lat', a.lat, 'lng', a.lng, 'precision', a.precision, 'confidence', a.confidence,
           'partial', nullif(a.partial, false), 'provider', a.provider, 'formatted_address', a.formatted,
           'place_id', a.place_id, 'house_number', a.house_number, 'street', a.street, 'unit', a.unit, 'city', a.city,
           'state', a.state, 'postcode', a.postcode, 'country', a.country)) END AS result,
         geonce.instant(e.fresh_until) AS expires_at,
         geonce.instant(e.answered_at) AS updated_at,
         a.status, a.lat, a.lng, a.precision, a.confidence, a.provider,
         geonce.instant(e.stale_until) AS stale_until,
         geonce.instant(e.erase_after) AS erase_after,
         e.pinned,
         e.pool, e.key
  FROM geonce.entry e CROSS JOIN LATERAL geonce.read_answer(e.payload) AS a
  WHERE e.kind <> 0 AND e.erase_after > geonce.now();

-- The distinct addresses of a part of a batch that have an answer: docs/formats/batch.md.
CREATE FUNCTION geonce.rows_of(part bytea) RETURNS TABLE (key bytea, answered_at bigint, erase_after bigint,
                                                          payload bytea)
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog AS $$
#variable_conflict use_column
DECLARE
  at integer := 5;
  what integer;
  size integer;
BEGIN
  IF octet_length(part) < 5 OR get_byte(part, 0) <> 1 THEN RETURN; END IF;
  WHILE at < octet_length(part) LOOP
    key := substr(part, at + 1, 32);
    what := get_byte(part, at + 32);
    at := at + 33;
    IF what = 0 THEN
      at := at + 1 + 4 + geonce.integer_at(part, at + 1, 4)::integer;
    ELSIF what = 1 THEN
      answered_at := geonce.integer_at(part, at + 1, 8);
      erase_after := geonce.integer_at(part, at + 17, 8);
      size := geonce.integer_at(part, at + 37, 4)::integer;
      payload := substr(part, at + 42, size);
      at := at + 41 + size;
      RETURN NEXT;
    END IF;
  END LOOP;
EXCEPTION WHEN array_subscript_error OR substring_error THEN
  RETURN;
END $$;

-- A row per batch and address that it matched, for as long as the batch keeps its answers.
CREATE VIEW geonce.geocoded_rows AS
  SELECT encode(r.key, 'hex') AS idempotency_key,
         geonce.line_of(e.query_json) AS addr_raw,
         a.lat, a.lng,
         geonce.instant(r.answered_at) AS created_at,
         b.id AS batch_id,
         b.label AS batch_label,
         a.precision, a.provider,
         geonce.instant(r.erase_after) AS erase_after
  FROM geonce.batch b
  JOIN geonce.chunk c ON c.batch = b.number
  CROSS JOIN LATERAL geonce.rows_of(c.bytes) AS r
  CROSS JOIN LATERAL geonce.read_answer(r.payload) AS a
  LEFT JOIN LATERAL (SELECT x.query_json FROM geonce.entry x WHERE x.key = r.key AND x.erase_after > geonce.now()
                     ORDER BY x.pool LIMIT 1) AS e ON true
  WHERE c.erase_after > geonce.now() AND r.erase_after > geonce.now() AND a.status = 'match';

-- For dashboards: counts, no answers. `geonce sweep` renews them.
CREATE MATERIALIZED VIEW geonce.answers_by_day AS
  SELECT (geonce.instant(e.answered_at) AT TIME ZONE 'UTC')::date AS day,
         e.provider,
         geonce.status_of(e.kind) AS status,
         CASE WHEN e.kind IN (1, 4) AND octet_length(e.payload) > 3
              THEN geonce.precision_of(get_byte(e.payload, 3)) ELSE '' END AS "precision",
         count(*) AS answers,
         count(*) FILTER (WHERE e.pinned OR e.fresh_until > geonce.now()) AS fresh
  FROM geonce.entry e WHERE e.kind <> 0 AND e.erase_after > geonce.now()
  GROUP BY 1, 2, 3, 4 WITH NO DATA;
CREATE UNIQUE INDEX answers_by_day_row ON geonce.answers_by_day (day, provider, status, "precision");

CREATE MATERIALIZED VIEW geonce.calls_by_day AS
  SELECT (geonce.instant(l.at) AT TIME ZONE 'UTC')::date AS day,
         l.provider,
         (ARRAY['prepared', 'answered', 'refused', 'unknown', 'void', 'reconciled'])[l.event] AS event,
         count(*) AS calls,
         count(*) FILTER (WHERE l.redundant) AS redundant,
         coalesce(sum(l.units) FILTER (WHERE l.billed = 1), 0)::bigint AS billed_units,
         coalesce(sum(l.price_micro_usd) FILTER (WHERE l.billed = 1), 0)::bigint AS billed_micro_usd
  FROM geonce.ledger l GROUP BY 1, 2, 3 WITH NO DATA;
CREATE UNIQUE INDEX calls_by_day_row ON geonce.calls_by_day (day, provider, event);

CREATE FUNCTION geonce.refresh_counts() RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['answers_by_day', 'calls_by_day'] LOOP
    EXECUTE format('REFRESH MATERIALIZED VIEW %s geonce.%I',
      CASE WHEN (SELECT c.relispopulated FROM pg_class c WHERE c.oid = to_regclass('geonce.' || name))
           THEN 'CONCURRENTLY' ELSE '' END, name);
  END LOOP;
END $$;
SELECT geonce.refresh_counts();

-- The role geonce_reader of sql/roles/postgres.sql, where there is one, may read these views and nothing else.
CREATE FUNCTION geonce.let_readers_in() RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  name text;
BEGIN
  IF to_regrole('geonce_reader') IS NULL THEN RETURN; END IF;
  GRANT USAGE ON SCHEMA geonce TO geonce_reader;
  FOREACH name IN ARRAY ARRAY['geocode_cache', 'geocoded_rows', 'answers_by_day', 'calls_by_day', 'geocode_points'] LOOP
    IF to_regclass('geonce.' || name) IS NOT NULL THEN
      EXECUTE format('GRANT SELECT ON geonce.%I TO geonce_reader', name);
    END IF;
  END LOOP;
  -- What the views call is called by whoever reads them.
  FOR name IN SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
      WHERE n.nspname = 'geonce' AND p.proname IN ('now', 'instant', 'line_of', 'read_answer', 'float8_at', 'rows_of',
                                                   'integer_at', 'point_of', 'status_of', 'precision_of') LOOP
    EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO geonce_reader', name);
  END LOOP;
END $$;

-- Where the extension PostGIS is, and only there: geocode_points, which has the place of each answer as geography and an
-- index for it. Called again by each `geonce migrate`, since the extension may come later. true: it was made now.
CREATE FUNCTION geonce.add_geography() RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
  home text := (SELECT quote_ident(n.nspname) FROM pg_extension x JOIN pg_namespace n ON n.oid = x.extnamespace
                WHERE x.extname = 'postgis');
BEGIN
  IF home IS NULL OR to_regclass('geonce.geocode_points') IS NOT NULL THEN RETURN false; END IF;
  EXECUTE format($f$
    CREATE FUNCTION geonce.point_of(payload bytea) RETURNS %1$s.geography LANGUAGE plpgsql
    IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, %1$s AS $body$
    BEGIN
      IF octet_length(payload) < 26 OR get_byte(payload, 0) <> 1 OR get_byte(payload, 2) & 1 = 0 THEN RETURN NULL; END IF;
      RETURN ST_SetSRID(ST_MakePoint(geonce.float8_at(payload, 14), geonce.float8_at(payload, 6)), 4326)::geography;
    END $body$ $f$, home);
  CREATE INDEX entry_point ON geonce.entry USING gist (geonce.point_of(payload)) WHERE kind = 1;
  CREATE VIEW geonce.geocode_points AS
    SELECT encode(e.key, 'hex') AS cache_key, geonce.line_of(e.query_json) AS raw_input,
           geonce.point_of(e.payload) AS at, (geonce.read_answer(e.payload)).precision,
           e.provider, geonce.instant(e.fresh_until) AS expires_at, geonce.instant(e.answered_at) AS updated_at,
           e.pool, e.key
    FROM geonce.entry e WHERE e.kind = 1 AND e.erase_after > geonce.now();
  PERFORM geonce.let_readers_in();
  RETURN true;
END $$;

SELECT geonce.add_geography();
SELECT geonce.let_readers_in();
