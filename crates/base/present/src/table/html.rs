//! A table in a page: every column, with details below figures and flags below names.

use std::collections::HashSet;

use maud::{Markup, PreEscaped, html};

use super::{Cell, Facet, Head, Row, Table, Tone, Weight};
use crate::number;
use crate::words::{Joined, non_empty};

/// A table with more rows has a box that scrolls on its own, below a head that stays.
const TALL: usize = 25;

const WIDE: usize = 10;

/// A table with more columns, such as every server beside every other, is also printed with upright heads.
const DENSE: usize = 16;

/// Words that need no more characters stay in one line: dates, intervals, versions and the like.
const SHORT: usize = 18;

/// A longer word, such as a hash or a path, may break anywhere.
const UNBROKEN: usize = 20;

/// Gives rows anchors that are unique in a page: `section.name`.
#[derive(Default)]
pub(crate) struct Ids {
    section: String,
    used: HashSet<String>,
}

impl Ids {
    pub(crate) fn enter(&mut self, section: &str) {
        section.clone_into(&mut self.section);
    }

    pub(crate) fn of_rows(&mut self, table: &Table) -> Vec<String> {
        let name = table.name();
        let names = table.rows.iter().map(|row| row.cells.get(name));
        let names = names.map(|cell| cell.map_or("", |cell| cell.text.as_str()));
        names.map(|name| self.unique(name)).collect()
    }

    fn unique(&mut self, name: &str) -> String {
        let kept = |letter: char| {
            if letter.is_alphanumeric() || "-_.".contains(letter) {
                letter
            } else {
                '-'
            }
        };
        let name: String = name.chars().map(kept).collect();
        let plain = format!("{}.{name}", self.section);
        let numbered = (2..).map(|number| format!("{plain}.{number}"));
        let mut all = std::iter::once(plain.clone()).chain(numbered);
        let free = all.find(|id| self.used.insert(id.clone()));
        free.unwrap_or(plain)
    }
}

/// Facets as an attribute: a query string that `URLSearchParams` reads.
pub(crate) fn query_string(facets: &[Facet]) -> Option<String> {
    let signs = [("%", "%25"), ("&", "%26"), ("+", "%2B"), ("=", "%3D")];
    let encoded = |value: &str| {
        let replaced = |text: String, (sign, code): &(&str, &str)| text.replace(sign, code);
        signs.iter().fold(value.to_owned(), replaced)
    };
    let pairs = facets.iter();
    let pairs = pairs.map(|facet| format!("{}={}", encoded(facet.name), encoded(&facet.value)));
    non_empty(pairs.joined("&"))
}

impl Table {
    /// The table as HTML, in a box that scrolls sideways if the page is too narrow.
    pub fn html(&self) -> Markup {
        self.opening(&[], &[])
    }

    /// The table with rows that open: `ids` has each row's anchor, `opened` what it then shows.
    pub(crate) fn opening(&self, ids: &[String], opened: &[Markup]) -> Markup {
        let class = if self.rows.len() > TALL {
            "scroll tall"
        } else {
            "scroll"
        };
        let label = if self.caption.is_empty() {
            "Table"
        } else {
            &self.caption
        };
        let table = html! {
            @if !self.caption.is_empty() { p class="table-caption" { (self.caption) } }
            div class=(class) tabindex="0" role="group" aria-label=(label) {
                table class=[self.print_class()] {
                    thead { tr { @for (i, head) in self.heads.iter().enumerate() { (title(head, i == self.name())) } } }
                    tbody {
                        @for (i, row) in self.rows.iter().enumerate() {
                            (self.line(row, ids.get(i)))
                            @if let Some(opened) = opened.get(i) { (self.more(row, opened)) }
                        }
                    }
                }
            }
        };
        without_optional_ends(table)
    }

    /// How a print makes room for its columns.
    fn print_class(&self) -> Option<&'static str> {
        match self.heads.len() {
            columns if columns <= WIDE => None,
            columns if columns <= DENSE => Some("wide"),
            _ => Some("wide dense"),
        }
    }

    /// What a row shows when it is open. Without scripts it opens by itself.
    fn more(&self, row: &Row, opened: &Markup) -> Markup {
        let name = row.cells.get(self.name()).map(|cell| cell.text.as_str());
        html! {
            tr class="more" {
                td colspan=(self.heads.len()) {
                    details { summary { "Details of " (name.unwrap_or("this row")) } div { (opened) } }
                }
            }
        }
    }

    fn line(&self, row: &Row, id: Option<&String>) -> Markup {
        let class = match (row.begins_group, row.tone == Tone::Aside) {
            (true, true) => Some("group aside"),
            (true, false) => Some("group"),
            (false, true) => Some("aside"),
            (false, false) => None,
        };
        html! {
            tr id=[id] class=[class] data-facets=[query_string(&row.facets)] {
                @for (i, (cell, head)) in row.cells.iter().zip(&self.heads).enumerate() {
                    @if i == self.name() {
                        th scope="row" data-order=[cell.order] title=[tip(cell)] { (content(cell)) (flags(row)) }
                    }
                    @else { (figure(cell, head)) }
                }
                @if let Some(why) = &row.absent {
                    td class="none text" colspan=(self.heads.len() - row.cells.len()) { (why) }
                }
            }
        }
    }
}

/// The end tags that HTML does without: a page has tens of thousands of cells. Text cannot be mistaken for a tag, because it
/// is escaped.
fn without_optional_ends(table: Markup) -> Markup {
    let ends = ["</td>", "</th>", "</tr>"].iter();
    PreEscaped(ends.fold(table.0, |html, end| html.replace(end, "")))
}

fn title(head: &Head, is_name: bool) -> Markup {
    let hint = Some(head.hint).filter(|hint| !hint.is_empty());
    let class = match (is_name, head.is_words) {
        (true, true) => Some("text name"),
        (true, false) => Some("name"),
        (false, true) => Some("text"),
        (false, false) => None,
    };
    html! { th scope="col" class=[class] title=[hint] { (head.title) } }
}

fn figure(cell: &Cell, head: &Head) -> Markup {
    let class = if cell.is_empty() {
        Some("none")
    } else if head.is_words {
        Some(of_words(cell))
    } else {
        None
    };
    html! { td class=[class] data-order=[cell.order] title=[tip(cell)] { (content(cell)) } }
}

fn of_words(cell: &Cell) -> &'static str {
    let texts = [&*cell.text, &*cell.detail];
    let words = texts.iter().flat_map(|text| text.split_whitespace());
    let length = |text: &str| text.chars().count();
    if words.map(length).any(|length| length > UNBROKEN) {
        "text unbroken"
    } else if texts.into_iter().all(|text| length(text) <= SHORT) {
        "text short"
    } else {
        "text"
    }
}

fn tip(cell: &Cell) -> Option<&String> {
    Some(&cell.tip).filter(|tip| !tip.is_empty())
}

fn content(cell: &Cell) -> Markup {
    html! {
        @if cell.is_empty() { (number::NONE) }
        @if cell.href.is_empty() { (cell.text) } @else { a href=(cell.href) { (cell.text) } }
        @if let Some(badge) = &cell.badge {
            @let hint = Some(&badge.hint).filter(|hint| !hint.is_empty());
            @if !cell.text.is_empty() { " " }
            span class={ "rank" @if badge.is_first { " first" } } title=[hint] { (badge.text) }
        }
        @if !cell.detail.is_empty() { small { (cell.detail) } }
        @if let Some(share) = cell.bar {
            span class="meter" { span style={ "width:" (format!("{:.1}", share * 100.0)) "%" } {} }
        }
    }
}

fn flags(row: &Row) -> Markup {
    html! {
        @for flag in &row.flags {
            " " span class=(match flag.weight {
                Weight::Bad => "tag bad",
                Weight::Warning => "tag warn",
                Weight::Note => "tag",
            }) { (flag.text) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_testkit::{contains, lacks};

    fn table() -> Table {
        let row = |name: &str, order| Row {
            cells: vec![
                Cell::text(name),
                Cell {
                    order: Some(order),
                    tip: "5 rounds\n\"quoted\"".into(),
                    href: "a.html".into(),
                    ..Cell::text("45 k")
                },
            ],
            facets: vec![Facet {
                name: "language",
                value: "C++ & C".into(),
            }],
            ..Row::default()
        };
        Table {
            heads: vec![Head::words("server"), Head::figure("req/s")],
            rows: vec![row("a <b>", 45_000.0), row("a <b>", 1.5)],
            ..Table::default()
        }
    }

    #[test]
    fn rows_have_what_a_page_sorts_filters_and_links_by() {
        let html = table().html().into_string();
        contains(&html, r#"data-facets="language=C%2B%2B %26 C""#);
        contains(&html, r#"<td data-order="45000" title="5 rounds"#);
        contains(&html, "&quot;quoted&quot;");
        contains(&html, r#"<a href="a.html">45 k</a>"#);
        lacks(&html, "details");
    }

    #[test]
    fn a_row_that_opens_has_its_details_below_it_and_an_anchor_of_its_own() {
        let mut ids = Ids::default();
        ids.enter("hello");
        let anchors = ids.of_rows(&table());
        assert_eq!(anchors, ["hello.a--b-", "hello.a--b-.2"]);
        let opened = [html! { p { "first" } }, html! { p { "second" } }];
        let html = table().opening(&anchors, &opened).into_string();
        let below = r#"<tr class="more"><td colspan="2"><details><summary>Details of a &lt;b&gt;</summary><div><p>first</p>"#;
        contains(&html, below);
        let second = html.find(r#"<tr id="hello.a--b-.2""#);
        assert!(html.find("first") < second, "{html}");
    }

    #[test]
    fn cells_and_rows_do_without_end_tags_and_text_stays_whole() {
        let mut table = table();
        table.rows[0].cells[0].text = "</td>".into();
        let html = table.html().into_string();
        contains(&html, "45 k</a><tr");
        assert!(html.ends_with("45 k</a></tbody></table></div>"), "{html}");
        contains(&html, "&lt;/td&gt;");
        lacks(&html, "</td>");
    }

    #[test]
    fn dates_stay_whole_and_only_long_words_break_anywhere() {
        let class = |text: &str| of_words(&Cell::text(text));
        assert_eq!(class("2026-11-02 10:00"), "text short");
        assert_eq!(class("against the run before"), "text");
        assert_eq!(class("in /usr/lib/prony/servers/go"), "text unbroken");
        let detailed = Cell::text("a").with(Some("more than three words".into()));
        assert_eq!(of_words(&detailed), "text");
    }

    #[test]
    fn a_print_makes_room_for_many_columns() {
        for (columns, class) in [
            (WIDE, "<table><thead>"),
            (WIDE + 1, r#"<table class="wide">"#),
            (DENSE + 1, r#"<table class="wide dense">"#),
        ] {
            let heads = vec![Head::figure("req/s"); columns];
            let table = Table {
                heads,
                ..Table::default()
            };
            contains(&table.html().into_string(), class);
        }
    }

    #[test]
    fn only_a_long_table_scrolls_in_its_box() {
        let mut long = table();
        lacks(&long.html().into_string(), "tall");
        long.rows = vec![Row::default(); TALL + 1];
        contains(&long.html().into_string(), r#"class="scroll tall""#);
    }
}
