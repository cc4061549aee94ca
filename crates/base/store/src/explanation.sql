-- What a request costs each server, and where that goes. The table is newer than schema version 3: Prony adds it when it
-- opens a file for writing, and reads a file without it as one without explanations.

CREATE TABLE IF NOT EXISTS explanation (
    id       INTEGER PRIMARY KEY,
    run      TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    server   TEXT NOT NULL,
    workload TEXT NOT NULL,
    record   TEXT NOT NULL CHECK (json_valid(record)) -- schema/explanation.schema.json
) STRICT;

CREATE INDEX IF NOT EXISTS explanation_by_run ON explanation (run);
