//! Golden tests of the screen at several moments and sizes, and properties over all sizes.

use std::time::Duration;

use crossterm::event::KeyCode;
use prony_load::Progress;
use prony_model::{Outcome, Stage, parse_stages};
use prony_testkit::{contains, lacks};

use super::*;
use crate::screen::tests::{
    Moment, assert_differ_in_colours, assert_drawn_in_any_size, assert_help_and_end,
    at_each_moment, key, text,
};

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
            screen.update(update);
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
    screen.update(LoadUpdate::Server(server));
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
    screen.update(LoadUpdate::Silent(Some(silent)));
    screen
}

/// Users of a Hurl file.
fn flows() -> LoadScreen {
    let outline = LoadOutline {
        title: "http://127.0.0.1:8080, 3 requests of checkout.hurl in each flow".into(),
        has_flows: true,
        ..outline()
    };
    reported(outline, 12.0, |progress, at_s| {
        respond(progress, at_s, 3_000);
        progress.ok_flows += 1_000;
        progress.failed_flows += u64::from(at_s > 10.0);
    })
}

#[test]
fn a_scenario_shows_its_file_and_its_flows() {
    let shown = text(&mut flows(), (100, 24), 12);
    contains(&shown, "3 requests of checkout.hurl in each flow");
    contains(&shown, "flows     5.00 k flows/s, 45,000 ok, 10 failed");
    lacks(&text(&mut rate(), (100, 24), 12), "flows");
}

fn nothing_yet() -> LoadScreen {
    LoadScreen::new(LoadOutline::default(), true)
}

const MOMENTS: [Moment<LoadPanels>; 4] = [
    ("warm-up", warm_up, 2),
    ("errors", errors, 18),
    ("rate", rate, 42),
    ("nothing-yet", nothing_yet, 0),
];

#[test]
fn the_screen_at_each_moment() {
    at_each_moment(MOMENTS, |name, text| insta::assert_snapshot!(name, text));
}

/// The line at the end of each second after a second of warm-up: ok responses of 1 ms until `ends_s`, and then errors.
fn lines(schedule: &str, ends_s: u32) -> Vec<String> {
    let schedule = match schedule {
        "" => Vec::new(),
        text => parse_stages(text).unwrap(),
    };
    let outline = LoadOutline {
        warmup: Duration::from_secs(1),
        duration: Some(Duration::from_secs(4)),
        schedule,
        ..outline()
    };
    let mut model = LoadModel::new(outline);
    let mut lines = Vec::new();
    let mut progress = Progress::default();
    for fifth in 1..=30_u32 {
        if fifth == 6 {
            progress = Progress::default();
        }
        progress.at_s = f64::from(fifth) / 5.0;
        progress.measuring = fifth > 5;
        if fifth <= 5 + 5 * ends_s {
            progress.ok += 10 * u64::from(fifth);
            progress.latency.add(1_000_000, 10 * u64::from(fifth));
        } else {
            progress.errors += 3;
        }
        // The command looks more often than there is news.
        for _ in 0..2 {
            model.update(LoadUpdate::Progress(Box::new(progress.clone())));
        }
        if fifth % 5 == 0 {
            lines.push(model.line().join("  "));
        }
    }
    lines
}

#[test]
fn the_line_has_the_figures_of_the_last_second() {
    let latency = "p50 983 µs  p99 1.05 ms";
    assert_eq!(
        lines("", 2),
        [
            "warming up".to_owned(),
            format!("400 req/s  {latency}"),
            format!("650 req/s  {latency}"),
            "no ok response for 1 s  15 errors".into(),
            "no ok response for 2 s  30 errors".into(),
            "no ok response for 3 s  45 errors".into(),
        ]
    );
    assert_eq!(lines("", 0)[2], "no ok response yet  30 errors");
}

#[test]
fn the_line_compares_the_rate_with_what_was_due_in_the_last_second() {
    let lines = lines("0..100/s:10s", 5);
    let rates = lines
        .iter()
        .skip(1)
        .map(|line| line.split("  ").next().unwrap());
    let rates: Vec<&str> = rates.collect();
    // The load is over after 4 s, and responses still come.
    let expected = [
        "400 of 5 req/s",
        "650 of 15 req/s",
        "900 of 25 req/s",
        "1.15 k of 35 req/s",
        "1.40 k of 0 req/s",
    ];
    assert_eq!(rates, expected);
}

#[test]
fn the_line_shows_events_and_an_agent_that_may_be_lost() {
    let mut model = LoadModel::new(LoadOutline::default());
    assert!(model.line().is_empty());
    let mut progress = Progress {
        at_s: 0.2,
        measuring: true,
        errors: 1234,
        events: 1000,
        ..Progress::default()
    };
    let mut line = |progress: &Progress, silent: Option<&str>| {
        model.update(LoadUpdate::Progress(Box::new(progress.clone())));
        model.update(LoadUpdate::Silent(silent.map(str::to_owned)));
        model.line().join("  ")
    };
    assert_eq!(line(&progress, None), "1,000 events  1,234 errors");
    (progress.at_s, progress.ok) = (0.4, 5);
    progress.latency.add(1_000_000, 5);
    assert_eq!(
        line(&progress, Some("agent 2 silent")),
        "12.5 req/s  agent 2 silent  1,234 errors  p50 983 µs  p99 1.05 ms  1,000 events"
    );
}

#[test]
fn the_end_of_the_warm_up_starts_the_figures_over() {
    let mut screen = reported(outline(), 4.0, |progress, at_s| {
        respond(progress, at_s, 8_200);
    });
    let shown = text(&mut screen, (80, 24), 4);
    // 5 reports of 8,200 responses in the warm-up as well as after it.
    contains(&shown, "40.1 k req/s, mean 40.1 k");
    contains(&shown, "so far");
    lacks(&shown, "warm-up");
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
    let shown = text(&mut screen, (80, 24), 5);
    contains(&shown, "elapsed 5 s, left about 5 s");
    contains(&shown, "49 %  measuring");
}

#[test]
fn keys_scale_pause_and_end() {
    let mut screen = rate();
    let screen = &mut screen;
    let shown = |screen: &mut LoadScreen, at| text(screen, (80, 24), at);
    let recent = shown(screen, 42);
    contains(&recent, "12 s ─");
    contains(&recent, "s whole load");
    key(screen, KeyCode::Char('s'), 42);
    let whole = shown(screen, 42);
    contains(&whole, "0 s ─");
    contains(&whole, "─ 60 s");
    key(screen, KeyCode::Char('d'), 42);
    assert_ne!(shown(screen, 42), whole);

    key(screen, KeyCode::Char('p'), 42);
    screen.update(LoadUpdate::Silent(None));
    let paused = shown(screen, 50);
    contains(&paused, "VIEW PAUSED");
    contains(&paused, "agent 2");
    key(screen, KeyCode::Char(' '), 50);
    lacks(&shown(screen, 50), "agent 2");
    assert_help_and_end(screen, 50);
}

#[test]
fn without_colours_the_text_is_the_same() {
    let mut plain = errors();
    plain.styles = crate::screen::style::Styles::new(false);
    assert_differ_in_colours(&mut errors(), &mut plain, 18);
}

#[test]
fn any_size_can_be_drawn() {
    assert_drawn_in_any_size(MOMENTS, &['s', 'd', '?', 'p'].map(KeyCode::Char));
}
