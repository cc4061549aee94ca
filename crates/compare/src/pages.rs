//! The comparison for a terminal and for a pull request.

use prony_model::MeasuredBy;
use prony_present::markdown::escaped;
use prony_present::number::{self, share};
use prony_present::page::{Block, Page, Section};
use prony_present::table::{Cell, Colour, Facet, Head, Row, Table, Weight};
use prony_present::terminal::Paint;
use prony_present::words::{capital, plural};
use prony_stats::Better;

use crate::comparison::Comparison;
use crate::finding::{Finding, NEW_IS_WRONG};
use crate::metric::Metric;
use crate::row::{Basis, Case, Change, MetricRow, What};
use crate::side::Named;

/// The comparison as text. `colour` allows ANSI colours.
pub fn terminal(comparison: &Comparison, colour: bool) -> String {
    let mut lines = vec![
        format!("BASE  {}", side(&comparison.base)),
        format!("NEW   {}", side(&comparison.new)),
        String::new(),
    ];
    for case in &comparison.cases {
        lines.push(case_name(comparison, case));
        let table = table(
            comparison,
            case.rows.iter().map(|row| (case, row)),
            Medium::Terminal,
        );
        let table = table.terminal(usize::MAX / 2, Paint { colour });
        lines.extend(table.into_iter().map(|line| format!("  {line}")));
        let notes = case.notes.iter().cloned().chain(counting(case));
        lines.extend(notes.map(|line| format!("  {line}")));
        if let Some(functions) = functions(case) {
            lines.push(format!("  {WHERE}"));
            let functions = functions.terminal(usize::MAX / 2, Paint { colour });
            lines.extend(functions.into_iter().map(|line| format!("    {line}")));
        }
        lines.push(String::new());
    }
    lines.extend(bases(comparison).map(str::to_owned));
    lines.extend(too_few_rounds(comparison));
    match counts_only(comparison) {
        true => lines.push(INSTRUCTIONS.to_owned()),
        false => lines.push(comparison.noise.sentence()),
    }
    for (what, texts) in [
        ("not compared", &comparison.left_out),
        ("only in NEW", &comparison.only_new),
        ("between sessions", &comparison.differences),
        ("warning", &comparison.warnings),
    ] {
        lines.extend(texts.iter().map(|text| format!("{what}: {text}")));
    }
    lines.push(format!("result: {}", comparison.tally.words()));
    lines.join("\n") + "\n"
}

/// The comparison as Markdown: the important rows on top, the rest folded away.
pub fn markdown(comparison: &Comparison) -> String {
    let overall = comparison.tally.overall();
    let found = match comparison.tally.count(overall) {
        0 if comparison.tally.new_is_wrong => NEW_IS_WRONG.to_owned(),
        count => format!("{count} of {} comparisons", comparison.tally.total()),
    };
    let mut out = format!("### Prony: {} ({found})\n\n", overall.name());
    let rows = || {
        comparison
            .cases
            .iter()
            .flat_map(|case| case.rows.iter().map(move |row| (case, row)))
    };
    let mut important: Vec<(&Case, &MetricRow)> = rows()
        .filter(|(_, row)| row.finding != Finding::NoChangeSeen)
        .collect();
    important.sort_by_key(|(_, row)| row.finding);
    if !important.is_empty() {
        out += &table(comparison, important.into_iter(), Medium::Summary).markdown();
        out.push('\n');
    }
    if let Some(sentence) = too_few_rounds(comparison) {
        out += &format!("{sentence}\n\n");
    }
    for case in &comparison.cases {
        if let Some(functions) = functions(case) {
            let place = escaped(&case_name(comparison, case));
            out += &format!("**{WHERE}** {place}\n\n{}\n", functions.markdown());
        }
    }
    for (what, texts) in [
        ("Warning", &comparison.warnings),
        ("Not compared", &comparison.left_out),
    ] {
        out.extend(
            texts
                .iter()
                .map(|text| format!("**{what}:** {}\n\n", escaped(text))),
        );
    }
    if comparison.noise.is_noisy() {
        out += &format!("{}\n\n", escaped(&comparison.noise.sentence()));
    }
    let all = table(comparison, rows(), Medium::Details).markdown();
    let summary = comparison.tally.words();
    out +=
        &format!("<details><summary>All comparisons: {summary}</summary>\n\n{all}\n</details>\n\n");
    let sides = [("base", &comparison.base), ("new", &comparison.new)];
    let mut conditions: Vec<String> = sides
        .map(|(name, of)| format!("{name}: {}, {}", side(of), of.started_at))
        .into();
    conditions.extend(bases(comparison).map(str::to_owned));
    conditions.extend(
        comparison
            .only_new
            .iter()
            .map(|come| format!("only in NEW: {come}")),
    );
    conditions.extend(how(comparison, !comparison.noise.is_noisy()));
    let conditions: String = conditions
        .iter()
        .map(|line| format!("- {}\n", escaped(line)))
        .collect();
    out + &format!("<details><summary>Conditions</summary>\n\n{conditions}\n</details>\n")
}

/// The comparison as a page: the result, what changed, every comparison, and the conditions.
pub fn page(comparison: &Comparison) -> Page {
    let rows = || {
        let cases = comparison.cases.iter();
        cases.flat_map(|case| case.rows.iter().map(move |row| (case, row)))
    };
    let mut changed: Vec<(&Case, &MetricRow)> = rows()
        .filter(|(_, row)| matches!(row.finding, Finding::Worse | Finding::Improved))
        .collect();
    changed.sort_by_key(|(_, row)| row.finding);
    let titled = |id: &str, title: &str, blocks: Vec<Block>| Section {
        id: id.to_owned(),
        title: title.to_owned(),
        blocks,
        ..Section::default()
    };
    let mut sections = Vec::new();
    if !changed.is_empty() {
        let table = table(comparison, changed.into_iter(), Medium::Details);
        sections.push(titled("changed", "What changed", vec![Block::Table(table)]));
    }
    let mut all = vec![Block::Table(table(comparison, rows(), Medium::Details))];
    all.extend(bases(comparison).map(|basis| Block::Caption(basis.to_owned())));
    sections.push(titled("all", "All comparisons", all));
    let grown: Vec<Block> = { comparison.cases.iter() }
        .filter_map(|case| Some((case, functions(case)?)))
        .flat_map(|(case, functions)| {
            let place = case_name(comparison, case);
            [Block::Text(format!("{place}:")), Block::Table(functions)]
        })
        .collect();
    if !grown.is_empty() {
        sections.push(titled("functions", "Where the instructions changed", grown));
    }
    let absent = [
        ("Not compared", &comparison.left_out),
        ("Only in NEW", &comparison.only_new),
    ];
    for (title, lines) in absent.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        let id = title.to_lowercase().replace(' ', "-");
        sections.push(titled(&id, title, vec![Block::List(lines.clone())]));
    }
    sections.push(titled(
        "conditions",
        "Conditions",
        vec![Block::List(how(comparison, true))],
    ));
    let warnings = comparison.warnings.iter();
    let warnings = warnings.map(|text| Block::Callout(Weight::Warning, text.clone()));
    let differ = comparison.conditions_differ.then(|| {
        let text = "The conditions of the two sessions differ, so a change may be theirs and not the server's: see “Conditions”.";
        Block::Callout(Weight::Warning, text.to_owned())
    });
    let result = Block::Text(format!("{}.", capital(&comparison.tally.words())));
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
        intro: std::iter::once(result)
            .chain(too_few_rounds(comparison).map(Block::Text))
            .chain(warnings)
            .chain(differ)
            .collect(),
        sections,
        ..Page::default()
    }
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
    let mut compared = page(comparison);
    // The report has conditions of its own, and says how noisy the machine was.
    let mut sections = compared.sections.iter_mut();
    if let Some(conditions) = sections.find(|section| section.id == "conditions") {
        conditions.id = "compared".into();
        conditions.title = "How they were compared".into();
        conditions.blocks = vec![Block::List(how(comparison, false))];
    }
    let weight = match comparison.tally.overall() {
        Finding::Worse => Weight::Bad,
        Finding::Inconclusive | Finding::Limited => Weight::Warning,
        Finding::Improved | Finding::NoChangeSeen => Weight::Note,
    };
    let verdict = Block::Callout(weight, result(comparison));
    // The report's own first line ranks the two by another rule: each table by itself.
    let is_ranking = |block: &Block| matches!(block, Block::List(_));
    let report_intro = report.intro.into_iter().skip_while(is_ranking);
    Page {
        intro: std::iter::once(verdict)
            .chain(compared.intro.into_iter().skip(1))
            .chain(report_intro)
            .collect(),
        sections: [compared.sections, report.sections].concat(),
        ..report
    }
}

/// When a change counts.
const RULE: &str = "A change counts if it is at least the threshold and its p-value, corrected for all comparisons (Holm), is below 0.05.";

/// What a count of instructions means.
const INSTRUCTIONS: &str = "User-space instructions tell whether the code does more work, not whether the server is slower: system calls, \
                            caches, memory and waiting are not in them.";

/// The title of a table of functions.
const WHERE: &str = "Where the instructions per request changed:";

fn rule(comparison: &Comparison) -> String {
    match counts_only(comparison) {
        true => RULE.replace("0.05", "0.01"),
        false => RULE.to_owned(),
    }
}

/// How the sides were compared, how their conditions differ, and `with_noise` how noisy the machine was, a line each.
fn how(comparison: &Comparison, with_noise: bool) -> Vec<String> {
    let mut lines = comparison.differences.clone();
    lines.extend(notes_by_case(comparison));
    lines.extend(counted(comparison));
    if with_noise && !counts_only(comparison) {
        lines.push(comparison.noise.sentence());
    }
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

/// The remarks on each case, with its place.
fn notes_by_case(comparison: &Comparison) -> impl Iterator<Item = String> + '_ {
    comparison.cases.iter().flat_map(|case| {
        let place = case_name(comparison, case);
        let notes = case.notes.iter();
        notes.map(move |note| format!("{place}: {note}"))
    })
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

/// The same for each case, and what a count of instructions means, if there is one.
fn counted(comparison: &Comparison) -> Vec<String> {
    let cases = comparison.cases.iter();
    let lines = cases.flat_map(|case| {
        let place = case_name(comparison, case);
        let lines = counting(case).into_iter();
        lines.map(move |line| format!("{place}: {line}"))
    });
    let mut lines: Vec<String> = lines.collect();
    if !lines.is_empty() {
        lines.push(INSTRUCTIONS.to_owned());
    }
    lines
}

/// The functions whose instructions changed, if the instructions of a case did.
fn functions(case: &Case) -> Option<Table> {
    let details = case.instructions.as_ref()?;
    if details.functions.is_empty() {
        return None;
    }
    let rows = details.functions.iter().map(|one| {
        let change = one.new - one.base;
        let sign = if change > 0.0 { "+" } else { "" };
        let texts = [
            share(one.share),
            format!("{sign}{}", number::whole(change)),
            format!("{} → {}", number::whole(one.base), number::whole(one.new)),
            one.name.clone(),
            one.object.clone().unwrap_or_default(),
        ];
        Row {
            cells: texts.into_iter().map(Cell::blank).collect(),
            ..Row::default()
        }
    });
    let titles = [
        "share of the change",
        "change",
        "base → new",
        "function",
        "in",
    ];
    Some(Table {
        heads: titles.into_iter().map(Head::words).collect(),
        rows: rows.collect(),
        ..Table::default()
    })
}

/// Where a table is shown.
#[derive(Clone, Copy, PartialEq)]
enum Medium {
    Terminal,
    Summary,
    Details,
}

fn table<'a>(
    comparison: &Comparison,
    rows: impl Iterator<Item = (&'a Case, &'a MetricRow)> + Clone,
    medium: Medium,
) -> Table {
    let basis = rows.clone().find_map(|(_, row)| Some(row.change?.basis));
    // The change is not the ratio of the medians beside it.
    let change_of = match basis {
        Some(Basis::Paired) => "change within rounds",
        Some(Basis::ToCeiling) => "change relative to the ceiling",
        Some(Basis::Unpaired | Basis::Starts) | None => "change",
    };
    let titles = [
        "verdict",
        "measured",
        "metric",
        "medians: base → new",
        change_of,
        "95 % interval",
        "basis",
    ];
    let left_out = match medium {
        Medium::Terminal => 1,
        Medium::Summary => 6,
        Medium::Details => titles.len(),
    };
    let keep = |place: &usize| *place != left_out;
    let heads = titles
        .into_iter()
        .enumerate()
        .filter(|(place, _)| keep(place));
    let rows = rows.map(|(case, row)| {
        let cells = cells(comparison, case, row, medium).into_iter().enumerate();
        Row {
            cells: cells
                .filter(|(place, _)| keep(place))
                .map(|(_, cell)| cell)
                .collect(),
            notes: if medium == Medium::Terminal {
                row.notes.clone()
            } else {
                Vec::new()
            },
            facets: facets(case, row),
            ..Row::default()
        }
    });
    Table {
        heads: heads.map(|(_, title)| Head::words(title)).collect(),
        rows: rows.collect(),
        ..Table::default()
    }
}

/// What a page filters by.
fn facets(case: &Case, row: &MetricRow) -> Vec<Facet> {
    let facet = |name, value: &str| Facet {
        name,
        value: value.to_owned(),
    };
    vec![
        facet("verdict", row.finding.name()),
        facet("server", &case.new),
        facet("workload", &case.workload),
        facet("metric", row.what.name()),
    ]
}

fn cells(comparison: &Comparison, case: &Case, row: &MetricRow, medium: Medium) -> [Cell; 7] {
    let medians = format!(
        "{} → {}",
        figure(case, row, row.base),
        figure(case, row, row.new)
    );
    let notes = row.notes.join("; ");
    let figures = match (medium, row.change.is_none() && !notes.is_empty()) {
        (Medium::Terminal, _) | (_, false) => medians,
        (_, true) => notes.clone(),
    };
    let of = |text: fn(&Change) -> String| row.change.as_ref().map_or_else(String::new, text);
    let change_text = |ratio| row.what.change_text(ratio);
    let mut grounds = of(grounds);
    if medium == Medium::Details && !notes.is_empty() {
        grounds = [grounds, notes]
            .iter()
            .filter(|text| !text.is_empty())
            .cloned()
            .collect::<Vec<_>>()
            .join("; ");
    }
    let finding = Cell {
        colour: Some(match row.finding {
            Finding::Worse => Colour::Bad,
            Finding::Improved => Colour::Good,
            Finding::Inconclusive | Finding::Limited => Colour::Warning,
            Finding::NoChangeSeen => Colour::Soft,
        }),
        ..Cell::text(row.finding.name())
    };
    let interval = row.change.as_ref().map_or_else(String::new, |change| {
        format!(
            "{} to {}",
            change_text(change.low),
            change_text(change.high)
        )
    });
    let changed = { row.change.as_ref() }.map_or_else(String::new, |it| change_text(it.ratio));
    let texts = [
        case_name(comparison, case),
        metric(row.what, medium),
        figures,
        changed,
        interval,
        grounds,
    ];
    let [case, metric, figures, change, interval, grounds] = texts.map(Cell::blank);
    [finding, case, metric, figures, change, interval, grounds]
}

/// The workload and the load, preceded by the server if the sides do not name it.
fn case_name(comparison: &Comparison, case: &Case) -> String {
    match comparison.new.server {
        None => case.place(&case.new),
        Some(_) => case.workload_and_load(),
    }
}

/// The metric; a terminal also shows which direction is better.
fn metric(what: What, medium: Medium) -> String {
    match what {
        What::Metric(metric) if medium == Medium::Terminal => match metric.better() {
            Better::Higher => format!("{metric} ↑"),
            Better::Lower => format!("{metric} ↓"),
        },
        other => other.name().to_owned(),
    }
}

/// A row's figure of one side.
fn figure(case: &Case, row: &MetricRow, value: Option<f64>) -> String {
    match (row.what, value) {
        (_, None) => number::NONE.to_owned(),
        (What::Metric(Metric::Rate), Some(value)) if case.load.flows => {
            number::rate_of("flows", value)
        }
        (What::Metric(metric), Some(value)) => metric.text(value),
        (What::Errors, Some(of)) => share(of),
        (What::Failure, Some(rounds)) => plural(rounds as usize, "round"),
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
