-- needs step 7
-- Erasing while others work: one sweeper at a time, in small portions, and not faster than the database cleans up.

-- Who does what only one process at a time shall do, and until when.
CREATE TABLE geonce.lease (
  name  text   PRIMARY KEY,
  owner uuid   NOT NULL,
  until bigint NOT NULL
) WITH (fillfactor = 50);

-- 0: it is the owner's for so long; else how long another has it still. A life of 0 gives it back.
CREATE FUNCTION geonce.lease(name_ text, owner_ uuid, life bigint) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  INSERT INTO geonce.lease AS x VALUES (name_, owner_, geonce.now() + life)
    ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = geonce.now() + life
      WHERE x.owner = excluded.owner OR x.until <= geonce.now();
  IF FOUND THEN RETURN 0; END IF;
  RETURN greatest(1, (SELECT x.until FROM geonce.lease x WHERE x.name = name_) - geonce.now());
END $$;

-- Erases at most so many rows of each kind, and fewer of the parts of batches, which are long; what somebody else is
-- busy with is left for the next time. Whoever is to be erased is chosen and locked once, before: a plan that chose
-- again for each row would skip what it has locked itself.
DROP FUNCTION geonce.sweep(bigint);
CREATE FUNCTION geonce.sweep(most bigint, OUT entries bigint, OUT negatives bigint, OUT claims bigint, OUT chunks bigint,
                             OUT batches bigint, OUT is_behind boolean) LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
  t bigint := geonce.now();
  day constant bigint := 86400000;
BEGIN
  -- Where a claim stands its gen counts on from the entry's, so that much of the entry stays.
  WITH due AS MATERIALIZED (
    SELECT e.pool, e.key FROM geonce.entry e WHERE e.erase_after <= t
      ORDER BY e.erase_after LIMIT most FOR UPDATE SKIP LOCKED),
  kept AS (
    UPDATE geonce.entry x SET building_key = NULL, kind = 0, pinned = false, no_match_streak = 0, fresh_until = t,
        stale_until = t, erase_after = t + geonce.tombstone_life(), provider = '', intent = NULL, payload = '',
        query_json = '', pre_image = ''
      FROM due JOIN geonce.claim c USING (pool, key) WHERE x.pool = due.pool AND x.key = due.key
      RETURNING x.pool, x.key),
  gone AS (
    DELETE FROM geonce.entry x USING due WHERE x.pool = due.pool AND x.key = due.key
      AND NOT EXISTS (SELECT FROM kept k WHERE k.pool = due.pool AND k.key = due.key) RETURNING 1)
  SELECT (SELECT count(*) FROM kept) + (SELECT count(*) FROM gone) INTO entries;

  WITH due AS MATERIALIZED (
    SELECT e.pool, e.key, e.provider FROM geonce.no_match e WHERE e.until <= t
      ORDER BY e.until LIMIT most FOR UPDATE SKIP LOCKED)
  DELETE FROM geonce.no_match x USING due WHERE x.pool = due.pool AND x.key = due.key AND x.provider = due.provider;
  GET DIAGNOSTICS negatives = ROW_COUNT;

  -- Cool-downs a day over. Claims with an unknown call or an answer behind them stay.
  WITH due AS MATERIALIZED (
    SELECT e.pool, e.key FROM geonce.claim e
      WHERE e.phase = 2 AND e.deadline <= t - day AND e.attempt = 1 AND e.asked = ''
      LIMIT most FOR UPDATE SKIP LOCKED)
  DELETE FROM geonce.claim x USING due WHERE x.pool = due.pool AND x.key = due.key;
  GET DIAGNOSTICS claims = ROW_COUNT;

  WITH due AS MATERIALIZED (
    SELECT e.batch, e.number FROM geonce.chunk e WHERE e.erase_after <= t
      ORDER BY e.erase_after LIMIT greatest(1, most / 20) FOR UPDATE SKIP LOCKED)
  DELETE FROM geonce.chunk x USING due WHERE x.batch = due.batch AND x.number = due.number;
  GET DIAGNOSTICS chunks = ROW_COUNT;

  WITH due AS MATERIALIZED (
    SELECT e.number FROM geonce.batch e WHERE e.updated_at <= t - 30 * day
      AND NOT EXISTS (SELECT FROM geonce.chunk c WHERE c.batch = e.number) LIMIT most FOR UPDATE SKIP LOCKED)
  DELETE FROM geonce.batch x USING due WHERE x.number = due.number;
  GET DIAGNOSTICS batches = ROW_COUNT;

  PERFORM geonce.make_months(3);
  -- Autovacuum begins at 2 % of the entries. Beyond twice that it does not keep up.
  SELECT coalesce(bool_or(s.n_dead_tup > 20000 + s.n_live_tup * 0.05), false) INTO is_behind
    FROM pg_stat_user_tables s WHERE s.schemaname = 'geonce' AND s.relname IN ('entry', 'no_match', 'chunk', 'claim');
END $$;
