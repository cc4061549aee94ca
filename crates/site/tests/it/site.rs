//! The static site of a sample store.

use crate::sample;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::sample::{plans, site, store};
use prony_site::{SiteError, SiteFolder, build};
use prony_store::Store;

fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.path() {
            path if path.is_dir() => found.extend(pages(&path)),
            path if path.extension().is_some_and(|it| it == "html") => found.push(path),
            _ => {}
        }
    }
    found
}

/// The values of an attribute in a page, unescaped as far as paths need it.
fn values<'a>(html: &'a str, attribute: &str) -> Vec<String> {
    let parts: Vec<&'a str> = html.split(&format!(" {attribute}=\"")).skip(1).collect();
    let values = parts.iter().filter_map(|part| part.split('"').next());
    values.map(|value| value.replace("&amp;", "&")).collect()
}

/// The paths of lines in a page's charts, each with its number of points.
fn lines(html: &str) -> Vec<usize> {
    let mut counts = Vec::new();
    for chart in html.split("<svg ").skip(1) {
        let svg = format!("<svg {}</svg>", chart.split("</svg>").next().unwrap());
        let tree = roxmltree::Document::parse(&svg).unwrap();
        let lines = tree
            .descendants()
            .filter(|node| node.has_tag_name("polyline"));
        counts.extend(lines.map(|line| line.attribute("points").unwrap().split(' ').count()));
    }
    counts
}

#[test]
fn every_link_leads_to_a_page_of_the_site_also_in_a_subfolder() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path(), &plans());
    fs::create_dir_all(place.path().join("www/deep")).unwrap();
    let folder = place.path().join("www/deep/site");
    let built = site(&store, &folder);
    let pages = pages(&folder);
    assert_eq!(built.pages, pages.len());
    assert_eq!((built.runs, built.left_out.len()), (6, 0));
    let mut linked = Vec::new();
    for page in &pages {
        let html = fs::read_to_string(page).unwrap();
        for href in values(&html, "href")
            .into_iter()
            .chain(values(&html, "src"))
        {
            if let Some(anchor) = href.strip_prefix('#') {
                assert!(
                    html.contains(&format!("id=\"{anchor}\"")),
                    "{}: {href}",
                    page.display()
                );
                continue;
            }
            assert!(
                !href.contains(':') && !href.starts_with('/'),
                "{}: {href} is not relative",
                page.display()
            );
            let target = page
                .parent()
                .unwrap()
                .join(href.split(['#', '?']).next().unwrap());
            let target = target
                .canonicalize()
                .unwrap_or_else(|_| panic!("{}: no {href}", page.display()));
            assert!(target.is_file() && target.starts_with(folder.canonicalize().unwrap()));
            linked.push(target);
        }
    }
    for page in &pages {
        let page = page.canonicalize().unwrap();
        assert!(
            linked.contains(&page),
            "nothing links to {}",
            page.display()
        );
    }
}

#[test]
fn no_line_crosses_a_change_of_machine() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path(), &plans());
    let folder = place.path().join("site");
    site(&store, &folder);
    let html = fs::read_to_string(folder.join("servers/go.html")).unwrap();
    // Two runs on the old machine, four on the new one; they share a load.
    assert_eq!(lines(&html), [2, 4]);
    assert!(
        html.contains("CPU: Old CPU → New CPU"),
        "the change is named"
    );
    assert!(html.contains("version 1.25 → 1.26"), "the version is named");
    assert!(html.contains("95 % interval"));
}

#[test]
fn verdicts_are_those_of_the_regression_check() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path(), &plans());
    let folder = place.path().join("site");
    site(&store, &folder);
    let of = |path: &str| fs::read_to_string(folder.join(path)).unwrap();
    assert!(
        of("compare/a3~a4.html").contains("worse"),
        "60 k after 80 k"
    );
    assert!(of("compare/a4~a5.html").contains("no change seen"));
    assert!(of("compare/a2~a3.html").contains("<strong>CPU:</strong> Old CPU → New CPU"));
    assert!(
        of("compare/a1~a5.html").contains("<h1"),
        "each with the latest"
    );
    assert!(!folder.join("compare/a1~a4.html").exists());
    let server = of("servers/go.html");
    let cells = |text: &str| server.matches(&format!(">{text}</a>")).count();
    // Of a2 to a5; only a3 was measured on another machine.
    assert_eq!(cells("other conditions"), 1);
    assert_eq!((cells("worse"), cells("no change seen")), (1, 2));
    assert!(server.contains("<small>−25.0 %</small>"));
    assert!(of("index.html").contains("fastest"));
    assert!(
        of("compare.html").contains("prony serve"),
        "the page names the limits"
    );
}

#[test]
fn hostile_ids_are_shown_as_text_and_name_no_other_file() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path(), &plans());
    let folder = place.path().join("site");
    site(&store, &folder);
    assert!(!place.path().join("<b>x</b>").exists());
    for page in pages(&folder) {
        let html = fs::read_to_string(&page).unwrap();
        assert!(!html.contains("<b>x</b>"), "{}", page.display());
    }
    let servers: Vec<String> = fs::read_dir(folder.join("servers"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(servers.iter().all(|name| name.is_ascii()), "{servers:?}");
}

#[test]
fn a_damaged_run_is_named_and_left_out() {
    let place = tempfile::tempdir().unwrap();
    let path = store(place.path(), &plans());
    let damaged = rusqlite::Connection::open(&path).unwrap();
    damaged
        .execute(
            "UPDATE run SET record = '{\"of\": \"another version\"}' WHERE id = 'a2'",
            [],
        )
        .unwrap();
    damaged
        .execute(
            "UPDATE trial SET record = '{}' WHERE run = 'a5' AND sequence = 3",
            [],
        )
        .unwrap();
    drop(damaged);
    let folder = place.path().join("site");
    let built = site(&path, &folder);
    let mut left_out: Vec<&str> = built.left_out.iter().map(|it| it.id.as_str()).collect();
    left_out.sort_unstable();
    assert_eq!((built.runs, left_out), (4, vec!["a2", "a5"]));
    let front = fs::read_to_string(folder.join("index.html")).unwrap();
    assert!(
        front.contains("2 runs could not be read") && front.contains("<li><strong>a2:</strong>"),
        "{front}"
    );
    // The next run is compared with the last that could be read.
    assert!(folder.join("compare/a1~a3.html").exists());
}

#[test]
fn a_second_site_writes_only_what_changed() {
    let place = tempfile::tempdir().unwrap();
    let path = store(place.path(), &plans()[..3]);
    let folder = place.path().join("site");
    site(&path, &folder);
    let again = site(&path, &folder);
    assert_eq!((again.changed, again.removed), (0, 0));
    fs::write(folder.join("CNAME"), "example.org").unwrap();
    sample::record(&Store::open(&path).unwrap(), &plans()[3]);
    let more = site(&path, &folder);
    assert!(more.changed > 0 && more.changed < more.pages, "{more:?}");
    assert!(folder.join("CNAME").exists());
}

#[test]
fn an_interrupted_site_keeps_the_earlier_front_page() {
    let place = tempfile::tempdir().unwrap();
    let path = store(place.path(), &plans()[..2]);
    let folder = place.path().join("site");
    site(&path, &folder);
    let front = fs::read_to_string(folder.join("index.html")).unwrap();
    sample::record(&Store::open(&path).unwrap(), &plans()[2]);
    let stop = AtomicBool::new(false);
    let store = Store::open_read(&path).unwrap();
    let opened = SiteFolder::open(&folder, false).unwrap();
    let result = build(
        &store,
        opened,
        &mut |_| stop.store(true, Ordering::Relaxed),
        &stop,
    );
    assert!(matches!(result, Err(SiteError::Interrupted)));
    assert_eq!(
        fs::read_to_string(folder.join("index.html")).unwrap(),
        front
    );
    assert!(site(&path, &folder).left_out.is_empty());
}

#[test]
fn a_store_without_runs_has_a_front_page() {
    let place = tempfile::tempdir().unwrap();
    let path = store(place.path(), &[]);
    let folder = place.path().join("site");
    assert_eq!(site(&path, &folder).pages, 2);
    let front = fs::read_to_string(folder.join("index.html")).unwrap();
    assert!(front.contains("No run is recorded yet"));
}
