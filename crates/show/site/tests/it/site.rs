//! The static site of a sample store.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::sample::{Place, plans};
use prony_model::MeasuredBy;
use prony_site::{Progress, SiteError, SiteFolder, build};
use prony_store::Store;
use prony_testkit::{contains, lacks};

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
fn values(html: &str, attribute: &str) -> Vec<String> {
    let attribute = format!(" {attribute}=\"");
    let parts = html.split(&attribute).skip(1);
    let values = parts.filter_map(|part| part.split('"').next());
    values.map(|value| value.replace("&amp;", "&")).collect()
}

/// The number of points of each line in a page's charts.
fn lines(html: &str) -> Vec<usize> {
    let lines = html.split("<polyline ").skip(1);
    let points = lines.map(|line| line.split_once("points=\"").unwrap().1);
    let points = points.map(|rest| rest.split('"').next().unwrap());
    points.map(|points| points.split(' ').count()).collect()
}

#[test]
fn every_link_leads_to_a_page_of_the_site_also_in_a_subfolder() {
    let mut place = Place::with(&plans());
    let deep = place.folder.path().join("www/deep");
    fs::create_dir_all(&deep).unwrap();
    place.site = deep.join("site");
    let built = place.build();
    let pages = pages(&place.site);
    assert_eq!((built.pages, built.runs), (pages.len(), 6));
    assert!(built.left_out.is_empty());
    let site = place.site.canonicalize().unwrap();
    let mut linked = Vec::new();
    for page in &pages {
        let html = fs::read_to_string(page).unwrap();
        prony_testkit::page::assert_well_formed(&html);
        for href in [values(&html, "href"), values(&html, "src")].concat() {
            let at = format!("{}: {href}", page.display());
            if let Some(anchor) = href.strip_prefix('#') {
                assert!(html.contains(&format!("id=\"{anchor}\"")), "{at}");
                continue;
            }
            assert!(
                !href.contains(':') && !href.starts_with('/'),
                "{at} is not relative"
            );
            let target = page
                .parent()
                .unwrap()
                .join(href.split(['#', '?']).next().unwrap());
            let target = target.canonicalize().expect(&at);
            assert!(target.is_file() && target.starts_with(&site), "{at}");
            linked.push(target);
        }
    }
    for page in pages {
        let is_linked = linked.contains(&page.canonicalize().unwrap());
        assert!(is_linked, "nothing links to {}", page.display());
    }
}

#[test]
fn no_line_crosses_a_change_of_machine() {
    let place = Place::with(&plans());
    place.build();
    let html = place.page("servers/go.html");
    // Two runs on the old machine, four on the new one; they share a load.
    assert_eq!(lines(&html), [2, 4]);
    for named in [
        "CPU: Old CPU → New CPU",
        "version 1.25 → 1.26",
        "95 % interval",
    ] {
        contains(&html, named);
    }
}

#[test]
fn verdicts_are_those_of_the_regression_check() {
    let place = Place::with(&plans());
    place.build();
    for (page, words) in [
        ("compare/a3~a4.html", "worse"), // 60 k after 80 k.
        ("compare/a4~a5.html", "no change seen"),
        (
            "compare/a2~a3.html",
            "<strong>CPU:</strong> Old CPU → New CPU",
        ),
        ("compare/a1~a5.html", "<h1"), // Each with the latest.
        ("servers/go.html", "<small>−25.0 %</small>"),
        ("index.html", "fastest"),
        ("compare.html", "prony serve"), // It names the limits of a static site.
    ] {
        contains(&place.page(page), words);
    }
    assert!(!place.site.join("compare/a1~a4.html").exists());
    let server = place.page("servers/go.html");
    let cells = |text: &str| server.matches(&format!(">{text}</a>")).count();
    // Of a2 to a5; only a3 was measured on another machine.
    let counts = ["other conditions", "worse", "no change seen"].map(cells);
    assert_eq!(counts, [1, 1, 2]);
}

#[test]
fn each_run_of_two_revisions_has_its_verdict_first_and_a_page() {
    let place = Place::with(&[]);
    place.record_pair("c1", MeasuredBy::Time);
    place.record_pair("c2", MeasuredBy::Instructions);
    place.build();
    for (run, how) in [("c1", "By time"), ("c2", "By instructions")] {
        let worse = "Worse: go (base) → bun (new): ";
        let report = place.page(&format!("runs/{run}.html"));
        let verdict = report.find(worse).expect(how);
        assert!(verdict < report.find("<main").unwrap(), "{how}");
        lacks(&report, "is fastest at");
        contains(&place.page(&format!("compare/{run}~go~bun.html")), "worse");
        contains(
            &place.page("compare.html"),
            &format!("compare/{run}~go~bun.html"),
        );
    }
    let counted = place.page("runs/c2.html");
    contains(&counted, "2 counted");
    for words in ["eiling", "Rank:", "not tried"] {
        lacks(&counted, words);
    }
    contains(&place.page("runs/c1.html"), "Ceiling:");
    let front = place.page("index.html");
    contains(&front, "go (base) → bun (new): ");
    lacks(&front, "no figures");
    contains(
        &place.page("servers/bun.html"),
        "user-space instructions per request",
    );
}

#[test]
fn hostile_ids_are_shown_as_text_and_name_no_other_file() {
    let place = Place::with(&plans());
    place.build();
    assert!(!place.folder.path().join("<b>x</b>").exists());
    for page in pages(&place.site) {
        lacks(&fs::read_to_string(&page).unwrap(), "<b>x</b>");
        assert!(page.file_name().unwrap().is_ascii(), "{}", page.display());
    }
}

#[test]
fn a_damaged_run_is_named_and_left_out() {
    let place = Place::with(&plans());
    let damaged = rusqlite::Connection::open(&place.store).unwrap();
    for damage in [
        "UPDATE run SET record = '{\"of\": \"another version\"}' WHERE id = 'a2'",
        "UPDATE trial SET record = '{}' WHERE run = 'a5' AND sequence = 3",
    ] {
        damaged.execute(damage, []).unwrap();
    }
    drop(damaged);
    let built = place.build();
    let mut left_out: Vec<&str> = built.left_out.iter().map(|it| it.id.as_str()).collect();
    left_out.sort_unstable();
    assert_eq!((built.runs, left_out), (4, vec!["a2", "a5"]));
    let front = place.page("index.html");
    contains(&front, "2 runs could not be read");
    contains(&front, "<li><strong>a2:</strong>");
    // The next run is compared with the last that could be read.
    assert!(place.site.join("compare/a1~a3.html").exists());
}

#[test]
fn a_second_site_writes_only_what_changed() {
    let place = Place::with(&plans()[..3]);
    place.build();
    let again = place.build();
    assert_eq!((again.changed, again.removed), (0, 0));
    let own = place.site.join("CNAME");
    fs::write(&own, "example.org").unwrap();
    place.record(&plans()[3]);
    let more = place.build();
    assert!(more.changed > 0 && more.changed < more.pages, "{more:?}");
    assert!(own.exists());
}

#[test]
fn an_interrupted_site_keeps_the_earlier_front_page() {
    let place = Place::with(&plans()[..2]);
    place.build();
    let front = place.page("index.html");
    place.record(&plans()[2]);
    let stop = AtomicBool::new(false);
    let store = Store::open_read(&place.store).unwrap();
    let opened = SiteFolder::open(&place.site, false).unwrap();
    let mut interrupt = |_: Progress<'_>| stop.store(true, Ordering::Relaxed);
    let result = build(&store, opened, &mut interrupt, &stop);
    assert!(matches!(result, Err(SiteError::Interrupted)));
    assert_eq!(place.page("index.html"), front);
    assert!(place.build().left_out.is_empty());
}

#[test]
fn a_store_without_runs_has_a_front_page() {
    let place = Place::with(&[]);
    assert_eq!(place.build().pages, 2);
    contains(&place.page("index.html"), "No run is recorded yet");
}
