//! What stands in the reports, and what must not.

mod sample;

use prony_record::{Run, SubjectStatus, TrialRecord, TrialResult};
use prony_report::{ChartKind, Comparison, chart_svg, html, markdown, terminal};

const SCRIPT: &str = "<script>alert('x')</script>";

fn made() -> (Run, Vec<TrialRecord>) {
    (sample::run(), sample::trials())
}

/// A run whose every text tries to be markup.
fn hostile() -> (Run, Vec<TrialRecord>) {
    let (mut run, mut trials) = made();
    run.title = SCRIPT.into();
    run.notes = vec![SCRIPT.into()];
    run.command = vec![SCRIPT.into()];
    run.machine.cpu_model = SCRIPT.into();
    run.machine.tcp_settings = vec![SCRIPT.into()];
    for subject in &mut run.subjects {
        subject.framework = SCRIPT.into();
        if let SubjectStatus::BuildFailed { output } = &mut subject.status {
            *output = SCRIPT.into();
        }
    }
    let id = format!("{SCRIPT}|`*");
    run.subjects[1].id = id.clone();
    for record in &mut trials {
        if record.trial.subject == "rust-hyper" {
            record.trial.subject = id.clone();
        }
        if record.trial.workload == "quote" {
            record.trial.workload = SCRIPT.into();
        }
        if let TrialResult::Failed { message, .. } = &mut record.result {
            *message = SCRIPT.into();
        }
    }
    (run, trials)
}

fn all_texts((run, trials): &(Run, Vec<TrialRecord>)) -> Vec<(&'static str, String)> {
    let comparison = Comparison::of(run, trials);
    let mut texts = vec![
        ("html", html(run, &comparison)),
        ("markdown", markdown(run, &comparison)),
        ("terminal", terminal(&comparison, 100, false)),
    ];
    for kind in ChartKind::ALL {
        texts.push((kind.name(), chart_svg(kind, &comparison.tables[0])));
    }
    texts
}

/// The names of the elements that are open at the end, and of all there are. Panics where one is
/// closed that is not open. Reads only what maud writes: no comments, quoted attributes.
fn elements(markup: &str) -> Vec<String> {
    const VOID: [&str; 3] = ["meta", "br", "!DOCTYPE"];
    let mut open: Vec<String> = Vec::new();
    let mut seen = Vec::new();
    let mut rest = markup;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').expect("a tag that ends");
        let tag = &rest[start + 1..end];
        let name = tag
            .trim_start_matches('/')
            .split(' ')
            .next()
            .unwrap()
            .to_owned();
        if tag.starts_with('/') {
            assert_eq!(
                open.pop().as_ref(),
                Some(&name),
                "near {}",
                &rest[..end + 1]
            );
        } else {
            if !VOID.contains(&name.as_str()) {
                open.push(name.clone());
            }
            seen.push(name);
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "never closed: {open:?}");
    seen
}

#[test]
fn every_subject_is_in_every_report() {
    let (run, trials) = made();
    for (name, text) in all_texts(&(run.clone(), trials)).into_iter().take(3) {
        for subject in &run.subjects {
            assert!(text.contains(&subject.id), "{} in {name}", subject.id);
        }
        assert!(
            text.contains("apt-get install -y zig"),
            "the install line in {name}"
        );
        assert!(text.contains("1,503"), "the mismatch in {name}");
        assert!(text.contains("closed loop"), "{name}");
    }
}

#[test]
fn the_page_is_well_formed_and_loads_and_runs_nothing() {
    for records in [made(), hostile()] {
        let page = &all_texts(&records)[0].1;
        let names = elements(page);
        for forbidden in ["script", "link", "img", "iframe", "object", "embed", "base"] {
            assert!(!names.iter().any(|name| name == forbidden), "<{forbidden}>");
        }
        for forbidden in [
            "http://", "https://", "url(", "@import", " onload=", " src=",
        ] {
            assert!(!page.contains(forbidden), "{forbidden}");
        }
    }
}

#[test]
fn every_chart_of_the_page_can_be_told_from_its_words() {
    let page = &all_texts(&made())[0].1;
    let names = elements(page);
    let count = |name: &str| names.iter().filter(|n| *n == name).count();
    assert_eq!(count("svg"), 4 * ChartKind::ALL.len());
    assert_eq!(count("desc"), count("svg"));
    let ids: Vec<&str> = page
        .split(" id=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    let mut unique = ids.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(ids.len(), unique.len(), "an id twice");
    for reference in page.split(" href=\"#").skip(1) {
        let id = reference.split('"').next().unwrap();
        assert!(unique.contains(&id), "#{id} leads nowhere");
    }
}

#[test]
fn text_from_outside_is_never_markup() {
    for (name, text) in all_texts(&hostile()) {
        if name != "terminal" {
            // Code blocks of Markdown show text as it is, in quotes of their own.
            let outside: String = match name {
                "markdown" => text.split("```").step_by(2).collect(),
                _ => text,
            };
            assert!(!outside.contains("<script"), "{name}");
            assert!(outside.contains("&lt;script"), "{name}");
        }
    }
}

#[test]
fn charts_alone_are_whole_documents_on_a_light_ground() {
    let (run, trials) = made();
    let comparison = Comparison::of(&run, &trials);
    for kind in ChartKind::ALL {
        let svg = chart_svg(kind, &comparison.tables[0]);
        elements(&svg);
        assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
        assert!(svg.contains(".ground{fill:#fff}") && !svg.contains("var(--"));
        for row in &comparison.tables[0].rows {
            assert!(svg.contains(&row.subject.id));
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }
}

#[test]
fn the_terminal_keeps_to_its_width_and_colours_only_when_asked() {
    for records in [made(), hostile()] {
        let comparison = Comparison::of(&records.0, &records.1);
        for width in [40, 60, 80, 100, 140] {
            let text = terminal(&comparison, width, false);
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
            assert!(!text.contains('\u{1b}'));
            assert!(text.contains("req/s") && (width < 60 || text.contains("p99")));
        }
        assert!(terminal(&comparison, 100, true).contains("\u{1b}[1m"));
    }
}

#[test]
fn the_terminal_shows_ranks_and_leaves_unranked_rows_without_a_number() {
    let (run, trials) = made();
    let text = terminal(&Comparison::of(&run, &trials), 100, false);
    let page: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("page "))
        .collect();
    let rank_of = |subject: &str| {
        let line = page.iter().find(|line| line.contains(subject)).unwrap();
        line.split_whitespace().next().unwrap().to_owned()
    };
    assert_eq!(
        (rank_of("rust-hyper"), rank_of("rust-axum")),
        ("1".into(), "1".into())
    );
    assert_eq!(
        (rank_of("bun"), rank_of("ceiling (reference)")),
        ("3".into(), "–".into())
    );
    let hello = text
        .lines()
        .find(|line| line.contains("rust-hyper"))
        .unwrap();
    assert!(hello.starts_with(" –"), "client-limited: {hello}");
}

#[test]
fn markdown_tables_have_as_many_cells_in_every_line() {
    for records in [made(), hostile()] {
        let text = &all_texts(&records)[1].1;
        let mut cells = None;
        for line in text.lines() {
            if !line.starts_with('|') {
                cells = None;
                continue;
            }
            let count = line.replace("\\|", "").matches('|').count();
            assert_eq!(*cells.get_or_insert(count), count, "{line}");
        }
    }
}

#[test]
fn the_conditions_are_told() {
    for (name, text) in all_texts(&made()).into_iter().take(2) {
        for condition in [
            "Example CPU 3000",
            "6.12.0",
            "spectre",
            "somaxconn",
            "4242",
            "prony run",
            "3f1c9a3f1c9a",
            "not visible",
        ] {
            assert!(text.contains(condition), "{condition} in {name}");
        }
    }
}

#[test]
fn a_run_that_gave_nothing_still_has_its_reports() {
    let (run, _) = made();
    let comparison = Comparison::of(&run, &[]);
    elements(&html(&run, &comparison));
    assert!(markdown(&run, &comparison).contains("zig-std"));
    assert!(terminal(&comparison, 80, false).contains("zig-std"));
}
