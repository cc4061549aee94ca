//! The comparison as JUnit XML, for a CI system.

use prony_present::junit::{Case as TestCase, CaseResult, Report, Suite};

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
        let message = NEW_IS_WRONG.to_owned();
        cases.push(test_case(
            "responses",
            "expected responses",
            failed(message),
        ));
    }
    let missing = comparison.left_out.iter();
    cases.extend(missing.map(|text| test_case("not compared", text, open(text.clone(), strict))));
    let (base, new) = (side(&comparison.base), side(&comparison.new));
    let suite = Suite {
        name: format!("{base} and {new}"),
        cases,
    };
    Report {
        suites: vec![suite],
    }
    .xml()
}

fn of_row(case: &Case, row: &MetricRow, strict: bool) -> TestCase {
    let text = [row.finding.name().to_owned(), change_in_words(row)];
    let texts = text.iter().chain(&row.notes).chain(&case.notes);
    let texts: Vec<&str> = texts
        .map(String::as_str)
        .filter(|text| !text.is_empty())
        .collect();
    let text = texts.join("; ");
    // Once: as the message, or else as the output.
    let (result, output) = match row.finding {
        Finding::Worse => (failed(text), String::new()),
        Finding::Inconclusive | Finding::Limited => (open(text, strict), String::new()),
        Finding::Improved | Finding::NoChangeSeen => (CaseResult::Passed, text),
    };
    TestCase {
        output,
        ..test_case(&case.place(&case.new), row.what.name(), result)
    }
}

fn test_case(class: &str, name: &str, result: CaseResult) -> TestCase {
    TestCase {
        class: class.to_owned(),
        name: name.to_owned(),
        seconds: None,
        result,
        output: String::new(),
    }
}

fn open(message: String, strict: bool) -> CaseResult {
    if strict {
        failed(message)
    } else {
        CaseResult::Skipped { message }
    }
}

fn failed(message: String) -> CaseResult {
    CaseResult::Failed {
        message,
        details: String::new(),
    }
}
