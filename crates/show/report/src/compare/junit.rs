//! The comparison as JUnit XML, for a CI system.

use prony_present::junit::{Case as TestCase, CaseResult, xml};
use prony_present::words::{Joined, non_empty};

use crate::compare::comparison::Comparison;
use crate::compare::finding::{Finding, NEW_IS_WRONG};
use crate::compare::pages::{change_in_words, side};
use crate::compare::row::{Case, MetricRow};

/// A test case for each comparison. What is inconclusive, not comparable or missing is skipped, or failed if the check is
/// `strict`.
pub fn junit(comparison: &Comparison, strict: bool) -> String {
    let rows = comparison.cases.iter();
    let rows = rows.flat_map(|case| case.rows.iter().map(move |row| (case, row)));
    let mut cases: Vec<TestCase> = rows.map(|(case, row)| of_row(case, row, strict)).collect();
    if comparison.tally.new_is_wrong {
        let result = failed(NEW_IS_WRONG.to_owned());
        cases.push(TestCase::of("responses", "expected responses", result));
    }
    let missing = comparison.left_out.iter();
    cases
        .extend(missing.map(|text| TestCase::of("not compared", text, open(text.clone(), strict))));
    let (base, new) = (side(&comparison.base), side(&comparison.new));
    xml(&format!("{base} and {new}"), &cases)
}

fn of_row(case: &Case, row: &MetricRow, strict: bool) -> TestCase {
    let text = [row.finding.name().to_owned(), change_in_words(row)];
    let texts = text.iter().chain(&row.notes).chain(&case.notes);
    let text = texts.cloned().filter_map(non_empty).joined("; ");
    // Once: as the message, or else as the output.
    let (result, output) = match row.finding {
        Finding::Worse => (failed(text), String::new()),
        Finding::Inconclusive | Finding::Limited => (open(text, strict), String::new()),
        Finding::Improved | Finding::NoChangeSeen => (CaseResult::Passed, text),
    };
    TestCase {
        output,
        ..TestCase::of(case.place(&case.new), row.what.name(), result)
    }
}

fn open(message: String, strict: bool) -> CaseResult {
    if strict {
        failed(message)
    } else {
        CaseResult::skipped(message)
    }
}

fn failed(message: String) -> CaseResult {
    CaseResult::failed(message, "")
}
