//! Values that a flag cannot have: each error says what is wrong and what is allowed, the exit status is
//! 2, and nothing is done.

use crate::common::project::Project;
use prony_testkit::table::rows;

const URL: &str = "http://127.0.0.1:1/";

/// What the tables name instead of repeating it.
fn message(name: &'static str) -> &'static str {
    match name {
        "NO_COUNT" => "is not a count; write for instance 400, 10k or 2M",
        "NO_DURATION" => "is not a duration; write for instance 10s, 500ms or 2m",
        "MEASURED" => "it must be from 1ms to 30 days",
        "TIMEOUT" => "it must be from 1ms to 1h",
        "SEED" => "is not a whole number from 0 to 18446744073709551615",
        "ROUNDS" => "is not a whole number from 1 to 10000",
        "CPUS" => "CPU 1000 is not available to Prony, which may use ",
        "NO_CPU" => "is neither a CPU nor a range of CPUs; write for instance 0-1,3",
        "NO_NAME" => "a name is empty; `prony list` shows the available names",
        "NO_PRECISION" => "is not a precision; ",
        text => text,
    }
}

/// Each row has a command with a flag, values that it must refuse, and the message. `_` is a blank, and a load has a
/// URL. Which values are wrong is tested with the functions that read them; here, that each flag has its own.
fn refuse(project: &Project, table: &str) {
    for [command, values, name] in rows(table) {
        let (before, flag) = command.rsplit_once(' ').unwrap();
        let url = if before.starts_with("load") { URL } else { "" };
        for value in values.split(' ') {
            let value = value.replace('_', "' '");
            let line = format!("{before} {url} {flag} {value}");
            let ended = project.run(&line).with(2).says(message(name)).says(flag);
            assert_eq!(ended.stdout, "", "{line}");
        }
    }
}

const LOAD: &str = r"
load --duration | -1 '' | NO_DURATION
load --duration | 0 31d | MEASURED
load --warmup | -1 | NO_DURATION
load --warmup | 1e30 | it must be at most 30 days
load --timeout | 1ns | TIMEOUT
load --timeout | -1 '' | NO_DURATION
load --requests | 0 | it must be at least 1
load --requests | -1 '' | NO_COUNT
load --requests | 18446744073709551616 | it must be at most 18446744073709551615
load --connections | 0 | it must be at least 1
load --connections | -1 '' | NO_COUNT
load --connections | 2M | it must be from 1 to 1000000
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
load --seed | -1 '' | SEED
load --weights | -1 4294967296 | is not a whole number from 0 to 4294967295
load --source | here '' -1 | is not an IP address; write for instance 127.0.0.2
load --resolve | '' -1 | is not HOST:PORT:ADDRESS; write for instance
load --expect-status | -1 600 | is not a whole number from 100 to 599
load --expect-length | -1 | NO_COUNT
load --cpus | 1000 0,1000 | CPUS
load --cpus | -1 x 0,,1 | NO_CPU
load --cpus | '' | the list of CPUs is empty
load --rate | -5 NaN inf '' 5k/x | is not a rate; write one like
load --stages | -1/s:5s x:5s | is not a rate; write one like
load --stages | 5/s:-1s 5/s:NaN | is not a duration for a stage; write one like
load --rate 5 --burst | 0 | it must be at least 1
load --rate 5 --burst | -1 | NO_COUNT
load --rate 5 --deadline | 0 | it must be longer than 0
load --rate 5 --deadline | -1 | NO_DURATION
load --rate 5 --max-connections | 0 | it must be at least 1
load --users 5 --think-time | -1s | NO_DURATION
load --users 5 --think-time | 0 | it must be longer than 0
load --find-capacity --precision | 0% -2% NaN% 2 51% | is not from 0.5% to 50%
load --find-capacity --repeats | -1 1001 | is not a whole number from 1 to 1000
load --find-capacity --curve-steps | -1 1001 | is not a whole number from 0 to 1000
load --find-capacity --budget | 0 | it must be longer than 0
load --find-capacity --budget | -5m | NO_DURATION
load --find-capacity --objective | p99<-1ms p99<0s | is not a duration that can limit p99
load --find-capacity --objective | errors<200% errors<NaN% | is not a share of errors
load --find-capacity --objective | -1 p99 | it is not an objective; write a name, < or >, and a value
";

#[test]
fn values_of_load() {
    let project = Project::new();
    refuse(&project, LOAD);
    // The short flags behave alike.
    for flag in ["-c", "-t", "-n", "-d"] {
        let name = ["NO_COUNT", "NO_DURATION"][usize::from(flag == "-d")];
        for blank in ["", " "] {
            let line = format!("load {flag}{blank}-1 {URL}");
            project.run(&line).with(2).says(message(name));
        }
    }
}

#[test]
fn texts_and_flags_are_reported_apart_by_what_they_are() {
    Project::empty().check(
        "
        2 | load ' ' | the URL is empty; write for instance http://localhost:8080/
        2 | load http:/127.0.0.1 | two slashes follow `http:`; did you mean `http://127.0.0.1`?
        2 | load http://127.0.0.1:-1/ | its port is not 1 to 65535
        2 | load ftp://a/ | Prony loads http:// and https:// URLs
        // A header is never a number, and the next flag is not a header.
        2 | load -H -c5 http://a/ | a value is required for '--header <HEADER>'
        2 | load -b @ http://a/ | the body: the name of a file is missing after `@`
        2 | load --conections 5 http://a/ | a similar argument exists: '--connections'
        ",
    );
}

const RUN: &str = r"
run --only=ceiling --workloads=hello --rounds | -1 '' | ROUNDS
run --only=ceiling --workloads=hello --seed | -1 | SEED
run --only=ceiling --workloads=hello --duration | 0 31d | MEASURED
run --only=ceiling --workloads=hello --duration | -1 | NO_DURATION
run --only=ceiling --workloads=hello --warmup | -1 | NO_DURATION
run --only=ceiling --workloads=hello --requests | 0 | it must be at least 1
run --only=ceiling --workloads=hello --requests | -1 | NO_COUNT
run --only=ceiling --workloads=hello --ready-timeout | 0 | TIMEOUT
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
    project.run("run ''").with(2).says(message("NO_NAME"));
    assert!(!project.state("").exists(), "nothing was begun");
}

const THE_OTHER_COMMANDS: &str = r"
verify --ready-timeout | 0 | TIMEOUT
verify --workloads | '' | NO_NAME
ab HEAD --server ceiling --rounds | -1 | ROUNDS
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
generators --rounds | -1 1001 | is not a whole number from 1 to 1000
generators --duration | 0 500ms 3601 | it must be from 1s to 1h
generators --cases | hello:0 hello:2M:1 '' | --cases
generators --cases | rate:NaN rate:-1 | NO_COUNT
generators --freeze | 2s/1s | a freeze must be longer than 0 and shorter than its period
generators --freeze | x -1 | is not a freeze; write its length and period, for instance 1s/10s
generators --tools | '' wrk, | NO_NAME
calibrate --server-cpus | 1000 | CPUS
calibrate --load-cpus | x -1 | NO_CPU
reference --work | -1 | NO_COUNT
reference --freeze | -1s/1s x | is not a freeze
reference --service | x | is not a distribution of service times
reference --service | fixed:NaN fixed:-1s fixed:9999y | is not a duration
reference --service fixed:1ms --workers | 0 | it must be at least 1
reference --service fixed:1ms --workers | 2M | it must be from 1 to 1,000,000
reference --service fixed:1ms --seed | -1 | SEED
reference --service fixed:1ms --truth | 0:1s NaN:1s -1:1s | the load must have from 1 to 1,000,000,000
";

#[test]
fn values_of_the_other_commands() {
    let project = Project::new().with(&["ceiling"]);
    refuse(&project, THE_OTHER_COMMANDS);
    project.run("verify ''").with(2).says(message("NO_NAME"));
    project.check("2 | report --list some-run | '--list' cannot be used with '[RUN]'");
    assert!(!project.state("").exists(), "nothing was begun");
}
