-- Reading answers, and changing them by hand.

-- A row per slot that has an answer. The plan is made once for a connection, maybe while the table is empty, when reading
-- all of it or all that is not erased yet seems best; so it is left no choice but the primary key.
CREATE FUNCTION geonce.find(pools bigint[], keys bytea[])
RETURNS TABLE (n bigint, t bigint, gen bigint, kind smallint, answered_at bigint, fresh_until bigint,
               stale_until bigint, erase_after bigint, pinned boolean, payload bytea)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  t_ bigint := geonce.now();
BEGIN
  RETURN QUERY
    SELECT u.n, t_, e.gen, e.kind, e.answered_at, e.fresh_until, e.stale_until, e.erase_after, e.pinned, e.payload
    FROM unnest(pools, keys) WITH ORDINALITY AS u (pool, key, n)
    CROSS JOIN LATERAL (SELECT * FROM geonce.entry x WHERE x.pool = u.pool AND x.key = u.key OFFSET 0) AS e
    WHERE e.kind <> 0 AND e.erase_after > t_;
END $$;

-- A gen that no call begun until now can fill.
CREATE FUNCTION geonce.tombstone(pool_ bigint, key_ bytea, gen_ bigint, t bigint) RETURNS geonce.entry
LANGUAGE plpgsql AS $$
DECLARE
  e geonce.entry;
BEGIN
  e.pool := pool_; e.key := key_; e.gen := gen_; e.kind := 0; e.pinned := false; e.no_match_streak := 0;
  e.answered_at := t; e.fresh_until := t; e.stale_until := t; e.erase_after := t + geonce.tombstone_life();
  e.provider := ''; e.payload := ''; e.query_json := ''; e.pre_image := '';
  RETURN e;
END $$;

CREATE TYPE geonce.invalidated AS (n bigint, had_answer boolean);
CREATE FUNCTION geonce.invalidate(pools bigint[], keys bytea[]) RETURNS SETOF geonce.invalidated LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
  r record;
  o geonce.invalidated;
  c geonce.claim;
  e geonce.entry;
  t bigint;
BEGIN
  FOR r IN SELECT u.* FROM unnest(pools, keys) WITH ORDINALITY AS u (pool, key, n) ORDER BY u.pool, u.key, u.n LOOP
    c := geonce.lock_slot(r.pool, r.key);
    t := geonce.now();
    SELECT * INTO e FROM geonce.entry x WHERE x.pool = r.pool AND x.key = r.key;
    o.n := r.n;
    o.had_answer := coalesce(e.kind <> 0 AND e.erase_after > t, false);
    PERFORM geonce.write_entry(geonce.tombstone(r.pool, r.key, greatest(coalesce(e.gen, 0), c.gen) + 1, t));
    DELETE FROM geonce.no_match x WHERE x.pool = r.pool AND x.key = r.key;
    IF c.phase IN (0, 3) THEN PERFORM geonce.delete_claim(r.pool, r.key); END IF;
    RETURN NEXT o;
  END LOOP;
END $$;

CREATE FUNCTION geonce.pin(e geonce.entry) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
  c geonce.claim := geonce.lock_slot(e.pool, e.key);
BEGIN
  e.gen := greatest(coalesce((SELECT x.gen FROM geonce.entry x WHERE x.pool = e.pool AND x.key = e.key), 0), c.gen) + 1;
  e.answered_at := geonce.now();
  e.fresh_until := geonce.never(); e.stale_until := geonce.never(); e.erase_after := geonce.never();
  e.pinned := true; e.no_match_streak := 0;
  PERFORM geonce.write_entry(e);
  DELETE FROM geonce.no_match x WHERE x.pool = e.pool AND x.key = e.key;
  IF c.phase <> 1 THEN PERFORM geonce.delete_claim(e.pool, e.key); END IF;
END $$;
CREATE FUNCTION geonce.pin(pool_ bigint, key_ bytea, building_key_ bytea, kind_ bigint, provider_ text, payload_ bytea,
                           query_json_ text, pre_image_ bytea) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
  e geonce.entry;
BEGIN
  e.pool := pool_; e.key := key_; e.building_key := building_key_; e.kind := kind_; e.provider := provider_;
  e.payload := payload_; e.query_json := query_json_; e.pre_image := pre_image_;
  PERFORM geonce.pin(e);
END $$;

-- Answers that another store has bought, as src/store/store.h says. result: 0 stored, 1 older, 2 expired. An answer
-- whose own life is over does not stand in the way.
CREATE TYPE geonce.imported AS (n bigint, result bigint);
CREATE FUNCTION geonce.import_entries(
  pools bigint[], keys bytea[], building_keys bytea[], kinds bigint[], answered bigint[], fresh bigint[],
  stale bigint[], erase bigint[], streaks bigint[], pins boolean[], providers text[], payloads bytea[],
  queries text[], pre_images bytea[]) RETURNS SETOF geonce.imported LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
  r record;
  o geonce.imported;
  c geonce.claim;
  old geonce.entry;
  e geonce.entry;
  t bigint;
  never bigint := geonce.never();
BEGIN
  FOR r IN
    SELECT u.* FROM unnest(pools, keys, building_keys, kinds, answered, fresh, stale, erase, streaks, pins, providers,
                           payloads, queries, pre_images) WITH ORDINALITY
      AS u (pool, key, building_key, kind, answered_at, fresh_until, stale_until, erase_after, no_match_streak, pinned,
            provider, payload, query_json, pre_image, n) ORDER BY u.pool, u.key, u.n
  LOOP
    c := geonce.lock_slot(r.pool, r.key);
    t := geonce.now();
    SELECT * INTO old FROM geonce.entry x WHERE x.pool = r.pool AND x.key = r.key;
    o.n := r.n;
    o.result := CASE
      WHEN NOT r.pinned AND r.erase_after <= t THEN 2
      WHEN old.key IS NULL OR (old.kind <> 0 AND old.erase_after <= t) THEN 0
      WHEN old.pinned <> r.pinned THEN old.pinned::integer
      ELSE (old.answered_at >= least(r.answered_at, t))::integer END;
    IF o.result = 0 THEN
      e.pool := r.pool; e.key := r.key; e.building_key := r.building_key; e.kind := r.kind;
      e.gen := greatest(coalesce(old.gen, 0), c.gen) + 1;
      e.answered_at := least(r.answered_at, t);
      e.erase_after := CASE WHEN r.pinned THEN never ELSE least(r.erase_after, never) END;
      e.stale_until := CASE WHEN r.pinned THEN never ELSE least(r.stale_until, e.erase_after) END;
      e.fresh_until := CASE WHEN r.pinned THEN never ELSE least(r.fresh_until, e.erase_after) END;
      e.no_match_streak := r.no_match_streak; e.pinned := r.pinned; e.provider := r.provider; e.intent := NULL;
      e.payload := r.payload; e.query_json := r.query_json; e.pre_image := r.pre_image;
      PERFORM geonce.write_entry(e);
      DELETE FROM geonce.no_match x WHERE x.pool = r.pool AND x.key = r.key;
      IF c.phase <> 1 THEN PERFORM geonce.delete_claim(r.pool, r.key); END IF;
    ELSE
      PERFORM geonce.unlock_slot(r.pool, r.key);
    END IF;
    RETURN NEXT o;
  END LOOP;
END $$;

-- An answer that a program could not read is past its end, so that a new one may be bought.
CREATE FUNCTION geonce.drop_damaged(pools bigint[], keys bytea[], gens bigint[]) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
  r record;
BEGIN
  FOR r IN SELECT u.* FROM unnest(pools, keys, gens) AS u (pool, key, gen) ORDER BY 1, 2 LOOP
    UPDATE geonce.entry x SET pinned = false, fresh_until = 0, stale_until = 0, erase_after = 0
      WHERE x.pool = r.pool AND x.key = r.key AND x.gen = r.gen;
  END LOOP;
END $$;

-- Which of two entries of one address is left.
CREATE FUNCTION geonce.outlasts(there geonce.entry, e geonce.entry, t bigint) RETURNS boolean LANGUAGE sql IMMUTABLE
AS $$ SELECT there.erase_after > t AND CASE WHEN there.kind <> 0 AND there.pinned <> e.pinned THEN there.pinned
                                            ELSE there.answered_at >= e.answered_at END $$;

-- In the order given; all slots are locked first, in their order. what: 0 stayed, 1 moved, 2 merged.
CREATE TYPE geonce.rekeyed AS (n bigint, what integer);
CREATE FUNCTION geonce.rekey(from_pools bigint[], from_keys bytea[], to_pools bigint[], to_keys bytea[],
                             query_jsons text[], pre_images bytea[], building_keys bytea[])
RETURNS SETOF geonce.rekeyed LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
  r record;
  o geonce.rekeyed;
  e geonce.entry;
  there geonce.entry;
  t bigint;
BEGIN
  FOR r IN
    SELECT * FROM unnest(from_pools || to_pools, from_keys || to_keys) AS u (pool, key) GROUP BY 1, 2 ORDER BY 1, 2
  LOOP
    PERFORM geonce.lock_slot(r.pool, r.key);
  END LOOP;
  t := geonce.now();
  FOR r IN
    SELECT * FROM unnest(from_pools, from_keys, to_pools, to_keys, query_jsons, pre_images, building_keys)
      WITH ORDINALITY AS u (from_pool, from_key, to_pool, to_key, query_json, pre_image, building_key, n) ORDER BY u.n
  LOOP
    o.n := r.n;
    o.what := 0;
    SELECT * INTO e FROM geonce.entry x WHERE x.pool = r.from_pool AND x.key = r.from_key
      AND x.kind <> 0 AND x.erase_after > t AND x.query_json = r.query_json;
    IF FOUND AND (r.from_pool, r.from_key) <> (r.to_pool, r.to_key) AND NOT EXISTS (
        SELECT FROM geonce.claim x WHERE x.pool = r.to_pool AND x.key = r.to_key AND x.phase = 1) THEN
      o.what := 1;
      SELECT * INTO there FROM geonce.entry x WHERE x.pool = r.to_pool AND x.key = r.to_key;
      IF FOUND THEN
        o.what := 2;
        IF geonce.outlasts(there, e, t) THEN
          DELETE FROM geonce.entry x WHERE x.pool = e.pool AND x.key = e.key;
        ELSE
          DELETE FROM geonce.entry x WHERE x.pool = there.pool AND x.key = there.key;
          e.gen := greatest(there.gen, e.gen) + 1;
        END IF;
      END IF;
      -- The one that is left may be the one that moves.
      UPDATE geonce.entry x SET pool = r.to_pool, key = r.to_key, gen = e.gen, pre_image = r.pre_image,
          building_key = r.building_key
        WHERE x.pool = r.from_pool AND x.key = r.from_key;
    END IF;
    RETURN NEXT o;
  END LOOP;
  DELETE FROM geonce.claim x USING unnest(from_pools || to_pools, from_keys || to_keys) AS u (pool, key)
    WHERE x.pool = u.pool AND x.key = u.key AND x.phase = 0;
END $$;

CREATE TYPE geonce.reconciled AS (n bigint, was_unknown boolean);
CREATE FUNCTION geonce.reconcile(pools bigint[], keys bytea[], intents uuid[], billed boolean[], reasons text[])
RETURNS SETOF geonce.reconciled LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
  r record;
  o geonce.reconciled;
  c geonce.claim;
  row_ geonce.ledger;
  unknown geonce.ledger;
BEGIN
  FOR r IN
    SELECT u.* FROM unnest(pools, keys, intents, billed, reasons) WITH ORDINALITY
      AS u (pool, key, intent, was_billed, reason, n) ORDER BY u.pool, u.key, u.n
  LOOP
    o.n := r.n;
    o.was_unknown := false;
    c := geonce.lock_slot(r.pool, r.key);
    SELECT * INTO unknown FROM geonce.ledger x WHERE x.intent = r.intent AND x.event = 4;
    IF FOUND AND NOT geonce.is_settled(r.intent) AND NOT geonce.has_event(r.intent, 6) THEN
      row_ := geonce.outcome(6, geonce.now(), r.pool, r.key, 0, r.intent, unknown.provider, geonce.prepared(r.intent));
      row_.gen := (geonce.prepared(r.intent)).gen;
      row_.http_status := unknown.http_status; row_.provider_request_id := unknown.provider_request_id;
      row_.reason := r.reason; row_.billed := r.was_billed::integer;
      row_.units := CASE WHEN r.was_billed THEN unknown.units ELSE 0 END;
      row_.price_micro_usd := CASE WHEN r.was_billed THEN unknown.price_micro_usd ELSE 0 END;
      PERFORM geonce.note(row_);
      IF c.intent = r.intent AND c.phase = 3 THEN PERFORM geonce.delete_claim(r.pool, r.key); END IF;
      o.was_unknown := true;
    END IF;
    PERFORM geonce.unlock_slot(r.pool, r.key);
    RETURN NEXT o;
  END LOOP;
END $$;

-- What a process that may be dead has left open, and those among `also` whoever owns them.
CREATE FUNCTION geonce.open_intents(owner_ uuid, also uuid[])
RETURNS TABLE (intent uuid, pool bigint, key bytea, gen bigint, attempt integer, provider text, owner uuid,
               price_micro_usd bigint, no_match_streak integer, claim_held boolean, fence bigint, query_json text,
               pre_image bytea, noted boolean)
LANGUAGE sql STABLE AS $$
  -- A call without an outcome always has its claim: nothing takes a claim without writing one.
  WITH wanted AS (
    SELECT c.intent FROM geonce.claim c
      WHERE c.owner = owner_ AND c.phase = 1
        AND NOT EXISTS (SELECT FROM geonce.ledger l WHERE l.intent = c.intent AND l.event = 4)
    UNION SELECT unnest(also))
  SELECT p.intent, p.pool, p.key, p.gen, p.attempt, p.provider, p.owner, p.price_micro_usd,
         coalesce(e.no_match_streak, 0), coalesce(c.intent = p.intent, false),
         CASE WHEN c.intent = p.intent OR settled.is_so THEN c.fence ELSE 0 END,
         -- Taken over in the same window the claim still says what was asked.
         CASE WHEN c.gen = p.gen THEN c.query_json ELSE '' END, CASE WHEN c.gen = p.gen THEN c.pre_image ELSE '' END,
         settled.is_so
  FROM wanted w
  JOIN geonce.ledger p ON p.intent = w.intent AND p.event = 1
  LEFT JOIN geonce.entry e ON e.pool = p.pool AND e.key = p.key
  LEFT JOIN geonce.claim c ON c.pool = p.pool AND c.key = p.key
  CROSS JOIN LATERAL (SELECT EXISTS (SELECT FROM geonce.ledger l WHERE l.intent = p.intent AND l.event IN (2, 3, 5))
    AS is_so) settled
  -- … or an answer that `advance` has noted, of a window that is still its owner's to end.
  WHERE NOT settled.is_so
     OR (c.phase <> 0 AND c.gen = p.gen AND c.owner = p.owner AND coalesce(e.gen, 0) < p.gen
         AND EXISTS (SELECT FROM geonce.ledger l WHERE l.intent = p.intent AND l.event = 2))
  ORDER BY p.seq
$$;
