//! Rules for every report; the golden files have the contents.

use crate::sample;
use std::sync::LazyLock;

use crate::sample::documents::{self, Records};
use crate::sample::hostile;
use crate::summary::{summary, tour};
use prony_model::Run;
use prony_report::{RunSummary, chart_files, html, markdown, terminal};
use prony_testkit::page;

/// A run and its summary: computed once, because that takes a while.
struct Made {
    run: Run,
    comparison: RunSummary,
}

impl Made {
    fn of(records: Records) -> Made {
        let comparison = summary(&records);
        Made {
            run: records.0,
            comparison,
        }
    }
}

static EVERY_KIND: LazyLock<[Made; 8]> = LazyLock::new(|| {
    [
        tour(),
        hostile::hostile(),
        documents::zap(),
        documents::datastar(),
        documents::hydragen(),
        sample::rates::rates(),
        sample::noisy::noisy(),
        hostile::hostile_document(),
    ]
    .map(Made::of)
});

fn all_texts(Made { run, comparison }: &Made) -> Vec<(&'static str, String)> {
    let mut texts = vec![
        ("html", page::bare(&html(run, comparison))),
        ("markdown", markdown(run, comparison)),
        ("terminal", terminal(comparison, 100, false)),
    ];
    for chart in chart_files(comparison) {
        texts.push(("chart", chart.svg));
    }
    texts
}

#[test]
fn the_page_is_sound_and_loads_nothing() {
    for records in &*EVERY_KIND {
        let page = html(&records.run, &records.comparison);
        assert!(page.contains("\"use strict\"") && page.matches("<script>").count() == 1);
        page::assert_sound(&page);
        for forbidden in [
            "http://", "https://", "url(", "@import", " onload=", " src=",
        ] {
            assert!(!page::bare(&page).contains(forbidden), "{forbidden}");
        }
    }
}

#[test]
fn every_chart_of_the_page_has_a_text_alternative() {
    for records in &*EVERY_KIND {
        let page = html(&records.run, &records.comparison);
        let count = |name: &str| page.matches(&format!("<{name}")).count();
        let charts = chart_files(&records.comparison).len();
        // The curves of a row have their figures beside them.
        let curves = page.matches(r#"<svg aria-hidden="true""#).count();
        assert!(curves > 0 && count("figcaption") == curves, "{curves}");
        assert_eq!((count("svg"), count("desc ")), (charts + curves, charts));
    }
}

#[test]
fn text_from_records_is_never_markup() {
    let hostile = [hostile::hostile(), hostile::hostile_document()].map(Made::of);
    for (name, text) in hostile.iter().flat_map(all_texts) {
        // A chart has its own names, so it has none from records.
        if name != "terminal" && (name != "chart" || text.contains("script")) {
            // Code blocks in Markdown show text verbatim.
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
fn standalone_charts_are_whole_documents_on_a_light_or_dark_background() {
    for records in &*EVERY_KIND {
        let charts = chart_files(&records.comparison);
        for chart in &charts {
            let svg = &chart.svg;
            roxmltree::Document::parse(svg).unwrap();
            assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
            assert!(
                svg.contains(".ground{fill:#ffffff}")
                    && !svg.contains("var(--")
                    && svg.contains("(prefers-color-scheme:dark){.ground{fill:#191f26}")
            );
            assert!(
                !svg.contains("NaN") && !svg.contains("inf"),
                "{}",
                chart.name
            );
        }
        let mut names: Vec<&str> = charts.iter().map(|chart| chart.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), charts.len(), "a name twice");
        assert!(names.iter().all(|name| !name.contains(['/', '<', ' '])));
    }
}

#[test]
fn every_chart_that_markdown_links_is_written() {
    for records in &*EVERY_KIND {
        let written = chart_files(&records.comparison);
        let text = markdown(&records.run, &records.comparison);
        for link in text.split("](charts/").skip(1) {
            let name = link.split(')').next().unwrap();
            assert!(written.iter().any(|chart| chart.name == name), "{name}");
        }
    }
}

#[test]
fn the_terminal_keeps_to_its_width_and_colours_only_on_request() {
    for records in &*EVERY_KIND {
        for width in [40, 60, 80, 100, 140] {
            let text = terminal(&records.comparison, width, false);
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
            assert!(!text.contains('\u{1b}'));
            assert!(text.contains("req/s") || text.contains("requests/s"));
            assert!(width < 60 || text.contains("p99"));
        }
        assert!(terminal(&records.comparison, 100, true).contains("\u{1b}[1m"));
    }
}

#[test]
fn every_line_of_a_markdown_table_has_as_many_cells() {
    for records in &*EVERY_KIND {
        let text = &all_texts(records)[1].1;
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
fn a_document_without_figures_still_has_its_reports() {
    for (run, _) in [
        documents::zap(),
        documents::datastar(),
        documents::hydragen(),
    ] {
        let comparison = RunSummary::of(&run, &[]);
        page::assert_sound(&html(&run, &comparison));
        for text in [
            markdown(&run, &comparison),
            terminal(&comparison, 80, false),
        ] {
            assert!(text.contains("not tried") && text.contains("No two rows"));
            assert!(!text.contains("NaN"));
        }
        assert!(chart_files(&comparison).is_empty());
    }
}
