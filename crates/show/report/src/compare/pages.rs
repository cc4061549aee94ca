//! The comparison as a page: for a terminal, for a pull request and for a browser.

use prony_model::MeasuredBy;
use prony_present::number::{self, share};
use prony_present::page::{Block, Page, Section};
use prony_present::table::{Cell, Column, Facet, Row, Table, Weight};
use prony_present::terminal::Paint;
use prony_present::words::{capital, plural};
use prony_stats::Better;

use crate::compare::comparison::Comparison;
use crate::compare::finding::Finding;
use crate::compare::instructions::FunctionChange;
use crate::compare::metric::Metric;
use crate::compare::row::{Basis, Case, Change, MetricRow, What};
use crate::compare::side::Named;

/// The comparison as text: a table for each case, and what the figures mean. The result comes last, so that a terminal shows
/// it. `colour` allows ANSI colours.
pub fn terminal(comparison: &Comparison, colour: bool) -> String {
    let cases = comparison.cases.iter().map(|case| {
        let rows = case.rows.iter().map(|row| Line::of(case, row, ""));
        let table = table(&rows.collect::<Vec<_>>());
        Section::of("", case_name(comparison, case), vec![table])
    });
    let mut page = with_noise(described(comparison, cases.collect()), comparison);
    page.intro.rotate_left(1);
    let end = std::mem::take(&mut page.intro);
    page.sections.push(Section::of("", "", end));
    page.terminal(usize::MAX / 2, Paint { colour })
}

/// The comparison as Markdown for a comment on a pull request.
pub fn markdown(comparison: &Comparison) -> String {
    let page = Page {
        title: format!("Prony: {}", comparison.tally.overall().name()),
        ..page(comparison)
    };
    page.comment()
}

/// The comparison as a page: the result, what is not unchanged, every comparison, and how the sides were compared.
pub fn page(comparison: &Comparison) -> Page {
    with_noise(described(comparison, across_cases(comparison)), comparison)
}

/// The comparison with these tables, without how noisy the machine was.
fn described(comparison: &Comparison, tables: Vec<Section>) -> Page {
    let how = Section {
        folds: true,
        ..Section::of("compared", HOW, vec![Block::List(how(comparison))])
    };
    let lists = [
        Section::list("not-compared", "Not compared", comparison.left_out.clone()),
        Section::list("only-in-new", "Only in NEW", comparison.only_new.clone()),
        Some(how),
    ];
    let tables = tables.into_iter().chain(functions(comparison));
    Page {
        kicker: "Prony · comparison".to_owned(),
        title: match (&comparison.base.server, &comparison.new.server) {
            (Some(base), Some(new)) if base != new => format!("{base} → {new}"),
            (Some(same), Some(_)) => {
                format!("{same}: {} → {}", comparison.base.run, comparison.new.run)
            }
            _ => format!("{} → {}", comparison.base.run, comparison.new.run),
        },
        facts: [("Base", &comparison.base), ("New", &comparison.new)]
            .map(|(name, of)| (name, format!("{}, {}", side(of), of.started_at)))
            .into(),
        intro: intro(comparison),
        sections: tables.chain(lists.into_iter().flatten()).collect(),
        ..Page::default()
    }
}

/// The tables of all cases together.
fn across_cases(comparison: &Comparison) -> Vec<Section> {
    let all = comparison.cases.iter().flat_map(|case| {
        let place = case_name(comparison, case);
        let rows = case.rows.iter();
        rows.map(move |row| Line::of(case, row, &place))
    });
    let all: Vec<Line<'_>> = all.collect();
    let is_open = |line: &&Line<'_>| line.row.finding != Finding::NoChangeSeen;
    let mut open: Vec<Line<'_>> = all.iter().filter(is_open).cloned().collect();
    open.sort_by_key(|line| line.row.finding);
    let mut sections = Vec::new();
    if !open.is_empty() {
        sections.push(Section::of(
            "changed",
            "Changed, inconclusive or not comparable",
            vec![table(&open)],
        ));
    }
    sections.push(Section {
        folds: true,
        ..Section::of("all", "All comparisons", vec![table(&all)])
    });
    sections
}

/// The result, and what to read before the figures.
fn intro(comparison: &Comparison) -> Vec<Block> {
    let weight = match comparison.tally.overall() {
        Finding::Worse => Weight::Bad,
        Finding::Inconclusive | Finding::Limited => Weight::Warning,
        Finding::Improved | Finding::NoChangeSeen => Weight::Note,
    };
    let differ = comparison.conditions_differ.then(|| {
        format!(
            "The conditions of the two sessions differ, so a change may be theirs and not the server's: see “{HOW}”."
        )
    });
    let warnings = comparison.warnings.iter();
    let warnings = warnings.map(|text| format!("Warning: {text}"));
    let warnings = warnings.chain(differ);
    std::iter::once(Block::Callout(weight, result(comparison)))
        .chain(too_few_rounds(comparison).map(Block::Text))
        .chain(warnings.map(|text| Block::Callout(Weight::Warning, text)))
        .collect()
}

/// The page with how noisy the machine was. Counts of instructions do not depend on it.
fn with_noise(mut page: Page, comparison: &Comparison) -> Page {
    if !counts_only(comparison) {
        let weight = if comparison.noise.is_noisy() {
            Weight::Warning
        } else {
            Weight::Note
        };
        page.intro
            .push(Block::Callout(weight, comparison.noise.sentence()));
    }
    page
}

/// The result in a sentence: `Worse: x@1111111 (base) → x@2222222 (new): 1 worse, 3 no change seen.`
pub fn result(comparison: &Comparison) -> String {
    let name = |side: &Named| side.server.clone().unwrap_or_else(|| side.run.clone());
    let overall = comparison.tally.overall();
    let found = match comparison.tally.total() {
        1 => "the only comparison".to_owned(),
        all if all == comparison.tally.count(overall) => format!("all {all} comparisons"),
        _ => comparison.tally.words(),
    };
    format!(
        "{}: {} (base) → {} (new): {}.",
        capital(overall.name()),
        name(&comparison.base),
        name(&comparison.new),
        found
    )
}

/// The report of a run that was made for a comparison, with the comparison before everything else.
pub fn with_verdict(report: Page, comparison: &Comparison) -> Page {
    // The report says how noisy the machine was.
    let compared = described(comparison, across_cases(comparison));
    // The report's own first line ranks the two by another rule: each table by itself.
    let is_ranking = |block: &Block| matches!(block, Block::List(_));
    let report_intro = report.intro.into_iter().skip_while(is_ranking);
    Page {
        intro: compared.intro.into_iter().chain(report_intro).collect(),
        sections: [compared.sections, report.sections].concat(),
        ..report
    }
}

/// The title of how the sides were compared.
const HOW: &str = "How they were compared";

const RULE: &str = "A change counts if it is at least the threshold and its p-value, corrected for all comparisons (Holm), is below 0.05.";

/// What a count of instructions means.
const INSTRUCTIONS: &str = "User-space instructions tell whether the code does more work, not whether the server is slower: system calls, \
                            caches, memory and waiting are not in them.";

fn rule(comparison: &Comparison) -> String {
    if counts_only(comparison) {
        RULE.replace("0.05", "0.01")
    } else {
        RULE.to_owned()
    }
}

/// How the sides were compared, and how their conditions differ, a line each.
fn how(comparison: &Comparison) -> Vec<String> {
    let mut lines: Vec<String> = bases(comparison).map(str::to_owned).collect();
    lines.extend(comparison.differences.iter().cloned());
    lines.extend(notes_by_case(comparison));
    lines.push(rule(comparison));
    lines
}

/// Why comparisons that have figures have no verdict, if any lacks the rounds.
fn too_few_rounds(comparison: &Comparison) -> Option<String> {
    let mut rows = comparison.cases.iter().flat_map(|case| &case.rows);
    let least = rows.find_map(|row| match (row.what, row.change) {
        (What::Metric(metric), Some(change)) if !change.has_enough_rounds(metric) => {
            Some(metric.least_rounds())
        }
        _ => None,
    })?;
    Some(format!(
        "A verdict needs at least {least} quiet rounds (not noisy in every attempt); with fewer, a comparison is inconclusive."
    ))
}

/// The remarks on each case and how its instructions were counted, with its place, and what a count of instructions means.
fn notes_by_case(comparison: &Comparison) -> Vec<String> {
    let notes = comparison.cases.iter().flat_map(|case| {
        let place = case_name(comparison, case);
        let notes = case.notes.iter().cloned().chain(counting(case));
        notes.map(move |note| format!("{place}: {note}"))
    });
    let mut cases = comparison.cases.iter();
    let means = cases.any(|case| case.instructions.is_some());
    notes
        .chain(means.then(|| INSTRUCTIONS.to_owned()))
        .collect()
}

/// Whether all its loads count instructions.
fn counts_only(comparison: &Comparison) -> bool {
    let mut cases = comparison.cases.iter();
    cases.all(|case| case.load.by == MeasuredBy::Instructions) && !comparison.cases.is_empty()
}

/// How the instructions of a case were counted, and the CPU time beside them; nothing for loads that measure time.
fn counting(case: &Case) -> Vec<String> {
    let Some(details) = &case.instructions else {
        return Vec::new();
    };
    let mut lines = vec![format!(
        "counted by {}: {} requests a round after {} of warm-up, {}",
        details.counted_by(),
        details.requests,
        details.warm_up_requests,
        details.settings.join(" ")
    )];
    lines.extend(details.batches.left_out());
    lines.extend(details.cpu.map(|cpu| cpu.words()));
    lines
}

const FUNCTIONS: [Column<FunctionChange>; 5] = [
    Column::figure("share of the change", |one| Cell::text(share(one.share))),
    Column::figure("change", |one| {
        let change = one.new - one.base;
        let sign = if change > 0.0 { "+" } else { "" };
        Cell::text(format!("{sign}{}", number::whole(change)))
    }),
    Column::words("base → new", |one| {
        Cell::text(format!(
            "{} → {}",
            number::whole(one.base),
            number::whole(one.new)
        ))
    }),
    Column::words("function", |one| Cell::text(&one.name)),
    Column::words("in", |one| {
        Cell::text(one.object.clone().unwrap_or_default())
    }),
];

/// The functions whose instructions changed, of each case whose instructions did.
fn functions(comparison: &Comparison) -> Option<Section> {
    let tables = comparison.cases.iter().filter_map(|case| {
        let functions = &case.instructions.as_ref()?.functions;
        let rows = functions.iter().map(|one| (one, Row::default()));
        let mut table = Table::of(&FUNCTIONS, rows);
        table.caption = case_name(comparison, case);
        (!functions.is_empty()).then_some(Block::Table(table))
    });
    let tables: Vec<Block> = tables.collect();
    let title = "Where the instructions per request changed";
    (!tables.is_empty()).then(|| Section::of("functions", title, tables))
}

/// A comparison in a table.
#[derive(Clone)]
struct Line<'c> {
    case: &'c Case,
    row: &'c MetricRow,
    /// Its case, if the table is of several.
    place: String,
}

impl<'c> Line<'c> {
    fn of(case: &'c Case, row: &'c MetricRow, place: &str) -> Self {
        let place = place.to_owned();
        Self { case, row, place }
    }

    fn columns() -> [Column<Self>; 7] {
        [
            Column::words("verdict", |line| {
                let finding = line.row.finding;
                Cell::text(finding.name()).colour(finding.colour())
            }),
            Column::words("measured", |line| Cell::text(&line.place)),
            Column::words("metric", |line| Cell::text(metric(line.row.what))),
            Column::words("medians: base → new", |line| {
                let [base, new] = [line.row.base, line.row.new].map(|value| line.figure(value));
                Cell::text(format!("{base} → {new}"))
            }),
            Column::words("change", |line| {
                line.change(|it| line.row.what.change_text(it.ratio))
            }),
            Column::words("95 % interval", |line| {
                let text = |ratio| line.row.what.change_text(ratio);
                line.change(|it| format!("{} to {}", text(it.low), text(it.high)))
            }),
            Column::words("basis", |line| line.change(grounds)),
        ]
    }

    /// What there is to say of its change; nothing without one.
    fn change(&self, text: impl Fn(&Change) -> String) -> Cell {
        Cell::blank(self.row.change.as_ref().map(text).unwrap_or_default())
    }

    /// A figure of one side.
    fn figure(&self, value: Option<f64>) -> String {
        match (self.row.what, value) {
            (_, None) => number::NONE.to_owned(),
            (What::Metric(Metric::Rate), Some(value)) if self.case.load.flows => {
                number::rate_of("flows", value)
            }
            (What::Metric(metric), Some(value)) => metric.text(value),
            (What::Errors, Some(of)) => share(of),
            (What::Failure, Some(rounds)) => plural(rounds as usize, "round"),
        }
    }
}

fn table(lines: &[Line<'_>]) -> Block {
    let basis = lines.iter().find_map(|line| Some(line.row.change?.basis));
    // The change is not the ratio of the medians beside it.
    let change = match basis {
        Some(Basis::Paired) => "change within rounds",
        Some(Basis::ToCeiling) => "change relative to the ceiling",
        Some(Basis::Unpaired | Basis::Starts) | None => "change",
    };
    let rows = lines.iter().map(|line| {
        let row = Row::flagged(Weight::Note, line.row.notes.iter().cloned());
        (line, row.facets(facets(line.case, line.row)))
    });
    Block::Table(Table::of(&Line::columns(), rows).titled("change", change.to_owned()))
}

/// What a page filters by.
fn facets(case: &Case, row: &MetricRow) -> Vec<Facet> {
    vec![
        Facet::of("verdict", row.finding.name()),
        Facet::of("server", &case.new),
        Facet::of("workload", &case.workload),
        Facet::of("metric", row.what.name()),
    ]
}

/// The workload and the load, preceded by the server if the sides do not name it.
fn case_name(comparison: &Comparison, case: &Case) -> String {
    match comparison.new.server {
        None => case.place(&case.new),
        Some(_) => case.workload_and_load(),
    }
}

/// The metric, and which direction is better.
fn metric(what: What) -> String {
    match what {
        What::Metric(metric) => match metric.better() {
            Better::Higher => format!("{metric} ↑"),
            Better::Lower => format!("{metric} ↓"),
        },
        other => other.name().to_owned(),
    }
}

/// `go-nethttp (run 20261121-203000-tour)`.
pub(crate) fn side(side: &Named) -> String {
    match &side.server {
        Some(server) => format!("{server} (run {})", side.run),
        None => format!("run {}", side.run),
    }
}

/// `−12.4 % (95 % interval −13.0 % to −11.8 %, p < 0.001, 12 rounds, threshold 2 %)`; empty without a change.
pub(crate) fn change_in_words(row: &MetricRow) -> String {
    row.change.as_ref().map_or_else(String::new, |it| {
        let [middle, low, high] = [it.ratio, it.low, it.high].map(|it| row.what.change_text(it));
        let grounds = grounds(it);
        format!("{middle} (95 % interval {low} to {high}, {grounds})")
    })
}

/// How the rounds were compared: a sentence for each basis.
fn bases(comparison: &Comparison) -> impl Iterator<Item = &'static str> {
    let rows = comparison.cases.iter().flat_map(|case| &case.rows);
    let mut bases: Vec<Basis> = Vec::new();
    for basis in rows.filter_map(|row| Some(row.change?.basis)) {
        if !bases.contains(&basis) {
            bases.push(basis);
        }
    }
    bases.into_iter().map(|basis| match basis {
        Basis::Paired => {
            "Each round of NEW is compared with the same round of BASE, run next to it; the change is the Hodges-Lehmann median of \
             these ratios, and may differ from the ratio of the two medians."
        }
        Basis::ToCeiling => {
            "The two were measured in separate sessions. Each round is compared as a ratio to the ceiling (reference server) of its \
             round, so what affects both in a session cancels out; the medians are shown as they were measured."
        }
        Basis::Starts => {
            "Each round starts the server again, and its instructions do not depend on the time, so all rounds of NEW are compared \
             with all of BASE; the change is the Hodges-Lehmann median of their ratios."
        }
        Basis::Unpaired => {
            "The two were measured in separate sessions and not interleaved, so the change includes what differs between the sessions."
        }
    })
}

/// `p 0.003, 12 rounds (10 quiet), threshold 2 %`.
fn grounds(change: &Change) -> String {
    let p = match change.p_corrected {
        p if p < 0.001 => "p < 0.001".to_owned(),
        p => format!("p {p:.3}"),
    };
    let threshold = number::short(&share(change.threshold));
    let quiet = match change.quiet_rounds {
        quiet if quiet == change.rounds => String::new(),
        quiet => format!(" ({quiet} quiet)"),
    };
    let rounds = plural(change.rounds, "round");
    format!("{p}, {rounds}{quiet}, threshold {threshold}")
}
