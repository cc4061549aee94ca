//! Writes a page with 30 servers × 10 workloads whose rows open, for tests in a browser:
//! `cargo run -p prony-present --example sample_page > page.html`.

use prony_present::number;
use prony_present::page::{Block, Link, Page, Section};
use prony_present::table::{Cell, Column, Facet, Flag, Row, Table, Tone, Weight};

struct Server {
    name: String,
    language: &'static str,
    rate: f64,
    p99: Option<f64>,
}

const COLUMNS: [Column<Server>; 4] = [
    Column::words("server", |server: &Server| Cell::text(&server.name)),
    Column::words("language", |server: &Server| Cell::text(server.language)),
    Column::figure("req/s", |server: &Server| Cell {
        order: Some(server.rate),
        tip: format!("95 % interval: ±1.2 %\nrounds: 5\nmean: {:.0}", server.rate),
        bar: Some(server.rate / 70_000.0),
        ..Cell::text(number::count(server.rate))
    })
    .hint("Ok responses per second"),
    Column::figure("p99", |server: &Server| Cell {
        order: server.p99,
        ..Cell::optional(server.p99, number::duration)
    }),
];

fn main() {
    let page = Page {
        title: "Sample".into(),
        kicker: "A page for tests".into(),
        trail: vec![Link {
            text: "All runs".into(),
            href: "index.html".into(),
        }],
        intro: vec![Block::Text("server-09 is fastest.".into())],
        sections: (0..10).map(section).collect(),
        footer: "The end.".into(),
        ..Page::default()
    };
    println!("{}", page.html());
}

fn section(workload: u32) -> Section {
    let servers: Vec<Server> = (0..30).map(|number| server(workload, number)).collect();
    let rows = servers.iter().enumerate().map(|(place, server)| {
        let row = Row {
            tone: match place {
                29 => Tone::Aside,
                _ => Tone::Plain,
            },
            flags: match place % 7 {
                3 => vec![Flag {
                    text: "noisy".into(),
                    weight: Weight::Warning,
                }],
                _ => Vec::new(),
            },
            facets: vec![Facet {
                name: "language",
                value: server.language.into(),
            }],
            ..Row::default()
        };
        (server, row)
    });
    let table = Table::of(&COLUMNS, rows);
    let opened = servers.iter().map(|server| {
        vec![
            Block::Facts(vec![
                ("Version", "1.2.3".into()),
                ("Command", format!("./{} --port 8080", server.name)),
            ]),
            Block::Code("listening on 127.0.0.1:8080".into()),
        ]
    });
    Section {
        id: format!("workload-{workload}"),
        title: format!("Workload {workload}"),
        lead: "GET /hello".into(),
        facets: vec![Facet {
            name: "workload",
            value: format!("workload {workload}"),
        }],
        blocks: vec![Block::OpenTable(table, opened.collect())],
        ..Section::default()
    }
}

fn server(workload: u32, number: u32) -> Server {
    let mixed = f64::from((number * 37 + workload * 11) % 30);
    Server {
        name: format!("server-{number:02}"),
        language: ["Rust", "C++", "Go", "Java"][number as usize % 4],
        rate: 900.0 + mixed * 2_000.0,
        p99: (number != 5).then_some(1e6 + mixed * 1e5),
    }
}
