use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::*;
use prony_model::{RunEnd, TrialResult, sample};

/// The variable with the record file of the crashing writer (see below).
const CRASH_PATH: &str = "PRONY_TEST_CRASH_PATH";

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let of_record = folder.path().join("record");
    fs::create_dir(&of_record).unwrap();
    (folder, of_record.join("prony.db"))
}

/// A record with this run, which has begun.
fn begun(run: &str) -> (tempfile::TempDir, PathBuf, Store) {
    let (folder, path) = place();
    let store = Store::open(&path).unwrap();
    store.begin_run(&sample::run(run)).unwrap();
    (folder, path, store)
}

/// That this is an error of that kind, whose message has these parts.
macro_rules! assert_error {
    ($result:expr, $kind:pat $(, $part:expr)*) => {{
        let error = $result.unwrap_err();
        assert!(matches!(error, $kind), "{error:?}");
        let parts: &[&str] = &[$($part),*];
        for part in parts {
            assert!(error.to_string().contains(part), "no `{part}` in {error}");
        }
    }};
}

#[test]
fn runs_and_trials_round_trip() {
    let mut run = sample::run("20261121-203000-tour");
    let (_folder, path, store) = begun(&run.id);
    let trials = vec![
        sample::measured("go-nethttp", 1),
        sample::failed("bun", "gone"),
    ];
    for trial in &trials {
        store.add_trial(&run.id, trial).unwrap();
    }
    run.notes.push("Another.".into());
    store.update_run(&run).unwrap();
    let finished_at = "2026-11-21T20:40:00Z";
    let finished = store.finish_run(&run.id, RunEnd::Complete, finished_at);
    finished.unwrap();
    drop(store);

    let store = Store::open_read(&path).unwrap();
    run.end = RunEnd::Complete;
    run.finished_at = Some(finished_at.into());
    assert_eq!(store.run(&run.id).unwrap(), run);
    assert_eq!(store.latest().unwrap(), run);
    assert_eq!(store.trials(&run.id).unwrap(), trials);
    let summary = &store.runs().unwrap()[0];
    assert_eq!((summary.trials, summary.failed_trials), (2, 1));
    assert_eq!((summary.servers, summary.end), (4, RunEnd::Complete));
}

#[test]
fn explanations_round_trip_and_end_with_their_run() {
    let (_folder, path, store) = begun("one");
    store.begin_run(&sample::run("other")).unwrap();
    let explanations = vec![sample::explanation("bun"), sample::explanation("go")];
    for one in &explanations {
        store.add_explanation("one", one).unwrap();
    }
    store.add_explanation("other", &explanations[1]).unwrap();
    let written = store.add_explanation("none", &explanations[0]);
    assert_error!(written, StoreError::UnknownRun { .. });
    drop(store);
    let reader = Store::open_read(&path).unwrap();
    assert_eq!(reader.explanations("one").unwrap(), explanations);
    assert_eq!(reader.explanations("other").unwrap(), explanations[1..]);
    assert_error!(reader.explanations("none"), StoreError::UnknownRun { .. });

    let store = Store::open(&path).unwrap();
    let delete = "DELETE FROM run WHERE id = 'one'";
    store.connection.execute(delete, []).unwrap();
    let left = "SELECT run FROM explanation";
    assert_eq!(first_column(&store, left), ["other"]);
}

#[test]
fn a_file_without_explanations_is_readable_and_gets_their_table_when_it_is_opened_for_writing() {
    let (_folder, path, store) = begun("r");
    // As an earlier Prony wrote it.
    let drop_table = "DROP TABLE explanation";
    store.connection.execute_batch(drop_table).unwrap();
    drop(store);
    let reader = Store::open_read(&path).unwrap();
    assert_eq!(reader.explanations("r").unwrap(), []);
    assert_error!(reader.explanations("none"), StoreError::UnknownRun { .. });
    drop(reader);
    let store = Store::open(&path).unwrap();
    let one = sample::explanation("bun");
    store.add_explanation("r", &one).unwrap();
    assert_eq!(store.explanations("r").unwrap(), [one]);
}

#[test]
fn what_does_not_round_trip_is_not_written() {
    let (_folder, _, store) = begun("r");
    let mut one = sample::explanation("bun");
    one.rounds[0].system_calls.insert("read".into(), f64::NAN);
    assert_error!(store.add_explanation("r", &one), StoreError::Record { .. });
    assert_eq!(store.explanations("r").unwrap(), []);
    let mut trial = sample::measured("bun", 1);
    if let TrialResult::Measured(measured) = &mut trial.result {
        measured.load.rate_per_s = f64::NAN;
    }
    assert_error!(store.add_trial("r", &trial), StoreError::Record { .. });
    assert_eq!(store.trials("r").unwrap(), []);
}

#[test]
fn the_columns_can_be_filtered_by() {
    let (_folder, _, store) = begun("r");
    store.add_trial("r", &sample::measured("bun", 2)).unwrap();
    let query = "SELECT p99_ns, rate_per_s, errors FROM trial WHERE run = 'r' AND server = 'bun'
        AND workload = 'hello' AND round = 2 AND result = 'measured' AND NOT client_limited";
    let row = store
        .connection
        .query_row(query, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    let TrialResult::Measured(measured) = sample::measured("bun", 2).result else {
        unreachable!()
    };
    let p99 = measured.load.latency_ns.unwrap().p99 as i64;
    assert_eq!(row, Ok((p99, measured.load.rate_per_s, 2)));
}

#[test]
fn the_latest_run_is_the_one_started_last() {
    let (_folder, path) = place();
    let store = Store::open(path).unwrap();
    assert_error!(store.latest(), StoreError::NoRuns(_));
    for (id, at) in [("b", "2026-11-22T00:00:00Z"), ("a", "2026-11-21T00:00:00Z")] {
        let mut run = sample::run(id);
        run.started_at = at.into();
        store.begin_run(&run).unwrap();
    }
    assert_eq!(store.latest().unwrap().id, "b");
    assert!(store.trials("a").unwrap().is_empty());
}

#[test]
fn an_unknown_run_is_reported_with_the_nearest() {
    let (_folder, _, store) = begun("20261121-203000-tour");
    let (near, far) = (store.run("20261121-203000-tuor"), store.trials("xyz"));
    let nearest = "did you mean `20261121-203000-tour`?";
    assert_error!(near, StoreError::UnknownRun { .. }, nearest);
    assert!(
        !far.as_ref()
            .unwrap_err()
            .to_string()
            .contains("did you mean")
    );
    assert_error!(far, StoreError::UnknownRun { .. }, "no run `xyz`");
    let added = store.add_trial("xyz", &sample::measured("bun", 1));
    assert_error!(added, StoreError::UnknownRun { .. });
    let finished = store.finish_run("xyz", RunEnd::Failed, "2026-11-21T20:40:00Z");
    assert_error!(finished, StoreError::UnknownRun { .. });
}

#[test]
fn a_run_id_can_be_used_once() {
    let (_folder, _, store) = begun("r");
    let again = store.begin_run(&sample::run("r"));
    assert_error!(again, StoreError::RunExists { .. });
}

#[test]
fn a_full_disk_is_reported_and_loses_nothing_already_written() {
    let (_folder, path, store) = begun("r");
    let connection = &store.connection;
    let pages = connection.pragma_query_value(None, "page_count", |row| row.get::<_, i64>(0));
    connection
        .pragma_update_and_check(None, "max_page_count", pages.unwrap() + 8, |_| Ok(()))
        .unwrap();
    let mut written = 0;
    let refused = loop {
        match store.add_trial("r", &sample::measured("bun", written + 1)) {
            Ok(()) => written += 1,
            refused => break refused,
        }
        assert!(written < 1000, "the limit was never met");
    };
    assert!(written > 0);
    assert_error!(
        refused,
        StoreError::DiskFull(_),
        "prony.db",
        "free some space"
    );
    let count = |store: &Store| store.trials("r").unwrap().len();
    assert_eq!(count(&store), written as usize);
    drop(store);
    assert_eq!(count(&Store::open(&path).unwrap()), written as usize);
}

#[test]
fn a_full_disk_is_reported_when_the_file_is_opened() {
    let (_folder, path) = place();
    drop(Store::open(&path).unwrap());
    let mut store = Store::connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap();
    let connection = &store.connection;
    connection.execute("DROP TABLE opened", []).unwrap();
    connection
        .execute_batch("PRAGMA user_version = 0; DROP TABLE trial; DROP TABLE run; VACUUM")
        .unwrap();
    connection
        .pragma_update_and_check(None, "max_page_count", 1, |_| Ok(()))
        .unwrap();
    assert_error!(store.prepare_for_writing(), StoreError::DiskFull(_));
}

#[test]
fn a_file_that_cannot_be_written_is_reported_when_opened() {
    let (folder, _) = place();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    for (folder, expected) in [
        (file, "is not a folder"),
        (folder.path().join("no/such"), "there is no folder"),
    ] {
        let opened = Store::open(folder.join("prony.db"));
        assert_error!(opened, StoreError::Folder { .. }, expected, "another path");
    }
    assert!(!folder.path().join("no").exists());
    assert_error!(Store::open(folder.path()), StoreError::NotARecord(_));
}

#[test]
fn the_write_after_a_deletion_or_replacement_is_an_error() {
    let replace: fn(&Path) = |path| {
        fs::rename(path, path.with_extension("away")).unwrap();
        drop(Store::open(path).unwrap());
    };
    let delete: fn(&Path) = |path| fs::remove_file(path).unwrap();
    let delete_folder: fn(&Path) = |path| fs::remove_dir_all(path.parent().unwrap()).unwrap();
    for lose in [replace, delete, delete_folder] {
        let (_folder, path, store) = begun("r");
        store.add_trial("r", &sample::measured("bun", 1)).unwrap();
        lose(&path);
        for written in [
            store.add_trial("r", &sample::measured("bun", 2)),
            store.update_run(&sample::run("r")),
            store.begin_run(&sample::run("s")),
        ] {
            assert_error!(written, StoreError::Gone(_));
        }
    }
}

#[test]
fn a_read_only_file_is_reported() {
    let (_folder, path, store) = begun("r");
    drop(store);
    let mut read_only = Store::open_read(&path).unwrap();
    assert_error!(read_only.prepare_for_writing(), StoreError::ReadOnly(_));
    let begun = read_only.begin_run(&sample::run("s"));
    assert_error!(
        begun,
        StoreError::ReadOnly(_),
        "prony.db",
        "make it writable"
    );
}

#[test]
fn a_record_file_on_read_only_media_can_be_read() {
    let (_folder, path, store) = begun("r");
    drop(store);
    let odd = path.with_file_name("100% odd?#.db");
    fs::rename(path, &odd).unwrap();
    let store = Store::connect_immutable(&odd).unwrap();
    assert_eq!(store.run("r").unwrap().id, "r");
    assert_error!(store.begin_run(&sample::run("s")), StoreError::ReadOnly(_));
}

#[test]
fn other_files_are_rejected_and_left_unchanged() {
    let (folder, _) = place();
    let text = folder.path().join("notes.txt");
    let content = "not a database, but long enough to have a header\n".repeat(100);
    fs::write(&text, &content).unwrap();
    let foreign = folder.path().join("foreign.db");
    let connection = rusqlite::Connection::open(&foreign).unwrap();
    connection.execute("CREATE TABLE theirs (x)", []).unwrap();
    drop(connection);
    for path in [&text, &foreign] {
        for opened in [Store::open(path), Store::open_read(path)] {
            let name = path.to_str().unwrap();
            assert_error!(opened, StoreError::NotARecord(_), name);
        }
    }
    assert_eq!(fs::read_to_string(&text).unwrap(), content);
}

#[test]
fn a_file_of_another_prony_is_rejected_and_left_unchanged() {
    for version in [1, 99] {
        let (_folder, path, store) = begun("r");
        let connection = &store.connection;
        let updated = connection.pragma_update(None, "user_version", version);
        updated.unwrap();
        drop(store);
        let before = fs::read(&path).unwrap();
        for opened in [Store::open(&path), Store::open_read(&path)] {
            if version == 99 {
                assert_error!(opened, StoreError::NewerSchema { found: 99, .. });
            } else {
                assert_error!(opened, StoreError::OlderSchema(_), "--store");
            }
        }
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}

#[test]
fn a_missing_and_an_empty_file_have_different_errors() {
    let (folder, path) = place();
    assert_error!(Store::open_read(&path), StoreError::Missing(_));
    assert!(!path.exists());
    let empty = folder.path().join("empty.db");
    fs::write(&empty, "").unwrap();
    assert_error!(Store::open_read(&empty), StoreError::NoRuns(_));
}

#[test]
fn another_process_reads_while_a_run_writes() {
    let (_folder, path, writer) = begun("r");
    let reader = Store::open_read(&path).unwrap();
    assert!(reader.trials("r").unwrap().is_empty());
    writer.add_trial("r", &sample::measured("bun", 1)).unwrap();
    assert_eq!(reader.trials("r").unwrap().len(), 1);
}

/// Not a test: the process that [`sigkill_loses_no_trial`] kills.
#[test]
#[ignore = "run by sigkill_loses_no_trial"]
fn crashing_writer() {
    let Some(path) = std::env::var_os(CRASH_PATH) else {
        return;
    };
    let store = Store::open(path).unwrap();
    store.begin_run(&sample::run("r")).unwrap();
    for round in 1..=3 {
        let trial = sample::measured("bun", round);
        store.add_trial("r", &trial).unwrap();
    }
    // The fourth transaction is never committed.
    store.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    store.add_trial("r", &sample::measured("bun", 4)).unwrap();
    println!("written");
    std::thread::park(); // Until it is killed.
}

#[test]
fn sigkill_loses_no_trial() {
    let (_folder, path) = place();
    let test = "store::tests::crashing_writer";
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", test])
        .env(CRASH_PATH, &path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    let mut lines = lines.map_while(Result::ok);
    let ready = lines.any(|line| line.ends_with("written"));
    writer.kill().unwrap();
    writer.wait().unwrap();
    assert!(ready, "the writer ended before it had written");

    let reader = Store::open_read(&path).unwrap();
    assert_eq!(reader.trials("r").unwrap().len(), 3);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.trials("r").unwrap().len(), 3);
    assert_eq!(store.run("r").unwrap().end, RunEnd::Open);
    store.add_trial("r", &sample::measured("bun", 4)).unwrap();
}

#[test]
fn the_queries_in_the_docs_run_and_find_what_they_say() {
    let (_folder, path) = place();
    let store = Store::open(path).unwrap();
    for (id, day) in [("first", 21), ("second", 22)] {
        let mut run = sample::run(id);
        run.started_at = format!("2026-11-{day}T20:30:00Z");
        store.begin_run(&run).unwrap();
        for round in 1..=3 {
            let mut quiet = sample::measured("go-nethttp", round);
            quiet.noisy.clear();
            store.add_trial(id, &quiet).unwrap();
        }
        for other in [sample::measured("bun", 1), sample::failed("node", "gone")] {
            store.add_trial(id, &other).unwrap();
        }
        let end = format!("2026-11-{day}T20:40:00Z");
        store.finish_run(id, RunEnd::Complete, &end).unwrap();
    }
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/exports.md");
    let docs = fs::read_to_string(docs).unwrap();
    let queries = docs.split("```sql\n").skip(1);
    let found = queries.map(|rest| first_column(&store, rest.split("```").next().unwrap()));
    let started = [["2026-11-22T20:30:00Z"; 3], ["2026-11-21T20:30:00Z"; 3]].concat();
    let expected = [
        // bun is noisy, node failed.
        vec!["go-nethttp"],
        started,
        vec!["bun", "bun", "go-nethttp", "go-nethttp"],
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

fn first_column(store: &Store, query: &str) -> Vec<String> {
    let mut query = store.connection.prepare(query).unwrap();
    let rows = query.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}
