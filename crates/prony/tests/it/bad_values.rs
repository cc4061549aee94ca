//! Values that a flag cannot have: each error says what is wrong and what is allowed, the exit status is
//! 2, and nothing is done.

use crate::common::project::Project;
use crate::common::{prony, run};

const URL: &str = "http://127.0.0.1:1/";
const NO_COUNT: &str = "is not a count; write for instance 400, 10k or 2M";
const NO_DURATION: &str = "is not a duration; write for instance 10s, 500ms or 2m";
const MEASURED: &str = "it must be from 1ms to 30 days";
const TIMEOUT: &str = "it must be from 1ms to 1h";
const SEED: &str = "is not a whole number from 0 to 18446744073709551615";
const ROUNDS: &str = "is not a whole number from 1 to 10000";
const CPUS: &str = "CPU 1000 is not available to Prony, which may use ";
const NO_CPU: &str = "is neither a CPU nor a range of CPUs; write for instance 0-1,3";
const NO_NAME: &str = "a name is empty; `prony list` shows the available names";
const NO_PRECISION: &str = "is not a precision; ";

/// Each value of the flag must be refused, after the other arguments.
fn refused(project: &Project, command: &[&str], flag: &str, values: &[&str], told: &str) {
    for value in values {
        let given = [command, &[flag, value]].concat();
        let ended = project.run(&given).with(2).says(told).says(flag);
        assert_eq!(ended.stdout, "", "{given:?}");
    }
}

#[test]
fn values_of_load() {
    let project = Project::new();
    let rate: &[&str] = &["load", "--rate", "5", URL];
    let users: &[&str] = &["load", "--users", "5", URL];
    let capacity: &[&str] = &["load", "--find-capacity", URL];
    let load: &[&str] = &["load", URL];
    for (command, flag, values, told) in [
        (
            load,
            "--duration",
            &["NaN", "-1", "inf", "-5s", "", "10x"][..],
            NO_DURATION,
        ),
        (
            load,
            "--duration",
            &["0", "1ns", "31d", "1e30", "99999999999999999999s"],
            MEASURED,
        ),
        (load, "--warmup", &["-1", "soon", "NaN"], NO_DURATION),
        (load, "--warmup", &["1e30"], "it must be at most 30 days"),
        (load, "--timeout", &["1ns", "0", "2h"], TIMEOUT),
        (load, "--timeout", &["-1", "NaN", ""], NO_DURATION),
        (load, "--requests", &["0"], "it must be at least 1"),
        (
            load,
            "--requests",
            &["-1", "1.5", "NaN", "", "1e3"],
            NO_COUNT,
        ),
        (
            load,
            "--requests",
            &["18446744073709551616"],
            "it must be at most 18446744073709551615",
        ),
        (load, "--connections", &["0"], "it must be at least 1"),
        (load, "--connections", &["-1", "ten", ""], NO_COUNT),
        (
            load,
            "--connections",
            &["2M", "99999999999"],
            "it must be from 1 to 1000000",
        ),
        (load, "--threads", &["0"], "it must be at least 1"),
        (load, "--threads", &["1025"], "it must be from 1 to 1024"),
        (load, "--pipeline", &["0"], "it must be at least 1"),
        (load, "--pipeline", &["-1"], NO_COUNT),
        (
            load,
            "--requests-per-connection",
            &["0"],
            "it must be at least 1",
        ),
        (load, "--requests-per-connection", &["-3"], NO_COUNT),
        (load, "--streams", &["0"], "it must be at least 1"),
        (load, "--streams", &["2M"], "it must be from 1 to 1000000"),
        (load, "--users", &["0"], "it must be at least 1"),
        (
            load,
            "--users",
            &["99999999999999"],
            "it must be from 1 to 1000000",
        ),
        (load, "--seed", &["abc", "-1", "1.5", ""], SEED),
        (
            load,
            "--weights",
            &["-1", "a", "4294967296"],
            "is not a whole number from 0 to 4294967295",
        ),
        (
            load,
            "--source",
            &["here", "", "-1"],
            "is not an IP address; write for instance 127.0.0.2",
        ),
        (
            load,
            "--resolve",
            &["", "-1"],
            "is not HOST:PORT:ADDRESS; write for instance",
        ),
        (
            load,
            "--expect-status",
            &["abc", "-1", "99", "600"],
            "is not a whole number from 100 to 599",
        ),
        (load, "--expect-length", &["-1", "x"], NO_COUNT),
        (load, "--cpus", &["1000", "0,1000"], CPUS),
        (load, "--cpus", &["-1", "x", "0,,1"], NO_CPU),
        (load, "--cpus", &[""], "the list of CPUs is empty"),
        (
            load,
            "--rate",
            &["-5", "NaN", "inf", "", "5k/x"],
            "is not a rate; write one like",
        ),
        (
            load,
            "--stages",
            &["-1/s:5s", "x:5s"],
            "is not a rate; write one like",
        ),
        (
            load,
            "--stages",
            &["5/s:-1s", "5/s:NaN"],
            "is not a duration for a stage; write one like",
        ),
        (rate, "--burst", &["0"], "it must be at least 1"),
        (rate, "--burst", &["-1"], NO_COUNT),
        (rate, "--deadline", &["0"], "it must be longer than 0"),
        (rate, "--deadline", &["-1", "NaN"], NO_DURATION),
        (rate, "--max-connections", &["0"], "it must be at least 1"),
        (users, "--think-time", &["NaN", "-1s"], NO_DURATION),
        (users, "--think-time", &["0"], "it must be longer than 0"),
        (
            capacity,
            "--precision",
            &["0%", "-2%", "NaN%", "2", "51%"],
            "is not from 0.5% to 50%",
        ),
        (
            capacity,
            "--repeats",
            &["0", "-1", "1001"],
            "is not a whole number from 1 to 1000",
        ),
        (
            capacity,
            "--curve-steps",
            &["-1", "1001"],
            "is not a whole number from 0 to 1000",
        ),
        (capacity, "--budget", &["0"], "it must be longer than 0"),
        (capacity, "--budget", &["NaN", "-5m"], NO_DURATION),
        (
            capacity,
            "--slo",
            &["p99<-1ms", "p99<0s"],
            "is not a duration that can limit p99",
        ),
        (
            capacity,
            "--slo",
            &["errors<200%", "errors<NaN%"],
            "is not a share of errors",
        ),
        (
            capacity,
            "--slo",
            &["-1", "p99"],
            "it is not an objective; write a name, < or >, and a value",
        ),
    ] {
        refused(&project, command, flag, values, told);
    }
    // The short flags behave alike.
    for (flag, value, told) in [
        ("-c", "-1", NO_COUNT),
        ("-t", "-1", NO_COUNT),
        ("-n", "-1", NO_COUNT),
        ("-d", "-1", NO_DURATION),
    ] {
        project.run(&["load", flag, value, URL]).with(2).says(told);
        let joined = format!("{flag}{value}");
        project.run(&["load", &joined, URL]).with(2).says(told);
    }
}

#[test]
fn urls() {
    for (url, told) in [
        (
            "",
            "the URL is empty; write for instance http://localhost:8080/",
        ),
        ("  ", "the URL is empty"),
        (
            "http:/127.0.0.1",
            "two slashes follow `http:`; did you mean `http://127.0.0.1`?",
        ),
        ("http:127.0.0.1/x", "did you mean `http://127.0.0.1/x`?"),
        ("http:", "it names no host; write for instance"),
        ("http://", "it names no host; write for instance"),
        ("http:///x", "it names no host; write for instance"),
        ("http://127.0.0.1:0/", "its port is not 1 to 65535"),
        ("http://127.0.0.1:-1/", "its port is not 1 to 65535"),
        (
            "127.0.0.1:80",
            "has no scheme; did you mean `http://127.0.0.1:80`?",
        ),
        ("ftp://a/", "Prony loads http:// and https:// URLs"),
    ] {
        run(prony(["load", url])).with(2).says(told);
    }
}

#[test]
fn texts_and_flags_are_reported_apart_by_what_they_are() {
    // A header is never a number, and the next flag is not a header.
    run(prony(["load", "-H", "-c5", URL]))
        .with(2)
        .says("a value is required for '--header <HEADER>'");
    run(prony(["load", "-b", "@", URL]))
        .with(2)
        .says("the body: the name of a file is missing after `@`");
    run(prony(["load", "--conections", "5", URL]))
        .with(2)
        .says("a similar argument exists: '--connections'");
}

#[test]
fn values_of_run() {
    let project = Project::new().with(&["ceiling"]);
    let run: &[&str] = &["run", "--only=ceiling", "--workloads=hello"];
    let (bare, adaptive): (&[&str], &[&str]) = (&["run"], &["run", "--precision", "3%"]);
    for (command, flag, values, told) in [
        (
            run,
            "--rounds",
            &["0", "-1", "abc", "1.5", "", "99999999999"][..],
            ROUNDS,
        ),
        (run, "--seed", &["abc", "-1"], SEED),
        (run, "--duration", &["0", "1ns", "31d"], MEASURED),
        (run, "--duration", &["NaN", "-1"], NO_DURATION),
        (run, "--warmup", &["inf", "-1"], NO_DURATION),
        (run, "--requests", &["0"], "it must be at least 1"),
        (run, "--requests", &["-1"], NO_COUNT),
        (run, "--ready-timeout", &["0", "1ns", "2h"], TIMEOUT),
        (
            run,
            "--precision",
            &["0%", "NaN%", "3", "-3%", "51%"],
            NO_PRECISION,
        ),
        (adaptive, "--budget", &["0"], "it must be longer than 0"),
        (run, "--server-cpus", &["1000"], CPUS),
        (run, "--load-cpus", &["-1", "x"], NO_CPU),
        (run, "--baseline", &["", " "], NO_NAME),
        (run, "--driver", &[""], NO_NAME),
        (bare, "--only", &["", "ceiling,,"], NO_NAME),
        (bare, "--workloads", &["", "hello,"], NO_NAME),
    ] {
        refused(&project, command, flag, values, told);
    }
    project.run(&["run", ""]).with(2).says(NO_NAME);
    assert!(!project.state("").exists(), "nothing was begun");
}

#[test]
fn values_of_the_other_commands() {
    let project = Project::new().with(&["ceiling"]);
    let ab: &[&str] = &["ab", "HEAD", "--server", "ceiling"];
    let compare: &[&str] = &["compare", "latest~1", "latest"];
    let reference: &[&str] = &["reference", "--service", "fixed:1ms"];
    let bare = |command: &'static str| vec![command];
    let [verify, generators, calibrate, plain] =
        ["verify", "generators", "calibrate", "reference"].map(bare);
    for (command, flag, values, told) in [
        (&verify[..], "--ready-timeout", &["0", "1ns"][..], TIMEOUT),
        (&verify, "--workloads", &[""], NO_NAME),
        (ab, "--rounds", &["0", "-1"], ROUNDS),
        (ab, "--connections", &["0"], "it must be at least 1"),
        (ab, "--duration", &["0"], MEASURED),
        (ab, "--warmup", &["-1"], NO_DURATION),
        (ab, "--precision", &["99%", "0"], NO_PRECISION),
        (ab, "--budget", &["-1"], NO_DURATION),
        (ab, "--ready-timeout", &["0"], TIMEOUT),
        (ab, "--seed", &["x"], SEED),
        (ab, "--workloads", &[""], NO_NAME),
        (&["ab", "HEAD"], "--server", &[""], NO_NAME),
        (
            ab,
            "--threshold",
            &["-1%", "NaN%", "2", "rate="],
            "is not a threshold; write a percentage",
        ),
        (
            ab,
            "--metrics",
            &["speed"],
            "unknown metric `speed`; use rate, cpu",
        ),
        (
            compare,
            "--threshold",
            &["-1%", "NaN%", "2"],
            "is not a threshold; write a percentage",
        ),
        (compare, "--metrics", &["", "-1"], "unknown metric `"),
        (
            &generators,
            "--rounds",
            &["0", "-1", "1001"],
            "is not a whole number from 1 to 1000",
        ),
        (
            &generators,
            "--duration",
            &["0", "500ms", "3601"],
            "it must be from 1s to 1h",
        ),
        (
            &generators,
            "--cases",
            &["hello:0", "hello:2M:1", ""],
            "--cases",
        ),
        (&generators, "--cases", &["rate:NaN", "rate:-1"], NO_COUNT),
        (
            &generators,
            "--freeze",
            &["2s/1s"],
            "a freeze must be longer than 0 and shorter than its period",
        ),
        (
            &generators,
            "--freeze",
            &["x", "-1"],
            "is not FREEZE/PERIOD; write for instance 1s/10s",
        ),
        (&generators, "--tools", &["", "wrk,"], NO_NAME),
        (&calibrate, "--server-cpus", &["1000"], CPUS),
        (&calibrate, "--load-cpus", &["x", "-1"], NO_CPU),
        (&plain, "--work", &["-1", "x"], NO_COUNT),
        (&plain, "--freeze", &["-1s/1s", "x"], "is not a freeze"),
        (
            &plain,
            "--service",
            &["x"],
            "is not a distribution of service times",
        ),
        (
            &plain,
            "--service",
            &["fixed:NaN", "fixed:-1s", "fixed:9999y"],
            "is not a duration",
        ),
        (reference, "--workers", &["0"], "it must be at least 1"),
        (
            reference,
            "--workers",
            &["2M"],
            "it must be from 1 to 1,000,000",
        ),
        (reference, "--seed", &["x", "-1"], SEED),
        (
            reference,
            "--truth",
            &["0:1s", "NaN:1s", "-1:1s"],
            "the load must have from 1 to 1,000,000,000",
        ),
    ] {
        refused(&project, command, flag, values, told);
    }
    project.run(&["verify", ""]).with(2).says(NO_NAME);
    project
        .run(&["report", "--list", "some-run"])
        .with(2)
        .says("'--list' cannot be used with '[RUN]'");
    assert!(!project.state("").exists(), "nothing was begun");
}
