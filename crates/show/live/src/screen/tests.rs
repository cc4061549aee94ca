//! What the tests of both screens share.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;

use crate::screen::view::{Action, Screen, View};

pub(super) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A screen at a moment, in seconds since its start, in a terminal of a width and a height.
pub(super) fn drawn(
    screen: &mut Screen<impl View>,
    (width, height): (u16, u16),
    at: u64,
) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| screen.draw(frame, seconds(at)))
        .unwrap();
    terminal
}

pub(super) fn text(screen: &mut Screen<impl View>, size: (u16, u16), at: u64) -> String {
    let terminal = drawn(screen, size, at);
    let buffer = terminal.backend().buffer();
    let lines = buffer.content().chunks(usize::from(size.0.max(1)));
    let line = |cells: &[ratatui::buffer::Cell]| {
        let line: String = cells.iter().map(|cell| cell.symbol()).collect();
        line.trim_end().to_owned()
    };
    lines.map(line).collect::<Vec<_>>().join("\n")
}

/// Its name, what leads to it, and when it is.
pub(super) type Moment<V> = (&'static str, fn() -> Screen<V>, u64);

/// Draws all combinations of a moment and a size, and gives each its name.
pub(super) fn at_each_moment<V: View>(moments: [Moment<V>; 4], check: impl Fn(String, String)) {
    for (name, screen, at) in moments {
        for (width, height) in [(80, 24), (120, 40), (40, 10)] {
            let text = text(&mut screen(), (width, height), at);
            check(format!("{name}-{width}x{height}"), text);
        }
    }
}

/// Draws these moments in any size, after any of these keys.
pub(super) fn assert_drawn_in_any_size<V: View>(moments: [Moment<V>; 4], codes: &[KeyCode]) {
    let keys = vec(select(codes.to_vec()), 0..12);
    let case = (0usize..4, 1u16..260, 1u16..90, keys);
    proptest!(ProptestConfig::with_cases(64), |((moment, width, height, keys) in case)| {
        let (_, screen, at) = moments[moment];
        let mut screen = screen();
        for code in keys {
            key(&mut screen, code, at);
        }
        for size in [(width, height), (1, 1), (height, width), (80, 24)] {
            drawn(&mut screen, size, at);
        }
    });
}

/// Presses a key without modifiers.
pub(super) fn key(screen: &mut Screen<impl View>, code: KeyCode, at: u64) -> Action {
    screen.key(KeyEvent::new(code, KeyModifiers::NONE), seconds(at))
}

/// Any key closes the help, and `q` and Ctrl-C end.
pub(super) fn assert_help_and_end(screen: &mut Screen<impl View>, at: u64) {
    key(screen, KeyCode::Char('?'), at);
    prony_testkit::contains(&text(screen, (80, 24), at), "pause the view");
    assert_eq!(key(screen, KeyCode::Char('x'), at), Action::None);
    assert_eq!(key(screen, KeyCode::Char('q'), at), Action::End);
    let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(screen.key(ctrl_c, seconds(at)), Action::End);
}

/// Two screens at the same moment, the second without colours.
pub(super) fn assert_differ_in_colours(
    coloured: &mut Screen<impl View>,
    plain: &mut Screen<impl View>,
    at: u64,
) {
    let size = (100, 30);
    assert_eq!(text(coloured, size, at), text(plain, size, at));
    let colours = |terminal: Terminal<TestBackend>| {
        let cells = terminal.backend().buffer().content().iter();
        cells.filter(|cell| cell.fg != Color::Reset).count()
    };
    assert!(colours(drawn(coloured, size, at)) > 0);
    assert_eq!(colours(drawn(plain, size, at)), 0);
}
