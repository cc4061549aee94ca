//! Rules for every report; the golden files have the contents.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::sample::documents::{self, Records};
use crate::sample::{self, hostile};
use crate::summary::{summary, tour};
use prony_model::Run;
use prony_report::{RunSummary, chart_files, html, markdown, terminal};
use prony_testkit::{contains, lacks, page};

fn summed(records: Records) -> (Run, RunSummary) {
    let comparison = summary(&records);
    (records.0, comparison)
}

/// Computed once, because that takes a while.
static EVERY_KIND: LazyLock<[(Run, RunSummary); 8]> = LazyLock::new(|| {
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
    .map(summed)
});

#[test]
fn the_page_is_sound_and_loads_nothing() {
    for (run, comparison) in &*EVERY_KIND {
        let page = html(run, comparison);
        assert!(page.contains("\"use strict\"") && page.matches("<script>").count() == 1);
        page::assert_sound(&page);
        for forbidden in [
            "http://", "https://", "url(", "@import", " onload=", " src=",
        ] {
            lacks(&page::bare(&page), forbidden);
        }
    }
}

#[test]
fn every_chart_of_the_page_has_a_text_alternative() {
    for (run, comparison) in &*EVERY_KIND {
        let page = html(run, comparison);
        let count = |name: &str| page.matches(&format!("<{name}")).count();
        let charts = chart_files(comparison).len();
        // The curves of a row have their figures beside them.
        let curves = page.matches(r#"<svg aria-hidden="true""#).count();
        assert!(curves > 0 && count("figcaption") == curves, "{curves}");
        assert_eq!((count("svg"), count("desc ")), (charts + curves, charts));
    }
}

#[test]
fn text_from_records_is_never_markup() {
    for (run, comparison) in [hostile::hostile(), hostile::hostile_document()].map(summed) {
        // Code blocks in Markdown show text verbatim.
        let markdown = markdown(&run, &comparison);
        let outside = markdown.split("```").step_by(2).collect();
        // A chart has its own names, so most have none from records.
        let charts = chart_files(&comparison).into_iter().map(|chart| chart.svg);
        let mut texts = vec![page::bare(&html(&run, &comparison)), outside];
        texts.extend(charts.filter(|svg| svg.contains("script")));
        for text in texts {
            lacks(&text, "<script");
            contains(&text, "&lt;script");
        }
    }
}

#[test]
fn standalone_charts_are_whole_documents_on_a_light_or_dark_background() {
    for (_, comparison) in &*EVERY_KIND {
        let charts = chart_files(comparison);
        for chart in &charts {
            let svg = &chart.svg;
            roxmltree::Document::parse(svg).unwrap();
            assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
            contains(svg, ".ground{fill:#ffffff}");
            contains(svg, "(prefers-color-scheme:dark){.ground{fill:#191f26}");
            for never in ["var(--", "NaN", "inf"] {
                lacks(svg, never);
            }
        }
        let names: BTreeSet<&str> = charts.iter().map(|chart| chart.name.as_str()).collect();
        assert_eq!(names.len(), charts.len(), "a name twice");
        assert!(names.iter().all(|name| !name.contains(['/', '<', ' '])));
    }
}

#[test]
fn every_chart_that_markdown_links_is_written() {
    for (run, comparison) in &*EVERY_KIND {
        let written = chart_files(comparison);
        let text = markdown(run, comparison);
        for link in text.split("](charts/").skip(1) {
            let name = link.split(')').next().unwrap();
            assert!(written.iter().any(|chart| chart.name == name), "{name}");
        }
    }
}

#[test]
fn the_terminal_keeps_to_its_width_and_colours_only_on_request() {
    for (_, comparison) in &*EVERY_KIND {
        for width in [40, 60, 80, 100, 140] {
            let text = terminal(comparison, width, false);
            for line in text.lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
            assert!(!text.contains('\u{1b}'));
            assert!(text.contains("req/s") || text.contains("requests/s"));
            assert!(width < 60 || text.contains("p99"));
        }
        assert!(terminal(comparison, 100, true).contains("\u{1b}[1m"));
    }
}

#[test]
fn every_line_of_a_markdown_table_has_as_many_cells() {
    for (run, comparison) in &*EVERY_KIND {
        let text = markdown(run, comparison);
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
