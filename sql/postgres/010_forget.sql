-- Forgetting an address.

-- Keys of addresses that somebody wanted forgotten. A batch that was under way then has the answer in its hands still
-- and must not file it again: a part with such a key is not kept. For 30 days.
CREATE TABLE geonce.forgotten (
  key bytea  PRIMARY KEY CHECK (octet_length(key) = 32),
  at  bigint NOT NULL
);

CREATE FUNCTION geonce.chunk_is_not_of_the_forgotten() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM geonce.forgotten f JOIN geonce.batch b ON b.number = NEW.batch
             WHERE f.at >= b.created_at AND position(f.key IN NEW.bytes) > 0) THEN
    RETURN NULL;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER chunk_is_not_of_the_forgotten BEFORE INSERT ON geonce.chunk FOR EACH ROW
  EXECUTE FUNCTION geonce.chunk_is_not_of_the_forgotten();

-- Leaves of the address a window's number and rows of the ledger. former: keys it may have had.
CREATE FUNCTION geonce.forget(pool_ bigint, key_ bytea, former bytea[], OUT entries bigint, OUT negatives bigint,
                              OUT claims bigint, OUT chunks bigint) LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
  keys bytea[] := former || key_;
  more bigint;
BEGIN
  SELECT count(*) INTO negatives FROM geonce.no_match x WHERE x.pool = pool_ AND x.key = key_;
  SELECT count(*) FILTER (WHERE i.had_answer) INTO entries FROM geonce.invalidate(ARRAY[pool_], ARRAY[key_]) i;
  -- A call on its way needs its claim to end, but not what it asks.
  UPDATE geonce.claim x SET query_json = '', pre_image = ''
    WHERE x.pool = pool_ AND x.key = key_ AND x.phase = 1 AND x.query_json <> '';
  GET DIAGNOSTICS claims = ROW_COUNT;
  DELETE FROM geonce.claim x WHERE x.pool = pool_ AND x.key = key_ AND x.phase <> 1;
  GET DIAGNOSTICS more = ROW_COUNT;
  claims := claims + more;
  -- Whoever files a part now waits, and then sees what must not be in it.
  LOCK TABLE geonce.chunk IN SHARE ROW EXCLUSIVE MODE;
  DELETE FROM geonce.forgotten x WHERE x.at < geonce.now() - geonce.tombstone_life();
  INSERT INTO geonce.forgotten SELECT DISTINCT k, geonce.now() FROM unnest(keys) AS u (k)
    ON CONFLICT (key) DO UPDATE SET at = excluded.at;
  DELETE FROM geonce.chunk x WHERE EXISTS (SELECT FROM unnest(keys) AS u (k) WHERE position(u.k IN x.bytes) > 0);
  GET DIAGNOSTICS chunks = ROW_COUNT;
END $$;
