-- The end of a claim, with an answer and without.

CREATE TYPE geonce.commit_request AS (
  n bigint, pool bigint, key bytea, building_key bytea, fence bigint, gen bigint, intent uuid, call_provider text,
  http_status bigint, reason text, request_id text, billed bigint, units bigint, price bigint, no_match_for bigint,
  kind bigint, provider text, payload bytea, fresh bigint, stale bigint, erase bigint, query_json text,
  pre_image bytea, answered_by uuid);

-- From t on: what the store holds now; erase_after 0: nothing.
CREATE TYPE geonce.committed AS (
  n bigint, is_stored boolean, is_held boolean, t bigint, answered_at bigint, fresh_until bigint, stale_until bigint,
  erase_after bigint);

-- A call's end as the claim's holder tells it; intent NULL: `advance` has noted it already.
CREATE FUNCTION geonce.commit_one(r geonce.commit_request, c geonce.claim) RETURNS geonce.committed LANGUAGE plpgsql AS $$
DECLARE
  o geonce.committed;
  e geonce.entry;
  f geonce.entry;
  row_ geonce.ledger;
  was_prepared geonce.ledger;
  t bigint := geonce.now();
  answered_by uuid := coalesce(r.answered_by, r.intent);
  holds_it boolean;
  is_current boolean;
  is_claimed boolean := c.phase <> 0;
BEGIN
  o.n := r.n; o.t := t; o.is_stored := false; o.erase_after := 0;
  o.is_held := is_claimed AND c.fence = r.fence;
  SELECT * INTO e FROM geonce.entry x WHERE x.pool = r.pool AND x.key = r.key;
  IF e.kind <> 0 AND e.erase_after > t THEN
    o.answered_at := e.answered_at; o.fresh_until := e.fresh_until; o.stale_until := e.stale_until; o.erase_after := e.erase_after;
  END IF;
  -- A commit that ended in doubt and is repeated. Its claim went with the first.
  holds_it := coalesce(e.gen = r.gen AND e.kind <> 0 AND e.intent IS NOT DISTINCT FROM answered_by, false);
  IF NOT o.is_held AND ((r.intent IS NULL AND holds_it) OR geonce.has_event(r.intent, 2)) THEN
    o.is_stored := holds_it;
    RETURN o;
  END IF;

  was_prepared := geonce.prepared(answered_by);
  is_current := NOT coalesce(e.gen >= r.gen OR e.pinned, false)
    AND (answered_by IS NULL OR was_prepared.at >= t - geonce.tombstone_life());
  IF is_current AND r.erase > 0 THEN
    f.pool := r.pool; f.key := r.key; f.building_key := r.building_key; f.gen := r.gen; f.kind := r.kind;
    f.pinned := false; f.answered_at := t; f.provider := r.provider; f.intent := answered_by; f.payload := r.payload;
    f.erase_after := t + r.erase;
    f.stale_until := least(t + greatest(r.stale, r.fresh), f.erase_after);
    f.fresh_until := least(t + r.fresh, f.erase_after);
    f.no_match_streak := CASE WHEN r.kind = 2 THEN coalesce(e.no_match_streak, 0) + 1 ELSE 0 END;
    f.query_json := r.query_json; f.pre_image := r.pre_image;
    PERFORM geonce.write_entry(f);
    o.is_stored := true;
    o.answered_at := t; o.fresh_until := f.fresh_until; o.stale_until := f.stale_until; o.erase_after := f.erase_after;
  END IF;

  -- Who ends a claim while its newest call has no outcome did not send that one.
  IF o.is_held AND c.intent IS DISTINCT FROM r.intent
      AND NOT EXISTS (SELECT FROM geonce.ledger x WHERE x.intent = c.intent AND x.event IN (2, 3, 4, 5)) THEN
    row_ := geonce.outcome(5, t, r.pool, r.key, c.gen, c.intent, c.provider, geonce.prepared(c.intent));
    row_.owner := c.owner; row_.reason := 'not sent'; row_.billed := 0; row_.units := 0;
    PERFORM geonce.note(row_);
  END IF;
  -- A late answer opens a key that waits for nothing else, but leaves another's call in flight alone.
  IF o.is_held OR (is_claimed AND is_current AND c.gen <= r.gen AND c.phase <> 1) THEN
    PERFORM geonce.delete_claim(r.pool, r.key);
  END IF;

  IF r.intent IS NOT NULL THEN
    IF r.intent <> answered_by THEN was_prepared := geonce.prepared(r.intent); END IF;
    row_ := geonce.outcome(2, t, r.pool, r.key, r.gen, r.intent, r.call_provider, was_prepared);
    row_.http_status := r.http_status; row_.reason := r.reason; row_.provider_request_id := r.request_id;
    row_.billed := r.billed; row_.units := r.units; row_.price_micro_usd := r.price;
    row_.redundant := NOT is_current; row_.late := NOT o.is_held;
    PERFORM geonce.note(row_);
    IF r.no_match_for IS NOT NULL AND is_current THEN
      PERFORM geonce.remember_no_match(r.pool, r.key, r.call_provider, t + r.no_match_for);
    END IF;
  END IF;
  RETURN o;
END $$;

CREATE FUNCTION geonce.commit(pools bigint[], keys bytea[], building_keys bytea[], fences bigint[], gens bigint[],
    intents uuid[], call_providers text[], statuses bigint[], reasons text[], request_ids text[], billeds bigint[],
    units bigint[], charges bigint[], no_matches bigint[], kinds bigint[], providers text[], payloads bytea[],
    freshes bigint[], stales bigint[], erases bigint[], queries text[], pre_images bytea[], answered_bys uuid[])
RETURNS SETOF geonce.committed LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
  r geonce.commit_request;
  locked geonce.claim;
BEGIN
  FOR r IN
    SELECT n, a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, s, t, v, w, x, y, z
    FROM unnest(pools, keys, building_keys, fences, gens, intents, call_providers, statuses, reasons, request_ids,
                billeds, units, charges, no_matches, kinds, providers, payloads, freshes, stales, erases, queries,
                pre_images, answered_bys)
         WITH ORDINALITY AS u (a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, s, t, v, w, x, y, z, n)
    ORDER BY a, b, n
  LOOP
    locked := geonce.lock_slot(r.pool, r.key);
    RETURN NEXT geonce.commit_one(r, locked);
    IF locked.phase = 0 THEN PERFORM geonce.unlock_slot(r.pool, r.key); END IF;
  END LOOP;
END $$;

CREATE TYPE geonce.release_request AS (
  n bigint, event bigint, pool bigint, key bytea, fence bigint, intent uuid, provider text, http_status bigint,
  reason text, request_id text, billed bigint, units bigint, price bigint, cool_down bigint, max_unknown bigint);
CREATE TYPE geonce.released AS (n bigint, is_held boolean, is_blocked boolean);

-- event: 3 refused, 4 unknown, 5 void.
CREATE FUNCTION geonce.release_one(r geonce.release_request, c geonce.claim) RETURNS geonce.released LANGUAGE plpgsql AS $$
DECLARE
  o geonce.released;
  row_ geonce.ledger;
  was_prepared geonce.ledger;
  t bigint := geonce.now();
  is_new boolean;
BEGIN
  o.n := r.n;
  -- A chain may end with a refusal that `advance` has noted already: the key cools down for that one.
  o.is_held := c.phase <> 0 AND c.fence = r.fence
    AND (c.intent = r.intent OR (r.event = 3 AND geonce.is_settled(c.intent)));
  o.is_blocked := o.is_held AND c.phase = 3;
  IF r.event = 4 AND geonce.is_settled(r.intent) THEN RETURN o; END IF;

  was_prepared := geonce.prepared(r.intent);
  row_ := geonce.outcome(r.event::integer, t, r.pool, r.key, was_prepared.gen, r.intent, r.provider, was_prepared);
  row_.http_status := r.http_status; row_.reason := r.reason; row_.provider_request_id := r.request_id;
  row_.billed := r.billed; row_.units := r.units; row_.price_micro_usd := r.price;
  row_.late := NOT o.is_held;
  -- A call ends in one way; what is known of it already stands.
  is_new := NOT geonce.is_settled(r.intent) AND geonce.note(row_);
  IF NOT o.is_held OR (NOT is_new AND r.event <> 3) THEN RETURN o; END IF;  -- another's now, or repeated

  o.is_blocked := false;
  IF r.event = 4 THEN
    o.is_blocked := c.attempt > r.max_unknown AND NOT EXISTS (
      SELECT FROM geonce.entry x WHERE x.pool = r.pool AND x.key = r.key AND x.gen >= c.gen);
    IF o.is_blocked THEN
      PERFORM geonce.set_phase(r.pool, r.key, 3, geonce.never());
    ELSE
      PERFORM geonce.set_phase(r.pool, r.key, 1, t);
    END IF;
  ELSIF r.event = 3 AND r.cool_down > 0 THEN
    PERFORM geonce.set_phase(r.pool, r.key, 2, t + r.cool_down);
  -- The claim may be taken by anybody at once. One that has something behind it stays as a row: the next attempt of
  -- the same window counts on, sends the same bytes and asks nobody twice.
  ELSIF c.attempt = 1 AND c.asked = '' THEN
    PERFORM geonce.delete_claim(r.pool, r.key);
  ELSE
    PERFORM geonce.set_phase(r.pool, r.key, 2, t);
  END IF;
  RETURN o;
END $$;

CREATE FUNCTION geonce.release(events bigint[], pools bigint[], keys bytea[], fences bigint[], intents uuid[],
    providers text[], statuses bigint[], reasons text[], request_ids text[], billeds bigint[], units bigint[],
    charges bigint[], cool_downs bigint[], unknowns bigint[]) RETURNS SETOF geonce.released LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
  r geonce.release_request;
  locked geonce.claim;
BEGIN
  FOR r IN
    SELECT n, a, b, c, d, e, f, g, h, i, j, k, l, m, o
    FROM unnest(events, pools, keys, fences, intents, providers, statuses, reasons, request_ids, billeds, units,
                charges, cool_downs, unknowns)
         WITH ORDINALITY AS u (a, b, c, d, e, f, g, h, i, j, k, l, m, o, n)
    ORDER BY b, c, n
  LOOP
    locked := geonce.lock_slot(r.pool, r.key);
    RETURN NEXT geonce.release_one(r, locked);
    IF locked.phase = 0 THEN PERFORM geonce.unlock_slot(r.pool, r.key); END IF;
  END LOOP;
END $$;
