//! A made-up run with everything that a report has words for.

use prony_model::Seconds;
use prony_model::*;

use super::documents::{ALL, Records, made};
use super::noisy::end;
use super::{Noise, failed_with, lag, spec};

const ROUNDS: u32 = 6;

/// Closed loops over lasting and over new connections, a rate, and users; ratios refer to Go's.
pub(crate) fn troubles() -> Records {
    let reconnecting = LoadSpec {
        requests_per_connection: Some(1),
        ..spec(64)
    };
    let schedule = Schedule {
        arrivals: Arrivals::Even,
        burst: 10,
        stages: parse_stages("1k/s:1s,1k/s..5k/s:1s").unwrap(),
    };
    let rate = LoadSpec {
        shape: LoadShape::Rate(schedule),
        threads: 2,
        spin: true,
        ..spec(64)
    };
    let measures = vec![
        ("hello", spec(64), ROUNDS, 150_000.0, ALL),
        ("hello", reconnecting.clone(), ROUNDS, 40_000.0, ALL),
        ("page", rate.clone(), ROUNDS, 5_000.0, ALL),
    ];
    let ids = "ceiling zig-epoll rust-axum go-nethttp bun python-httpserver rust-threadpool mine go-fasthttp";
    let (mut run, mut trials) = made("troubles", "Troubles", ids, measures, vec![]);
    run.baseline = Some("go-nethttp".into());
    run.end = RunEnd::Interrupted;
    run.finished_at = None;
    run.notes.push("A second note.".into());
    run.cpus.load = vec![0];
    run.machine = Machine {
        cpus: 1,
        governor: Some("performance".into()),
        ..Machine::default()
    };
    run.adaptive = Some(Adaptive {
        precision: 0.03,
        budget_s: 90.0,
        ends: vec![
            end(
                "hello",
                spec(64),
                ROUNDS,
                EnoughRounds::MostRounds,
                Some(0.4),
            ),
            end(
                "hello",
                reconnecting,
                ROUNDS,
                EnoughRounds::Interrupted,
                Some(1.3),
            ),
            end("page", rate, ROUNDS, EnoughRounds::Precise, None),
        ],
    });
    let server = |id: &str| run.servers.iter().position(|one| one.id == id).unwrap();
    let (fasthttp, threadpool) = (server("go-fasthttp"), server("rust-threadpool"));
    run.servers[fasthttp].status = ServerStatus::StartFailed {
        reason: "not ready within 30 s\nits last words: bind: address in use".into(),
    };
    run.servers[threadpool].artefact_bytes = None;
    trials.retain(|record| {
        let trial = &record.trial;
        let untried = trial.server == "mine" && trial.load.shape.is_open();
        trial.server != "go-fasthttp" && !untried
    });
    let mut noise = Noise(5);
    trials
        .iter_mut()
        .for_each(|record| trouble(record, &mut noise));
    (run, trials)
}

/// Every server has different troubles.
fn trouble(record: &mut TrialRecord, noise: &mut Noise) {
    let Trial {
        server,
        round,
        load,
        ..
    } = record.trial.clone();
    if (server.as_str(), load.shape.is_open()) == ("rust-threadpool", true) {
        record.result = failed_with("the server ended with signal 11\nstack smashing detected");
        return;
    }
    if (server.as_str(), round) == ("python-httpserver", 2) {
        record.result = failed_with("a connection was refused");
        return;
    }
    let TrialResult::Measured(measured) = &mut record.result else {
        return;
    };
    measured.noise.energy_j = Some(30.0);
    measured.noise.frequency_mhz = Some((2_000.0, 2_000.0));
    measured.server.as_mut().unwrap().cycles = Some(40_000 * measured.load.requests);
    measured.load.generator.instructions = Some(13_000 * measured.load.requests);
    match server.as_str() {
        "go-nethttp" => {
            measured.load.generator.client_limited = true;
            if let Some(latency) = &mut measured.load.latency_ns {
                latency.mean /= 4.0;
            }
        }
        "rust-axum" => {
            measured.load.outcomes[Outcome::WrongBody] = u64::from(round);
            measured.load.first_wrong = Some(WrongResponse {
                outcome: "wrong_body".into(),
                detail: "byte 3 is `x`, expected `l`".into(),
            });
        }
        "bun" => {
            super::courses::add(measured, round, "listening on 8080\n");
            measured.warm_up = Some(WarmUp {
                process: match round {
                    1 => ProcessStart::New,
                    4 => ProcessStart::Restarted,
                    _ => ProcessStart::Kept,
                },
                loaded_s: 20.0,
                searched_s: 20.0,
                limit_s: 20.0,
                time_to_warm_s: (round == 1).then_some(8.0),
                still_improving: round > 3,
            });
        }
        "rust-threadpool" => {
            measured.noise.steal_share = 0.05;
            measured.load.load.warmup = Seconds::from_secs(4);
            measured.startup_ns = None;
            if round == 1 {
                measured.load.histogram = "unreadable".into();
            }
            record.noisy = match round {
                1 => vec![
                    NoiseCause::Steal { share: 0.2 },
                    NoiseCause::WarmUp { rise: 0.1 },
                ],
                2 => vec![NoiseCause::OtherPrograms { share: 0.3 }],
                _ => Vec::new(),
            };
        }
        "mine" => {
            super::noisy::lose(measured, 0.01 * f64::from(round));
            measured.load.rate_per_s *= 1.0 - 0.1 * f64::from(round);
            measured.load.resent = u64::from(round == 1);
            measured.load.ack_waits = measured.load.outcomes[Outcome::Ok];
            measured.load.server_throttled = Some(Throttled {
                quota_cpus: 0.5,
                periods: 50,
                throttled_periods: round.into(),
                throttled_s: 0.08 * f64::from(round),
            });
        }
        "python-httpserver" => measured.load.port_waits = u64::from(round == 1),
        _ => {}
    }
    if let Some(open) = &mut measured.load.open
        && server == "bun"
    {
        let late = lag(noise);
        open.schedule_lag_ns = late.summary().map(|lag| LatencySummary {
            p50: lag.p50 * 100,
            p99: lag.p99 * 100,
            ..lag
        });
        open.schedule_lag_histogram = "unreadable".into();
    }
}
