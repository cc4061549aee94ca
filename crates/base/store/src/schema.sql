-- `record` holds the whole of a run or trial as JSON (schema/run.schema.json). The other columns
-- repeat what one filters and sorts by, so `sqlite3` alone is enough for most queries.

CREATE TABLE run (
    id            TEXT PRIMARY KEY,
    suite         TEXT NOT NULL,
    title         TEXT NOT NULL,
    started_at    TEXT NOT NULL,             -- RFC 3339, UTC
    finished_at   TEXT,
    "end"         TEXT NOT NULL,             -- open, complete, interrupted, failed
    prony_version TEXT NOT NULL,
    rounds        INTEGER NOT NULL,
    cpu_model     TEXT NOT NULL,
    kernel        TEXT NOT NULL,
    servers       INTEGER NOT NULL,          -- how many were selected
    record        TEXT NOT NULL CHECK (json_valid(record))
) STRICT;

CREATE TABLE trial (
    id                INTEGER PRIMARY KEY,
    run               TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    sequence          INTEGER NOT NULL,
    server            TEXT NOT NULL,
    workload          TEXT NOT NULL,
    shape             TEXT NOT NULL,
    connections       INTEGER NOT NULL,
    round             INTEGER NOT NULL,
    started_at        TEXT NOT NULL,
    result            TEXT NOT NULL,         -- measured, or the kind of failure
    requests          INTEGER,
    errors            INTEGER,
    rate_per_s        REAL,
    p50_ns            INTEGER,
    p99_ns            INTEGER,
    p999_ns           INTEGER,
    server_cpu_s      REAL,
    peak_memory_bytes INTEGER,
    startup_ns        INTEGER,
    client_limited    INTEGER,
    record            TEXT NOT NULL CHECK (json_valid(record))
) STRICT;

CREATE INDEX trial_by_place ON trial (run, workload, server, round);

-- Written each time the file is opened for writing, so that a place that cannot be written is
-- found before anything is measured.
CREATE TABLE opened (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    at       TEXT NOT NULL
) STRICT;
