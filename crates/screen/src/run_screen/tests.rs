//! Golden tests of the screen at several moments and sizes, and properties over all sizes.

use crossterm::event::KeyCode;
use prony_testkit::{contains, lacks};
use proptest::prelude::*;

use super::*;
use crate::tests::{
    Moment, assert_differ_in_colours, assert_help_and_end, at_each_moment, drawn, key, seconds,
    text,
};

const SERVERS: [&str; 5] = [
    "ceiling",
    "go-nethttp",
    "java-helidon-virtual",
    "python-httpserver",
    "zig-std",
];

fn columns() -> Vec<Column> {
    let columns = [
        ("hello", FigureUnit::RequestsPerSecond),
        ("sse", FigureUnit::RequestsPerSecond),
        ("paced-orders", FigureUnit::MedianLatency),
    ];
    let column = |(workload, unit): (&str, _)| Column {
        workload: workload.into(),
        load: "64 connections".into(),
        unit,
        rounds: Some(6),
    };
    columns.map(column).into()
}

fn at(server: usize, column: usize) -> CellId {
    CellId { server, column }
}

fn interval(median: f64, half: f64, rounds: usize) -> Interval {
    Interval {
        median,
        low: median * (1.0 - half),
        high: median * (1.0 + half),
        half_width: (rounds > 1).then_some(half),
        rounds,
    }
}

fn note(kind: RunNoteKind, text: &str) -> RunUpdate {
    let text = text.to_owned();
    RunUpdate::Note(RunNote { kind, text })
}

fn new(servers: &[&str]) -> RunScreen {
    let ids = servers.iter().map(|id| (*id).to_owned());
    let plan = "5 servers, 3 workloads, 6 rounds";
    RunScreen::new(RunModel::new("Tour (tour)".into(), plan.into(), ids), true)
}

fn preparing() -> RunScreen {
    let mut screen = new(&SERVERS);
    let built = "built    go-nethttp 1.26.1 in 4.2 s";
    let missing = "zig >= 0.15 is missing; to install it: apt-get install zig";
    let readiness = [
        (1, Readiness::Verified),
        (5, Readiness::Prepared(built.into())),
        (3, Readiness::Preparing("installing its toolchain".into())),
        (4, Readiness::Failed("server.py: no such file\nmore".into())),
        (4, Readiness::Skipped(missing.into())),
    ];
    for (id, (since, readiness)) in SERVERS.into_iter().zip(readiness) {
        let id = id.to_owned();
        screen.update(RunUpdate::Server { id, readiness }, seconds(since));
    }
    let failed = "FAILED   python-httpserver: server.py: no such file\nmore";
    screen.update(note(RunNoteKind::Failed, failed), seconds(4));
    screen
}

fn progress(done: u64, share: f64, left: Left, round: &str) -> RunUpdate {
    RunUpdate::Progress {
        done,
        expected: 54,
        share,
        left,
        round: round.into(),
        precision: String::new(),
        noisy: u64::from(done > 20) * 3,
        re_run: u64::from(done > 20) * 2,
    }
}

/// The first trial of three servers in six rounds; the last server does not serve `sse`.
fn first_round() -> RunScreen {
    let mut screen = preparing();
    screen.update(RunUpdate::Columns(columns()), seconds(20));
    let servers = [0, 1, 4];
    let cells = servers
        .into_iter()
        .flat_map(|server| (0..3).map(move |column| at(server, column)));
    let cells = cells.filter(|cell| *cell != at(4, 1));
    let planned = cells.flat_map(|cell| (1..=6).map(move |round| (cell, round)));
    screen.update(RunUpdate::Planned(planned.collect()), seconds(20));
    screen.update(RunUpdate::Began(at(1, 0), 1), seconds(20));
    let warming = Now::WarmingUp {
        so_far: seconds(3),
        limit: seconds(20),
    };
    screen.update(RunUpdate::Now(warming), seconds(23));
    let left = Left::About(seconds(130));
    screen.update(progress(0, 0.02, left, "round 1 of 6"), seconds(23));
    screen
}

fn over(cell: CellId, round: u32, state: RoundState, figure: Interval) -> RunUpdate {
    RunUpdate::Over {
        cell,
        round,
        state,
        figure: (state != RoundState::Failed).then_some(figure),
    }
}

fn mid_run() -> RunScreen {
    let mut screen = first_round();
    let figures = [
        (0, 0, 150_000.0),
        (0, 1, 98_000.0),
        (0, 2, 210_000.0),
        (1, 0, 61_000.0),
        (1, 1, 45_300.0),
        (1, 2, 380_000.0),
        (4, 0, 1_234.0),
        (4, 2, 900_000.0),
    ];
    for round in 1..=3 {
        for (server, column, figure) in figures {
            let state = match (server, column, round) {
                (4, 2, _) => RoundState::Failed,
                (0, 1, 2) => RoundState::Noisy,
                (1, 1, 3) => RoundState::ReRun,
                _ => RoundState::Done,
            };
            let half = 0.3 / f64::from(round * round);
            let figure = interval(figure, half, round as usize);
            let update = over(at(server, column), round, state, figure);
            screen.update(update, seconds(30 * u64::from(round)));
        }
    }
    for (kind, text) in [
        (
            RunNoteKind::Noisy,
            "noisy    go-nethttp × sse, round 3: other programs used 23 % of the CPU time; Prony re-runs it at the end of the round",
        ),
        (
            RunNoteKind::WarmUp,
            "warm     zig-std × hello, round 1: took 8.2 s under load to warm up; Prony keeps it running",
        ),
        (
            RunNoteKind::Failed,
            "FAILED   zig-std × paced-orders, round 3 (server-exited) again",
        ),
    ] {
        screen.update(note(kind, text), seconds(95));
    }
    screen.update(RunUpdate::Began(at(1, 0), 4), seconds(100));
    let loading = Now::Loading {
        is_warm_up: false,
        rate_per_s: Some(61_200.0),
        p99_ns: 3_400_000,
        errors: 2,
    };
    screen.update(RunUpdate::Now(loading), seconds(101));
    let left = Left::About(seconds(75));
    screen.update(progress(25, 0.55, left, "round 4 of 6"), seconds(101));
    screen
}

/// Rounds as needed, at the end.
fn at_the_end() -> RunScreen {
    let mut screen = mid_run();
    for (server, column) in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (4, 0)] {
        let figure = interval(50_000.0 + 9_000.0 * server as f64, 0.02, 12);
        for round in 1..=12 {
            let update = over(at(server, column), round, RoundState::Done, figure);
            screen.update(update, seconds(300));
        }
    }
    let end = RunUpdate::Progress {
        done: 96,
        expected: 96,
        share: 1.0,
        left: Left::Between(seconds(0), seconds(250)),
        round: "round 12".into(),
        precision: "±2.8 % so far, target ±3 %".into(),
        noisy: 4,
        re_run: 3,
    };
    screen.update(end, seconds(300));
    screen
}

const MOMENTS: [Moment<RunScreen>; 4] = [
    ("preparing", preparing, 8),
    ("first-round", first_round, 24),
    ("mid-run", mid_run, 102),
    ("end", at_the_end, 301),
];

#[test]
fn the_screen_at_each_moment() {
    at_each_moment(MOMENTS, |name, text| insta::assert_snapshot!(name, text));
}

#[test]
fn keys_choose_pause_and_end() {
    let mut screen = mid_run();
    let screen = &mut screen;
    let shown = |screen: &mut RunScreen, at| text(screen, (80, 24), at);
    contains(&shown(screen, 102), "hello, 64 connections: req/s");
    key(screen, KeyCode::Tab, 102);
    key(screen, KeyCode::Tab, 102);
    let latency = shown(screen, 102);
    contains(&latency, "paced-orders, 64 connections");
    contains(&latency, "380 µs");
    key(screen, KeyCode::Char('f'), 102);
    contains(&shown(screen, 102), "hello, 64 connections");

    key(screen, KeyCode::Char('p'), 102);
    screen.update(note(RunNoteKind::Plain, "something new"), seconds(103));
    let paused = shown(screen, 110);
    contains(&paused, "VIEW PAUSED");
    contains(&paused, "elapsed 1 min 42 s");
    lacks(&paused, "something new");
    key(screen, KeyCode::Char(' '), 110);
    let on = shown(screen, 110);
    contains(&on, "something new");
    contains(&on, "elapsed 1 min 50 s");
    assert_help_and_end(screen, 110);
}

#[test]
fn servers_without_room_are_reached_by_scrolling() {
    let ids: Vec<String> = (1..=30).map(|at| format!("server-{at}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut screen = new(&ids);
    screen.update(RunUpdate::Columns(columns()), seconds(1));
    let screen = &mut screen;
    lacks(&text(screen, (80, 24), 1), "server-30");
    for _ in 0..5 {
        key(screen, KeyCode::PageDown, 1);
        text(screen, (80, 24), 1);
    }
    contains(&text(screen, (80, 24), 1), "server-30");
    key(screen, KeyCode::Up, 1);
    lacks(&text(screen, (80, 24), 1), "server-30");
}

#[test]
fn without_colours_the_text_is_the_same() {
    let mut plain = mid_run();
    plain.styles = Styles::new(false);
    assert_differ_in_colours(&mut mid_run(), &mut plain, 102);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_size_can_be_drawn(
        moment in 0usize..4, width in 1u16..260, height in 1u16..90, keys in prop::collection::vec(0usize..8, 0..12),
    ) {
        let (_, screen, at) = MOMENTS[moment];
        let mut screen = screen();
        let codes = [
            KeyCode::Tab, KeyCode::BackTab, KeyCode::Up, KeyCode::Down, KeyCode::PageDown,
            KeyCode::Char('?'), KeyCode::Char('p'), KeyCode::Char('f'),
        ];
        for code in keys {
            key(&mut screen, codes[code], 102);
        }
        for size in [(width, height), (1, 1), (height, width), (80, 24)] {
            drawn(&mut screen, size, at);
        }
    }
}
