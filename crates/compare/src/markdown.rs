//! The comparison for a pull request.

use prony_report::escaped_markdown as escaped;

use crate::comparison::Comparison;
use crate::finding::Finding;
use crate::row::{Case, Row};
use crate::terminal::bases;
use crate::text;

/// The comparison as Markdown: what must be seen on top, the rest folded away.
pub fn markdown(comparison: &Comparison) -> String {
    let mut out = format!("### Prony: {}\n\n", headline(comparison));
    let named = comparison.names_servers();
    let rows = || {
        let cases = comparison.cases.iter();
        cases.flat_map(|case| case.rows.iter().map(move |row| (case, row)))
    };
    let told = |row: &Row| row.finding != Finding::NoChangeSeen;
    if rows().any(|(_, row)| told(row)) {
        out += "| verdict | measured | | base → new | change | 95 % interval |\n";
        out += "|---|---|---|---|---|---|\n";
        for finding in Finding::ALL {
            let those = rows().filter(|(_, row)| told(row) && row.finding == finding);
            those.for_each(|(case, row)| out += &line(case, row, named, &[]));
        }
        out.push('\n');
    }
    for warning in &comparison.warnings {
        out += &format!("**Warning:** {}\n\n", escaped(warning));
    }
    for gone in &comparison.left_out {
        out += &format!("**Not compared:** {}\n\n", escaped(gone));
    }
    if comparison.noise.is_worth_telling() {
        out += &format!("{}\n\n", escaped(&comparison.noise.sentence()));
    }
    out + &folded(comparison, named)
}

/// `worse (1 of 8 comparisons)`, then what the others came to.
fn headline(comparison: &Comparison) -> String {
    let (tally, overall) = (&comparison.tally, comparison.tally.overall());
    format!(
        "{} ({} of {} comparisons)",
        overall.words(),
        tally.count(overall),
        tally.total()
    )
}

fn line(case: &Case, row: &Row, named: bool, more: &[String]) -> String {
    let (change, interval) = match &row.change {
        Some(change) => (
            text::percent(change.ratio),
            text::interval(change.low, change.high),
        ),
        None => (String::new(), String::new()),
    };
    let verdict = match row.finding {
        Finding::Worse | Finding::Improved => format!("**{}**", row.finding.words()),
        other => other.words().to_owned(),
    };
    let figures = format!(
        "{} → {}",
        text::figure(row, row.base),
        text::figure(row, row.new)
    );
    let notes = row.notes.join("; ");
    let figures = match (row.change.is_none(), notes.is_empty()) {
        (true, false) => notes,
        _ => figures,
    };
    let mut cells = vec![
        verdict,
        escaped(&text::case(case, named)),
        row.what.name().to_owned(),
        escaped(&figures),
        change,
        interval,
    ];
    cells.extend(more.iter().map(|cell| escaped(cell)));
    format!("| {} |\n", cells.join(" | "))
}

/// Every comparison with its grounds, and the conditions.
fn folded(comparison: &Comparison, named: bool) -> String {
    let mut out = format!(
        "<details><summary>All comparisons: {}</summary>\n\n",
        text::tally(&comparison.tally)
    );
    out += "| verdict | measured | | base → new | change | 95 % interval | grounds |\n";
    out += "|---|---|---|---|---|---|---|\n";
    for case in &comparison.cases {
        for row in &case.rows {
            let mut grounds: Vec<String> = row.change.iter().map(text::grounds).collect();
            grounds.extend(row.notes.iter().cloned());
            out += &line(case, row, named, &[grounds.join("; ")]);
        }
    }
    out += "\n</details>\n\n<details><summary>Conditions</summary>\n\n";
    out += &format!(
        "- base: {}, {}\n",
        escaped(&text::side(&comparison.base)),
        comparison.base.started_at
    );
    out += &format!(
        "- new: {}, {}\n",
        escaped(&text::side(&comparison.new)),
        comparison.new.started_at
    );
    for basis in bases(&comparison.cases) {
        out += &format!("- {}\n", text::basis(basis));
    }
    for come in &comparison.only_new {
        out += &format!("- only in NEW: {}\n", escaped(come));
    }
    for difference in &comparison.differences {
        out += &format!("- {}\n", escaped(difference));
    }
    out += &format!("- {}\n", escaped(&comparison.noise.sentence()));
    out += "- A change is called where it is at least the threshold and its p-value, corrected for all comparisons \
            (Holm), is below 0.05.\n";
    out + "\n</details>\n"
}
