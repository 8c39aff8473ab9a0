-- Places, batches, erasure.

-- Adds points under a source's name; `replace` first drops what it had. of_place: of each digest, which place of this
-- call it belongs to, from 1.
CREATE FUNCTION geonce.load_places(source_ text, replace boolean, source_ids text[], lats double precision[],
    lngs double precision[], ats bigint[], house_numbers text[], streets text[], units text[], cities text[],
    districts text[], regions text[], postcodes text[], countries text[], of_place bigint[], digests bytea[])
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
  source_number bigint;
  ids bigint[] := ARRAY(SELECT nextval('geonce.place_id') FROM generate_series(1, cardinality(source_ids)));
  new_keys bigint;
BEGIN
  INSERT INTO geonce.place_source (name, points, keys, loaded_at) VALUES (source_, 0, 0, geonce.now())
    ON CONFLICT (name) DO UPDATE SET loaded_at = excluded.loaded_at RETURNING id INTO source_number;
  IF replace THEN
    DELETE FROM geonce.place_key k USING geonce.place p WHERE p.source = source_number AND k.place = p.id;
    DELETE FROM geonce.place p WHERE p.source = source_number;
    UPDATE geonce.place_source s SET points = 0, keys = 0 WHERE s.id = source_number;
  END IF;
  INSERT INTO geonce.place
    SELECT ids[n], source_number, a, b, c, d, e, f, g, h, i, j, k
    FROM unnest(source_ids, lats, lngs, house_numbers, streets, units, cities, districts, regions, postcodes, countries)
         WITH ORDINALITY AS u (a, b, c, d, e, f, g, h, i, j, k, n);
  INSERT INTO geonce.place_key
    SELECT u.digest, ats[u.place], ids[u.place] FROM unnest(of_place, digests) AS u (place, digest) ORDER BY 1
    ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS new_keys = ROW_COUNT;
  UPDATE geonce.place_source s SET points = points + cardinality(source_ids), keys = keys + new_keys
    WHERE s.id = source_number;
END $$;

-- Of each question the first digest that has any point: how many different points, and one of them. By the indexes,
-- as geonce.find.
CREATE FUNCTION geonce.find_places(questions bigint[], digests bytea[])
RETURNS TABLE (question bigint, candidates bigint, source_id text, lat_deg double precision, lng_deg double precision,
               house_number text, street text, unit text, city text, district text, region text, postcode text,
               country text)
LANGUAGE plpgsql STABLE
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
    SELECT f.question, f.candidates, p.source_id, p.lat_deg, p.lng_deg, p.house_number, p.street, p.unit, p.city,
           p.district, p.region, p.postcode, p.country
    FROM (SELECT DISTINCT ON (u.question) u.question, count(DISTINCT k.at) AS candidates, min(k.place) AS place
          FROM unnest(questions, digests) WITH ORDINALITY AS u (question, digest, n)
          JOIN geonce.place_key k ON k.digest = u.digest
          GROUP BY u.question, u.n ORDER BY u.question, u.n) AS f
    JOIN geonce.place p ON p.id = f.place;
END $$;

-- start: 0 resume, 1 restart, 2 refresh. new_id: of the batch, where a new one is made; asked again with the same one
-- it is the same batch.
CREATE FUNCTION geonce.open_batch(identity_ bytea, label_ text, start bigint, new_id uuid) RETURNS geonce.batch
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
  b geonce.batch;
  t bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended(encode(identity_, 'hex'), 0));
  SELECT * INTO b FROM geonce.batch x WHERE x.id = new_id;
  IF FOUND THEN RETURN b; END IF;
  IF start <> 1 THEN
    SELECT * INTO b FROM geonce.batch x WHERE x.identity = identity_ ORDER BY x.number DESC LIMIT 1;
    IF FOUND AND (start = 0 OR (b.refresh_before > 0 AND b.state NOT IN ('complete', 'complete_with_errors'))) THEN
      RETURN b;
    END IF;
  END IF;
  t := geonce.now();
  INSERT INTO geonce.batch (id, identity, label, state, rows, created_at, updated_at, refresh_before, summary)
    VALUES (new_id, identity_, label_, 'running', 0, t, t, CASE WHEN start = 2 THEN t ELSE 0 END, '')
    RETURNING * INTO b;
  RETURN b;
END $$;

-- false: there is no such batch. A life of 0 keeps nothing, not even what was there.
CREATE FUNCTION geonce.save_chunks(id_ uuid, numbers bigint[], lives bigint[], contents bytea[]) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
  batch_number bigint;
  t bigint := geonce.now();
BEGIN
  UPDATE geonce.batch x SET updated_at = t WHERE x.id = id_ RETURNING number INTO batch_number;
  IF NOT FOUND THEN RETURN false; END IF;
  DELETE FROM geonce.chunk x USING unnest(numbers, lives) AS u (number, life)
    WHERE x.batch = batch_number AND x.number = u.number AND u.life <= 0;
  INSERT INTO geonce.chunk AS x
    SELECT batch_number, u.number, t + u.life, u.bytes FROM unnest(numbers, lives, contents) AS u (number, life, bytes)
      WHERE u.life > 0 ORDER BY u.number
    ON CONFLICT (batch, number) DO UPDATE SET erase_after = excluded.erase_after, bytes = excluded.bytes;
  RETURN true;
END $$;

CREATE FUNCTION geonce.close_batch(id_ uuid, label_ text, state_ text, rows_ bigint, summary_ text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
  UPDATE geonce.batch x SET label = label_, state = state_, rows = rows_, summary = summary_, updated_at = geonce.now()
    WHERE x.id = id_;
  RETURN FOUND;
END $$;

-- Erases at most so many rows of each kind; what somebody else is busy with is left for the next time.
CREATE FUNCTION geonce.sweep(most bigint, OUT entries bigint, OUT negatives bigint, OUT claims bigint, OUT chunks bigint,
                             OUT batches bigint) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
  t bigint := geonce.now();
  day constant bigint := 86400000;
BEGIN
  DELETE FROM geonce.entry x WHERE (x.pool, x.key) IN (
    SELECT e.pool, e.key FROM geonce.entry e WHERE e.erase_after <= t
      ORDER BY e.erase_after LIMIT most FOR UPDATE SKIP LOCKED);
  GET DIAGNOSTICS entries = ROW_COUNT;
  DELETE FROM geonce.no_match x WHERE (x.pool, x.key, x.provider) IN (
    SELECT e.pool, e.key, e.provider FROM geonce.no_match e WHERE e.until <= t
      ORDER BY e.until LIMIT most FOR UPDATE SKIP LOCKED);
  GET DIAGNOSTICS negatives = ROW_COUNT;
  -- Cool-downs a day over. Claims with an unknown call or an answer behind them stay.
  DELETE FROM geonce.claim x WHERE (x.pool, x.key) IN (
    SELECT e.pool, e.key FROM geonce.claim e
      WHERE e.phase = 2 AND e.deadline <= t - day AND e.attempt = 1 AND e.asked = ''
      LIMIT most FOR UPDATE SKIP LOCKED);
  GET DIAGNOSTICS claims = ROW_COUNT;
  DELETE FROM geonce.chunk x WHERE (x.batch, x.number) IN (
    SELECT e.batch, e.number FROM geonce.chunk e WHERE e.erase_after <= t
      ORDER BY e.erase_after LIMIT most FOR UPDATE SKIP LOCKED);
  GET DIAGNOSTICS chunks = ROW_COUNT;
  DELETE FROM geonce.batch x WHERE x.number IN (
    SELECT e.number FROM geonce.batch e WHERE e.updated_at <= t - 30 * day
      AND NOT EXISTS (SELECT FROM geonce.chunk c WHERE c.batch = e.number) LIMIT most FOR UPDATE SKIP LOCKED);
  GET DIAGNOSTICS batches = ROW_COUNT;
  PERFORM geonce.make_months(3);
END $$;
