-- Windows that ended although answers of them may still be fresh in some tier: dropped, corrected, bought anew. `gen`
-- and all before it are over. Written with the change itself, in the order of the commits and without gaps; kept for
-- a week, and the last million. told: tiers that processes share have heard of it.
CREATE TABLE ended (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  at     INTEGER NOT NULL,
  pool   INTEGER NOT NULL,
  key    BLOB    NOT NULL CHECK (length(key) = 32),
  gen    INTEGER NOT NULL,
  told   INTEGER NOT NULL
) STRICT;
CREATE INDEX ended_untold ON ended (number) WHERE told = 0;
