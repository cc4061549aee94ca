//! Golden files of every page, table and chart, for runs that together have every column, note and empty case.
//!
//! `cargo insta test --review -p prony-report` shows what a change does to them (cargo install cargo-insta);
//! `INSTA_UPDATE=always cargo test -p prony-report --test golden` accepts all of it.

use crate::sample;
use crate::sample::documents::{self, Records};
use insta::{Settings, assert_snapshot};
use prony_model::{FailureKind, Outcome, Run, RunEnd, TrialRecord, TrialResult};
use prony_report::{RunSummary, chart_files, end_of_run, html, markdown, terminal};

#[test]
fn closed_loops() {
    let report = Report::of("closed-loops", (sample::run(), sample::trials()));
    report.words().page().charts(&["hello-"]);
}

#[test]
fn every_shape_of_load() {
    let report = Report::of("every-shape", sample::rates::rates());
    let charts = ["hello-rate-20k-latency", "hello-users", "sse-trials"];
    report.words().page().charts(&charts);
}

#[test]
fn a_noisy_machine() {
    let report = Report::of("noisy", sample::noisy::noisy());
    report.words().page().charts(&["hello-trials"]);
}

#[test]
fn everything_that_can_go_wrong() {
    let report = Report::of("troubles", sample::troubles::troubles());
    let charts = ["hello-closed-64-throughput", "hello-closed-64-cpu", "page-"];
    report.words().colours().page().charts(&charts);
}

#[test]
fn a_document_with_its_rounds() {
    let (run, mut trials) = documents::zap();
    for record in &mut trials {
        if let ("go-nethttp", 2) | ("rust-threadpool", _) =
            (record.trial.server.as_str(), record.trial.round)
        {
            record.result = TrialResult::Failed {
                kind: FailureKind::ServerExited,
                message: "it ended".into(),
            };
        }
    }
    let report = Report::of("document-rounds", (run, trials));
    report.words().colours().page().charts(&["published-"]);
}

#[test]
fn a_document_with_shares() {
    let (run, mut trials) = documents::datastar();
    for record in &mut trials {
        if let TrialResult::Measured(measured) = &mut record.result
            && (record.trial.server.as_str(), record.trial.workload.as_str()) == ("bun", "sse")
        {
            measured.load.outcomes[Outcome::WrongBody] = 1;
        }
    }
    let report = Report::of("document-shares", (run, trials));
    report.words().page().charts(&["published-"]);
}

#[test]
fn a_document_whose_order_is_reversed() {
    let (run, mut trials) = documents::datastar();
    let order = ["rust-axum", "go-nethttp", "bun", "ceiling"];
    for record in &mut trials {
        if let TrialResult::Measured(measured) = &mut record.result {
            let place = order.iter().position(|id| *id == record.trial.server);
            measured.load.rate_per_s = 1000.0 * (1 + place.unwrap()) as f64;
        }
    }
    Report::of("document-reversed", (run, trials)).words();
}

#[test]
fn a_document_of_users() {
    Report::of("document-users", documents::hydragen()).words();
}

#[test]
fn text_from_outside() {
    let (run, mut trials) = sample::hostile::hostile();
    trials.retain(|record| record.trial.workload != "sse");
    let report = Report::of("hostile", (run, trials));
    report.words().page().charts(&["hello-throughput"]);
    Report::of("hostile-document", sample::hostile::hostile_document()).words();
}

/// With one round, with two, and with five that vary too much to tell servers apart.
#[test]
fn few_rounds() {
    let of = |rounds: u32, scatter: f64| {
        let mut trials = sample::trials();
        trials.retain(|TrialRecord { trial, .. }| {
            let slow = trial.server == "python-httpserver" && scatter > 0.0;
            trial.round <= rounds && trial.workload == "hello" && !slow
        });
        for (i, record) in trials.iter_mut().enumerate() {
            if let TrialResult::Measured(measured) = &mut record.result {
                measured.load.rate_per_s *= 1.0 - scatter * ((i * i) % 7) as f64 / 6.0;
            }
        }
        (sample::run(), trials)
    };
    Report::of("rounds-1", of(1, 0.0)).words();
    Report::of("rounds-2", of(2, 0.0)).words();
    Report::of("rounds-5-scattered", of(5, 0.5)).words();
}

#[test]
fn the_end_of_a_run() {
    let mut text = String::new();
    for end in RunEnd::ALL {
        let warning = end_of_run(&Run {
            end,
            ..sample::run()
        });
        text += &format!("{}: {}\n", end.name(), warning.unwrap_or("nothing"));
    }
    golden("ends", &text);
}

#[test]
fn nothing_measured() {
    let report = Report::of("nothing", (sample::run(), Vec::new()));
    report.words().page();
    let report = Report::of("nothing-of-a-document", (documents::zap().0, Vec::new()));
    report.words().page();
}

/// A run, and the prefix of its snapshots' names.
struct Report<'a> {
    name: &'a str,
    run: Run,
    comparison: RunSummary,
}

impl<'a> Report<'a> {
    fn of(name: &'a str, (run, trials): Records) -> Self {
        let comparison = RunSummary::of(&run, &trials);
        Self {
            name,
            run,
            comparison,
        }
    }

    /// Markdown and terminal.
    fn words(&self) -> &Self {
        self.golden("md", &markdown(&self.run, &self.comparison));
        for width in [80, 120] {
            let text = terminal(&self.comparison, width, false);
            self.golden(&format!("{width}.txt"), &text);
        }
        self
    }

    fn colours(&self) -> &Self {
        let text = terminal(&self.comparison, 80, true);
        self.golden("80.colours.txt", &text.replace('\u{1b}', "␛"));
        self
    }

    /// The page; of its charts after the first only the words, because [`Self::charts`] has the rest.
    fn page(&self) -> &Self {
        let mut page = String::new();
        for (i, part) in html(&self.run, &self.comparison)
            .split_inclusive("</svg>")
            .enumerate()
        {
            page += match part.split_once("</desc>") {
                Some((words, _)) if i > 0 => words,
                _ => part,
            };
        }
        self.golden("html", &elements(&page));
        self
    }

    /// The charts whose file names begin with `prefix`.
    fn charts(&self, names: &[&str]) {
        let mut text = String::new();
        for chart in chart_files(&self.comparison) {
            if names.iter().any(|name| chart.name.starts_with(name)) {
                text += &format!("== {}\n{}\n", chart.name, elements(&chart.svg));
            }
        }
        self.golden("svg", &text);
    }

    fn golden(&self, form: &str, text: &str) {
        golden(&format!("{}.{form}", self.name), text);
    }
}

fn golden(name: &str, text: &str) {
    let mut settings = Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| assert_snapshot!(name, text));
}

/// Splits SVG into about one element per line. Style sheets are left out: they are files of their own.
fn elements(markup: &str) -> String {
    let (head, rest) = markup.split_once("<style>").unwrap();
    let (_, body) = rest.split_once("</style>").unwrap();
    let mut text = format!("{head}<style></style>{body}").replace("><", ">\n<");
    // Cells follow on the text of the cell before.
    for cell in ["<td", "<th", "<tr"] {
        text = text.replace(cell, &format!("\n{cell}"));
    }
    text = text.replace("\n\n", "\n");
    for inline in ["</", "<small", "<span", "<strong"] {
        text = text.replace(&format!("\n{inline}"), inline);
    }
    text
}
