//! What stands in the reports, and what must not.

mod sample;

use std::sync::LazyLock;

use prony_model::{Run, ServerStatus, TrialResult};
use prony_report::{ChartKind, RunSummary, chart_files, chart_svg, html, markdown, terminal};
use sample::documents::{self, Records};

const SCRIPT: &str = "<script>alert('x')</script>";

/// A run and what was compared of it: made once, as that takes a while.
struct Made {
    run: Run,
    comparison: RunSummary,
}

impl Made {
    fn of((run, trials): Records) -> Made {
        let comparison = RunSummary::of(&run, &trials);
        Made { run, comparison }
    }
}

static PLAIN: LazyLock<Made> = LazyLock::new(|| Made::of(made()));
static HOSTILE: LazyLock<Made> = LazyLock::new(|| Made::of(hostile()));
static ZAP: LazyLock<Made> = LazyLock::new(|| Made::of(documents::zap()));
static DATASTAR: LazyLock<Made> = LazyLock::new(|| Made::of(documents::datastar()));
static HYDRAGEN: LazyLock<Made> = LazyLock::new(|| Made::of(documents::hydragen()));
static RATES: LazyLock<Made> = LazyLock::new(|| Made::of(sample::rates::rates()));
static NOISY: LazyLock<Made> = LazyLock::new(|| Made::of(sample::noisy::noisy()));
static HOSTILE_DOCUMENT: LazyLock<Made> = LazyLock::new(|| Made::of(hostile_document()));

fn every_kind() -> [&'static Made; 8] {
    [
        &PLAIN,
        &HOSTILE,
        &ZAP,
        &DATASTAR,
        &HYDRAGEN,
        &RATES,
        &NOISY,
        &HOSTILE_DOCUMENT,
    ]
}

fn made() -> Records {
    (sample::run(), sample::trials())
}

/// A run whose every text tries to be markup.
fn hostile() -> Records {
    let (mut run, mut trials) = made();
    run.title = SCRIPT.into();
    run.notes = vec![SCRIPT.into()];
    run.command = vec![SCRIPT.into()];
    run.machine.cpu_model = SCRIPT.into();
    run.machine.tcp_settings = vec![SCRIPT.into()];
    for server in &mut run.servers {
        server.framework = SCRIPT.into();
        if let ServerStatus::BuildFailed { output } = &mut server.status {
            *output = SCRIPT.into();
        }
    }
    let id = format!("{SCRIPT}|`*");
    run.servers[1].id = id.clone();
    for record in &mut trials {
        if record.trial.server == "rust-hyper" {
            record.trial.server = id.clone();
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

/// The same of a suite that grew from a document.
fn hostile_document() -> Records {
    let (mut run, trials) = documents::datastar();
    let published = run.published.as_mut().unwrap();
    let evil = || format!("{SCRIPT}|`*\n");
    published.document = evil();
    (published.machine, published.method) = (evil(), evil());
    for table in &mut published.tables {
        (table.title, table.notes) = (evil(), vec![evil()]);
        for row in &mut table.rows {
            row.name = evil();
        }
    }
    (run, trials)
}

fn all_texts(Made { run, comparison }: &Made) -> Vec<(&'static str, String)> {
    let mut texts = vec![
        ("html", html(run, comparison)),
        ("markdown", markdown(run, comparison)),
        ("terminal", terminal(comparison, 100, false)),
    ];
    for chart in chart_files(comparison) {
        texts.push(("chart", chart.svg));
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
fn every_server_is_in_every_report() {
    for (name, text) in all_texts(&PLAIN).into_iter().take(3) {
        for server in &PLAIN.run.servers {
            assert!(text.contains(&server.id), "{} in {name}", server.id);
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
    for records in every_kind() {
        let page = &all_texts(records)[0].1;
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
    for records in every_kind() {
        let page = &all_texts(records)[0].1;
        let names = elements(page);
        let count = |name: &str| names.iter().filter(|n| *n == name).count();
        let charts = chart_files(&records.comparison);
        assert_eq!((count("svg"), count("desc")), (charts.len(), charts.len()));
        assert_references(page);
    }
}

fn assert_references(page: &str) {
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
    let texts = [&HOSTILE, &HOSTILE_DOCUMENT];
    for (name, text) in texts.into_iter().flat_map(|made| all_texts(made)) {
        // A chart has only its own names in it, and so may have none from outside.
        if name != "terminal" && (name != "chart" || text.contains("script")) {
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
    for records in every_kind() {
        let charts = chart_files(&records.comparison);
        for chart in &charts {
            let svg = &chart.svg;
            elements(svg);
            assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
            assert!(svg.contains(".ground{fill:#ffffff}") && !svg.contains("var(--"));
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
fn a_chart_has_every_row_of_its_table() {
    let comparison = &PLAIN.comparison;
    for kind in ChartKind::ALL {
        let svg = chart_svg(kind, &comparison.tables[0]);
        for row in &comparison.tables[0].rows {
            assert!(svg.contains(&row.server.id));
        }
    }
}

#[test]
fn markdown_links_charts_that_are_written() {
    for records in every_kind() {
        let names: Vec<String> = chart_files(&records.comparison)
            .into_iter()
            .map(|c| c.name)
            .collect();
        let text = markdown(&records.run, &records.comparison);
        for link in text.split("](charts/").skip(1) {
            let name = link.split(')').next().unwrap();
            assert!(names.iter().any(|written| written == name), "{name}");
        }
    }
    let text = markdown(&ZAP.run, &ZAP.comparison);
    assert!(text.contains("](charts/published-1-rate.svg)"));
    assert!(text.contains("](charts/published-1-transfer.svg)"));
}

#[test]
fn the_terminal_keeps_to_its_width_and_colours_only_when_asked() {
    for records in every_kind() {
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
fn the_terminal_shows_ranks_and_leaves_unranked_rows_without_a_number() {
    let text = terminal(&PLAIN.comparison, 100, false);
    let page: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("page "))
        .collect();
    let rank_of = |server: &str| {
        let line = page.iter().find(|line| line.contains(server)).unwrap();
        line.split_whitespace().next().unwrap().to_owned()
    };
    assert_eq!(
        (rank_of("rust-hyper"), rank_of("rust-axum")),
        ("1–2".into(), "1–2".into())
    );
    assert_eq!(
        (rank_of("bun"), rank_of("ceiling (reference)")),
        ("3".into(), "–".into())
    );
    let hello: Vec<&str> = text.lines().collect();
    let limited = hello.iter().position(|line| line.contains("rust-hyper"));
    let flag = hello[limited.unwrap() + 1];
    assert!(flag.contains("client-limited"), "{flag}");
}

#[test]
fn markdown_tables_have_as_many_cells_in_every_line() {
    for records in every_kind() {
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
fn the_conditions_are_told() {
    for (name, text) in all_texts(&PLAIN).into_iter().take(2) {
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
fn an_open_loop_is_told_as_one_and_ranks_nobody() {
    for (name, text) in all_texts(&HYDRAGEN).into_iter().take(3) {
        for told in [
            "500 users, open loop, think time 1 s, 1 thread, 10,000 requests",
            "1 connection, closed loop (sequential), 10,000 requests",
            "byte, 500 users, open loop",
            "byte, 1 connection",
            "from the scheduled arrival",
            "No server is ranked",
        ] {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(text.contains(told), "{told} in {name}");
        }
    }
    for (name, text) in all_texts(&PLAIN).into_iter().take(3) {
        assert!(
            !text.contains("open loop") && !text.contains("scheduled"),
            "{name}"
        );
    }
}

#[test]
fn every_shape_is_told_with_what_it_asked_and_how_that_was_kept() {
    for (name, text) in all_texts(&RATES).into_iter().take(3) {
        let text = text.replace("↳ ", "");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for told in [
            "20k/s, open loop, Poisson, 64 connections, at most 500 connections, 1 thread, deadline 1 s, 2 s after 0.5 s of warm-up",
            "500 users, closed loop, think time 0.1 s",
            "pipelined 16 deep",
            "beside 1,000 held streams, events counted, first byte timed",
            "the rate was not reached: in one round only 97.3 % of the due requests were sent",
            "10 % of requests found every connection busy",
            "client-limited in 1 of 5 rounds (thread 1 fell ever further behind",
            "the 1,000 streams held beside the load brought 10.0 k events per second",
            "993 of 1,000 held streams were open at the end",
        ] {
            assert!(text.contains(told), "{told} in {name}");
        }
        assert!(text.to_lowercase().contains("events/s"), "{name}");
    }
    for (name, text) in all_texts(&PLAIN).into_iter().take(3) {
        assert!(!text.to_lowercase().contains("events/s"), "{name}");
        assert!(!text.contains("held beside"), "{name}");
    }
}

#[test]
fn what_the_load_cost_the_generator_is_in_the_details() {
    for (name, text) in all_texts(&RATES).into_iter().take(2) {
        for told in ["What it cost the generator", "20.7 k", "io_uring"] {
            let text = text
                .replace("io\\_uring", "io_uring")
                .replace('\u{a0}', " ");
            assert!(text.contains(told), "{told} in {name}");
        }
        let lower = text.to_lowercase();
        assert!(lower.contains("system calls/req") && lower.contains("cycles/req"));
    }
}

#[test]
fn what_connections_went_through_is_told_where_they_did() {
    for (name, text) in all_texts(&ZAP).into_iter().take(3) {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for told in [
            "python-httpserver: 123 requests were sent again over a new connection",
            "An orderly close is no error",
            "python-httpserver: 9 times a new connection had to wait for a free local port",
        ] {
            assert!(text.contains(told), "{told} in {name}");
        }
    }
    for (name, text) in all_texts(&PLAIN).into_iter().take(3) {
        assert!(
            !text.contains("sent again") && !text.contains("local port"),
            "{name}"
        );
    }
}

#[test]
fn a_run_that_gave_nothing_still_has_its_reports() {
    let run = &PLAIN.run;
    let comparison = RunSummary::of(run, &[]);
    elements(&html(run, &comparison));
    assert!(markdown(run, &comparison).contains("zig-std"));
    assert!(terminal(&comparison, 80, false).contains("zig-std"));
    for Made { run, .. } in [&*ZAP, &*DATASTAR, &*HYDRAGEN] {
        let comparison = RunSummary::of(run, &[]);
        elements(&html(run, &comparison));
        for text in [markdown(run, &comparison), terminal(&comparison, 80, false)] {
            assert!(text.contains("not tried") && text.contains("No two rows"));
            assert!(!text.contains("NaN"));
        }
        assert!(chart_files(&comparison).is_empty());
    }
}
