use prony_testkit::contains;
use prony_testkit::table::refused_changes;
use std::collections::BTreeMap;
use std::time::Duration;

use prony_model::{LoadShape, LoadSpec, PublishedFigure, RoundSummary, Seconds};
use tempfile::TempDir;

use super::*;
use crate::without_field;

const TOUR: &str = r#"title = "Tour"
about = "A first look."
notes = ["Trials are short."]
rounds = 6
servers = ["ceiling", "go-nethttp"]
[[measure]]
workloads = ["hello", "byte"]
load = { shape = "closed", connections = 64, threads = 1, duration = "700ms", warmup = "200ms", timeout = "5s" }
[[measure]]
workloads = ["hello"]
load = { shape = "closed", connections = 2, duration = "1s", warmup = "0s", timeout = "5s" }
"#;

/// A suite with every possible field.
const WHOLE: &str = r#"title = "Whole"
about = "All there is."
rounds = 3
servers = ["ceiling", "go-nethttp", "bun"]
[quick]
rounds = 2
duration = "1s"
warmup = "100ms"
requests = 500
[[measure]]
id = "busy"
workloads = ["page", "sse"]
load = { shape = "closed", connections = 400, duration = "20s", warmup = "1s", timeout = "5s" }
[[measure]]
id = "users"
workloads = ["byte"]
rounds = 20
quick = { rounds = 6 }
load = { shape = "users-open", users = 500, think_time = "1s", requests = 10000, warmup = "0s", timeout = "30s" }
[published]
document = "A document"
machine = "A machine"
method = "wrk"
[[published.table]]
title = "Busy"
measure = "busy"
summary = "mean"
each_round = true
columns = ["rate", "transfer", "rate-share"]
charts = ["rate"]
share_of = "page"
notes = ["Read this."]
[[published.table.row]]
name = "Go"
server = "go-nethttp"
workload = "sse"
rate = [100, 200.5]
transfer = "1 KB"
[[published.table]]
title = "Users"
measure = "users"
columns = ["latency-mean"]
rows = [
  { name = "Bun", server = "bun", workload = "byte", latency-mean = "1 ms" },
  { name = "Go", server = "go-nethttp", workload = "byte" },
]
"#;

fn cpus(count: usize) -> NonZeroUsize {
    count.try_into().unwrap()
}

fn read_as(id: &str, text: &str) -> Result<Suite, String> {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("tour.toml"), text).unwrap();
    Suite::read(folder.path(), id).map_err(|error| {
        let path = format!("{}/", folder.path().display());
        without_field(&error.to_string().replace(&path, ""))
    })
}

fn read(text: &str) -> Result<Suite, String> {
    read_as("tour", text)
}

#[test]
fn every_field_is_read() {
    let suite = read(TOUR).unwrap();
    assert_eq!((&*suite.id, &*suite.title), ("tour", "Tour"));
    assert_eq!((&*suite.about, suite.rounds()), ("A first look.", 6));
    assert_eq!(suite.notes, ["Trials are short."]);
    assert_eq!(suite.servers, ["ceiling", "go-nethttp"]);
    assert_eq!(suite.workloads(), ["hello", "byte"]);
    let measures = suite.measures_on(cpus(4));
    let seen = measures
        .iter()
        .map(|m| (&*m.workload, m.load.connections, m.load.threads));
    // The last has no more threads than connections, though there are 4 CPUs.
    let expected = [("hello", 64, 1), ("byte", 64, 1), ("hello", 2, 2)];
    assert_eq!(seen.collect::<Vec<_>>(), expected);
    let load = LoadSpec {
        connections: 64,
        duration: Some(Seconds::from_millis(700)),
        warmup: Seconds::from_millis(200),
        timeout: Seconds::from_secs(5),
        ..LoadSpec::default()
    };
    assert_eq!(measures[0].load, load);
    assert!(suite.published_on(cpus(1)).is_none());
}

#[test]
fn faults_are_reported_with_file_line_field_and_nearest_name() {
    refused_changes(
        TOUR,
        read,
        r#"
        rounds | runds | tour.toml:4: unknown field `runds`
        rounds | runds | did you mean `rounds`?
        rounds = 6 | rounds = 0 | tour.toml:4:\u{20}
        rounds = 6\n | "" | missing field `rounds`
        connections = 64 | conections = 64 | did you mean `connections`?
        connections = 64 | connections = 0 | tour.toml:8:\u{20}
        "closed", connections = 64 | "close", connections = 64 | did you mean `closed`?
        700ms | 700 | tour.toml:8: `700` is not a duration
        700ms | 0s | tour.toml:8: the duration must be longer than 0
        ["hello", "byte"] | [] | tour.toml:7: the list must not be empty
        "ceiling",\u{20} | "go-nethttp",\u{20} | tour.toml:5: `go-nethttp` is named twice
        "#,
    );
}

#[test]
fn an_unknown_suite_is_reported_with_the_nearest() {
    let error = read_as("tuor", TOUR).unwrap_err();
    assert_eq!(error, "there is no suite `tuor`; did you mean `tour`?");
}

#[test]
fn each_measure_has_its_own_rounds_and_shapes() {
    let suite = read(WHOLE).unwrap();
    assert_eq!(suite.rounds(), 20);
    let measures = suite.measures_on(cpus(2));
    let rounds: Vec<_> = measures.iter().map(|m| (&*m.workload, m.rounds)).collect();
    assert_eq!(rounds, [("page", 3), ("sse", 3), ("byte", 20)]);
    let users = LoadSpec {
        shape: LoadShape::UsersOpen {
            think_time: Seconds::from_secs(1),
        },
        connections: 500,
        threads: 2,
        requests: Some(10_000),
        timeout: Seconds::from_secs(30),
        ..LoadSpec::default()
    };
    assert_eq!(measures[2].load, users);
}

#[test]
fn a_load_has_the_fields_of_its_shape_and_an_end() {
    refused_changes(
        WHOLE,
        read,
        r#"
        connections = 400 | connections = 400, users = 3 | tour.toml:13: a load of the shape `closed` has no `users`; use `connections`
        connections = 400 | connections = 400, think_time = "1s" | tour.toml:13: a load of the shape `closed` has no `think_time`
        connections = 400,\u{20} | "" | tour.toml:13: a load of the shape `closed` needs `connections`
        users = 500 | connections = 500 | tour.toml:19: a load of the shape `users-open` has no `connections`; use `users`
        users = 500,\u{20} | "" | needs `users`
        think_time = "1s",\u{20} | "" | needs `think_time`
        think_time = "1s" | think_time = "0s" | longer than 0
        think_time | thinktime | did you mean `think_time`?
        duration = "20s",\u{20} | "" | tour.toml:13: a load needs `duration`, `requests` or both to end it
        requests = 10000 | requests = 0 | tour.toml:19:\u{20}
        "users-open" | "users" | did you mean `users-open`?
        id = "users" | id = "busy" | tour.toml:15: two measures have the id `busy`
        "#,
    );
}

#[test]
fn a_quick_run_has_the_same_shapes_and_says_so() {
    let mut suite = read(WHOLE).unwrap();
    let note = suite.quicken(&Changes::default()).map(str::to_owned);
    assert_eq!(note.as_ref(), suite.notes.last());
    assert_eq!(
        suite.notes,
        [
            "This is a quick run: loads of the same shapes, for seconds instead of minutes. busy: 2 rounds of 1s \
          (in full 3 rounds of 20s); users: 6 rounds of 500 requests (in full 20 rounds of 10000 requests)."
        ]
    );
    let measures = suite.measures_on(cpus(1));
    let (busy, users) = (&measures[0], &measures[2]);
    assert_eq!((busy.rounds, users.rounds), (2, 6));
    // A load gets no field that it does not have.
    let ends = [busy, users].map(|one| (one.load.duration, one.load.requests));
    assert_eq!(
        ends,
        [(Some(Seconds::from_secs(1)), None), (None, Some(500))]
    );
    let others = [busy, users].map(|one| (one.load.connections, one.load.warmup));
    let warmup = Seconds::from_millis(100);
    assert_eq!(others, [(400, warmup), (500, Seconds::ZERO)]);
    // The published tables are of the loads that are measured.
    let published = suite.published_on(cpus(1)).unwrap();
    assert_eq!(published.tables[0].load, measures[0].load);
    assert_eq!(published.tables[1].load, measures[2].load);
    let mut short = read(TOUR).unwrap();
    assert_eq!(short.quicken(&Changes::default()), None);
    assert_eq!(short.notes.len(), 1);
}

#[test]
fn a_quick_run_must_change_something() {
    refused_changes(
        WHOLE,
        read,
        r#"
        [quick]\nrounds = 2\nduration = "1s"\nwarmup = "100ms"\nrequests = 500\n | [quick]\n | tour.toml:5: `quick` changes nothing
        quick = { rounds = 6 } | quick = {} | tour.toml:18: `quick` changes nothing
        quick = { rounds = 6 } | quick = { duration = "1s" } | tour.toml:18: `quick` sets `duration`
        quick = { rounds = 6 } | quick = { warmup = "1s" } | tour.toml:18: `quick` sets `warmup`
        quick = { rounds = 6 } | quick = { request = 5 } | did you mean `requests`?
        quick = { rounds = 6 } | quick = { rounds = 0 } | tour.toml:18:\u{20}
        requests = 10000 | duration = "1s" | tour.toml:5: `quick` sets `requests`
        "#,
    );
}

#[test]
fn changes_bound_every_load_and_are_noted() {
    let mut suite = read(WHOLE).unwrap();
    let before = suite.clone();
    suite.change(&Changes::default());
    assert_eq!(suite, before);
    suite.change(&Changes {
        rounds: 4.try_into().ok(),
        duration: Some(Duration::from_secs(2)),
        warmup: Some(Duration::from_millis(500)),
        warmup_limit: None,
        requests: None,
    });
    for measure in suite.measures_on(cpus(1)) {
        assert_eq!(
            (measure.rounds, measure.load.duration),
            (4, Some(Seconds::from_secs(2)))
        );
        assert_eq!(measure.load.warmup, Seconds::from_millis(500));
        // A warm-up of the command line is exact.
        assert_eq!(measure.warmup_limit, Duration::ZERO);
    }
    assert_eq!(suite.measures[1].load.end(), "10000 requests or 2s");
    contains(&suite.notes[0], "on the command line");
}

#[test]
fn published_tables_are_read() {
    use PublishedFigure::{LatencyMean, Rate, RateShare, Transfer};
    let published = read(WHOLE).unwrap().published_on(cpus(1)).unwrap();
    let document = (
        &*published.document,
        &*published.machine,
        &*published.method,
    );
    assert_eq!(document, ("A document", "A machine", "wrk"));
    let [busy, users] = &published.tables[..] else {
        panic!("two tables");
    };
    assert_eq!((&*busy.title, &*users.title), ("Busy", "Users"));
    assert_eq!(busy.load.connections, 400);
    use RoundSummary::{Mean, Median};
    let rounds = [busy, users].map(|table| (table.summary, table.each_round));
    assert_eq!(rounds, [(Mean, true), (Median, false)]);
    assert_eq!(busy.columns, [Rate, Transfer, RateShare]);
    assert_eq!(busy.charts, [Rate]);
    assert_eq!(busy.share_of.as_deref(), Some("page"));
    assert_eq!(busy.notes, ["Read this."]);
    let row = &busy.rows[0];
    let names = (&*row.name, &*row.server, &*row.workload);
    assert_eq!(names, ("Go", "go-nethttp", "sse"));
    let figures = [(Rate, vec![100.0, 200.5]), (Transfer, vec![1024.0])];
    assert_eq!(row.figures, figures.into());
    let means: Vec<_> = users.rows.iter().map(|row| row.figures.clone()).collect();
    assert_eq!(means, [[(LatencyMean, vec![1e6])].into(), BTreeMap::new()]);
}

#[test]
fn faults_in_a_published_table_are_reported_with_their_line() {
    refused_changes(
        WHOLE,
        read,
        r#"
        machine = | machin = | tour.toml:22: unknown field `machin`
        measure = "busy" | measure = "bsy" | tour.toml:26: there is no measure with the id `bsy`; did you mean `busy`?
        "mean" | "average" | tour.toml:27: unknown name `average`
        "rate", "transfer" | "rat", "transfer" | tour.toml:29: unknown name `rat`
        "rate", "transfer" | "rat", "transfer" | did you mean `rate`?
        "rate", "transfer" | "rate", "rate" | tour.toml:29: `rate` is named twice
        share_of = "page"\n | "" | tour.toml:29: `rate-share` needs `share_of`
        share_of = "page" | share_of = "pag" | tour.toml:31: there is no workload in its measure `pag`; did you mean `page`?
        charts = ["rate"] | charts = ["errors"] | tour.toml:30: `errors` has a chart, but is not a column of the table
        server = "go-nethttp" | server = "go-nethtp" | tour.toml:35: there is no server in this suite `go-nethtp`; did you mean `go-nethttp`?
        workload = "sse" | workload = "byte" | tour.toml:36: there is no workload in its measure `byte`; the known ones are page, sse
        workload = "sse"\n | "" | tour.toml:33: missing field `workload`
        rate = [100, 200.5] | rat = [100] | tour.toml:37: there is no field `rat`
        rate = [100, 200.5] | rat = [100] | did you mean `rate`?
        rate = [100, 200.5] | rate = [] | tour.toml:37: the list must hold at least one value
        rate = [100, 200.5] | rate = -1 | tour.toml:37: `-1` is not a valid `rate`
        rate = [100, 200.5] | rate = true | tour.toml:37:\u{20}
        rate = [100, 200.5] | errors = 1 | tour.toml:37: `errors` is not a column of the table
        "1 KB" | 1024 | tour.toml:38: `transfer` needs a unit: write it like "96.17MB"
        "1 KB" | ["1 KB", "1 XB"] | tour.toml:38: `1 XB` is not a valid `transfer`; write it like "96.17MB"
        server = "bun" | server = "go-nethttp" | tour.toml:45: the table has two rows of `go-nethttp` with `byte`
        "#,
    );
}

#[test]
fn a_suite_may_add_rounds_until_it_is_precise() {
    let lines = "precision = \"2.5%\"\nbudget = \"10m\"\nrounds = 6";
    let suite = read(&TOUR.replace("rounds = 6", lines)).unwrap();
    let adaptive = suite.adaptive.unwrap();
    assert_eq!(adaptive.precision.share(), 0.025);
    assert_eq!(adaptive.budget, Duration::from_secs(600));
    let most = AdaptiveRounds::MOST_ROUNDS;
    let measures = suite.measures_on(cpus(1));
    assert!(measures.iter().all(|one| one.rounds == most));
    refused_changes(
        TOUR,
        read,
        r#"
        rounds = 6 | budget = "10m"\nrounds = 6 | tour.toml:4: `budget` needs `precision`
        rounds = 6 | precision = "3"\nrounds = 6 | tour.toml:4: `3` is not a precision
        rounds = 6 | precision = "3%"\nbudget = "0s"\nrounds = 6 | tour.toml:5:\u{20}
        rounds = 6 | precision = "99%"\nrounds = 6 | at most 50%
        "#,
    );
}

#[test]
fn the_note_of_an_adaptive_quick_run_has_no_number_of_rounds() {
    let lines = "precision = \"3%\"\nrounds = 3\nservers";
    let text = WHOLE.replacen("rounds = 3\nservers", lines, 1);
    let mut suite = read(&text).unwrap();
    let note = suite.quicken(&Changes::default()).unwrap();
    contains(note, "busy: trials of 1s (in full trials of 20s)");
}
