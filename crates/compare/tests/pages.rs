//! What the gate writes.

mod sample;

use std::path::Path;

use prony_compare::{Comparison, markdown, terminal};
use sample::{SERVER, made, within};

/// A slower revision, near the ceiling, on a machine with another program.
fn comparison() -> Comparison {
    let mut run = made("20261122-050000-ab-1", 0.004)
        .with("x@1111111", SERVER, 12)
        .with("x@2222222", SERVER.working(1.06), 12)
        .with_ceiling(SERVER.working(0.5), 12)
        .change("x@2222222", |round, one| {
            one.noise.server_cpus = Some(prony_model::CpuNoise {
                steal_share: 0.0,
                foreign_share: if round == 2 { 0.31 } else { 0.001 },
            });
        });
    run.run.notes.push("A note.".into());
    within(&run, "x@1111111", "x@2222222")
}

/// Holds a text against the file of that name. With `PRONY_WRITE_GOLDEN=1` the file is written instead.
fn golden(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("PRONY_WRITE_GOLDEN").is_some_and(|value| value == "1") {
        std::fs::write(&file, text).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap();
    assert_eq!(text, expected, "PRONY_WRITE_GOLDEN=1 writes {name} anew");
}

#[test]
fn the_markdown_is_the_golden_one() {
    golden("worse.md", &markdown(&comparison()));
}

#[test]
fn the_terminal_text_is_the_golden_one() {
    golden("worse.txt", &terminal(&comparison(), false));
    let coloured = terminal(&comparison(), true);
    assert!(coloured.contains("\x1b[1;31mworse"), "{coloured}");
}

#[test]
fn where_nothing_changed_the_first_lines_say_so() {
    let run = made("r", 0.003).with("a", SERVER, 12).with("b", SERVER, 12);
    let text = markdown(&within(&run, "a", "b"));
    assert!(
        text.starts_with("### Prony: no change seen (4 of 4 comparisons)\n\n<details>"),
        "{text}"
    );
}
