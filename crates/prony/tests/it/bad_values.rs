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

/// What the tables name instead of repeating it.
const SAID: [(&str, &str); 10] = [
    ("NO_COUNT", NO_COUNT),
    ("NO_DURATION", NO_DURATION),
    ("MEASURED", MEASURED),
    ("TIMEOUT", TIMEOUT),
    ("SEED", SEED),
    ("ROUNDS", ROUNDS),
    ("CPUS", CPUS),
    ("NO_CPU", NO_CPU),
    ("NO_NAME", NO_NAME),
    ("NO_PRECISION", NO_PRECISION),
];

/// Each line of the table has a command with a flag, values that it must refuse, and what it says then. `''` is empty, `_` a
/// blank, and a load has a URL.
fn refuse(project: &Project, table: &str) {
    for line in table.trim().lines() {
        let [command, values, said] = line.split(" | ").collect::<Vec<_>>()[..] else {
            panic!("not three columns: {line}");
        };
        let named = SAID.iter().find(|(name, _)| *name == said);
        let said = named.map_or(said, |(_, said)| *said);
        let command: Vec<&str> = command.split(' ').collect();
        let url = if command[0] == "load" {
            &[URL][..]
        } else {
            &[]
        };
        let (flag, before) = command.split_last().unwrap();
        for value in values.split(' ') {
            let value = match value {
                "''" => "",
                "_" => " ",
                value => value,
            };
            let given = [before, url, &[flag, value]].concat();
            let ended = project.run(&given).with(2).says(said).says(flag);
            assert_eq!(ended.stdout, "", "{given:?}");
        }
    }
}

const LOAD: &str = r"
load --duration | NaN -1 inf -5s '' 10x | NO_DURATION
load --duration | 0 1ns 31d 1e30 99999999999999999999s | MEASURED
load --warmup | -1 soon NaN | NO_DURATION
load --warmup | 1e30 | it must be at most 30 days
load --timeout | 1ns 0 2h | TIMEOUT
load --timeout | -1 NaN '' | NO_DURATION
load --requests | 0 | it must be at least 1
load --requests | -1 1.5 NaN '' 1e3 | NO_COUNT
load --requests | 18446744073709551616 | it must be at most 18446744073709551615
load --connections | 0 | it must be at least 1
load --connections | -1 ten '' | NO_COUNT
load --connections | 2M 99999999999 | it must be from 1 to 1000000
load --threads | 0 | it must be at least 1
load --threads | 1025 | it must be from 1 to 1024
load --pipeline | 0 | it must be at least 1
load --pipeline | -1 | NO_COUNT
load --requests-per-connection | 0 | it must be at least 1
load --requests-per-connection | -3 | NO_COUNT
load --streams | 0 | it must be at least 1
load --streams | 2M | it must be from 1 to 1000000
load --users | 0 | it must be at least 1
load --users | 99999999999999 | it must be from 1 to 1000000
load --seed | abc -1 1.5 '' | SEED
load --weights | -1 a 4294967296 | is not a whole number from 0 to 4294967295
load --source | here '' -1 | is not an IP address; write for instance 127.0.0.2
load --resolve | '' -1 | is not HOST:PORT:ADDRESS; write for instance
load --expect-status | abc -1 99 600 | is not a whole number from 100 to 599
load --expect-length | -1 x | NO_COUNT
load --cpus | 1000 0,1000 | CPUS
load --cpus | -1 x 0,,1 | NO_CPU
load --cpus | '' | the list of CPUs is empty
load --rate | -5 NaN inf '' 5k/x | is not a rate; write one like
load --stages | -1/s:5s x:5s | is not a rate; write one like
load --stages | 5/s:-1s 5/s:NaN | is not a duration for a stage; write one like
load --rate 5 --burst | 0 | it must be at least 1
load --rate 5 --burst | -1 | NO_COUNT
load --rate 5 --deadline | 0 | it must be longer than 0
load --rate 5 --deadline | -1 NaN | NO_DURATION
load --rate 5 --max-connections | 0 | it must be at least 1
load --users 5 --think-time | NaN -1s | NO_DURATION
load --users 5 --think-time | 0 | it must be longer than 0
load --find-capacity --precision | 0% -2% NaN% 2 51% | is not from 0.5% to 50%
load --find-capacity --repeats | 0 -1 1001 | is not a whole number from 1 to 1000
load --find-capacity --curve-steps | -1 1001 | is not a whole number from 0 to 1000
load --find-capacity --budget | 0 | it must be longer than 0
load --find-capacity --budget | NaN -5m | NO_DURATION
load --find-capacity --slo | p99<-1ms p99<0s | is not a duration that can limit p99
load --find-capacity --slo | errors<200% errors<NaN% | is not a share of errors
load --find-capacity --slo | -1 p99 | it is not an objective; write a name, < or >, and a value
";

#[test]
fn values_of_load() {
    let project = Project::new();
    refuse(&project, LOAD);
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

const RUN: &str = r"
run --only=ceiling --workloads=hello --rounds | 0 -1 abc 1.5 '' 99999999999 | ROUNDS
run --only=ceiling --workloads=hello --seed | abc -1 | SEED
run --only=ceiling --workloads=hello --duration | 0 1ns 31d | MEASURED
run --only=ceiling --workloads=hello --duration | NaN -1 | NO_DURATION
run --only=ceiling --workloads=hello --warmup | inf -1 | NO_DURATION
run --only=ceiling --workloads=hello --requests | 0 | it must be at least 1
run --only=ceiling --workloads=hello --requests | -1 | NO_COUNT
run --only=ceiling --workloads=hello --ready-timeout | 0 1ns 2h | TIMEOUT
run --only=ceiling --workloads=hello --precision | 0% NaN% 3 -3% 51% | NO_PRECISION
run --precision 3% --budget | 0 | it must be longer than 0
run --only=ceiling --workloads=hello --server-cpus | 1000 | CPUS
run --only=ceiling --workloads=hello --load-cpus | -1 x | NO_CPU
run --only=ceiling --workloads=hello --baseline | '' _ | NO_NAME
run --only=ceiling --workloads=hello --driver | '' | NO_NAME
run --only | '' ceiling,, | NO_NAME
run --workloads | '' hello, | NO_NAME
";

#[test]
fn values_of_run() {
    let project = Project::new().with(&["ceiling"]);
    refuse(&project, RUN);
    project.run(&["run", ""]).with(2).says(NO_NAME);
    assert!(!project.state("").exists(), "nothing was begun");
}

const THE_OTHER_COMMANDS: &str = r"
verify --ready-timeout | 0 1ns | TIMEOUT
verify --workloads | '' | NO_NAME
ab HEAD --server ceiling --rounds | 0 -1 | ROUNDS
ab HEAD --server ceiling --connections | 0 | it must be at least 1
ab HEAD --server ceiling --duration | 0 | MEASURED
ab HEAD --server ceiling --warmup | -1 | NO_DURATION
ab HEAD --server ceiling --precision | 99% 0 | NO_PRECISION
ab HEAD --server ceiling --budget | -1 | NO_DURATION
ab HEAD --server ceiling --ready-timeout | 0 | TIMEOUT
ab HEAD --server ceiling --seed | x | SEED
ab HEAD --server ceiling --workloads | '' | NO_NAME
ab HEAD --server | '' | NO_NAME
ab HEAD --server ceiling --threshold | -1% NaN% 2 rate= | is not a threshold; write a percentage
ab HEAD --server ceiling --metrics | speed | unknown metric `speed`; use rate, cpu
compare latest~1 latest --threshold | -1% NaN% 2 | is not a threshold; write a percentage
compare latest~1 latest --metrics | '' -1 | unknown metric `
generators --rounds | 0 -1 1001 | is not a whole number from 1 to 1000
generators --duration | 0 500ms 3601 | it must be from 1s to 1h
generators --cases | hello:0 hello:2M:1 '' | --cases
generators --cases | rate:NaN rate:-1 | NO_COUNT
generators --freeze | 2s/1s | a freeze must be longer than 0 and shorter than its period
generators --freeze | x -1 | is not FREEZE/PERIOD; write for instance 1s/10s
generators --tools | '' wrk, | NO_NAME
calibrate --server-cpus | 1000 | CPUS
calibrate --load-cpus | x -1 | NO_CPU
reference --work | -1 x | NO_COUNT
reference --freeze | -1s/1s x | is not a freeze
reference --service | x | is not a distribution of service times
reference --service | fixed:NaN fixed:-1s fixed:9999y | is not a duration
reference --service fixed:1ms --workers | 0 | it must be at least 1
reference --service fixed:1ms --workers | 2M | it must be from 1 to 1,000,000
reference --service fixed:1ms --seed | x -1 | SEED
reference --service fixed:1ms --truth | 0:1s NaN:1s -1:1s | the load must have from 1 to 1,000,000,000
";

#[test]
fn values_of_the_other_commands() {
    let project = Project::new().with(&["ceiling"]);
    refuse(&project, THE_OTHER_COMMANDS);
    project.run(&["verify", ""]).with(2).says(NO_NAME);
    project
        .run(&["report", "--list", "some-run"])
        .with(2)
        .says("'--list' cannot be used with '[RUN]'");
    assert!(!project.state("").exists(), "nothing was begun");
}
