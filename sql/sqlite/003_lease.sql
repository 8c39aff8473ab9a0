-- Who does what only one process at a time shall do, and until when.
CREATE TABLE lease (
  name  TEXT    PRIMARY KEY,
  owner BLOB    NOT NULL CHECK (length(owner) = 16),
  until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
