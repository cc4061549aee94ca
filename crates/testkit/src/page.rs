//! Pages in tests: as lines of a golden file, and as a tree whose structure is asserted.

use std::collections::BTreeSet;

use roxmltree::{Document, Node};

/// Elements that have no end tag in our pages.
const EMPTY: [&str; 4] = ["meta", "br", "input", "link"];

/// Longer rows of a table have one cell per line.
const SHORT_ROW: usize = 120;

/// A page without its style sheet and script, which are files of their own.
#[must_use]
pub fn bare(page: &str) -> String {
    let mut text = page.to_owned();
    for name in ["style", "script"] {
        let (start, end) = (format!("<{name}>"), format!("</{name}>"));
        if let Some((before, rest)) = text.split_once(&start) {
            let (_, after) = rest.split_once(&end).expect("it ends");
            text = format!("{before}{after}");
        }
    }
    text
}

/// About one element per line, for a golden file. Short rows of tables are whole.
#[must_use]
pub fn lines(markup: &str) -> String {
    let mut text = bare(markup).replace("><", ">\n<");
    // Cells follow on the text of the cell before.
    for cell in ["<td", "<th", "<tr"] {
        text = text.replace(cell, &format!("\n{cell}"));
    }
    text = text.replace("\n\n", "\n");
    for inline in ["</", "<small", "<span", "<strong", "<dd"] {
        text = text.replace(&format!("\n{inline}"), inline);
    }
    let mut short = Vec::new();
    for row in text.split("\n<tr") {
        let joined = row.replace("\n<td", "<td").replace("\n<th ", "<th ");
        let is_short = joined.lines().next().unwrap_or_default().len() <= SHORT_ROW;
        short.push(if is_short { joined } else { row.to_owned() });
    }
    short.join("\n<tr")
}

/// A page as XML. Fails if an element is closed that is not open, or never closed.
///
/// # Panics
///
/// If the markup is not well-formed.
#[must_use]
pub fn xml(page: &str) -> String {
    // XML has no control characters.
    let page = bare(page).replace('\u{1b}', "\u{fffd}");
    let mut text = String::new();
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page.trim_start_matches("<!DOCTYPE html>");
    while let Some(start) = rest.find('<') {
        text += &rest[..start];
        let end = start + rest[start..].find('>').expect("a tag that ends");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            close(&mut open, &mut text, &["td", "th", "tr"], |one| one == name);
            let was = open.pop();
            assert_eq!(was, Some(name), "before {}", head(rest));
            text += &format!("</{name}>");
            continue;
        }
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        match name {
            "td" | "th" => close(&mut open, &mut text, &["td", "th"], |_| false),
            "tr" => close(&mut open, &mut text, &["td", "th", "tr"], |_| false),
            _ => {}
        }
        let is_empty = tag.ends_with('/') || EMPTY.contains(&name);
        text += &format!("<{}", quoted(tag.trim_end_matches('/')));
        text += if is_empty { "/>" } else { ">" };
        if !is_empty {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "never closed: {open:?}");
    text
}

/// Closes open elements of these names, which need no end tag, until one that is to be closed anyway.
fn close(
    open: &mut Vec<&str>,
    text: &mut String,
    names: &[&str],
    is_wanted: impl Fn(&str) -> bool,
) {
    while let Some(last) = open.last()
        && names.contains(last)
        && !is_wanted(last)
    {
        *text += &format!("</{last}>");
        open.pop();
    }
}

fn head(text: &str) -> String {
    text.chars().take(80).collect()
}

/// The attributes of a tag with quotes and values, which XML requires.
fn quoted(tag: &str) -> String {
    let mut text = String::new();
    for (i, part) in tag.split('"').enumerate() {
        if i % 2 == 1 {
            text += &format!("\"{}\"", part.replace('<', "&lt;"));
            continue;
        }
        for (j, word) in part.split(' ').enumerate() {
            let gap = if j > 0 { " " } else { "" };
            let is_name = i == 0 && j == 0;
            text += &match word.split_once('=') {
                Some((name, value)) if !value.is_empty() => format!("{gap}{name}=\"{value}\""),
                None if !is_name && !word.is_empty() => format!("{gap}{word}=\"\""),
                _ => format!("{gap}{word}"),
            };
        }
    }
    text
}

/// The text of a node, with single spaces.
#[must_use]
pub fn text(node: Node<'_, '_>) -> String {
    let parts = node
        .descendants()
        .filter_map(|part| if part.is_text() { part.text() } else { None });
    let text = parts.collect::<Vec<_>>().join(" ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The elements of a name, in their order.
pub fn all<'d, 'i: 'd>(node: Node<'d, 'i>, name: &str) -> Vec<Node<'d, 'i>> {
    let nodes = node.descendants();
    nodes.filter(|one| one.has_tag_name(name)).collect()
}

/// The texts of the elements of a name.
#[must_use]
pub fn texts(node: Node<'_, '_>, name: &str) -> Vec<String> {
    all(node, name).into_iter().map(text).collect()
}

/// Every value of an attribute.
#[must_use]
pub fn values(node: Node<'_, '_>, attribute: &str) -> Vec<String> {
    let nodes = node.descendants();
    let found = nodes.filter_map(|one| one.attribute(attribute));
    found.map(str::to_owned).collect()
}

/// Asserts that a page is well-formed.
///
/// # Panics
///
/// If it is not.
pub fn assert_well_formed(page: &str) {
    Document::parse(&xml(page)).expect("a well-formed page");
}

/// Asserts what holds for every page: it is well-formed, runs one script and loads nothing, an id occurs once, every
/// link in it leads somewhere, and every chart has a title and a description.
///
/// # Panics
///
/// If one of these does not hold.
pub fn assert_sound(page: &str) {
    let xml = xml(page);
    let tree = Document::parse(&xml).expect("a well-formed page");
    for name in ["script", "link", "img", "iframe", "object", "embed", "base"] {
        assert!(all(tree.root(), name).is_empty(), "<{name}>");
    }
    let ids = values(tree.root(), "id");
    let unique: BTreeSet<&String> = ids.iter().collect();
    assert_eq!(ids.len(), unique.len(), "an id twice");
    for link in values(tree.root(), "href") {
        if let Some(id) = link.strip_prefix('#') {
            assert!(unique.contains(&id.to_owned()), "{link} has no target");
        }
    }
    let charts = all(tree.root(), "svg").into_iter();
    for chart in charts.filter(|svg| svg.attribute("role") == Some("img")) {
        for name in ["title", "desc"] {
            assert!(!texts(chart, name).concat().is_empty(), "a {name}");
        }
    }
}

/// Asserts that a page says what the Markdown of the same contents says: every heading, sentence and row of a table.
///
/// # Panics
///
/// If the page lacks one.
pub fn assert_says(page: &str, markdown: &str) {
    let xml = xml(page);
    let tree = Document::parse(&xml).expect("a well-formed page");
    let whole = letters(&text(tree.root_element()));
    // A list of terms is a table in Markdown.
    let terms = all(tree.root(), "dt").into_iter().map(|term| {
        let meaning = term.next_sibling_element().map(text).unwrap_or_default();
        text(term) + &meaning
    });
    let rows = texts(tree.root(), "tr").into_iter().chain(terms);
    let rows: Vec<String> = rows.map(|row| letters(&row)).collect();
    let mut headings = texts(tree.root(), "h2").into_iter();
    let mut missing = Vec::new();
    let mut is_code = false;
    for line in markdown.lines() {
        is_code ^= line.starts_with("```");
        if line.starts_with("```")
            || (!is_code && (line.starts_with("![") || line.starts_with("|--")))
        {
            continue;
        }
        let is_row = line.starts_with('|') && !is_code;
        let found = match line.strip_prefix("## ") {
            Some(title) => headings.any(|one| letters(&one) == letters(&plain(title))),
            None if is_row => rows.iter().any(|row| has(row, line)),
            None => has(&whole, line) || line.contains(">More columns<"),
        };
        if !found {
            missing.push(line);
        }
    }
    assert!(missing.is_empty(), "the page lacks\n{}", missing.join("\n"));
}

/// Asserts that a page has these words: in its text, or whole as the value of an attribute.
///
/// # Panics
///
/// If the page lacks some.
pub fn assert_has(page: &str, words: &[&str]) {
    let xml = xml(page);
    let tree = Document::parse(&xml).expect("a well-formed page");
    let whole = text(tree.root_element());
    let nodes = tree.descendants();
    let attributes = nodes.flat_map(|node| node.attributes().map(|one| one.value()));
    let attributes: BTreeSet<&str> = attributes.collect();
    for words in words {
        assert!(
            whole.contains(words) || attributes.contains(words),
            "the page lacks: {words}"
        );
    }
}

/// Whether the letters of a page or row have all parts of a line of Markdown: cells, figures with their intervals, facts.
fn has(letters_of_page: &str, line: &str) -> bool {
    let plain = plain(
        &line
            .replace("\\|", "\u{1}")
            .replace(['|', '(', ')', '·', '#'], "\n"),
    );
    let mut parts = plain.lines().flat_map(|part| part.split(": "));
    parts.all(|part| letters_of_page.contains(&letters(part)))
}

/// A line of Markdown without its markup.
fn plain(line: &str) -> String {
    let line = line.trim_start_matches(['#', '>', '-', ' ', '*']);
    let mut text = line.replace('\u{1}', "|");
    for (markup, letters) in [
        ("<details>", ""),
        ("</details>", ""),
        ("<summary>", ""),
        ("</summary>", ""),
        ("<br>", "\n"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&amp;", "&"),
    ] {
        text = text.replace(markup, letters);
    }
    text
}

/// A text without what differs between HTML and Markdown: spaces, markup and the numbers of footnotes.
fn letters(text: &str) -> String {
    let is_left_out = |c: char| c.is_whitespace() || "()\\*`#¹²³⁴⁵⁶⁷⁸⁹⁰\u{1b}\u{fffd}".contains(c);
    text.chars().filter(|c| !is_left_out(*c)).collect()
}
