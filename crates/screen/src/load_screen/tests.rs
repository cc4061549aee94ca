//! Golden tests of the screen at several moments and sizes, and properties over all sizes.

use std::time::Duration;

use prony_load::Progress;
use prony_model::{Outcome, Stage};
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Color;

use super::*;

fn outline() -> LoadOutline {
    LoadOutline {
        title: "GET http://127.0.0.1:8080/hello".into(),
        load: "closed loop, 64 connections, 2 threads".into(),
        warmup: Duration::from_secs(3),
        duration: Some(Duration::from_secs(30)),
        ..LoadOutline::default()
    }
}

/// Reports 5 times a second until `end_s`, in which `each` changes the figures of the phase.
fn reported(
    outline: LoadOutline,
    end_s: f64,
    mut each: impl FnMut(&mut Progress, f64),
) -> LoadScreen {
    let warmup_s = outline.warmup.as_secs_f64();
    let mut screen = LoadScreen::new(outline, true);
    let mut progress = Progress::default();
    for report in 1..=(end_s * 5.0) as u32 {
        let at_s = f64::from(report) / 5.0;
        let measuring = at_s > warmup_s;
        if measuring != progress.measuring {
            progress = Progress::default();
        }
        progress.at_s = at_s;
        progress.measuring = measuring;
        each(&mut progress, at_s);
        for _ in 0..2 {
            let update = LoadUpdate::Progress(Box::new(progress.clone()));
            screen.update(update, Duration::ZERO);
        }
    }
    screen
}

/// Responses of a fifth of a second, most of them fast.
fn respond(progress: &mut Progress, at_s: f64, count: u64) {
    let wave = 1.0 + 0.5 * (at_s * 0.7).sin();
    for step in 0..40_u64 {
        let nanoseconds = 800_000.0 * wave * (1.0 + step as f64 / 25.0);
        progress.latency.add(nanoseconds as u64, count / 41);
    }
    progress.latency.add(24_000_000, count / 41 / 10);
    progress.ok = progress.latency.total();
    progress.outcomes[Outcome::Ok] = progress.ok;
    progress.bytes_read = progress.ok * 180;
    progress.bytes_written = progress.ok * 60;
    progress.busy = 0.42;
}

fn warm_up() -> LoadScreen {
    reported(outline(), 2.0, |progress, at_s| {
        respond(progress, at_s, 8_000);
    })
}

fn errors() -> LoadScreen {
    let mut screen = reported(outline(), 18.0, |progress, at_s| {
        respond(progress, at_s, 9_000 + (at_s as u64) * 100);
        if at_s > 9.0 {
            progress.outcomes[Outcome::WrongStatus] += 12;
            progress.outcomes[Outcome::TimedOut] += u64::from(at_s > 12.0);
            progress.outcomes[Outcome::Reset] += 1;
        }
        progress.errors = progress.outcomes.errors();
        progress.busy = 0.93;
    });
    let server = ServerUse::Running {
        cpus: 1.32,
        memory_bytes: 47_300_000,
        processes: 3,
    };
    screen.update(LoadUpdate::Server(server), Duration::ZERO);
    screen
}

/// A ramp that the server does not follow.
fn rate() -> LoadScreen {
    let stage = Stage {
        from_per_s: 10_000.0,
        to_per_s: 60_000.0,
        duration_s: Some(60.0),
    };
    let outline = LoadOutline {
        load: "open loop, 10,000 to 60,000 req/s, evenly spaced, 64 connections".into(),
        warmup: Duration::ZERO,
        duration: Some(Duration::from_secs(60)),
        schedule: vec![stage],
        ..outline()
    };
    let mut screen = reported(outline, 42.0, |progress, at_s| {
        let due = 10_000.0 + at_s * 50_000.0 / 60.0;
        respond(progress, at_s, (due.min(36_000.0) / 5.0) as u64);
        progress.lag.add(12_000, 900);
        progress.lag.add(240_000, 20);
    });
    let silent = "agent 2 on node-b silent for 1.4 s".to_owned();
    screen.update(LoadUpdate::Silent(Some(silent)), Duration::ZERO);
    screen
}

fn nothing_yet() -> LoadScreen {
    LoadScreen::new(LoadOutline::default(), true)
}

type Moment = (&'static str, fn() -> LoadScreen, u64);

const MOMENTS: [Moment; 4] = [
    ("warm-up", warm_up, 2),
    ("errors", errors, 18),
    ("rate", rate, 42),
    ("nothing-yet", nothing_yet, 0),
];

fn drawn(screen: &mut LoadScreen, width: u16, height: u16, at: u64) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let at = Duration::from_secs(at);
    terminal.draw(|frame| screen.draw(frame, at)).unwrap();
    terminal
}

fn text(screen: &mut LoadScreen, width: u16, height: u16, at: u64) -> String {
    let terminal = drawn(screen, width, height, at);
    let buffer = terminal.backend().buffer();
    let lines = buffer.content().chunks(usize::from(width.max(1)));
    let line = |cells: &[ratatui::buffer::Cell]| {
        let line: String = cells.iter().map(|cell| cell.symbol()).collect();
        line.trim_end().to_owned()
    };
    lines.map(line).collect::<Vec<_>>().join("\n")
}

fn key(screen: &mut LoadScreen, code: KeyCode) -> Action {
    let key = KeyEvent::new(code, KeyModifiers::NONE);
    screen.key(key, Duration::from_secs(18))
}

#[test]
fn the_screen_at_each_moment() {
    for (name, screen, at) in MOMENTS {
        for (width, height) in [(80, 24), (120, 40), (40, 10)] {
            let text = text(&mut screen(), width, height, at);
            insta::assert_snapshot!(format!("{name}-{width}x{height}"), text);
        }
    }
}

#[test]
fn the_end_of_the_warm_up_starts_the_figures_over() {
    let mut screen = reported(outline(), 4.0, |progress, at_s| {
        respond(progress, at_s, 8_200);
    });
    let shown = text(&mut screen, 80, 24, 4);
    // 5 reports of 8,200 responses in the warm-up as well as after it.
    assert!(shown.contains("40.1 k req/s, mean 40.1 k"), "{shown}");
    assert!(
        shown.contains("so far") && !shown.contains("warm-up"),
        "{shown}"
    );
}

#[test]
fn a_number_of_requests_has_an_estimated_end() {
    let outline = LoadOutline {
        warmup: Duration::ZERO,
        duration: None,
        requests: Some(410_000),
        ..outline()
    };
    let mut screen = reported(outline, 5.0, |progress, at_s| {
        respond(progress, at_s, 8_200);
    });
    let shown = text(&mut screen, 80, 24, 5);
    assert!(shown.contains("elapsed 5 s, left about 5 s"), "{shown}");
    assert!(shown.contains("49 %  measuring"), "{shown}");
}

#[test]
fn keys_scale_pause_and_end() {
    let mut screen = rate();
    let recent = text(&mut screen, 80, 24, 42);
    assert!(
        recent.contains("12 s ─") && recent.contains("s whole load"),
        "{recent}"
    );
    key(&mut screen, KeyCode::Char('s'));
    let whole = text(&mut screen, 80, 24, 42);
    assert!(
        whole.contains("0 s ─") && whole.contains("─ 60 s"),
        "{whole}"
    );
    key(&mut screen, KeyCode::Char('d'));
    assert_ne!(text(&mut screen, 80, 24, 42), whole);

    key(&mut screen, KeyCode::Char('p'));
    screen.update(LoadUpdate::Silent(None), Duration::ZERO);
    let paused = text(&mut screen, 80, 24, 50);
    assert!(
        paused.contains("VIEW PAUSED") && paused.contains("agent 2"),
        "{paused}"
    );
    key(&mut screen, KeyCode::Char(' '));
    assert!(!text(&mut screen, 80, 24, 50).contains("agent 2"));

    key(&mut screen, KeyCode::Char('?'));
    assert!(text(&mut screen, 80, 24, 50).contains("pause the view"));
    assert_eq!(key(&mut screen, KeyCode::Char('x')), Action::None);
    assert_eq!(key(&mut screen, KeyCode::Char('q')), Action::End);
    let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(screen.key(ctrl_c, Duration::ZERO), Action::End);
}

#[test]
fn without_colours_the_text_is_the_same() {
    let (mut coloured, mut plain) = (errors(), errors());
    plain.styles = Styles::new(false);
    assert_eq!(
        text(&mut coloured, 100, 30, 18),
        text(&mut plain, 100, 30, 18)
    );
    let colours = |screen: &mut LoadScreen| {
        let terminal = drawn(screen, 100, 30, 18);
        let cells = terminal.backend().buffer().content().iter();
        cells.filter(|cell| cell.fg != Color::Reset).count()
    };
    assert!(colours(&mut coloured) > 0);
    assert_eq!(colours(&mut plain), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_size_can_be_drawn(
        moment in 0usize..4, width in 1u16..260, height in 1u16..90, keys in prop::collection::vec(0usize..4, 0..8),
    ) {
        let (_, screen, at) = MOMENTS[moment];
        let mut screen = screen();
        let codes = ['s', 'd', '?', 'p'].map(KeyCode::Char);
        for code in keys {
            key(&mut screen, codes[code]);
        }
        for (width, height) in [(width, height), (1, 1), (height, width), (80, 24)] {
            drawn(&mut screen, width, height, at);
        }
    }
}
