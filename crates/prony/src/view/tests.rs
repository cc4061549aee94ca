//! Golden tests: what Prony shows while a load, a search or a run goes on.

use prony_model::Seconds;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use prony_load::{LatencyBands, LoadPlan, Progress};
use prony_model::*;
use prony_run::capacity::{
    Event as Found, Judgement, Lengths, MOST_RUNS, Planned as Rate, Precision, Purpose, Question,
    RateAttempt, Unit,
};
use prony_run::run::{RunEvent as Event, RunRequest, Testbed};
use prony_run::{AdaptiveRounds, Measure, Plan, Suite, TrialAttempt as Trying, Warming};
use prony_server::{Freshness, Logs, SupervisorProgram};
use prony_traffic::{HttpUrl, RequestParts};

use super::capacity_progress::CapacityProgress;
use super::capacity_summary::tests::{attempt, generator_limited, noisy};
use super::fitted;
use super::live_line::{CLEAR, LiveLine};
use super::live_view::LiveView;
use super::load_summary::tests::closed;
use super::load_view::{LoadView, outline};
use super::run_progress::RunProgress;
use crate::project;
use crate::tests::golden;

const WIDTHS: [usize; 2] = [80, 120];

/// A terminal that only a test sees.
#[derive(Clone)]
struct Terminal {
    width: usize,
    written: Arc<Mutex<Vec<u8>>>,
}

impl Write for Terminal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.written.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Terminal {
    fn contents(&self) -> String {
        let written = String::from_utf8(self.written.lock().unwrap().clone()).unwrap();
        let mut lines = vec![String::new()];
        for (clears, text) in written.split(CLEAR).enumerate() {
            if clears > 0 {
                lines.last_mut().unwrap().clear();
            }
            for character in text.chars() {
                let line = lines.last_mut().unwrap();
                if character == '\n' {
                    lines.push(String::new());
                } else if line.chars().count() == self.width {
                    lines.push(character.into());
                } else {
                    line.push(character);
                }
            }
        }
        let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
        lines.join("\n").trim_end().to_owned()
    }
}

/// A line on a terminal of that width.
fn terminal(width: usize) -> (Terminal, LiveLine) {
    let terminal = Terminal {
        width,
        written: Arc::default(),
    };
    (terminal.clone(), LiveLine::on(Box::new(terminal), width))
}

/// Its contents, without the elapsed time.
fn seen(terminal: &Terminal) -> String {
    let contents = terminal.contents();
    let lines = contents.lines().map(|line| match line.split_at_checked(5) {
        Some((clock, rest)) if clock.starts_with(' ') && clock.ends_with("s ") => rest,
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn plan() -> LoadPlan {
    let text = "http://127.0.0.1:8080/";
    let url: HttpUrl = text.parse().unwrap();
    let address: std::net::SocketAddr = "127.0.0.1:8080".parse().unwrap();
    let request = RequestParts::new("GET", &url, &[], b"").unwrap();
    LoadPlan::new(address.into(), text, request).with(|plan| {
        plan.load.duration = Some(Seconds::from_secs(10));
        plan.load.warmup = Seconds::from_secs(1);
    })
}

/// After 2 s.
fn measuring(ok: u64, errors: u64) -> Progress {
    let mut latency = LatencyBands::default();
    latency.add(1_230_000, ok * 98 / 100);
    latency.add(98_700_000, ok * 2 / 100);
    Progress {
        at_s: 2.0,
        measuring: true,
        ok,
        errors,
        latency,
        p50_ns: 1_230_000,
        p99_ns: 98_700_000,
        ..Progress::default()
    }
}

#[test]
fn a_load() {
    let requests = plan().with(|plan| {
        plan.load.duration = None;
        plan.load.requests = Some(100_000);
    });
    let rate = plan().with(|plan| {
        plan.load.shape = LoadShape::Rate(Schedule::constant(Arrivals::Poisson, 20_000.0))
    });
    let loads = [
        ("warming up", plan(), Progress::default()),
        ("a closed loop", plan(), measuring(50_000, 0)),
        ("with errors", plan(), measuring(5_000_000, 1_204)),
        ("every response a 404", plan(), measuring(0, 50_000)),
        ("a number of requests", requests, measuring(50_000, 10)),
        ("a rate", rate, measuring(39_000, 1_000_000)),
    ];
    let mut texts = Vec::new();
    for width in WIDTHS {
        for (title, plan, progress) in &loads {
            let (terminal, line) = terminal(width);
            let begun = Instant::now();
            let mut view = LoadView::of(LiveView::Lines(line), outline(plan, None), plan, begun);
            view.show(Progress::default(), None, begun);
            view.show(progress.clone(), None, begun + Duration::from_secs(2));
            texts.push((format!("{title}, {width} columns"), seen(&terminal)));
        }
    }
    titled("load-progress", &texts);
}

#[test]
fn a_search_for_a_capacity() {
    let question = Question {
        objectives: "p99<10ms".parse().unwrap(),
        precision: Precision {
            share: 0.1,
            repeats: 6,
        },
        lengths: Lengths {
            warmup: Duration::from_secs(1),
            measured: Duration::from_secs(5),
        },
        budget: Duration::from_secs(300),
        curve_steps: 11,
        seed: 42,
    };
    let attempt = |purpose, judgement, responses| RateAttempt {
        purpose,
        ..attempt(12_345.6, judgement, responses)
    };
    let failed = Judgement::Failed {
        why: vec![
            "p99 was 20.0 ms, not below 10ms".into(),
            "errors were 1.2 %, not below 0.1%".into(),
        ],
    };
    let causes = vec![
        NoiseCause::Steal { share: 0.12 },
        NoiseCause::OtherPrograms { share: 0.31 },
    ];
    let slow = Some("37 retransmission timeouts of 0.2 s or longer".to_owned());
    let finding = |number| Purpose::Finding { number };
    let noisy = |purpose, run| RateAttempt {
        run,
        ..noisy(attempt(purpose, Judgement::Held, 2000), causes.clone())
    };
    let attempts = [
        attempt(Purpose::Approach, Judgement::Held, 2000),
        attempt(Purpose::Approach, Judgement::Held, 900),
        attempt(finding(1), failed.clone(), 2000),
        RateAttempt {
            slow_because: slow.clone(),
            ..attempt(finding(7), failed, 2000)
        },
        RateAttempt {
            slow_because: slow,
            ..attempt(Purpose::Confirm, generator_limited(), 2000)
        },
        noisy(finding(2), 1),
        noisy(finding(2), MOST_RUNS),
        noisy(Purpose::Curve, 1),
    ];
    let (terminal, line) = terminal(80);
    let begun = Instant::now();
    let mut view = CapacityProgress::on(line, (&question, Unit::Requests), begun);
    let events = [Found::Guessed(24_680.0)]
        .into_iter()
        .chain(attempts.iter().map(Found::Tried));
    let events = events.chain([Found::Unsettled("404 instead of 200")]);
    view.show(&Progress::default(), begun);
    let guessing = seen(&terminal);
    for event in events {
        view.show_event(&event);
    }
    view.show_event(&Found::Trying(&Rate {
        purpose: finding(2),
        rate_per_s: 12_345.6,
        requests: 61_728.0,
        warmup: Duration::from_secs(1),
        measured: Duration::from_secs(5),
        seed: 1,
        ends_by: None,
    }));
    view.show(&measuring(1000, 0), begun + Duration::from_secs(100));
    let texts = [("at first", guessing), ("then", seen(&terminal))];
    golden("capacity-progress", &texts);
}

/// A run of six rounds, and one whose rounds are added as needed.
#[test]
fn a_run() {
    let mut texts = Vec::new();
    for width in WIDTHS {
        for (rounds, precision) in [("six rounds", None), ("rounds as needed", Some("3%"))] {
            texts.push((format!("{rounds}, {width} columns"), run(width, precision)));
        }
    }
    titled("run-progress", &texts);
}

/// The live line at each step, and at the end everything above it.
fn run(width: usize, precision: Option<&str>) -> String {
    let load = LoadSpec {
        connections: 64,
        duration: Some(Seconds::from_secs(2)),
        warmup: Seconds::from_millis(500),
        ..LoadSpec::default()
    };
    let requests = LoadSpec {
        requests: Some(10_000),
        duration: None,
        ..load.clone()
    };
    let measure = |workload: &str, load, rounds| Measure {
        workload: workload.into(),
        load,
        rounds,
        warmup_limit: Duration::from_secs(20),
    };
    // Rounds that are added as needed begin with 12.
    let (rounds, fewer, first) = match precision {
        None => (6, 3, 6),
        Some(_) => (100, 100, 12),
    };
    let measures = vec![
        measure("hello", load, rounds),
        measure("sse-20k", requests, fewer),
    ];
    let ids = ["go-nethttp", "java-helidon-virtual"].map(str::to_owned);
    let mut plan = Plan::interleaved(&ids, &measures, |_, _| true, 1);
    let layout = project::layout(None).unwrap();
    let mut suite = Suite::read(&layout.own().suites(), "tour").unwrap();
    suite.adaptive = precision.map(|precision| AdaptiveRounds {
        precision: precision.parse().unwrap(),
        budget: Duration::from_secs(600),
        most_rounds: 100,
    });
    let cpus = CpuAssignment {
        server: vec![0],
        load: vec![0],
    };
    let testbed = Testbed {
        layout,
        supervisor: SupervisorProgram::new("prony"),
        cpus,
        host: Ipv4Addr::LOCALHOST.into(),
        logs: "logs".into(),
        ready_timeout: Duration::from_secs(30),
        freshness: Freshness::IfUnchanged,
        interrupt: Arc::default(),
    };
    let id = "20261121-203000-tour".to_owned();
    let request = RunRequest::new(id, testbed, &suite, Vec::new(), Vec::new(), measures, 42);
    let trials = plan.trials(first);
    let round = plan.next_round(|_| true);
    let attempt = Trying {
        trial: trials[0].clone(),
        number: 1,
        measure: 0,
        warming: Warming::UntilSteady,
        warmup_limit: Duration::from_secs(20),
        warmup: Seconds::from_millis(500),
        allowed: None,
    };
    let servers = servers();
    let records = records(&trials[0]);
    let (terminal, line) = terminal(width);
    let mut now = Instant::now();
    let mut view = RunProgress::start(LiveView::Lines(line), &request, now);
    let mut moving: Vec<String> = Vec::new();
    // Half a second passes before each event.
    let mut show = |event: Event<'_>| {
        now += Duration::from_millis(500);
        view.show(&event, now);
        moving.extend(seen(&terminal).lines().last().map(str::to_owned));
    };
    for (server, step) in [
        ("go-nethttp", "building"),
        ("java-helidon-virtual", "installing its toolchain"),
    ] {
        show(Event::Preparing { server, step });
    }
    servers
        .iter()
        .for_each(|server| show(Event::Prepared(server)));
    show(Event::Verifying("go-nethttp"));
    let logs = [Logs::at(Path::new("logs/wrong-verify.log"))];
    for server in &servers {
        let logs = match server.id.as_str() {
            "wrong" => &logs[..],
            _ => &[],
        };
        show(Event::Verified { server, logs });
    }
    show(Event::Planned(&trials));
    show(Event::Round(&round));
    show(Event::Trial(&attempt));
    show(Event::WarmingUp {
        attempt: &attempt,
        so_far: Duration::from_secs(12),
    });
    show(Event::Loading {
        attempt: &attempt,
        progress: &measuring(5_000, 0),
    });
    show(Event::KeptEnded {
        attempt: &attempt,
        exit: "ended with exit code 3",
    });
    for (again, record) in records.iter().enumerate() {
        show(Event::TrialOver {
            record,
            again: again == 1,
        });
    }
    for widest in [Some(2.0), Some(0.051), None] {
        show(Event::RoundOver {
            widest,
            time_left: Duration::from_secs(425),
        });
        show(Event::Trial(&attempt));
    }
    // Later ones are not shown one by one.
    (0..9).for_each(|_| {
        show(Event::TrialOver {
            record: &records[1],
            again: false,
        })
    });
    view.finish();
    moving.dedup();
    format!("{}\n--\n{}", moving.join("\n"), seen(&terminal))
}

/// One server for each result of preparation and verification.
fn servers() -> Vec<ServerRecord> {
    let server = |id: &str, status| ServerRecord {
        version: Some("1.26.1".into()),
        build_s: None,
        verified: Vec::new(),
        status,
        ..sample::plain_server(id)
    };
    let skipped = ServerStatus::Skipped {
        missing: "zig >= 0.15".into(),
        install: "apt-get install -y zig".into(),
    };
    let output = "main.go:4: no such package\nmore".to_owned();
    let mut built = server("built", ServerStatus::Ready);
    built.build_s = Some(4.23);
    let mut wrong = server("wrong", ServerStatus::Ready);
    wrong.verified.push(VerifyResult {
        workload: "hello".into(),
        verdict: VerifyVerdict::Wrong {
            expected: "the body `hello from prony`".into(),
            received: "the body `hello`".into(),
        },
    });
    let failed = ServerStatus::BuildFailed {
        output: output.clone(),
    };
    vec![
        server("ready", ServerStatus::Ready),
        built,
        wrong,
        server("skipped", skipped),
        server("broken", failed),
        server("dead", ServerStatus::StartFailed { reason: output }),
    ]
}

/// One trial for each line: none, two causes of noise, warm-ups, and a failure twice.
fn records(trial: &Trial) -> Vec<TrialRecord> {
    let warm_up = |process, time_to_warm_s| WarmUp {
        process,
        loaded_s: 20.2,
        searched_s: 20.0,
        limit_s: 20.0,
        time_to_warm_s,
        still_improving: time_to_warm_s.is_none(),
    };
    let record = |warm_up, noisy| {
        let measurement = Measurement {
            server: Some(ServerCost::default()),
            startup_ns: None,
            warm_up,
            ..sample::plain_measurement(closed())
        };
        TrialRecord {
            noisy,
            ..sample::plain_trial(trial.clone(), TrialResult::Measured(measurement))
        }
    };
    let warmed =
        |process, time_to_warm_s| record(Some(warm_up(process, time_to_warm_s)), Vec::new());
    let failure = TrialResult::Failed {
        kind: FailureKind::ServerExited,
        message: "the server ended with exit code 3\nits last words".into(),
    };
    let failed = sample::plain_trial(trial.clone(), failure);
    let noisy = vec![
        NoiseCause::OtherPrograms { share: 0.23 },
        NoiseCause::WarmUp { rise: 0.4 },
    ];
    vec![
        record(None, Vec::new()),
        record(None, noisy),
        record(None, vec![NoiseCause::Steal { share: 0.3 }]),
        warmed(ProcessStart::New, Some(8.2)),
        warmed(ProcessStart::Restarted, Some(8.0)),
        warmed(ProcessStart::Kept, None),
        failed.clone(),
        failed,
    ]
}

fn titled(file: &str, texts: &[(String, String)]) {
    let texts = texts
        .iter()
        .map(|(title, text)| (title.as_str(), text.clone()));
    golden(file, &texts.collect::<Vec<_>>());
}

#[test]
fn long_lines_go_on_indented() {
    let text = "  one two  three four\n  five\nsix\n";
    assert_eq!(fitted(text, 80), text);
    let broken = "  one two \n      three\n      four\n  five\nsix\n";
    assert_eq!(fitted(text, 12), broken);
    let path = "/a/long/path\n    and\n    more\n";
    assert_eq!(fitted("/a/long/path and more", 8), path);
}
