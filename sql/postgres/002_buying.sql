-- The rules of buying, the same as in src/store/sqlite_purchase.cc: a change goes into both, and tests/contract/store
-- holds them together. Each function takes a list of requests as arrays of one length and answers with one row per
-- request, `n` being its place in the list. Requests are worked off in the order of their slots, whoever sends them,
-- so that two lists never wait for each other. VOLATILE and READ COMMITTED: each statement sees what has been committed
-- until then, so what is read behind lock_slot is as new as the lock.

-- The claim of a slot, locked until the end of the transaction; one of phase 0 where there was none.
CREATE FUNCTION geonce.lock_slot(pool_ bigint, key_ bytea) RETURNS geonce.claim LANGUAGE plpgsql AS $$
DECLARE
  c geonce.claim;
BEGIN
  LOOP
    SELECT * INTO c FROM geonce.claim x WHERE x.pool = pool_ AND x.key = key_ FOR UPDATE;
    IF FOUND THEN RETURN c; END IF;
    INSERT INTO geonce.claim (pool, key) VALUES (pool_, key_) ON CONFLICT DO NOTHING RETURNING * INTO c;
    IF FOUND THEN RETURN c; END IF;
  END LOOP;
END $$;

-- What lock_slot put there, where nobody made a claim of it.
CREATE FUNCTION geonce.unlock_slot(pool_ bigint, key_ bytea) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM geonce.claim x WHERE x.pool = pool_ AND x.key = key_ AND x.phase = 0;
END $$;

-- What the ledger knew when the call was prepared; defaults where it does not know the intent.
CREATE FUNCTION geonce.prepared(intent_ uuid) RETURNS geonce.ledger LANGUAGE plpgsql AS $$
DECLARE
  p geonce.ledger;
BEGIN
  SELECT * INTO p FROM geonce.ledger x WHERE x.intent = intent_ AND x.event = 1;
  IF NOT FOUND THEN
    p.at := 9223372036854775807;
    p.gen := 0; p.attempt := 1; p.owner := '00000000-0000-0000-0000-000000000000';
    p.cause := 1; p.bulk := false; p.price_micro_usd := 0;
  END IF;
  RETURN p;
END $$;

CREATE FUNCTION geonce.has_event(intent_ uuid, event_ integer) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN EXISTS (SELECT FROM geonce.ledger x WHERE x.intent = intent_ AND x.event = event_);
END $$;

-- Whether it is known what became of the call. `unknown` is not knowing, and `reconciled` is about the bill alone: the
-- answer may still turn up.
CREATE FUNCTION geonce.is_settled(intent_ uuid) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  RETURN EXISTS (SELECT FROM geonce.ledger x WHERE x.intent = intent_ AND x.event IN (2, 3, 5));
END $$;

-- Adds a row; false: that event of the intent stands already and is left as it is.
CREATE FUNCTION geonce.note(row_ geonce.ledger) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO geonce.ledger (seq, intent, event, at, pool, key, gen, attempt, owner, provider, cause, bulk, http_status,
      reason, provider_request_id, billed, units, price_micro_usd, redundant, late)
    VALUES (coalesce(row_.seq, nextval('geonce.ledger_seq')), row_.intent, row_.event, row_.at, row_.pool, row_.key,
      row_.gen, row_.attempt, row_.owner, row_.provider, row_.cause, row_.bulk, coalesce(row_.http_status, 0),
      coalesce(row_.reason, ''), coalesce(row_.provider_request_id, ''), row_.billed, row_.units, row_.price_micro_usd,
      coalesce(row_.redundant, false), coalesce(row_.late, false))
    ON CONFLICT (intent, event) DO NOTHING;
  RETURN FOUND;
END $$;

-- The ledger row of a call's end, from what was prepared.
CREATE FUNCTION geonce.outcome(event_ integer, t bigint, pool_ bigint, key_ bytea, gen_ bigint, intent_ uuid,
                               provider_ text, p geonce.ledger) RETURNS geonce.ledger LANGUAGE plpgsql AS $$
DECLARE
  o geonce.ledger;
BEGIN
  o.intent := intent_; o.event := event_; o.at := t; o.pool := pool_; o.key := key_; o.gen := gen_;
  o.attempt := p.attempt; o.owner := p.owner; o.provider := provider_; o.cause := p.cause; o.bulk := p.bulk;
  o.billed := 2; o.units := 1; o.price_micro_usd := 0;
  RETURN o;
END $$;

CREATE FUNCTION geonce.has_line(lines text, line text) RETURNS boolean LANGUAGE sql IMMUTABLE
AS $$ SELECT lines <> '' AND line = ANY (string_to_array(lines, E'\n')) $$;

-- The first provider from `first` on (counted from 0) that has neither answered in this window nor said a while ago
-- that there is no such address; NULL: none.
CREATE FUNCTION geonce.next_step(chain text[], first integer, pool_ bigint, key_ bytea, asked text,
                                 ignore_no_match boolean, t bigint) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  knows_nothing text[];
BEGIN
  IF NOT ignore_no_match THEN
    knows_nothing := ARRAY(SELECT x.provider FROM geonce.no_match x WHERE x.pool = pool_ AND x.key = key_ AND x.until > t);
  END IF;
  FOR step IN first .. cardinality(chain) - 1 LOOP
    IF NOT geonce.has_line(asked, chain[step + 1]) AND NOT coalesce(chain[step + 1] = ANY (knows_nothing), false) THEN
      RETURN step;
    END IF;
  END LOOP;
  RETURN NULL;
END $$;

-- Of the providers that next_step has passed over, a bit each: those that have answered in this window. The others' own
-- no-match is still fresh.
CREATE FUNCTION geonce.answered(chain text[], first integer, step integer, pool_ bigint, key_ bytea, asked text,
                                ignore_no_match boolean, t bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  bits bigint := 0;
BEGIN
  IF asked = '' THEN RETURN 0; END IF;
  FOR i IN first .. coalesce(step, cardinality(chain)) - 1 LOOP
    IF geonce.has_line(asked, chain[i + 1]) AND (ignore_no_match OR NOT EXISTS (
        SELECT FROM geonce.no_match x
        WHERE x.pool = pool_ AND x.key = key_ AND x.provider = chain[i + 1] AND x.until > t)) THEN
      bits := bits | (1::bigint << i);
    END IF;
  END LOOP;
  RETURN bits;
END $$;

-- Where in the chain a provider stands, from `first` on: a chain may name one twice.
CREATE FUNCTION geonce.step_of(chain text[], provider text, first integer) RETURNS integer LANGUAGE sql IMMUTABLE
AS $$ SELECT CASE WHEN first >= cardinality(chain) THEN 0
                  ELSE coalesce(array_position(chain, provider, first + 1) - 1, 0) END $$;

CREATE FUNCTION geonce.price_of(prices text, step integer) RETURNS bigint LANGUAGE sql IMMUTABLE
AS $$ SELECT CASE WHEN prices = '' THEN 0 ELSE (string_to_array(prices, ','))[step + 1]::bigint END $$;

-- Ledger `prepared` of a claim; returns its seq.
CREATE FUNCTION geonce.prepare(c geonce.claim, t bigint, cause_ integer, bulk_ boolean, price bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  o geonce.ledger;
BEGIN
  o.seq := nextval('geonce.ledger_seq');
  o.intent := c.intent; o.event := 1; o.at := t; o.pool := c.pool; o.key := c.key; o.gen := c.gen;
  o.attempt := c.attempt; o.owner := c.owner; o.provider := c.provider; o.cause := cause_; o.bulk := bulk_;
  o.billed := 2; o.units := 1; o.price_micro_usd := price;
  IF NOT geonce.note(o) THEN
    RAISE EXCEPTION 'the intent % has been used before; each attempt needs its own', c.intent USING ERRCODE = 'GC001';
  END IF;
  RETURN o.seq;
END $$;

CREATE FUNCTION geonce.write_claim(c geonce.claim) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE geonce.claim x SET gen = c.gen, attempt = c.attempt, intent = c.intent, owner = c.owner, fence = c.fence,
      phase = c.phase, deadline = c.deadline, provider = c.provider, asked = c.asked,
      ignore_no_match = c.ignore_no_match, query_json = c.query_json, pre_image = c.pre_image
    WHERE x.pool = c.pool AND x.key = c.key;
END $$;

CREATE FUNCTION geonce.set_phase(pool_ bigint, key_ bytea, phase_ integer, deadline_ bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE geonce.claim x SET phase = phase_, deadline = deadline_ WHERE x.pool = pool_ AND x.key = key_;
END $$;

CREATE FUNCTION geonce.delete_claim(pool_ bigint, key_ bytea) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM geonce.claim x WHERE x.pool = pool_ AND x.key = key_;
END $$;

CREATE FUNCTION geonce.remember_no_match(pool_ bigint, key_ bytea, provider_ text, until_ bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO geonce.no_match VALUES (pool_, key_, provider_, until_)
    ON CONFLICT (pool, key, provider) DO UPDATE SET until = excluded.until;
END $$;

CREATE FUNCTION geonce.write_entry(e geonce.entry) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO geonce.entry VALUES (e.*)
    ON CONFLICT (pool, key) DO UPDATE SET building_key = excluded.building_key, gen = excluded.gen,
      kind = excluded.kind, pinned = excluded.pinned, no_match_streak = excluded.no_match_streak,
      answered_at = excluded.answered_at, fresh_until = excluded.fresh_until, stale_until = excluded.stale_until,
      erase_after = excluded.erase_after, provider = excluded.provider, intent = excluded.intent,
      payload = excluded.payload, query_json = excluded.query_json, pre_image = excluded.pre_image;
END $$;

-- Far enough to be never: 9999-12-31.
CREATE FUNCTION geonce.never() RETURNS bigint LANGUAGE sql IMMUTABLE AS $$ SELECT 253402300799000::bigint $$;

-- How long an invalidated key remembers its gen, and how old a call may be to still fill a window. Equal, so that a
-- call begun before an invalidation finds either the tombstone or itself too old.
CREATE FUNCTION geonce.tombstone_life() RETURNS bigint LANGUAGE sql IMMUTABLE AS $$ SELECT 2592000000::bigint $$;
