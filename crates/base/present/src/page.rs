//! A page of sections, written once and shown as HTML, Markdown or text in a terminal.
//!
//! ```
//! use prony_present::page::{Block, Page, Section};
//! let page = Page {
//!     title: "Tour".into(),
//!     sections: vec![Section {
//!         id: "verdict".into(),
//!         title: "Verdict".into(),
//!         blocks: vec![Block::Text("go is fastest.".into())],
//!         ..Section::default()
//!     }],
//!     ..Page::default()
//! };
//! assert_eq!(page.markdown(), "# Tour\n\n## Verdict\n\ngo is fastest.\n");
//! assert!(page.html().contains("<p>go is fastest.</p>"));
//! ```

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::chart::{self, Chart, Spark};
use crate::colours;
use crate::markdown::{escaped, fenced};
use crate::table::{Facet, Ids, Table, Weight, query_string};
use crate::terminal::{Paint, listing, wrapped};
use crate::words::Joined;

const STYLE: &str = include_str!("page/style.css");
/// Sorts, filters, opens rows and shows tips; a page is complete without it.
const SCRIPT: &str = include_str!("page/script.js");
/// A page loads nothing; its style and its script are its own.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; connect-src 'self'";
pub const LEAST_WIDTH: usize = 40;

fn style() -> String {
    format!("{}{STYLE}{}", colours::variables(), chart::STYLE)
}

#[derive(Clone, Debug, Default)]
pub struct Page {
    pub trail: Vec<Link>,
    pub kicker: String,
    pub title: String,
    pub facts: Vec<(&'static str, String)>,
    /// What precedes all sections.
    pub intro: Vec<Block>,
    pub sections: Vec<Section>,
    pub footer: String,
}

#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Its anchor, for links.
    pub id: String,
    pub kicker: String,
    pub title: String,
    pub lead: String,
    pub blocks: Vec<Block>,
    pub facets: Vec<Facet>,
    /// Whether Markdown, which has no menu of sections, folds it away under its title.
    pub folds: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    pub text: String,
    /// Where it leads, relative to the page.
    pub href: String,
}

#[derive(Clone, Debug)]
pub enum Block {
    Heading(String),
    Text(String),
    /// A paragraph in smaller letters, for what belongs to a table.
    Caption(String),
    Callout(Weight, String),
    /// A list. An item's text before its first `: ` is its term.
    List(Vec<String>),
    Facts(Vec<(&'static str, String)>),
    Table(Table),
    /// A table whose rows open, and what each then shows. Only pages show that.
    OpenTable(Table, Vec<Vec<Block>>),
    Links(Vec<Link>),
    Charts(Vec<Figure>),
    /// Small curves with their words. Only pages draw them; every medium has the words.
    Sparks(Vec<Spark>),
    Code(String),
    /// Content that a page folds away under a title.
    Fold(String, Vec<Block>),
    /// A document of its own inside the page, folded away under its title. Only pages show it.
    Embedded(Embedded),
}

/// A document inside a page. It may run scripts, but has no access to the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Embedded {
    pub title: String,
    /// The whole document, as HTML. It is loaded when a reader opens it.
    pub document: String,
}

#[derive(Clone, Debug)]
pub struct Figure {
    /// The name of its file, and its id in a page.
    pub file: String,
    pub chart: Chart,
}

/// A page with more sections is laid out section by section.
const MOST_LAID_OUT: usize = 10;

impl Page {
    pub fn of(sections: Vec<Section>) -> Self {
        Self {
            sections,
            ..Self::default()
        }
    }

    /// The page as one self-contained HTML file, light or dark like the reader's system. It loads nothing. Its script sorts
    /// and filters tables; without scripts everything is there to read.
    pub fn html(&self) -> String {
        let mut ids = Ids::default();
        let titled = self.sections.iter().filter(|one| !one.title.is_empty());
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta http-equiv="Content-Security-Policy" content=(POLICY);
                    title { (self.title) " · Prony" }
                    style { (PreEscaped(style())) }
                    script { (PreEscaped(SCRIPT)) }
                }
                body {
                    a class="skip" href="#main" { "Skip to the content" }
                    header {
                        @if !self.trail.is_empty() {
                            nav class="trail" aria-label="Pages above" {
                                ol { @for link in &self.trail { li { a href=(link.href) { (link.text) } } } }
                            }
                        }
                        @if !self.kicker.is_empty() { p class="kicker" { (self.kicker) } }
                        h1 { (self.title) }
                        @if !self.facts.is_empty() {
                            dl class="facts" { @for (name, value) in &self.facts { div { dt { (name) } dd { (value) } } } }
                        }
                        (blocks_html(&self.intro, &mut ids))
                        nav class="sections" aria-label="Sections" {
                            @for section in titled { a href={ "#" (section.id) } { (section.title) } }
                        }
                    }
                    main id="main" class=[self.is_long().then_some("long")] tabindex="-1" {
                        @for section in &self.sections { (section.html(&mut ids)) }
                    }
                    footer { (self.footer) }
                }
            }
        };
        page.into_string()
    }

    /// Whether a browser lays out only the sections in view. A picture of the whole page then has empty sections, so only pages
    /// that would open slowly otherwise do it.
    fn is_long(&self) -> bool {
        self.sections.len() > MOST_LAID_OUT
    }

    /// The page as Markdown. Charts are links to files in the folder `charts`.
    pub fn markdown(&self) -> String {
        self.markdown_below("")
    }

    /// The page as Markdown for a comment on a pull request: with smaller headings.
    pub fn comment(&self) -> String {
        self.markdown_below("##")
    }

    /// The page as Markdown whose headings are below those that begin with `above`.
    fn markdown_below(&self, above: &str) -> String {
        let heading = |signs: &str, title: &str| {
            if title.is_empty() {
                String::new()
            } else {
                format!("{above}{signs} {}", escaped(title))
            }
        };
        let mut parts = vec![heading("#", &self.title)];
        let facts = self.facts.iter();
        let facts = facts.map(|(name, value)| format!("{name}: {}", escaped(value)));
        parts.push(facts.joined(" · "));
        let block = |block: &Block| block.markdown(above);
        parts.extend(self.intro.iter().map(block));
        for section in &self.sections {
            let mut content = vec![escaped(&section.kicker), escaped(&section.lead)];
            content.extend(section.blocks.iter().map(block));
            if section.folds {
                parts.push(folded(&escaped(&section.title), &content));
            } else {
                parts.push(heading("##", &section.title));
                parts.extend(content);
            }
        }
        paragraphs(&parts) + "\n"
    }

    /// The page as text with lines of at most `width` characters (at least [`LEAST_WIDTH`]). Charts are left out.
    pub fn terminal(&self, width: usize, paint: Paint) -> String {
        let width = width.max(LEAST_WIDTH);
        let mut lines: Vec<String> = Vec::new();
        if !self.title.is_empty() {
            lines.extend(heading(&self.title, "", width, paint));
        }
        lines.extend(Block::Facts(self.facts.clone()).terminal(width, paint));
        for block in &self.intro {
            lines.extend(block.terminal(width, paint));
        }
        for section in &self.sections {
            if !lines.is_empty() {
                lines.push(String::new());
            }
            if !section.title.is_empty() {
                lines.extend(heading(&section.title, &section.lead, width, paint));
            }
            for block in &section.blocks {
                lines.extend(block.terminal(width, paint));
            }
        }
        lines.join("\n").trim_end().to_owned() + "\n"
    }
}

impl Section {
    pub fn of(id: impl Into<String>, title: impl Into<String>, blocks: Vec<Block>) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            blocks,
            ..Self::default()
        }
    }

    pub fn list(id: &str, title: &str, items: Vec<String>) -> Option<Self> {
        Some(Self::of(id, title, vec![Block::list(items)?]))
    }

    #[must_use]
    pub fn lead(mut self, lead: impl Into<String>) -> Self {
        self.lead = lead.into();
        self
    }

    fn html(&self, ids: &mut Ids) -> Markup {
        ids.enter(&self.id);
        html! {
            section id=(self.id) data-facets=[query_string(&self.facets)] {
                @if !self.kicker.is_empty() { p class="kicker" { (self.kicker) } }
                @if !self.title.is_empty() { h2 { (self.title) } }
                @if !self.lead.is_empty() { p class="lead" { (self.lead) } }
                (blocks_html(&self.blocks, ids))
            }
        }
    }
}

fn blocks_html(blocks: &[Block], ids: &mut Ids) -> Markup {
    html! { @for block in blocks { (block.html(ids)) } }
}

impl Block {
    pub fn list(items: Vec<String>) -> Option<Self> {
        (!items.is_empty()).then_some(Self::List(items))
    }

    fn html(&self, ids: &mut Ids) -> Markup {
        html! {
            @match self {
                Self::Heading(text) => h3 { (text) },
                Self::Text(text) => p { (text) },
                Self::Caption(text) => p class="caption" { (text) },
                Self::Callout(weight, text) => p class=(match weight {
                    Weight::Bad => "note bad",
                    Weight::Warning => "note warn",
                    Weight::Note => "note",
                }) { (text) },
                Self::List(items) => ul { @for item in items { li { (item_html(item)) } } },
                Self::Facts(facts) => dl class="conditions" {
                    @for (name, value) in facts { dt { (name) } dd { (value) } }
                },
                Self::Table(table) => (table.html()),
                Self::OpenTable(table, opened) => {
                    @let ids_of_rows = ids.of_rows(table);
                    @let opened: Vec<Markup> = opened.iter().map(|blocks| blocks_html(blocks, ids)).collect();
                    (table.opening(&ids_of_rows, &opened))
                },
                Self::Links(links) => ul class="links" { @for link in links { li { a href=(link.href) { (link.text) } } } },
                Self::Charts(figures) => div class="charts" {
                    @for figure in figures { figure { (figure.chart.inline(figure.id())) } }
                },
                Self::Sparks(sparks) => div class="sparks" { @for spark in sparks { (spark.inline()) } },
                Self::Code(code) => pre { (code) },
                // The style sheet unfolds it in print.
                Self::Fold(title, blocks) => details { summary { (title) } (blocks_html(blocks, ids)) },
                Self::Embedded(inner) => details class="embedded" {
                    summary { (inner.title) }
                    iframe title=(inner.title) srcdoc=(inner.document) sandbox="allow-scripts" loading="lazy" {}
                },
            }
        }
    }

    fn markdown(&self, above: &str) -> String {
        match self {
            Self::Heading(text) => format!("{above}### {}", escaped(text)),
            Self::Text(text) | Self::Caption(text) => escaped(text),
            Self::Callout(_, text) => format!("> {}", escaped(text)),
            Self::List(items) => items
                .iter()
                .map(|item| format!("- {}\n", item_markdown(item)))
                .collect(),
            Self::Facts(facts) => {
                let lines = facts
                    .iter()
                    .map(|(name, value)| format!("| {name} | {} |\n", escaped(value)));
                format!("| | |\n|---|---|\n{}", lines.collect::<String>())
            }
            Self::Table(table) | Self::OpenTable(table, _) => table.markdown(),
            Self::Links(links) => links
                .iter()
                .map(|link| format!("- [{}]({})\n", escaped(&link.text), link.href))
                .collect(),
            Self::Charts(figures) => {
                let images = figures.iter().map(|figure| {
                    let title = escaped(figure.chart.title());
                    format!("![{title}](charts/{})", figure.file)
                });
                images.joined("\n")
            }
            Self::Sparks(sparks) => {
                let words = sparks.iter().map(|spark| escaped(&spark.words));
                words.joined("\n\n")
            }
            Self::Code(code) => fenced(code),
            Self::Fold(title, blocks) => {
                let blocks: Vec<String> =
                    blocks.iter().map(|block| block.markdown(above)).collect();
                folded(&escaped(title), &blocks)
            }
            Self::Embedded(_) => String::new(),
        }
    }

    fn terminal(&self, width: usize, paint: Paint) -> Vec<String> {
        let painted = |text: &str, with: fn(Paint, &str) -> String| -> Vec<String> {
            wrapped(text, width)
                .iter()
                .map(|line| with(paint, line))
                .collect()
        };
        let dimmed = |text: &str| -> Vec<String> {
            let lines = wrapped(text, width.saturating_sub(2)).into_iter();
            lines
                .map(|line| format!("  {}", paint.dim(&line)))
                .collect()
        };
        match self {
            Self::Heading(text) => painted(text, Paint::bold),
            Self::Text(text) => painted(text, |_, line| line.to_owned()),
            Self::Caption(text) => painted(text, Paint::dim),
            Self::Callout(Weight::Bad, text) => painted(text, Paint::bad),
            Self::Callout(Weight::Warning, text) => painted(text, Paint::warn),
            Self::Callout(Weight::Note, text) => painted(text, Paint::dim),
            Self::List(items) => items.iter().flat_map(|item| hanging(item, width)).collect(),
            Self::Facts(facts) => listing(facts, width).lines().map(str::to_owned).collect(),
            Self::Table(table) | Self::OpenTable(table, _) => table.terminal(width, paint),
            Self::Links(links) => {
                let lines = links
                    .iter()
                    .flat_map(|link| wrapped(&link.text, width.saturating_sub(2)));
                lines.map(|line| format!("  {line}")).collect()
            }
            Self::Sparks(sparks) => sparks
                .iter()
                .flat_map(|spark| dimmed(&spark.words))
                .collect(),
            Self::Code(code) => code.lines().flat_map(dimmed).collect(),
            Self::Charts(_) | Self::Embedded(_) => Vec::new(),
            Self::Fold(title, blocks) => {
                let head = painted(title, Paint::bold).into_iter();
                head.chain(blocks.iter().flat_map(|block| block.terminal(width, paint)))
                    .collect()
            }
        }
    }
}

impl Figure {
    fn id(&self) -> &str {
        self.file.trim_end_matches(".svg")
    }
}

/// An item of a list, whose lines after the first are indented more.
fn hanging(item: &str, width: usize) -> Vec<String> {
    let lines = wrapped(item, width.saturating_sub(4))
        .into_iter()
        .enumerate();
    let indented = |(i, line)| format!("{}{line}", if i == 0 { "  " } else { "    " });
    lines.map(indented).collect()
}

fn heading(title: &str, lead: &str, width: usize, paint: Paint) -> Vec<String> {
    if title.chars().count() + 2 + lead.chars().count() <= width {
        let line = format!("{}  {}", paint.bold(title), paint.dim(lead));
        return vec![line.trim_end().to_owned()];
    }
    let (titles, leads) = (wrapped(title, width), wrapped(lead, width));
    let titles = titles.iter().map(|line| paint.bold(line));
    titles
        .chain(leads.iter().map(|line| paint.dim(line)))
        .collect()
}

fn paragraphs(parts: &[String]) -> String {
    let parts = parts.iter().map(|part| part.trim_end());
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}

fn folded(title: &str, parts: &[String]) -> String {
    format!(
        "<details>\n<summary>{title}</summary>\n\n{}\n\n</details>",
        paragraphs(parts)
    )
}

fn item_html(item: &str) -> Markup {
    html! {
        @if let Some((term, rest)) = term(item) { strong { (term) ":" } " " (rest) } @else { (item) }
    }
}

fn item_markdown(item: &str) -> String {
    match term(item) {
        Some((term, rest)) => format!("**{}:** {}", escaped(term), escaped(rest)),
        None => escaped(item),
    }
}

/// The term of an item: a few words before its first colon.
fn term(item: &str) -> Option<(&str, &str)> {
    item.split_once(": ")
        .filter(|(term, _)| term.chars().count() <= 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Cell, Head, Row};
    use prony_testkit::{contains, lacks};

    #[test]
    fn the_script_cannot_end_its_own_element_and_loads_nothing() {
        assert!(!SCRIPT.contains("</"));
        for loads in ["fetch(", "XMLHttpRequest", "import(", "http://", "https://"] {
            assert!(!SCRIPT.contains(loads), "{loads}");
        }
    }

    #[test]
    fn an_embedded_document_can_neither_leave_its_attribute_nor_reach_the_page() {
        let page = Page {
            intro: vec![Block::Embedded(Embedded {
                title: "On the CPU".into(),
                document: "<svg id=\"a\"></svg><script>alert('&')</script>".into(),
            })],
            ..Page::default()
        };
        let html = page.html();
        let inner = "srcdoc=\"&lt;svg id=&quot;a&quot;&gt;&lt;/svg&gt;&lt;script&gt;alert('&amp;')&lt;/script&gt;\"";
        contains(&html, inner);
        contains(&html, r#"sandbox="allow-scripts" loading="lazy"></iframe>"#);
        lacks(&page.markdown(), "alert");
        lacks(&page.terminal(80, Paint { colour: false }), "alert");
    }

    #[test]
    fn a_page_has_its_trail_and_one_anchor_for_each_row() {
        let table = Table {
            heads: vec![Head::words("server")],
            rows: vec![Row {
                cells: vec![Cell::text("go")],
                ..Row::default()
            }],
            ..Table::default()
        };
        let opened = vec![vec![Block::Text("1.26".into())]];
        let section = |id: &str| Section {
            id: id.into(),
            blocks: vec![Block::OpenTable(table.clone(), opened.clone())],
            ..Section::default()
        };
        let page = Page {
            title: "Tour".into(),
            trail: vec![Link {
                text: "Runs".into(),
                href: "../index.html".into(),
            }],
            sections: vec![section("hello"), section("sse")],
            ..Page::default()
        };
        let html = page.html();
        let trail = r#"<a href="../index.html">Runs</a>"#;
        for part in [trail, r#"<tr id="hello.go">"#, r#"<tr id="sse.go">"#] {
            contains(&html, part);
        }
        lacks(&html, "<h2></h2>"); // A section without a title.
    }
}
