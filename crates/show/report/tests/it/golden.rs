//! Golden files of every table and chart, for runs that together have every column, note and empty case, and of one
//! page. What the other pages have beyond their Markdown is in `pages`.
//!
//! `cargo insta test --review -p prony-report` shows what a change does to them (cargo install cargo-insta);
//! `INSTA_UPDATE=always cargo test -p prony-report --test it` accepts all of it.

use crate::sample;
use crate::sample::documents::{self, Records};
use crate::summary::{changed, failing, hello, is_of, only, summary, tour};
use prony_model::{Outcome, Run, RunEnd, TrialRecord};
use prony_report::{RunSummary, chart_files, end_of_run, html, markdown, terminal};
use prony_testkit::{golden, page};

#[test]
fn closed_loops() {
    let report = Report::of("closed-loops", tour());
    report.words().charts(&["hello-"]);
    report.page(&[
        "A tour of web servers · Prony",
        "Prony · tour",
        "workload-sse",
        "workload=sse&wire=http/1.1",
        "workload=quote&wire=http/1.1",
        "language=Zig&class=stdlib",
        "The rounds tell 9 of 10 pairs of servers apart by their rate.",
        "The rounds tell all 10 pairs of servers apart by their rate.",
        "Written by Prony 0.1.0 · run 20261121-203000-tour",
    ]);
}

#[test]
fn every_shape_of_load() {
    let report = Report::of("every-shape", sample::rates::rates());
    let charts = ["hello-rate-20k-latency", "hello-users", "sse-trials"];
    report.words().charts(&charts);
    report.page(&[
        "Every shape of load · Prony",
        "hello, 20k/s, open loop, median latency",
        "workload=sse&wire=http/1.1, event streams",
        "Events of event streams per second",
        "Time from one event of a stream to the next, in the worst round",
        "Time to the first byte of a response, in the worst round",
        "Time to the first event of a stream, in the worst round",
        "Histograms of all rounds merged, under 32 connections, closed loop, 1 thread, beside 1,000 held streams",
        "Median and interval over rounds, under 64 connections, closed loop, 1 thread, pipelined 16 deep",
        "The rounds tell the two servers apart by their rate.",
        "The rounds do not tell the two servers apart by their rate.",
        "The rounds do not tell the two servers apart by their requests per CPU second.",
    ]);
}

#[test]
fn a_noisy_machine() {
    let report = Report::of("noisy", sample::noisy::noisy());
    report.words().charts(&["hello-trials"]);
    report.page(&[
        "note warn",
        "4 trials were noisy, 3 re-run; 1 round rests on its least noisy trial (other programs); \
         follows the noise (rank correlation −0.84)",
        "2 50.6 k 2.31 ms 40 % noisy (other programs), not counted 2 83.4 k 2.31 ms 1.0 % attempt 2 3",
        "attempt 2, noisy (other programs)",
    ]);
}

#[test]
fn everything_that_can_go_wrong() {
    let report = Report::of("troubles", sample::troubles::troubles());
    let charts = ["hello-closed-64-throughput", "hello-closed-64-cpu", "page-"];
    report.words().colours().charts(&charts);
    report.page(&[
        "client-limited: at least 19.6 k req/s; only about 17 of 64 connections were served at a time: \
         the others were reconnecting, which no latency includes",
        "Histograms of all rounds merged, under 64 connections, closed loop, 1 thread, \
         a new connection for each request, 2 s after 0.5 s of warm-up",
        "Requests that were due before their user or a connection was free, in all rounds",
        "Schedule lag: the generator's own delay, which the latency includes",
        "The share of the due requests that were sent, in the worst round",
        "The rounds tell none of the 6 pairs of servers apart by their requests per CPU second.",
        "zig-epoll and bun are not told apart: 1.00× its requests per CPU second, 95 % interval 1.00, 6 rounds",
        "▲ certainly cheaper in CPU time, ▼ certainly dearer in CPU time, ≈ not told apart.",
        "The figure is the row's requests per CPU second as a ratio to the column's, within rounds.",
        "Shaded: 13.3 s of load before it, to warm up, of which 12.8 s in round 1. Underlined: the measured 2.00 s.",
        "failed: the server ended with exit status 2",
    ]);
}

/// Of everything that can go wrong, the first table.
#[test]
fn a_whole_page() {
    let first = only(sample::troubles::troubles(), |trial| {
        trial.load.requests_per_connection.is_none() && !trial.load.shape.is_open()
    });
    Report::of("page", first).whole_page();
}

#[test]
fn a_document_with_its_rounds() {
    let records = failing(documents::zap(), |TrialRecord { trial, .. }| {
        let rust = "rust-threadpool";
        trial.server == rust || (trial.server == "go-nethttp" && trial.round == 2)
    });
    let report = Report::of("document-rounds", records);
    report.words().colours().charts(&["published-"]);
    report.page(&[
        "Zap: a small response under 400 connections · Prony",
        "table-caption",
        "round grey",
    ]);
}

#[test]
fn a_document_with_shares() {
    let records = changed(documents::datastar(), |trial, measured| {
        if is_of(trial, "bun", "sse") {
            measured.load.outcomes[Outcome::WrongBody] = 1;
        }
    });
    let report = Report::of("document-shares", records);
    report.words().charts(&["published-"]);
    report.page(&[
        "Prony · datastar",
        "workload=page-log&wire=http/1.1",
        "workload=sse-20k&wire=http/1.1",
        "language=Zig&class=stdlib",
        "The rounds tell all 3 pairs of servers apart by their rate.",
        "The rounds tell the two servers apart by their rate.",
    ]);
}

#[test]
fn a_document_whose_order_is_reversed() {
    let order = ["rust-axum", "go-nethttp", "bun", "ceiling"];
    let records = changed(documents::datastar(), |trial, measured| {
        let place = order.iter().position(|id| *id == trial.server).unwrap();
        measured.load.rate_per_s = 1000.0 * (1 + place) as f64;
    });
    Report::of("document-reversed", records).terminal(&[80]);
}

#[test]
fn a_document_of_users() {
    Report::of("document-users", documents::hydragen()).words();
}

#[test]
fn text_from_outside() {
    let hostile = only(sample::hostile::hostile(), |trial| trial.workload != "sse");
    let report = Report::of("hostile", hostile);
    report.words().charts(&["hello-throughput"]);
    report.page(&[
        "<script>alert('x')</script> · Prony",
        r"'<script>alert('\''x'\'')</script>'",
        "workload=<script>alert('x')</script>&wire=http/1.1",
        "Details of <script>alert('x')</script>|`*",
        "<script>alert('x')</script>|`* is certainly faster than bun: 1.53× its rate, 95 % interval 1.44–1.59, 5 rounds",
    ]);
    let report = Report::of("hostile-document", sample::hostile::hostile_document());
    report.terminal(&[80]);
    let text = markdown(&report.run, &report.comparison);
    let name = r"&lt;script&gt;alert('x')&lt;/script&gt;\|\`\*";
    for line in [
        format!("## {name}"),
        format!("| {name}  (go-nethttp, Go net/http 1.26.1) ¹ | page | "),
        format!("{name} ](charts/published-1-rate.svg)"),
        format!("{name}  (bun) is ahead of "),
    ] {
        assert!(text.contains(&line), "{line}: {text}");
    }
}

/// With one round, with two, and with five that vary too much to tell servers apart.
#[test]
fn few_rounds() {
    let of = |rounds: u32, scatter: f64| {
        let few = only(hello(), |trial| {
            let is_slow = trial.server == "python-httpserver" && scatter > 0.0;
            trial.round <= rounds && !is_slow
        });
        let mut i = 0;
        changed(few, |_, measured| {
            measured.load.rate_per_s *= 1.0 - scatter * f64::from((i * i) % 7) / 6.0;
            i += 1;
        })
    };
    Report::of("rounds-1", of(1, 0.0))
        .markdown()
        .terminal(&[80]);
    Report::of("rounds-2", of(2, 0.0)).terminal(&[80]);
    Report::of("rounds-5-scattered", of(5, 0.5))
        .markdown()
        .terminal(&[80]);
}

#[test]
fn the_end_of_a_run() {
    let mut text = String::new();
    for end in RunEnd::ALL {
        let run = Run {
            end,
            ..sample::run()
        };
        let warning = end_of_run(&run);
        text += &format!("{}: {}\n", end.name(), warning.unwrap_or("nothing"));
    }
    golden!("ends", text);
}

#[test]
fn nothing_measured() {
    let report = Report::of("nothing", (sample::run(), Vec::new()));
    report.markdown().terminal(&[80]);
    let build_failed = "build failed: src/main.c:4:10: fatal error: no such file 4 | #include <nope.h> compilation terminated.";
    report.page(&[build_failed, "A tour of web servers · Prony"]);
    let report = Report::of("nothing-of-a-document", (documents::zap().0, Vec::new()));
    report.markdown().terminal(&[80]);
    report.page(&[
        "table-caption",
        "All rounds together",
        "Requests/s",
        "Transfer",
    ]);
}

/// A run, and the prefix of its snapshots' names.
struct Report<'a> {
    name: &'a str,
    run: Run,
    comparison: RunSummary,
}

impl<'a> Report<'a> {
    fn of(name: &'a str, records: Records) -> Self {
        Self {
            name,
            comparison: summary(&records),
            run: records.0,
        }
    }

    /// Markdown and terminal.
    fn words(&self) -> &Self {
        self.markdown().terminal(&[80, 120])
    }

    fn markdown(&self) -> &Self {
        self.golden("md", &markdown(&self.run, &self.comparison));
        self
    }

    fn terminal(&self, widths: &[usize]) -> &Self {
        for width in widths {
            let text = terminal(&self.comparison, *width, false);
            self.golden(&format!("{width}.txt"), &text);
        }
        self
    }

    fn colours(&self) -> &Self {
        let text = terminal(&self.comparison, 80, true);
        self.golden("80.colours.txt", &text.replace('\u{1b}', "␛"));
        self
    }

    /// The page is sound, says what the Markdown says, and has these words beside.
    fn page(&self, also: &[&str]) {
        let page = html(&self.run, &self.comparison);
        page::assert_sound(&page);
        page::assert_says(&page, &markdown(&self.run, &self.comparison));
        page::assert_has(&page, also);
    }

    /// The whole page; of its charts after the first only the words, because [`Self::charts`] has the rest.
    fn whole_page(&self) {
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
        self.golden("html", &page::lines(&page));
    }

    /// The charts whose file names begin with `prefix`.
    fn charts(&self, names: &[&str]) {
        let mut text = String::new();
        for chart in chart_files(&self.comparison) {
            if names.iter().any(|name| chart.name.starts_with(name)) {
                text += &format!("== {}\n{}\n", chart.name, page::lines(&chart.svg));
            }
        }
        self.golden("svg", &text);
    }

    fn golden(&self, form: &str, text: &str) {
        golden!(format!("{}.{form}", self.name), text);
    }
}
