-- Taking a claim, and asking the next provider under it.

CREATE TYPE geonce.take_request AS (
  n bigint, pool bigint, key bytea, intent uuid, owner uuid, cause bigint, bulk boolean, refresh_before bigint,
  retry_no_match boolean, life bigint, max_unknown bigint, chain text, prices text, query_json text, pre_image bytea);

-- verdict: 0 send, 1 fresh, 2 wait, 3 cooldown, 4 blocked, 5 exhausted. From kind on: the entry, of fresh.
CREATE TYPE geonce.taken AS (
  n bigint, verdict bigint, step bigint, fence bigint, gen bigint, attempt bigint, query_json text, wait_for bigint,
  no_match_streak bigint, t bigint, kind bigint, answered_at bigint, fresh_until bigint, stale_until bigint,
  erase_after bigint, pinned boolean, payload bytea, answered bigint);

-- old: the slot's claim, locked.
CREATE FUNCTION geonce.take_one(r geonce.take_request, old geonce.claim) RETURNS geonce.taken LANGUAGE plpgsql AS $$
DECLARE
  o geonce.taken;
  e geonce.entry;
  c geonce.claim;
  lost geonce.ledger;
  was_prepared geonce.ledger;
  t bigint := geonce.now();
  is_old boolean := old.phase <> 0;
  is_forced boolean := r.refresh_before > 0;
  is_same_window boolean;
  is_new_window boolean;
  chain text[] := string_to_array(r.chain, E'\n');
  step integer;
BEGIN
  o.n := r.n;
  o.t := t;
  SELECT * INTO e FROM geonce.entry x WHERE x.pool = r.pool AND x.key = r.key;
  o.no_match_streak := coalesce(e.no_match_streak, 0);
  -- A pin cannot be replaced by an answer, so there is nothing to buy even when forced.
  IF e.kind <> 0 AND e.erase_after > t AND (e.pinned OR (e.fresh_until > t AND e.answered_at >= r.refresh_before
      AND NOT (r.retry_no_match AND e.kind = 2))) THEN
    o.verdict := 1; o.gen := e.gen; o.kind := e.kind; o.answered_at := e.answered_at; o.fresh_until := e.fresh_until;
    o.stale_until := e.stale_until; o.erase_after := e.erase_after; o.pinned := e.pinned; o.payload := e.payload;
    RETURN o;
  END IF;

  IF old.phase = 1 AND old.intent = r.intent THEN  -- asked again, after a doubt
    o.verdict := 0; o.step := geonce.step_of(chain, old.provider, 0); o.fence := old.fence; o.gen := old.gen;
    o.attempt := old.attempt; o.query_json := old.query_json;
    RETURN o;
  END IF;

  c.pool := r.pool; c.key := r.key; c.attempt := 1; c.asked := '';
  c.gen := coalesce(e.gen, 0) + 1;
  -- An invalidation has closed the window of a claim that is not ahead of the entry.
  is_same_window := is_old AND old.gen >= c.gen;
  IF is_same_window THEN c.gen := old.gen; END IF;
  o.gen := c.gen;
  IF is_old AND old.deadline > t AND (old.phase IN (1, 2) OR (is_same_window AND NOT is_forced)) THEN
    o.verdict := old.phase + 1;
    -- A blocked key waits for no point in time.
    IF old.phase <> 3 THEN o.wait_for := old.deadline - t; END IF;
    RETURN o;
  END IF;

  is_new_window := NOT is_same_window;
  IF is_same_window THEN c.attempt := old.attempt; END IF;
  IF old.phase = 1 AND NOT geonce.is_settled(old.intent) THEN
    -- Overdue: whoever called is gone or late, and may have been billed.
    was_prepared := geonce.prepared(old.intent);
    lost := geonce.outcome(4, t, r.pool, r.key, old.gen, old.intent, old.provider, was_prepared);
    lost.owner := old.owner; lost.reason := 'takeover'; lost.price_micro_usd := was_prepared.price_micro_usd;
    PERFORM geonce.note(lost);
    IF is_same_window AND c.attempt > r.max_unknown THEN
      IF NOT is_forced THEN
        PERFORM geonce.set_phase(r.pool, r.key, 3, geonce.never());
        o.verdict := 4;
        RETURN o;
      END IF;
      is_new_window := true;
    END IF;
    c.attempt := c.attempt + 1;
  ELSIF old.phase = 3 THEN
    is_new_window := true;
  END IF;

  c.intent := r.intent; c.owner := r.owner; c.ignore_no_match := is_forced OR r.retry_no_match;
  IF is_new_window THEN
    -- Forced beyond a claim of its own window: a gen further, so that only the new call can fill it.
    IF is_same_window THEN c.gen := c.gen + 1; END IF;
    c.attempt := 1; c.query_json := r.query_json; c.pre_image := r.pre_image;
  ELSE
    c.asked := old.asked; c.query_json := old.query_json; c.pre_image := old.pre_image;
  END IF;
  step := geonce.next_step(chain, 0, r.pool, r.key, c.asked, c.ignore_no_match, t);
  IF step IS NULL AND c.asked <> '' THEN
    -- Everybody has been asked and the best answer died with who held it: begin the chain again.
    c.asked := '';
    step := geonce.next_step(chain, 0, r.pool, r.key, c.asked, c.ignore_no_match, t);
  END IF;
  o.gen := c.gen; o.attempt := c.attempt;
  o.answered := geonce.answered(chain, 0, step, r.pool, r.key, c.asked, c.ignore_no_match, t);
  IF step IS NULL THEN
    IF is_old THEN PERFORM geonce.delete_claim(r.pool, r.key); END IF;
    o.verdict := 5;
    RETURN o;
  END IF;
  c.phase := 1; c.provider := chain[step + 1]; c.deadline := t + r.life;
  c.fence := geonce.prepare(c, t, CASE WHEN c.attempt > 1 THEN 5 ELSE r.cause END::integer, r.bulk,
                            geonce.price_of(r.prices, step));
  PERFORM geonce.write_claim(c);
  o.verdict := 0; o.step := step; o.fence := c.fence; o.query_json := c.query_json;
  RETURN o;
END $$;

CREATE FUNCTION geonce.take(pools bigint[], keys bytea[], intents uuid[], owners uuid[], causes bigint[],
    bulks boolean[], refreshes bigint[], retries boolean[], lives bigint[], unknowns bigint[], chains text[],
    prices text[], queries text[], pre_images bytea[]) RETURNS SETOF geonce.taken LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
  r geonce.take_request;
  locked geonce.claim;
  o geonce.taken;
BEGIN
  FOR r IN
    SELECT n, a, b, c, d, e, f, g, h, i, j, k, l, m, o_
    FROM unnest(pools, keys, intents, owners, causes, bulks, refreshes, retries, lives, unknowns, chains, prices,
                queries, pre_images) WITH ORDINALITY AS u (a, b, c, d, e, f, g, h, i, j, k, l, m, o_, n)
    ORDER BY a, b, n
  LOOP
    locked := geonce.lock_slot(r.pool, r.key);
    o := geonce.take_one(r, locked);
    IF locked.phase = 0 AND o.verdict <> 0 THEN PERFORM geonce.unlock_slot(r.pool, r.key); END IF;
    RETURN NEXT o;
  END LOOP;
END $$;

CREATE TYPE geonce.advance_request AS (
  n bigint, pool bigint, key bytea, fence bigint, gen bigint, intent uuid, provider text, http_status bigint,
  reason text, request_id text, billed bigint, units bigint, price bigint, is_refused boolean, no_match_for bigint,
  step bigint, next_intent uuid, life bigint, chain text, prices text);

-- verdict: 0 send, 1 exhausted, 2 lost.
CREATE TYPE geonce.advanced AS (n bigint, verdict bigint, step bigint, answered bigint);

CREATE FUNCTION geonce.advance_one(r geonce.advance_request, c geonce.claim) RETURNS geonce.advanced LANGUAGE plpgsql AS $$
DECLARE
  o geonce.advanced;
  e geonce.entry;
  row_ geonce.ledger;
  was_prepared geonce.ledger;
  t bigint := geonce.now();
  is_ours boolean := c.phase <> 0 AND c.fence = r.fence;
  is_held boolean;
  is_current boolean;
  chain text[] := string_to_array(r.chain, E'\n');
  step integer;
BEGIN
  o.n := r.n; o.step := 0; o.answered := 0;
  IF is_ours AND c.intent = r.next_intent THEN  -- asked again, after a doubt
    o.verdict := 0; o.step := geonce.step_of(chain, c.provider, r.step::integer + 1);
    RETURN o;
  END IF;

  -- One that comes when its claim has ended does not begin it again.
  is_held := is_ours AND c.phase = 1 AND c.intent = r.intent;
  SELECT * INTO e FROM geonce.entry x WHERE x.pool = r.pool AND x.key = r.key;
  is_current := e.gen IS NULL OR e.gen < r.gen;
  was_prepared := geonce.prepared(r.intent);
  row_ := geonce.outcome(CASE WHEN r.is_refused THEN 3 ELSE 2 END, t, r.pool, r.key, r.gen, r.intent, r.provider,
                         was_prepared);
  row_.http_status := r.http_status; row_.reason := r.reason; row_.provider_request_id := r.request_id;
  row_.billed := r.billed; row_.units := r.units; row_.price_micro_usd := r.price;
  row_.late := NOT is_held;
  row_.redundant := NOT r.is_refused AND NOT (is_held AND is_current);
  IF NOT r.is_refused OR NOT geonce.is_settled(r.intent) THEN PERFORM geonce.note(row_); END IF;
  IF r.no_match_for IS NOT NULL AND is_current THEN
    PERFORM geonce.remember_no_match(r.pool, r.key, r.provider, t + r.no_match_for);
  END IF;
  IF NOT is_held OR NOT is_current THEN
    -- Invalidated meanwhile: what the next provider says could not be stored. Whoever still wants an answer opens the
    -- new window.
    IF is_held THEN PERFORM geonce.delete_claim(r.pool, r.key); END IF;
    o.verdict := 2;
    RETURN o;
  END IF;

  -- A chain that names the same provider next wants its no-match confirmed: it may be asked again.
  IF NOT r.is_refused AND chain[r.step::integer + 2] IS DISTINCT FROM r.provider AND NOT geonce.has_line(c.asked, r.provider) THEN
    c.asked := CASE WHEN c.asked = '' THEN r.provider ELSE c.asked || E'\n' || r.provider END;
  END IF;
  c.phase := 1;
  c.deadline := t + r.life;
  step := geonce.next_step(chain, r.step::integer + 1, r.pool, r.key, c.asked, c.ignore_no_match, t);
  o.verdict := 1;
  o.answered := geonce.answered(chain, r.step::integer + 1, step, r.pool, r.key, c.asked, c.ignore_no_match, t);
  IF step IS NOT NULL THEN
    c.intent := r.next_intent;
    c.provider := chain[step + 1];
    PERFORM geonce.prepare(c, t, was_prepared.cause::integer, was_prepared.bulk, geonce.price_of(r.prices, step));
    o.verdict := 0; o.step := step;
  END IF;
  PERFORM geonce.write_claim(c);
  RETURN o;
END $$;

CREATE FUNCTION geonce.advance(pools bigint[], keys bytea[], fences bigint[], gens bigint[], intents uuid[],
    providers text[], statuses bigint[], reasons text[], request_ids text[], billeds bigint[], units bigint[],
    charges bigint[], refused boolean[], no_matches bigint[], steps bigint[], next_intents uuid[], lives bigint[],
    chains text[], prices text[]) RETURNS SETOF geonce.advanced LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
  r geonce.advance_request;
  locked geonce.claim;
BEGIN
  FOR r IN
    SELECT n, a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, s, t, v
    FROM unnest(pools, keys, fences, gens, intents, providers, statuses, reasons, request_ids, billeds, units, charges,
                refused, no_matches, steps, next_intents, lives, chains, prices)
         WITH ORDINALITY AS u (a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, s, t, v, n)
    ORDER BY a, b, n
  LOOP
    locked := geonce.lock_slot(r.pool, r.key);
    RETURN NEXT geonce.advance_one(r, locked);
    IF locked.phase = 0 THEN PERFORM geonce.unlock_slot(r.pool, r.key); END IF;
  END LOOP;
END $$;
