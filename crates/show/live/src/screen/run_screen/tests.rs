//! Golden tests of the screen at several moments and sizes, and properties over all sizes.

use crossterm::event::KeyCode;
use prony_stats::Estimate;
use prony_testkit::{contains, lacks};

use super::*;
use crate::screen::tests::{
    Moment, assert_differ_in_colours, assert_drawn_in_any_size, assert_help_and_end,
    at_each_moment, key, seconds, text,
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
    };
    columns.map(column).into()
}

fn at(server: usize, column: usize) -> CellId {
    CellId { server, column }
}

fn estimate(median: f64, half: f64, rounds: usize) -> Estimate {
    Estimate {
        median,
        low: median * (1.0 - half),
        high: median * (1.0 + half),
        coverage: 0.95,
        n: rounds,
    }
}

fn new(servers: &[&str]) -> RunModel {
    let ids = servers.iter().map(|id| (*id).to_owned());
    let plan = "5 servers, 3 workloads, 6 rounds";
    RunModel::new("Tour (tour)".into(), plan.into(), columns(), ids)
}

fn shown(model: RunModel) -> RunScreen {
    RunScreen::new(model, true)
}

fn preparing() -> RunModel {
    let mut model = new(&SERVERS);
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
        model.server(id, readiness, seconds(since));
    }
    let failed = "FAILED   python-httpserver: server.py: no such file\nmore";
    model.note(RunNoteKind::Failed, failed, seconds(4));
    model
}

/// The first trial of three servers in six rounds; the last server does not serve `sse`.
fn first_round() -> RunModel {
    let mut model = preparing();
    model.is_planned = true;
    let servers = [0, 1, 4];
    let cells = servers
        .into_iter()
        .flat_map(|server| (0..3).map(move |column| at(server, column)));
    let cells = cells.filter(|cell| *cell != at(4, 1));
    cells.for_each(|cell| (1..=6).for_each(|round| model.expect(cell, round)));
    // Six may be re-runs.
    model.attempts.expected = 54;
    model.begin(at(1, 0), 1);
    model.now = Some(Now::WarmingUp {
        so_far: seconds(3),
        limit: seconds(20),
    });
    model.share = 0.02;
    model.left = Some((Left::about(seconds(130)), seconds(23)));
    model.round = "round 1 of 6".into();
    model
}

fn mid_run() -> RunModel {
    let mut model = first_round();
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
            let figure = estimate(figure, half, round as usize);
            let figure = (state != RoundState::Failed).then_some(figure);
            model.end(at(server, column), round, state, figure);
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
        model.note(kind, text, seconds(95));
    }
    model.begin(at(1, 0), 4);
    model.now = Some(Now::Loading {
        is_warm_up: false,
        rate_per_s: Some(61_200.0),
        p99_ns: 3_400_000,
        errors: 2,
    });
    model.attempts = counts(25, 54, 3);
    model.share = 0.55;
    model.left = Some((Left::about(seconds(75)), seconds(101)));
    model.round = "round 4 of 6".into();
    model
}

/// Rounds as needed, at the end.
fn at_the_end() -> RunModel {
    let mut model = mid_run();
    for (server, column) in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (4, 0)] {
        let figure = estimate(50_000.0 + 9_000.0 * server as f64, 0.02, 12);
        for round in 1..=12 {
            model.end(at(server, column), round, RoundState::Done, Some(figure));
        }
    }
    model.attempts = counts(96, 96, 4);
    model.share = 1.0;
    model.left = Some((
        Left {
            least: seconds(0),
            most: seconds(250),
        },
        seconds(300),
    ));
    model.round = "round 12".into();
    model.precision = "±2.8 % so far, target ±3 %".into();
    model
}

fn counts(done: u64, expected: u64, noisy: u64) -> AttemptCounts {
    AttemptCounts {
        done,
        expected,
        noisy,
        re_run: noisy - 1,
    }
}

const MOMENTS: [Moment<RunPanels>; 4] = [
    ("preparing", || shown(preparing()), 8),
    ("first-round", || shown(first_round()), 24),
    ("mid-run", || shown(mid_run()), 102),
    ("end", || shown(at_the_end()), 301),
];

#[test]
fn the_screen_at_each_moment() {
    at_each_moment(MOMENTS, |name, text| insta::assert_snapshot!(name, text));
}

#[test]
fn the_line_says_what_runs() {
    let line = |model: RunModel, at| model.line(seconds(at)).join("  ");
    let steps = "java-helidon-virtual: installing its toolchain";
    assert_eq!(line(preparing(), 8), steps);
    assert_eq!(
        line(first_round(), 24),
        "0/54  2 min 09 s left  warming up go-nethttp × hello: 3 of at most 20 s  round 1 of 6  "
    );
    assert_eq!(
        line(mid_run(), 102),
        "25/54  1 min 14 s left  go-nethttp × hello  round 4 of 6  "
    );
    let mut end = at_the_end();
    end.end(at(1, 0), 4, RoundState::Done, None);
    end.attempts.done = 96;
    assert_eq!(
        line(end.clone(), 301),
        "96/96  up to 4 min 09 s left    round 12  ±2.8 % so far, target ±3 %"
    );
    end.now = Some(Now::Explaining {
        what: "explaining go-nethttp × hello: round 2 of 5".into(),
        done: 3,
        steps: 12,
    });
    end.left = Some((Left::about(seconds(20)), seconds(301)));
    let explained = "explaining go-nethttp × hello: round 2 of 5";
    assert_eq!(
        line(end.clone(), 301),
        format!("{explained}  3 of 12 done  20 s left")
    );
    let screen = text(&mut shown(end), (80, 24), 301);
    contains(&screen, &format!("▶ {explained}"));
    contains(&screen, "3 of 12 done");
}

#[test]
fn keys_choose_pause_and_end() {
    let screen = &mut shown(mid_run());
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
    let mut model = mid_run();
    model.note(RunNoteKind::Plain, "something new", seconds(103));
    screen.update(model);
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
    let mut model = new(&ids);
    model.is_planned = true;
    let screen = &mut shown(model);
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
    let mut plain = RunScreen::new(mid_run(), false);
    assert_differ_in_colours(&mut shown(mid_run()), &mut plain, 102);
}

#[test]
fn any_size_can_be_drawn() {
    use KeyCode::{BackTab, Char, Down, PageDown, Tab, Up};
    let codes = [
        Tab,
        BackTab,
        Up,
        Down,
        PageDown,
        Char('?'),
        Char('p'),
        Char('f'),
    ];
    assert_drawn_in_any_size(MOMENTS, &codes);
}
