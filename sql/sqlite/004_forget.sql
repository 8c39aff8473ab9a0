-- Keys of addresses that somebody wanted forgotten. A batch that was under way then has the answer in its hands still
-- and must not file it again: a part with such a key is not kept. For 30 days.
CREATE TABLE forgotten (
  key BLOB    PRIMARY KEY CHECK (length(key) = 32),
  at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER chunk_is_not_of_the_forgotten BEFORE INSERT ON chunk
WHEN EXISTS (SELECT 1 FROM forgotten f JOIN batch b ON b.number = NEW.batch
             WHERE f.at >= b.created_at AND instr(NEW.bytes, f.key) > 0)
BEGIN
  SELECT RAISE(IGNORE);
END;
