//! Golden files of the comparison for a pull request and for a terminal.
//!
//! `cargo insta test --review -p prony-report` shows what a change does (cargo install cargo-insta);
//! `INSTA_UPDATE=always cargo test -p prony-report --test it` accepts all of it.

use crate::compare::sample;
use crate::compare::sample::{SERVER, SampleRun, between, closed, compared_by, made, within};
use prony_model::*;
use prony_report::compare::{Comparison, junit, markdown, terminal};
use prony_testkit::golden;

const QUIET: f64 = 0.004;

/// A slower revision, near the ceiling, on a machine that another program used a little.
#[test]
fn worse() {
    let mut run = made("20261122-050000-ab-1", QUIET)
        .with("x@1111111", SERVER, 12)
        .with("x@2222222", SERVER.working(1.06), 12)
        .with_ceiling(SERVER.working(0.5), 12)
        .change("x@2222222", |round, one| {
            one.noise.server_cpus = Some(CpuNoise {
                steal_share: 0.0,
                foreign_share: if round == 2 { 0.04 } else { 0.001 },
            });
        });
    run.run.notes.push("A note.".into());
    golden("worse", &within(&run, "x@1111111", "x@2222222"));
}

/// What a CI system shows as failed tests.
#[test]
fn junit_fails_what_is_worse_and_if_strict_what_is_open() {
    let run = made("r", QUIET)
        .with("a", SERVER, 12)
        .with("b", SERVER.working(1.06), 12);
    let comparison = within(&run, "a", "b");
    let worse = failures(&junit(&comparison, false));
    assert!(worse.iter().any(|name| name == "rate"), "{worse:?}");
    assert_eq!(worse.len(), comparison.tally.worse);
    let few = made("r", QUIET).with("a", SERVER, 1).with("b", SERVER, 1);
    let few = within(&few, "a", "b");
    assert!(failures(&junit(&few, false)).is_empty());
    assert!(!failures(&junit(&few, true)).is_empty());
}

fn failures(xml: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(xml).unwrap();
    let nodes = document.descendants();
    let failed = nodes.filter(|node| node.has_tag_name("failure"));
    let name = |node: roxmltree::Node<'_, '_>| node.parent()?.attribute("name").map(str::to_owned);
    failed.filter_map(name).collect()
}

#[test]
fn no_change() {
    let run = made("r", 0.003).with("a", SERVER, 12).with("b", SERVER, 12);
    golden("no-change", &within(&run, "a", "b"));
}

/// Two sides with a single round each.
#[test]
fn too_few_rounds() {
    let run = made("r", QUIET).with("a", SERVER, 1).with("b", SERVER, 1);
    golden("too-few-rounds", &within(&run, "a", "b"));
}

/// Two sessions on different machines, with every finding that a server can have.
#[test]
fn two_sessions() {
    let base = session("then").change("failing", |_, one| {
        one.load.outcomes[Outcome::TimedOut] = 1;
    });
    let mut new = session("now")
        .change("slower", |_, one| one.load.rate_per_s /= 1.2)
        .change("faster", |_, one| one.load.rate_per_s *= 1.2)
        .change("limited", |_, one| {
            one.load.generator.client_limited = true;
            one.load.generator.client_limited_by = Some("a thread was 97 % busy".into());
        })
        .change("warming", |round, one| {
            one.warm_up = Some(WarmUp {
                process: ProcessStart::New,
                loaded_s: 20.0,
                searched_s: 20.0,
                limit_s: 20.0,
                time_to_warm_s: None,
                still_improving: round > 2,
            });
        })
        .change("wrong|<b>*x*", |_, one| {
            one.load.outcomes[Outcome::WrongBody] = 1200;
        })
        .change("scattered", |round, one| {
            one.load.rate_per_s *= [0.6, 1.0, 1.5][round as usize % 3];
        });
    for record in new.of("failing").filter(|record| record.trial.round < 6) {
        record.result = TrialResult::Failed {
            kind: FailureKind::ServerExited,
            message: "the server ended with signal 11\nits last words".into(),
        };
    }
    for record in new.of("scattered").filter(|one| one.trial.round < 3) {
        record.noisy = vec![NoiseCause::Steal { share: 0.1 }];
    }
    let output = "main.go:4: no such package\nmore".into();
    change_status(&mut new, "broken", ServerStatus::BuildFailed { output });
    let (missing, install) = ("go".to_owned(), "apt-get install go".to_owned());
    let skipped = ServerStatus::Skipped { missing, install };
    change_status(&mut new, "skipped", skipped);
    new = new.with("added", SERVER, 2);
    for load in other_loads() {
        new.measure("added", SERVER, 2, &load);
    }
    let run = &mut new.run;
    run.machine.kernel = "6.13.1".into();
    run.machine.governor = Some("performance".into());
    run.machine.memory_bytes = 16 << 30;
    run.machine.mitigations = vec!["spectre_v2: Mitigation: Retpolines".into()];
    run.end = RunEnd::Interrupted;
    let found = compared_by(base.side(None), new.side(None), "", "p99=5%");
    golden("two-sessions", &found);
    let coloured = terminal(&found, true).replace('\u{1b}', "␛");
    golden!("two-sessions.colours.txt", coloured);
}

/// Under every shape of load, with every metric requested.
#[test]
fn every_shape() {
    let bare = sample::Server {
        instructions: None,
        ..SERVER
    };
    let mut run = made("r", QUIET).with("a", bare, 6).with("b", bare, 6);
    for load in other_loads() {
        run.measure("a", bare, 6, &load);
        run.measure("b", bare.working(1.5), 6, &load);
    }
    let metrics = "rate cpu instructions p50 p99 memory";
    let found = compared_by(run.side("a"), run.side("b"), metrics, "");
    golden("every-shape", &found);
}

#[test]
fn another_ceiling() {
    let then = session("then");
    let mut now = session("now");
    now.run.prony_version = "0.2.0".into();
    golden("another-ceiling", &between(&then, &now));
}

#[test]
fn a_new_server_that_cannot_be_built() {
    let run = made("r", QUIET).with("base", SERVER, 1).with_broken("new");
    let broken = &run.run.servers[1];
    let named = |id| run.side(id).named();
    let measures = [("hello", &closed(64)), ("page", &closed(1))];
    let sides = (named("base"), named("new"));
    let warning =
        "new cannot be built, so nothing was measured and the run r was not recorded".to_owned();
    let found = Comparison::without_new(sides.0, sides.1, ("base", broken), measures, warning);
    assert!(found.is_worse());
    golden("without-new", &found);
}

fn session(id: &str) -> SampleRun {
    let ceiling = made(id, QUIET).with_ceiling(SERVER.working(0.95), 10);
    let servers = "slower faster limited warming wrong|<b>*x* scattered failing broken skipped";
    let made = servers
        .split(' ')
        .fold(ceiling, |made, id| made.with(id, SERVER, 10));
    let below_the_ceiling = |_: u32, one: &mut Measurement| one.load.rate_per_s *= 0.7;
    made.change("slower", below_the_ceiling)
        .change("faster", below_the_ceiling)
        .change("scattered", below_the_ceiling)
}

fn change_status(made: &mut SampleRun, id: &str, status: ServerStatus) {
    made.trials.retain(|record| record.trial.server != id);
    let mut servers = made.run.servers.iter_mut();
    servers.find(|one| one.id == id).unwrap().status = status;
}

fn other_loads() -> [LoadSpec; 4] {
    let stages = parse_stages("1k/s:10s,1k/s..5k/s:30s").unwrap();
    let schedule = Schedule {
        stages,
        ..Schedule::constant(Arrivals::Poisson, 1.0)
    };
    [
        LoadSpec {
            shape: LoadShape::Rate(schedule),
            ..closed(1)
        },
        LoadSpec {
            shape: LoadShape::UsersClosed { think_time_s: 0.5 },
            ..closed(2000)
        },
        LoadSpec {
            shape: LoadShape::UsersOpen { think_time_s: 1.0 },
            ..closed(1)
        },
        LoadSpec {
            pipeline: 16,
            requests_per_connection: Some(100),
            streams: 1000,
            ..closed(1)
        },
    ]
}

fn golden(name: &str, comparison: &Comparison) {
    golden!(format!("{name}.md"), markdown(comparison));
    golden!(format!("{name}.txt"), terminal(comparison, false));
}
