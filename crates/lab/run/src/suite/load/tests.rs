//! Loads of every shape, as suites write them.

use prony_model::{Arrivals, Seconds};
use prony_testkit::contains;
use prony_testkit::table::{refused, refused_changes, rows};

use super::*;

fn load_with(warmup: &str, fields: &str) -> Result<SuiteLoad, String> {
    #[derive(Deserialize)]
    struct File {
        load: SuiteLoad,
    }
    let text = format!("load = {{ {fields}, {warmup}, timeout = \"5s\" }}");
    let file: Result<File, _> = toml::from_str(&text);
    file.map(|file| file.load)
        .map_err(|error| error.message().to_owned())
}

fn load(fields: &str) -> Result<SuiteLoad, String> {
    load_with("warmup = \"0s\"", fields)
}

fn spec(fields: &str) -> LoadSpec {
    load(fields).unwrap().spec(NonZeroUsize::MIN)
}

fn schedule(fields: &str) -> Schedule {
    match spec(fields).shape {
        LoadShape::Rate(schedule) => schedule,
        shape => panic!("{shape:?}"),
    }
}

const STAGED: &str = r#"shape = "rate", stages = ["1k/s:10s", "1k/s..5k/s:30s"], connections = 8"#;
const CLOSED: &str = r#"shape = "closed", connections = 64, duration = "10s""#;
const RATE: &str = r#"shape = "rate", rate = "20k/s", connections = 64, duration = "10s""#;

#[test]
fn only_a_load_with_a_warm_up_has_a_warm_up_limit() {
    for (warmup, limit) in [
        ("warmup = \"1s\"", WARMUP_LIMIT),
        (
            "warmup = \"1s\", warmup_limit = \"1m\"",
            Duration::from_secs(60),
        ),
        ("warmup = \"1s\", warmup_limit = \"0s\"", Duration::ZERO),
        ("warmup = \"0s\"", Duration::ZERO),
    ] {
        let load = load_with(warmup, RATE).unwrap();
        assert_eq!(load.warmup_limit(), limit, "{warmup}");
    }
    refused(
        |warmup| load_with(warmup, RATE),
        r#"warmup = "0s", warmup_limit = "5s" | `warmup = "0s"` has none"#,
    );
}

#[test]
fn a_rate_is_evenly_spaced_by_default() {
    assert_eq!(schedule(RATE), Schedule::constant(Arrivals::Even, 20_000.0));
    let expected = LoadSpec {
        shape: LoadShape::Rate(schedule(RATE)),
        connections: 64,
        duration: Some(Seconds::from_secs(10)),
        timeout: Seconds::from_secs(5),
        ..LoadSpec::default()
    };
    assert_eq!(spec(RATE), expected);
}

#[test]
fn every_field_of_a_rate_is_read() {
    let load = spec(&format!(
        "{RATE}, arrivals = \"poisson\", burst = 10, max_connections = 500, deadline = \"1s\", \
         pipeline = 16, requests_per_connection = 100, spin = true, streams = 1000, \
         first_byte = true, events = true, threads = 1, requests = 5"
    ));
    let expected = LoadSpec {
        shape: LoadShape::Rate(Schedule {
            burst: 10,
            ..Schedule::constant(Arrivals::Poisson, 20_000.0)
        }),
        connections: 64,
        max_connections: Some(500),
        pipeline: 16,
        requests_per_connection: Some(100),
        duration: Some(Seconds::from_secs(10)),
        requests: Some(5),
        timeout: Seconds::from_secs(5),
        deadline: Some(Seconds::from_secs(1)),
        spin: true,
        streams: 1000,
        first_byte: true,
        events: true,
        ..LoadSpec::default()
    };
    assert_eq!(load, expected);
}

#[test]
fn stages_end_the_load_if_all_of_them_have_a_duration() {
    assert_eq!(schedule(STAGED).stages_text(), "1k/s:10s, 1k/s..5k/s:30s");
    assert_eq!(spec(STAGED).duration, Some(Seconds::from_secs(40)));
    let longer = format!("{STAGED}, duration = \"1m\"");
    assert_eq!(spec(&longer).duration, Some(Seconds::from_secs(60)));
    let error = load(&format!("{STAGED}, duration = \"39s\"")).unwrap_err();
    contains(&error, "the stages take 40s, and the load ends after 39s");
    let open_end = r#"shape = "rate", stages = ["1k/s:10s", "5k/s"], connections = 8"#;
    contains(&load(open_end).unwrap_err(), "needs `duration`");
}

#[test]
fn users_are_read_as_closed_or_open() {
    let users = r#"users = 500, think_time = "2s", requests = 10000"#;
    let closed = spec(&format!("shape = \"users-closed\", {users}"));
    assert_eq!(
        closed.shape,
        LoadShape::UsersClosed {
            think_time: Seconds::from_secs(2)
        }
    );
    assert_eq!((closed.connections, closed.requests), (500, Some(10_000)));
    let open = spec(&format!(
        "shape = \"users-open\", {users}, deadline = \"30s\""
    ));
    assert_eq!(
        (open.deadline, open.timeout),
        (Some(Seconds::from_secs(30)), Seconds::from_secs(5))
    );
}

#[test]
fn connections_may_be_replaced_and_pipelined() {
    assert_eq!(spec(&format!("{CLOSED}, pipeline = 16")).pipeline, 16);
    let streams = spec(&format!("{CLOSED}, streams_per_connection = 32"));
    assert_eq!(streams.pipeline, 32);
    let churn = spec(&format!("{CLOSED}, requests_per_connection = 1"));
    assert_eq!(churn.requests_per_connection, Some(1));
}

#[test]
fn conflicting_fields_are_rejected_with_what_to_write() {
    let users = r#"shape = "users-closed", users = 5, think_time = "1s", duration = "10s""#;
    let open = users.replace("users-closed", "users-open");
    let added = rows(
        r#"
            closed | rate = "5k/s" | `closed` has no `rate`; only loads of the shape `rate` have it
            closed | burst = 2 | `closed` has no `burst`
            closed | arrivals = "even" | `closed` has no `arrivals`
            closed | max_connections = 70 | `closed` has no `max_connections`
            closed | think_time = "1s" | `users-closed` and `users-open` have it
            closed | deadline = "1s" | `closed` has no `deadline`; use `timeout`, which runs from the send
            closed | spin = false | `closed` has no `spin`
            users | deadline = "1s" | `users-closed` has no `deadline`
            users | pipeline = 2 | a user has one request at a time
            users | streams_per_connection = 2 | `users-closed` has no `streams_per_connection`; a user has one request at a time
            rate | pipeline = 2, streams_per_connection = 2 | `pipeline` or `streams_per_connection`, not both
            open | pipeline = 2 | a user has one request at a time
            open | stages = ["1:1s"] | `users-open` has no `stages`
            open | connections = 1 | use `users`
            rate | users = 2 | `rate` has no `users`; use `connections`
            rate | think_time = "1s" | `rate` has no `think_time`
            rate | stages = ["1:1s"] | `rate`, or `stages` if its rate changes, not both
            rate | max_connections = 63 | fewer than the 64 that the load begins with
            rate | burst = 0 | nonzero
            rate | pipeline = 0 | nonzero
            rate | deadline = "0s" | longer than 0
            rate | arrivals = "random" | unknown variant `random`
            rate | event = true | unknown field `event`
            rate | pipeline = 1001 | `pipeline` is 1001: at most 1000
            rate | streams_per_connection = 1001 | `streams_per_connection` is 1001: at most 1000
            rate | threads = 5000 | `threads` is 5000: at most 1024
            rate | burst = 1000001 | `burst` is 1000001: at most 1000000
        "#,
    );
    for [to, field, expected] in added {
        let to = match to {
            "closed" => CLOSED,
            "users" => users,
            "open" => &open,
            _ => RATE,
        };
        let error = load(&format!("{to}, {field}")).unwrap_err();
        assert!(error.contains(expected), "{field}: {error}");
    }
    refused_changes(
        RATE,
        load,
        r#"
            rate = "20k/s", | "" | needs `rate`, or `stages` if its rate changes
            connections = 64, | "" | `rate` needs `connections`
            20k/s | fast | `fast` is not a rate; write one like
            20k/s | 0 | a rate must be more than 0
            20k/s | 2000M/s | at most 1000M/s
            rate = "20k/s" | stages = ["5k/s", "1k/s"] | is not the last one
            rate = "20k/s" | stages = [] | there is no stage
        "#,
    );
}

#[test]
fn a_shortened_load_keeps_its_stages_in_proportion() {
    let mut short = load(STAGED).unwrap();
    short.shorten_to(Duration::from_secs(4));
    let LoadShape::Rate(schedule) = &short.spec.shape else {
        panic!("it is a rate");
    };
    assert_eq!(schedule.stages_text(), "1k/s:1s, 1k/s..5k/s:3s");
    assert_eq!(short.spec.duration, Some(Seconds::from_secs(4)));
    let by_requests = r#"shape = "rate", rate = "1k/s", requests = 100, connections = 8"#;
    let mut by_requests = load(by_requests).unwrap();
    by_requests.shorten_to(Duration::from_secs(4));
    assert_eq!(by_requests.spec.duration, None);
}

#[test]
fn a_measure_of_instructions_sends_a_fixed_number_of_requests_in_a_closed_loop() {
    let counting = |load: Option<&str>, requests: Option<u64>| {
        let load = load.map(|text| toml::from_str::<SuiteLoad>(text).unwrap());
        SuiteLoad::counting(load.as_ref(), requests.and_then(NonZeroU64::new))
    };
    let plain = LoadSpec {
        requests: Some(1000),
        timeout: Seconds::from_secs(60),
        by: MeasuredBy::Instructions,
        ..LoadSpec::default()
    };
    assert_eq!(counting(None, None).unwrap().spec, plain);
    let own = "shape = \"closed\"\nconnections = 4\nthreads = 2\nduration = \"9s\"\nwarmup_limit = \"3s\"\n";
    let own = counting(Some(own), Some(50)).unwrap();
    let on_all = own.spec(NonZeroUsize::new(8).unwrap());
    assert_eq!((on_all.connections, on_all.threads), (4, 1));
    assert_eq!((own.spec.requests, own.spec.duration), (Some(50), None));
    assert_eq!(own.warmup_limit(), Duration::from_secs(3));
    refused(
        |text| counting(Some(text), None),
        r#"
        shape = "rate"\nrate = "5/s"\nconnections = 1\nduration = "1s"\n | not `rate`
        shape = "closed"\nconnections = 1\nduration = "1s"\nstreams = 3\n | no `streams`
        shape = "closed"\nconnections = 1\nduration = "1s"\npipeline = 2\n | no `pipeline`
        "#,
    );
}
