-- Windows that ended although answers of them may still be fresh in some tier: dropped, corrected, bought anew. `gen`
-- and all before it are over. Written with the change itself; kept for a week, and about the last million.
--
-- Numbers are given out before the commits, so who asks for "all above the last number I saw" would miss the one that
-- commits late. The transaction that wrote a row says better whether somebody has seen it: what was not visible in the
-- snapshot of the last look is new.
CREATE TABLE geonce.ended (
  number bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  writer xid8    NOT NULL DEFAULT pg_current_xact_id(),
  at     bigint  NOT NULL,
  pool   bigint  NOT NULL,
  key    bytea   NOT NULL CHECK (octet_length(key) = 32),
  gen    bigint  NOT NULL,
  told   boolean NOT NULL DEFAULT false
) WITH (fillfactor = 90, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX ended_writer ON geonce.ended (writer);
CREATE INDEX ended_untold ON geonce.ended (number) WHERE NOT told;
CREATE INDEX ended_at ON geonce.ended (at);

-- Up to which instant rows are gone.
CREATE TABLE geonce.ended_trimmed (until bigint NOT NULL);
INSERT INTO geonce.ended_trimmed VALUES (0);

CREATE FUNCTION geonce.trim_ended(last bigint, t bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  week constant bigint := 604800000;
  newest bigint;
BEGIN
  -- One at a time; who comes second holds locks on addresses already and must not wait.
  IF NOT pg_try_advisory_xact_lock(7453302652411117569) THEN RETURN; END IF;
  WITH gone AS (
    DELETE FROM geonce.ended x WHERE x.number IN (
      SELECT e.number FROM geonce.ended e WHERE e.at < t - week OR e.number <= last - 1000000
        ORDER BY e.number LIMIT 10000 FOR UPDATE SKIP LOCKED)
    RETURNING x.at)
  SELECT max(gone.at) INTO newest FROM gone;
  IF newest IS NOT NULL THEN UPDATE geonce.ended_trimmed SET until = greatest(until, newest); END IF;
END $$;

CREATE FUNCTION geonce.note_ended(pool_ bigint, key_ bytea, gen_ bigint, t bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  last bigint;
BEGIN
  INSERT INTO geonce.ended (at, pool, key, gen) VALUES (t, pool_, key_, gen_) RETURNING number INTO last;
  IF last % 1000 = 0 THEN PERFORM geonce.trim_ended(last, t); END IF;
END $$;

-- Whoever changes an entry need not think of it. A call on its way counts as well: who asks from now on must not be
-- given what it brings.
CREATE FUNCTION geonce.entry_was_written() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  t bigint := geonce.now();
  is_dropped boolean := NEW.kind = 0;
  may_be_held boolean := TG_OP = 'UPDATE' AND OLD.kind <> 0
    AND CASE WHEN is_dropped THEN OLD.erase_after ELSE OLD.fresh_until END > t;
BEGIN
  IF may_be_held OR ((is_dropped OR NEW.pinned) AND EXISTS (
      SELECT FROM geonce.claim c WHERE c.pool = NEW.pool AND c.key = NEW.key AND c.phase = 1)) THEN
    PERFORM geonce.note_ended(NEW.pool, NEW.key, CASE WHEN is_dropped THEN NEW.gen ELSE NEW.gen - 1 END, t);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER entry_was_replaced AFTER UPDATE ON geonce.entry FOR EACH ROW
  WHEN ((OLD.kind <> 0 OR NEW.kind = 0 OR NEW.pinned) AND OLD.gen <> NEW.gen AND OLD.pool = NEW.pool
        AND OLD.key = NEW.key)
  EXECUTE FUNCTION geonce.entry_was_written();
CREATE TRIGGER entry_was_added AFTER INSERT ON geonce.entry FOR EACH ROW
  WHEN (NEW.kind = 0 OR NEW.pinned) EXECUTE FUNCTION geonce.entry_was_written();

CREATE FUNCTION geonce.entry_was_erased() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  t bigint := geonce.now();
BEGIN
  IF OLD.fresh_until > t THEN PERFORM geonce.note_ended(OLD.pool, OLD.key, OLD.gen, t); END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER entry_was_erased AFTER DELETE ON geonce.entry FOR EACH ROW
  WHEN (OLD.kind <> 0) EXECUTE FUNCTION geonce.entry_was_erased();

-- What ended since the look that gave `cursor_`; '': since now. The first row, of number 0, has the next cursor.
-- has_gap: some are missing, because they are more than `most` or too long ago, or this is another database.
CREATE FUNCTION geonce.ended_since(cursor_ text, most bigint)
RETURNS TABLE (number bigint, pool bigint, key bytea, gen bigint, next_cursor text, has_gap boolean, has_untold boolean)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
  present pg_snapshot := pg_current_snapshot();
  before pg_snapshot;
  missed boolean := false;
BEGIN
  IF cursor_ <> '' THEN
    before := split_part(cursor_, '@', 1)::pg_snapshot;
    missed := pg_snapshot_xmax(before) > pg_snapshot_xmax(present)
      OR (SELECT until FROM geonce.ended_trimmed) + 60000 > split_part(cursor_, '@', 2)::bigint
      OR (SELECT count(*) FROM (
            SELECT FROM geonce.ended e WHERE e.writer >= pg_snapshot_xmin(before)
              AND NOT pg_visible_in_snapshot(e.writer, before) LIMIT most + 1) AS one) > most;
  END IF;
  RETURN QUERY SELECT 0::bigint, 0::bigint, ''::bytea, 0::bigint, present::text || '@' || geonce.now(), missed,
                      EXISTS (SELECT FROM geonce.ended e WHERE NOT e.told);
  IF cursor_ = '' OR missed THEN RETURN; END IF;
  RETURN QUERY
    SELECT e.number, e.pool, e.key, e.gen, '', false, false FROM geonce.ended e
      WHERE e.writer >= pg_snapshot_xmin(before) AND NOT pg_visible_in_snapshot(e.writer, before) ORDER BY e.number;
END $$;

CREATE FUNCTION geonce.untold(most bigint) RETURNS TABLE (number bigint, pool bigint, key bytea, gen bigint)
LANGUAGE sql STABLE AS $$
  SELECT e.number, e.pool, e.key, e.gen FROM geonce.ended e WHERE NOT e.told ORDER BY e.number LIMIT most
$$;

CREATE FUNCTION geonce.told(numbers bigint[]) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  -- Several may have told the same at the same time: one of them says so.
  UPDATE geonce.ended x SET told = true WHERE x.number IN (
    SELECT e.number FROM geonce.ended e WHERE e.number = ANY (numbers) AND NOT e.told
      ORDER BY e.number FOR UPDATE SKIP LOCKED);
END $$;
