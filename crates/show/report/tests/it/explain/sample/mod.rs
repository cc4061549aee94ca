//! Made-up explanations of three servers, shaped like real ones: a plain workload by request and an event stream by event.
#![allow(dead_code)] // Each user takes a part of it.

use prony_model::CostFigure::*;
use prony_model::Seconds;
use prony_model::*;
use prony_report::explain::Header;
use prony_testkit::table::rows;

/// How each of five rounds differs from the middle one, for each server in turn.
const NOISE: [[f64; 5]; 3] = [
    [1.0, 1.012, 0.991, 1.006, 0.984],
    [0.995, 1.009, 1.0, 0.989, 1.014],
    [1.021, 0.981, 1.0, 1.007, 0.993],
];

/// What counting the calls of a server costs.
const SERVERS: [(&str, f64); 3] = [
    ("go-nethttp", 0.11),
    ("rust-hyper", 0.079),
    ("python-x", 0.021),
];

/// figure | for a request: of each server | for an event: of each server
const FIGURES: &str = "
    cpu | 21.3e-6 | 9.8e-6 | 184.0e-6 | 11.9e-6 | 2.1e-6 | 260.0e-6
    cpu-user | 8.1e-6 | 2.3e-6 | 151.0e-6 | 4.0e-6 | 0.7e-6 | 170.0e-6
    cpu-kernel | 13.2e-6 | 7.5e-6 | 33.0e-6 | 7.9e-6 | 1.4e-6 | 90.0e-6
    system-calls | 3.43 | 2.04 | 4.1 | 1.3 | 0.26 | 21.9
    writes | 1 | 1 | 1 | 1 | 0.21 | 21
    voluntary-switches | 0.41 | 0.11 | 2.1 | 0.41 | 0.11 | 2.1
    involuntary-switches | 0.0031 | 0.0024 | 0.013 | 0.0031 | 0.0024 | 0.013
    wake-ups | 0.44 | 0.12 | 2.2 | 0.44 | 0.12 | 2.2
    minor-faults | 0.0102 | 0.0004 | 0.83 | 0.0102 | 0.0004 | 0.83
    major-faults | 0 | 0 | 0 | 0 | 0 | 0
    bytes | 129 | 129 | 158 | 88 | 88 | 1130
    segments | 1 | 1 | 1 | 1 | 0.21 | 21
    heap-growth | 0.9 | 0 | 212 | 0.9 | 0 | 212
    threads | 5 | 2 | 9 | 5 | 2 | 9
";

/// The system calls of each server for a request, and for an event.
const CALLS: [[&str; 3]; 2] = [
    [
        "read 1, write 1, epoll_pwait 0.87, futex 0.5, nanosleep 0.04, getpid 0.01, tgkill 0.01",
        "recvfrom 1, writev 1, epoll_wait 0.04",
        "recv 1, sendto 1, futex 1.1, epoll_wait 1",
    ],
    [
        "write 1, futex 0.2, epoll_pwait 0.1",
        "writev 0.21, epoll_wait 0.05",
        "sendto 21, futex 0.9",
    ],
];

/// samples | functions joined by `;`, each with its file after `@` if that is not the server's own
const STACKS: [&str; 3] = [
    "120 | net/http.(*conn).serve;main.hello
    160 | net/http.(*conn).serve;net/http.(*response).finishRequest
    410 | net/http.(*conn).serve;internal/poll.(*FD).Write;tcp_sendmsg@[kernel]
    190 | net/http.(*conn).serve;internal/poll.(*FD).Read;tcp_recvmsg@[kernel]
    230 | runtime.mcall;runtime.findRunnable;do_epoll_wait@[kernel]
    95 | runtime.mcall;runtime.findRunnable
    130 | runtime.systemstack;runtime.gcBgMarkWorker;runtime.scanobject
    60 | runtime.mallocgc",
    "90 | main;hyper::proto::h1::dispatch::poll;handler
    200 | main;hyper::proto::h1::dispatch::poll
    500 | main;writev@libc.so.6;tcp_sendmsg@[kernel]
    310 | main;epoll_wait@libc.so.6;do_epoll_wait@[kernel]
    40 | main;malloc@libc.so.6",
    "520 | main@python3;_PyEval_EvalFrameDefault@libpython3.12.so;app.handle@[jit]
    610 | main@python3;_PyEval_EvalFrameDefault@libpython3.12.so
    420 | main@python3;libpython3.12.so [unknown]@libpython3.12.so
    300 | main@python3;sendto@libc.so.6;tcp_sendmsg@[kernel]",
];

pub(crate) fn header() -> Header {
    Header::from(&sample::run("20261126-093000-explain"))
}

/// Three servers with a plain workload and an event stream.
pub(crate) fn explanations() -> Vec<Explanation> {
    let units = [CostUnit::Request, CostUnit::Event].into_iter();
    let all = units.flat_map(|unit| (0..3).map(move |nth| explanation(unit, nth, nth)));
    all.collect()
}

/// Twelve servers with the plain workload.
pub(crate) fn many() -> Vec<Explanation> {
    let of = |i: usize| {
        let mut one = explanation(CostUnit::Request, 0, i % 3);
        one.server = format!("server-{i:02}");
        let figures = one
            .rounds
            .iter_mut()
            .flat_map(|round| round.figures.values_mut());
        figures.for_each(|value| *value *= 1.0 + i as f64 / 10.0);
        one
    };
    (0..12).map(of).collect()
}

/// A server that could hardly be measured, after a single round, with names that no table should trust.
pub(crate) fn least() -> Vec<Explanation> {
    let mut one = explanation(CostUnit::Request, 0, 0);
    one.server = "<b>|`x`\u{1b}[31m".into();
    one.rounds.truncate(1);
    let round = &mut one.rounds[0];
    round.system_calls.clear();
    round.tracing_cost = None;
    round
        .figures
        .retain(|figure, _| matches!(figure, Cpu | HeapGrowth));
    (one.on_cpu, one.off_cpu) = (None, None);
    one.unavailable = vec![
        Unavailable {
            remedy: Some("sudo sysctl kernel.perf_event_paranoid=1".into()),
            ..unavailable(
                "system calls, by name and in all",
                "perf_event_paranoid is 3, so this user may not trace",
            )
        },
        unavailable("functions", "<i>nothing</i> was sampled"),
    ];
    vec![one]
}

/// A server before and after a change of one of its functions.
pub(crate) fn revisions() -> [Explanation; 2] {
    let before = explanation(CostUnit::Request, 1, 0);
    let mut after = explanation(CostUnit::Request, 1, 1);
    for (round, noise) in after.rounds.iter_mut().zip(NOISE[1]) {
        *round.figures.get_mut(&Cpu).unwrap() *= 1.06;
        *round.figures.get_mut(&CpuUser).unwrap() *= 1.12;
        round
            .system_calls
            .insert("madvise".into(), calls_of(0.2, noise));
    }
    let profile = after.on_cpu.as_mut().unwrap();
    for (stack, samples) in profile
        .stacks
        .iter_mut()
        .zip([205.0, 190.0, 505.0, 300.0, 44.0])
    {
        stack.weight = samples;
    }
    count_samples(profile);
    [(before, "1111111"), (after, "2222222")].map(|(one, revision)| Explanation {
        server: format!("{}@{revision}", one.server),
        ..one
    })
}

/// The costs of the nth server, with the noise of one of them.
fn explanation(unit: CostUnit, nth: usize, noise: usize) -> Explanation {
    let (server, tracing_cost) = SERVERS[nth];
    let of_events = usize::from(unit == CostUnit::Event);
    let figures = rows::<7>(FIGURES).into_iter().map(|row| {
        let figure = CostFigure::from_name(row[0]).expect(row[0]);
        (figure, number(row[1 + 3 * of_events + nth]))
    });
    let figures: Vec<(CostFigure, f64)> = figures.collect();
    let calls = CALLS[of_events][nth]
        .split(", ")
        .map(|call| call.split_once(' ').unwrap());
    let calls: Vec<(&str, f64)> = calls.map(|(name, times)| (name, number(times))).collect();
    let round = |noise: f64| CostRound {
        figures: figures
            .iter()
            .map(|(figure, value)| {
                let noise = if *figure == Threads { 1.0 } else { noise };
                (*figure, value * noise)
            })
            .collect(),
        system_calls: calls
            .iter()
            .map(|(name, times)| ((*name).to_owned(), calls_of(*times, noise)))
            .collect(),
        tracing_cost: Some(tracing_cost * noise),
    };
    Explanation {
        server: server.into(),
        workload: ["hello", "sse"][of_events].into(),
        load: LoadSpec {
            connections: 64,
            duration: Some(Seconds::from_secs(3)),
            warmup: Seconds::from_secs(1),
            events: unit == CostUnit::Event,
            ..LoadSpec::default()
        },
        unit,
        rounds: NOISE[noise].map(round).into(),
        on_cpu: Some(profile(server, STACKS[nth])),
        off_cpu: None,
        unavailable: vec![unavailable(
            "instructions and cycles",
            "this machine shows no hardware counters",
        )],
    }
}

fn number(text: &str) -> f64 {
    text.parse().expect("a number")
}

/// The number of calls differs less from round to round than the other figures.
fn calls_of(times: f64, noise: f64) -> f64 {
    times * (1.0 + (noise - 1.0) / 10.0)
}

fn unavailable(what: &str, why: &str) -> Unavailable {
    Unavailable {
        what: what.into(),
        why: why.into(),
        remedy: None,
    }
}

fn profile(server: &str, stacks: &str) -> Profile {
    let mut frames: Vec<Frame> = Vec::new();
    let mut index = |function: &str| {
        let (name, module) = function.split_once('@').unwrap_or((function, server));
        let frame = Frame {
            name: name.into(),
            module: module.into(),
            kind: match module {
                "[kernel]" => FrameKind::Kernel,
                "[jit]" => FrameKind::Runtime,
                _ => FrameKind::Native,
            },
        };
        let known = frames.iter().position(|one| *one == frame);
        known.unwrap_or_else(|| {
            frames.push(frame);
            frames.len() - 1
        }) as u32
    };
    let stacks = rows(stacks).into_iter().map(|[samples, functions]| Stack {
        frames: functions.split(';').map(&mut index).collect(),
        weight: number(samples),
    });
    let stacks = stacks.collect();
    let mut profile = Profile {
        frequency_hz: 199.0,
        samples: 0,
        lost: 0,
        seconds: 0.0,
        units: 300_000.0,
        cost: Some(0.018),
        frames,
        stacks,
        left_out: 0.0,
        unnamed: Vec::new(),
    };
    count_samples(&mut profile);
    if server == "python-x" {
        profile.lost = 3;
        profile.unnamed.push(Unnamed {
            module: "libpython3.12.so".into(),
            share: 0.23,
            why: "it is stripped; install python3-dbg".into(),
        });
    }
    profile
}

fn count_samples(profile: &mut Profile) {
    let samples: f64 = profile.stacks.iter().map(|stack| stack.weight).sum();
    (profile.samples, profile.seconds) = (samples as u64, samples / profile.frequency_hz);
}
