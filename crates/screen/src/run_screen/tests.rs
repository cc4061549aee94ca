//! Golden tests of the screen at several moments and sizes, and properties over all sizes.

use std::time::Duration;

use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Color;

use super::*;

const SERVERS: [&str; 5] = [
    "ceiling",
    "go-nethttp",
    "java-helidon-virtual",
    "python-httpserver",
    "zig-std",
];

fn column(workload: &str, unit: FigureUnit) -> Column {
    Column {
        workload: workload.into(),
        load: "64 connections".into(),
        unit,
        rounds: Some(6),
    }
}

fn columns() -> Vec<Column> {
    vec![
        column("hello", FigureUnit::RequestsPerSecond),
        column("sse", FigureUnit::RequestsPerSecond),
        column("paced-orders", FigureUnit::MedianLatency),
    ]
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
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
    for (id, readiness, since) in [
        ("ceiling", Readiness::Verified, 1),
        (
            "go-nethttp",
            Readiness::Prepared("built    go-nethttp 1.26.1 in 4.2 s".into()),
            5,
        ),
        (
            "java-helidon-virtual",
            Readiness::Preparing("installing its toolchain".into()),
            3,
        ),
        (
            "python-httpserver",
            Readiness::Failed("server.py: no such file\nmore".into()),
            4,
        ),
        (
            "zig-std",
            Readiness::Skipped("zig >= 0.15 is missing; to install it: apt-get install zig".into()),
            4,
        ),
    ] {
        let id = id.to_owned();
        screen.update(RunUpdate::Server { id, readiness }, seconds(since));
    }
    screen.update(
        note(
            RunNoteKind::Failed,
            "FAILED   python-httpserver: server.py: no such file\nmore",
        ),
        seconds(4),
    );
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

fn mid_run() -> RunScreen {
    let mut screen = first_round();
    for round in 1..=3 {
        for (server, column, figure) in [
            (0, 0, 150_000.0),
            (0, 1, 98_000.0),
            (0, 2, 210_000.0),
            (1, 0, 61_000.0),
            (1, 1, 45_300.0),
            (1, 2, 380_000.0),
            (4, 0, 1_234.0),
            (4, 2, 900_000.0),
        ] {
            let state = match (server, column, round) {
                (4, 2, _) => RoundState::Failed,
                (0, 1, 2) => RoundState::Noisy,
                (1, 1, 3) => RoundState::ReRun,
                _ => RoundState::Done,
            };
            let half = 0.3 / f64::from(round * round);
            let figure = interval(figure, half, round as usize);
            let update = RunUpdate::Over {
                cell: at(server, column),
                round,
                state,
                figure: (state != RoundState::Failed).then_some(figure),
            };
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
    for cell in [
        at(0, 0),
        at(0, 1),
        at(0, 2),
        at(1, 0),
        at(1, 1),
        at(1, 2),
        at(4, 0),
    ] {
        for round in 1..=12 {
            let update = RunUpdate::Over {
                cell,
                round,
                state: RoundState::Done,
                figure: Some(interval(50_000.0 + 9_000.0 * cell.server as f64, 0.02, 12)),
            };
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

fn drawn(screen: &mut RunScreen, width: u16, height: u16, at: Duration) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| screen.draw(frame, at)).unwrap();
    terminal
}

fn text(screen: &mut RunScreen, width: u16, height: u16, at: Duration) -> String {
    let terminal = drawn(screen, width, height, at);
    let buffer = terminal.backend().buffer();
    let lines = buffer.content().chunks(usize::from(width.max(1)));
    let line = |cells: &[ratatui::buffer::Cell]| {
        let line: String = cells.iter().map(|cell| cell.symbol()).collect();
        line.trim_end().to_owned()
    };
    lines.map(line).collect::<Vec<_>>().join("\n")
}

type Moment = (&'static str, fn() -> RunScreen, u64);

const MOMENTS: [Moment; 4] = [
    ("preparing", preparing, 8),
    ("first-round", first_round, 24),
    ("mid-run", mid_run, 102),
    ("end", at_the_end, 301),
];

#[test]
fn the_screen_at_each_moment() {
    for (name, screen, at) in MOMENTS {
        for (width, height) in [(80, 24), (120, 40), (40, 10)] {
            let text = text(&mut screen(), width, height, seconds(at));
            insta::assert_snapshot!(format!("{name}-{width}x{height}"), text);
        }
    }
}

fn key(screen: &mut RunScreen, code: KeyCode) -> Action {
    screen.key(KeyEvent::new(code, KeyModifiers::NONE), seconds(102))
}

#[test]
fn keys_choose_pause_and_end() {
    let mut screen = mid_run();
    let shown = |screen: &mut RunScreen, at| text(screen, 80, 24, seconds(at));
    assert!(shown(&mut screen, 102).contains("hello, 64 connections: req/s"));
    key(&mut screen, KeyCode::Tab);
    key(&mut screen, KeyCode::Tab);
    let latency = shown(&mut screen, 102);
    assert!(
        latency.contains("paced-orders, 64 connections"),
        "{latency}"
    );
    assert!(latency.contains("380 µs"), "{latency}");
    key(&mut screen, KeyCode::Char('f'));
    assert!(shown(&mut screen, 102).contains("hello, 64 connections"));

    key(&mut screen, KeyCode::Char('p'));
    screen.update(note(RunNoteKind::Plain, "something new"), seconds(103));
    let paused = shown(&mut screen, 110);
    assert!(paused.contains("VIEW PAUSED") && paused.contains("elapsed 1 min 42 s"));
    assert!(!paused.contains("something new"), "{paused}");
    key(&mut screen, KeyCode::Char(' '));
    let on = shown(&mut screen, 110);
    assert!(
        on.contains("something new") && on.contains("elapsed 1 min 50 s"),
        "{on}"
    );

    key(&mut screen, KeyCode::Char('?'));
    assert!(shown(&mut screen, 110).contains("pause the view"));
    assert_eq!(key(&mut screen, KeyCode::Char('x')), Action::None);
    assert_eq!(key(&mut screen, KeyCode::Char('q')), Action::End);
    let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(screen.key(ctrl_c, seconds(1)), Action::End);
}

#[test]
fn servers_without_room_are_reached_by_scrolling() {
    let ids: Vec<String> = (1..=30).map(|at| format!("server-{at}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut screen = new(&ids);
    screen.update(RunUpdate::Columns(columns()), seconds(1));
    assert!(!text(&mut screen, 80, 24, seconds(1)).contains("server-30"));
    for _ in 0..5 {
        key(&mut screen, KeyCode::PageDown);
        text(&mut screen, 80, 24, seconds(1));
    }
    assert!(text(&mut screen, 80, 24, seconds(1)).contains("server-30"));
    key(&mut screen, KeyCode::Up);
    assert!(!text(&mut screen, 80, 24, seconds(1)).contains("server-30"));
}

#[test]
fn without_colours_the_text_is_the_same() {
    let (mut coloured, mut plain) = (mid_run(), mid_run());
    plain.styles = Styles::new(false);
    let at = seconds(102);
    assert_eq!(
        text(&mut coloured, 100, 30, at),
        text(&mut plain, 100, 30, at)
    );
    let colours = |screen: &mut RunScreen| {
        let terminal = drawn(screen, 100, 30, at);
        let cells = terminal.backend().buffer().content().iter();
        cells.filter(|cell| cell.fg != Color::Reset).count()
    };
    assert!(colours(&mut coloured) > 0);
    assert_eq!(colours(&mut plain), 0);
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
            key(&mut screen, codes[code]);
        }
        for (width, height) in [(width, height), (1, 1), (height, width), (80, 24)] {
            drawn(&mut screen, width, height, seconds(at));
        }
    }
}
