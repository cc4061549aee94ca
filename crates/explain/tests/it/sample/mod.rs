//! Made-up explanations of three servers, shaped like real ones: a plain workload by request and an event stream by event.
#![allow(dead_code)] // Each user takes a part of it.

use std::collections::BTreeMap;

use prony_explain::Header;
use prony_model::CostFigure::*;
use prony_model::*;

/// How each of five rounds differs from the middle one, for each server in turn.
const NOISE: [[f64; 5]; 3] = [
    [1.0, 1.012, 0.991, 1.006, 0.984],
    [0.995, 1.009, 1.0, 0.989, 1.014],
    [1.021, 0.981, 1.0, 1.007, 0.993],
];

/// What a server does for each request or event.
struct Costs {
    server: &'static str,
    figures: Vec<(CostFigure, f64)>,
    calls: Vec<(&'static str, f64)>,
    /// Functions joined by `;`, each with its file after `@`, and samples.
    stacks: &'static [(&'static str, f64)],
    tracing_cost: f64,
}

pub fn header() -> Header {
    Header::from(&sample::run("20261126-093000-explain"))
}

/// Three servers with a plain workload and an event stream.
pub fn explanations() -> Vec<Explanation> {
    let hello = [go(), rust(), python()];
    let sse = [go_sse(), rust_sse(), python_sse()];
    let hello = hello.iter().zip(NOISE);
    let sse = sse.iter().zip(NOISE);
    hello
        .map(|(costs, noise)| explanation("hello", CostUnit::Request, costs, &noise))
        .chain(sse.map(|(costs, noise)| explanation("sse", CostUnit::Event, costs, &noise)))
        .collect()
}

/// Twelve servers with the plain workload.
pub fn many() -> Vec<Explanation> {
    let of = |i: usize| {
        let mut one = explanation("hello", CostUnit::Request, &go(), &NOISE[i % 3]);
        one.server = format!("server-{i:02}");
        for round in &mut one.rounds {
            round
                .figures
                .values_mut()
                .for_each(|value| *value *= 1.0 + i as f64 / 10.0);
        }
        one
    };
    (0..12).map(of).collect()
}

/// A server that could hardly be measured, after a single round, with names that no table should trust.
pub fn least() -> Vec<Explanation> {
    let mut one = explanation("hello", CostUnit::Request, &go(), &NOISE[0]);
    one.server = "<b>|`x`\u{1b}[31m".into();
    one.rounds.truncate(1);
    one.rounds[0].system_calls.clear();
    one.rounds[0].tracing_cost = None;
    one.rounds[0]
        .figures
        .retain(|figure, _| matches!(figure, Cpu | HeapGrowth));
    (one.on_cpu, one.off_cpu) = (None, None);
    one.unavailable = vec![
        Unavailable {
            what: "system calls, by name and in all".into(),
            why: "perf_event_paranoid is 3, so this user may not trace".into(),
            remedy: Some("sudo sysctl kernel.perf_event_paranoid=1".into()),
        },
        Unavailable {
            what: "functions".into(),
            why: "<i>nothing</i> was sampled".into(),
            remedy: None,
        },
    ];
    vec![one]
}

/// A server before and after a change of one of its functions.
pub fn revisions() -> [Explanation; 2] {
    let before = explanation("hello", CostUnit::Request, &rust(), &NOISE[0]);
    let mut changed = rust();
    changed.figures[0].1 *= 1.06;
    changed.figures[1].1 *= 1.12;
    changed.calls.push(("madvise", 0.2));
    changed.stacks = &[
        (
            "main@rust-hyper;hyper::proto::h1::dispatch::poll@rust-hyper;handler@rust-hyper",
            205.0,
        ),
        (
            "main@rust-hyper;hyper::proto::h1::dispatch::poll@rust-hyper",
            190.0,
        ),
        (
            "main@rust-hyper;writev@libc.so.6;tcp_sendmsg@[kernel]",
            505.0,
        ),
        (
            "main@rust-hyper;epoll_wait@libc.so.6;do_epoll_wait@[kernel]",
            300.0,
        ),
        ("main@rust-hyper;malloc@libc.so.6", 44.0),
    ];
    let mut after = explanation("hello", CostUnit::Request, &changed, &NOISE[1]);
    after.server = "rust-hyper@2222222".into();
    let mut before = before;
    before.server = "rust-hyper@1111111".into();
    [before, after]
}

fn explanation(workload: &str, unit: CostUnit, costs: &Costs, noise: &[f64]) -> Explanation {
    let round = |noise: &f64| CostRound {
        figures: costs
            .figures
            .iter()
            .map(|(figure, value)| {
                (
                    *figure,
                    if *figure == Threads {
                        *value
                    } else {
                        value * noise
                    },
                )
            })
            .collect(),
        system_calls: costs
            .calls
            .iter()
            .map(|(name, times)| ((*name).to_owned(), times * (1.0 + (noise - 1.0) / 10.0)))
            .collect(),
        tracing_cost: Some(costs.tracing_cost * noise),
    };
    Explanation {
        server: costs.server.into(),
        workload: workload.into(),
        load: LoadSpec {
            connections: 64,
            duration_s: Some(3.0),
            warmup_s: 1.0,
            events: unit == CostUnit::Event,
            ..LoadSpec::default()
        },
        unit,
        rounds: noise.iter().map(round).collect(),
        on_cpu: Some(profile(costs)),
        off_cpu: None,
        unavailable: vec![Unavailable {
            what: "instructions and cycles".into(),
            why: "this machine shows no hardware counters".into(),
            remedy: None,
        }],
    }
}

fn profile(costs: &Costs) -> Profile {
    let mut frames: Vec<Frame> = Vec::new();
    let mut places: BTreeMap<&str, u32> = BTreeMap::new();
    let mut index = |function: &'static str| {
        *places.entry(function).or_insert_with(|| {
            let (name, module) = function.split_once('@').unwrap();
            frames.push(Frame {
                name: name.into(),
                module: module.into(),
                kind: match module {
                    "[kernel]" => FrameKind::Kernel,
                    "[jit]" => FrameKind::Runtime,
                    _ => FrameKind::Native,
                },
            });
            frames.len() as u32 - 1
        })
    };
    let stacks: Vec<Stack> = costs
        .stacks
        .iter()
        .map(|(stack, samples)| Stack {
            frames: stack.split(';').map(&mut index).collect(),
            weight: *samples,
        })
        .collect();
    let samples: f64 = stacks.iter().map(|stack| stack.weight).sum();
    let is_python = costs.server == "python-x";
    Profile {
        frequency_hz: 199.0,
        samples: samples as u64,
        lost: if is_python { 3 } else { 0 },
        seconds: samples / 199.0,
        units: 300_000.0,
        cost: Some(0.018),
        frames,
        stacks,
        left_out: 0.0,
        unnamed: match is_python {
            true => vec![Unnamed {
                module: "libpython3.12.so".into(),
                share: 0.23,
                why: "it is stripped; install python3-dbg".into(),
            }],
            false => Vec::new(),
        },
    }
}

fn go() -> Costs {
    Costs {
        server: "go-nethttp",
        figures: vec![
            (Cpu, 21.3e-6),
            (CpuUser, 8.1e-6),
            (CpuKernel, 13.2e-6),
            (SystemCalls, 3.43),
            (Writes, 1.0),
            (VoluntarySwitches, 0.41),
            (InvoluntarySwitches, 0.0031),
            (WakeUps, 0.44),
            (MinorFaults, 0.0102),
            (MajorFaults, 0.0),
            (Bytes, 129.0),
            (Segments, 1.0),
            (HeapGrowth, 0.9),
            (Threads, 5.0),
        ],
        calls: vec![
            ("read", 1.0),
            ("write", 1.0),
            ("epoll_pwait", 0.87),
            ("futex", 0.5),
            ("nanosleep", 0.04),
            ("getpid", 0.01),
            ("tgkill", 0.01),
        ],
        stacks: &[
            (
                "net/http.(*conn).serve@go-nethttp;main.hello@go-nethttp",
                120.0,
            ),
            (
                "net/http.(*conn).serve@go-nethttp;net/http.(*response).finishRequest@go-nethttp",
                160.0,
            ),
            (
                "net/http.(*conn).serve@go-nethttp;internal/poll.(*FD).Write@go-nethttp;tcp_sendmsg@[kernel]",
                410.0,
            ),
            (
                "net/http.(*conn).serve@go-nethttp;internal/poll.(*FD).Read@go-nethttp;tcp_recvmsg@[kernel]",
                190.0,
            ),
            (
                "runtime.mcall@go-nethttp;runtime.findRunnable@go-nethttp;do_epoll_wait@[kernel]",
                230.0,
            ),
            (
                "runtime.mcall@go-nethttp;runtime.findRunnable@go-nethttp",
                95.0,
            ),
            (
                "runtime.systemstack@go-nethttp;runtime.gcBgMarkWorker@go-nethttp;runtime.scanobject@go-nethttp",
                130.0,
            ),
            ("runtime.mallocgc@go-nethttp", 60.0),
        ],
        tracing_cost: 0.11,
    }
}

fn rust() -> Costs {
    Costs {
        server: "rust-hyper",
        figures: vec![
            (Cpu, 9.8e-6),
            (CpuUser, 2.3e-6),
            (CpuKernel, 7.5e-6),
            (SystemCalls, 2.04),
            (Writes, 1.0),
            (VoluntarySwitches, 0.11),
            (InvoluntarySwitches, 0.0024),
            (WakeUps, 0.12),
            (MinorFaults, 0.0004),
            (MajorFaults, 0.0),
            (Bytes, 129.0),
            (Segments, 1.0),
            (HeapGrowth, 0.0),
            (Threads, 2.0),
        ],
        calls: vec![("recvfrom", 1.0), ("writev", 1.0), ("epoll_wait", 0.04)],
        stacks: &[
            (
                "main@rust-hyper;hyper::proto::h1::dispatch::poll@rust-hyper;handler@rust-hyper",
                90.0,
            ),
            (
                "main@rust-hyper;hyper::proto::h1::dispatch::poll@rust-hyper",
                200.0,
            ),
            (
                "main@rust-hyper;writev@libc.so.6;tcp_sendmsg@[kernel]",
                500.0,
            ),
            (
                "main@rust-hyper;epoll_wait@libc.so.6;do_epoll_wait@[kernel]",
                310.0,
            ),
            ("main@rust-hyper;malloc@libc.so.6", 40.0),
        ],
        tracing_cost: 0.079,
    }
}

fn python() -> Costs {
    Costs {
        server: "python-x",
        figures: vec![
            (Cpu, 184.0e-6),
            (CpuUser, 151.0e-6),
            (CpuKernel, 33.0e-6),
            (SystemCalls, 4.1),
            (Writes, 1.0),
            (VoluntarySwitches, 2.1),
            (InvoluntarySwitches, 0.013),
            (WakeUps, 2.2),
            (MinorFaults, 0.83),
            (MajorFaults, 0.0),
            (Bytes, 158.0),
            (Segments, 1.0),
            (HeapGrowth, 212.0),
            (Threads, 9.0),
        ],
        calls: vec![
            ("recv", 1.0),
            ("sendto", 1.0),
            ("futex", 1.1),
            ("epoll_wait", 1.0),
        ],
        stacks: &[
            (
                "main@python3;_PyEval_EvalFrameDefault@libpython3.12.so;app.handle@[jit]",
                520.0,
            ),
            (
                "main@python3;_PyEval_EvalFrameDefault@libpython3.12.so",
                610.0,
            ),
            (
                "main@python3;libpython3.12.so [unknown]@libpython3.12.so",
                420.0,
            ),
            ("main@python3;sendto@libc.so.6;tcp_sendmsg@[kernel]", 300.0),
        ],
        tracing_cost: 0.021,
    }
}

fn with(mut costs: Costs, changes: &[(CostFigure, f64)], calls: &[(&'static str, f64)]) -> Costs {
    for (figure, value) in changes {
        let known = costs.figures.iter_mut().find(|(one, _)| one == figure);
        known.unwrap().1 = *value;
    }
    costs.calls = calls.to_vec();
    costs
}

fn go_sse() -> Costs {
    let figures = [
        (Cpu, 11.9e-6),
        (CpuUser, 4.0e-6),
        (CpuKernel, 7.9e-6),
        (SystemCalls, 1.3),
        (Bytes, 88.0),
    ];
    with(
        go(),
        &figures,
        &[("write", 1.0), ("futex", 0.2), ("epoll_pwait", 0.1)],
    )
}

fn rust_sse() -> Costs {
    let figures = [
        (Cpu, 2.1e-6),
        (CpuUser, 0.7e-6),
        (CpuKernel, 1.4e-6),
        (SystemCalls, 0.26),
        (Writes, 0.21),
        (Segments, 0.21),
        (Bytes, 88.0),
    ];
    with(rust(), &figures, &[("writev", 0.21), ("epoll_wait", 0.05)])
}

fn python_sse() -> Costs {
    let figures = [
        (Cpu, 260.0e-6),
        (CpuUser, 170.0e-6),
        (CpuKernel, 90.0e-6),
        (SystemCalls, 21.9),
        (Writes, 21.0),
        (Segments, 21.0),
        (Bytes, 1130.0),
    ];
    with(python(), &figures, &[("sendto", 21.0), ("futex", 0.9)])
}
