//! Tables: one registry of columns feeds the terminal, Markdown and HTML.
//!
//! A [`Column`] defines its cells and how important it is. [`Table::of`] fills a table from columns and rows, and leaves out
//! each column that is empty in every row. Each medium then shows as much as it has room for: HTML everything, Markdown
//! the most important columns, and a terminal as many as its width allows.
//!
//! ```
//! use prony_present::number;
//! use prony_present::table::{Cell, Column, Row, Table};
//! use prony_present::terminal::Paint;
//!
//! struct Server(&'static str, f64, Option<f64>);
//! const COLUMNS: [Column<Server>; 3] = [
//!     Column::words("server", |server: &Server| Cell::text(server.0)),
//!     Column::figure("req/s", |server: &Server| Cell::text(number::count(server.1))).hint("Ok responses per second"),
//!     Column::figure("p99", |server: &Server| Cell::optional(server.2, number::duration)).drop(1),
//! ];
//! let servers = [Server("go", 45_312.0, None), Server("bun", 38_100.0, None)];
//! let table = Table::of(&COLUMNS, servers.iter().map(|server| (server, Row::default())));
//! assert_eq!(table.terminal(80, Paint { colour: false }), ["server   req/s", "go      45.3 k", "bun     38.1 k"]);
//! assert_eq!(table.markdown(), "| server | req/s |\n|---|---:|\n| go | 45.3\u{a0}k |\n| bun | 38.1\u{a0}k |\n");
//! ```

mod html;
mod markdown;
mod terminal;

pub(crate) use html::{Ids, query_string};

use std::borrow::Cow;

use crate::number;

pub struct Column<T> {
    head: Head,
    cell: fn(&T) -> Cell,
}

/// A column's title, and what happens to it if there is no room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub title: Cow<'static, str>,
    /// The tooltip of the title: what the column contains, and in which unit.
    pub hint: &'static str,
    /// Whether it contains words, which are aligned left, instead of figures.
    pub is_words: bool,
    /// Whether words that are too long lose their middle instead of their end: the ends of some names tell them apart.
    pub keeps_ends: bool,
    /// If there is no room for all columns, the highest is dropped first; a column with 0 is never dropped.
    pub drop: u8,
    /// In a terminal, details are a column of their own: its title, and its drop priority; `None` if a terminal does not
    /// show them.
    pub detail: Option<(&'static str, u8)>,
}

impl Head {
    pub const fn words(title: &'static str) -> Self {
        Self {
            title: Cow::Borrowed(title),
            hint: "",
            is_words: true,
            keeps_ends: false,
            drop: 0,
            detail: None,
        }
    }

    /// A column of figures whose title is known only at run time.
    pub fn figure(title: impl Into<Cow<'static, str>>) -> Self {
        Self {
            title: title.into(),
            is_words: false,
            ..Self::words("")
        }
    }

    #[must_use]
    pub fn hint(mut self, hint: &'static str) -> Self {
        self.hint = hint;
        self
    }

    #[must_use]
    pub fn drop(mut self, drop: u8) -> Self {
        self.drop = drop;
        self
    }
}

impl<T> Column<T> {
    pub const fn words(title: &'static str, cell: fn(&T) -> Cell) -> Self {
        let head = Head::words(title);
        Self { head, cell }
    }

    pub const fn figure(title: &'static str, cell: fn(&T) -> Cell) -> Self {
        let mut head = Head::words(title);
        head.is_words = false;
        Self { head, cell }
    }

    #[must_use]
    pub const fn hint(mut self, hint: &'static str) -> Self {
        self.head.hint = hint;
        self
    }

    /// Sets the drop priority: if there is no room, the highest is dropped first.
    #[must_use]
    pub const fn drop(mut self, drop: u8) -> Self {
        self.head.drop = drop;
        self
    }

    /// Shows the details in a terminal, with this title and drop priority.
    #[must_use]
    pub const fn detail(mut self, title: &'static str, drop: u8) -> Self {
        self.head.detail = Some((title, drop));
        self
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// The figure or words; empty if there is nothing to show.
    pub text: String,
    /// A detail in smaller letters: an interval, a framework.
    pub detail: String,
    pub badge: Option<Badge>,
    /// A bar of this length: a share (0 to 1) of the longest.
    pub bar: Option<f64>,
    /// The colour in a terminal; Markdown sets good and bad in bold.
    pub colour: Option<Colour>,
    /// What a page sorts the cell by; `None` for its text.
    pub order: Option<f64>,
    /// What a page shows at the cell on hover or tap: lines, such as the interval and each round.
    pub tip: String,
    /// Where the text leads in a page, relative to it; empty if nowhere.
    pub href: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    Good,
    Bad,
    /// Read with care.
    Warning,
    /// Less important.
    Soft,
}

/// The rank next to a figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Badge {
    pub text: String,
    pub is_first: bool,
    pub hint: String,
}

impl Cell {
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// A cell with a text that may be empty; it is then blank, without a sign for a missing figure.
    pub fn blank(text: impl Into<String>) -> Self {
        let text: String = text.into();
        if text.is_empty() {
            Self::text(" ")
        } else {
            Self::text(text)
        }
    }

    /// A cell with a figure, or with the sign for a missing one.
    pub fn optional(figure: Option<f64>, shown: fn(f64) -> String) -> Self {
        figure.map_or_else(Self::default, |figure| Self::text(shown(figure)))
    }

    #[must_use]
    pub fn order(mut self, order: impl Into<Option<f64>>) -> Self {
        self.order = order.into();
        self
    }

    #[must_use]
    pub fn tip(mut self, tip: impl Into<String>) -> Self {
        self.tip = tip.into();
        self
    }

    #[must_use]
    pub fn colour(mut self, colour: impl Into<Option<Colour>>) -> Self {
        self.colour = colour.into();
        self
    }

    /// Adds a detail. One that equals the figure is left out.
    #[must_use]
    pub fn with(mut self, detail: Option<String>) -> Self {
        self.detail = detail
            .filter(|detail| *detail != self.text)
            .unwrap_or_default();
        self
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.badge.is_none()
    }

    /// The figure and its rank: `45.3 k #2–4`.
    fn plain(&self) -> String {
        match &self.badge {
            _ if self.is_empty() => number::NONE.to_owned(),
            None => self.text.clone(),
            Some(badge) if self.text.is_empty() => badge.text.clone(),
            Some(badge) => format!("{} #{}", self.text, badge.text),
        }
    }
}

/// The standing of a row among the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    #[default]
    Plain,
    Leading,
    /// A row that is not comparable with the others.
    Aside,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    pub text: String,
    pub weight: Weight,
}

impl Flag {
    pub fn of(weight: Weight, text: String) -> Self {
        Self { text, weight }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    Bad,
    Warning,
    Note,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    pub tone: Tone,
    /// Whether a line separates it from the row above.
    pub begins_group: bool,
    pub flags: Vec<Flag>,
    /// The cells, one for each column; fewer if `absent` gives a reason.
    pub cells: Vec<Cell>,
    /// Why the remaining cells are missing.
    pub absent: Option<String>,
    pub facets: Vec<Facet>,
}

impl Row {
    pub fn of(cells: impl IntoIterator<Item = Cell>) -> Self {
        Self {
            cells: cells.into_iter().collect(),
            ..Self::default()
        }
    }

    pub fn flagged(weight: Weight, texts: impl IntoIterator<Item = String>) -> Self {
        let flags = texts.into_iter().map(|text| Flag::of(weight, text));
        Self {
            flags: flags.collect(),
            ..Self::default()
        }
    }

    #[must_use]
    pub fn tone(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }

    #[must_use]
    pub fn begins_group(mut self, begins: bool) -> Self {
        self.begins_group = begins;
        self
    }

    #[must_use]
    pub fn absent(mut self, why: impl Into<Option<String>>) -> Self {
        self.absent = why.into();
        self
    }

    #[must_use]
    pub fn facets(mut self, facets: Vec<Facet>) -> Self {
        self.facets = facets;
        self
    }
}

/// A property that a page filters rows and sections by, and its value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Facet {
    /// The property: `language`, `class`, `workload`, `wire`.
    pub name: &'static str,
    /// The value: `Rust`.
    pub value: String,
}

impl Facet {
    pub fn of(name: &'static str, value: impl Into<String>) -> Self {
        let value = value.into();
        Self { name, value }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// A caption, if the heading above the table does not say what it shows.
    pub caption: String,
    pub heads: Vec<Head>,
    pub rows: Vec<Row>,
    /// Whether Markdown shows every column, because each was chosen by name.
    pub is_whole: bool,
}

impl Table {
    pub fn with(
        heads: impl IntoIterator<Item = Head>,
        rows: impl IntoIterator<Item = Row>,
    ) -> Self {
        Self {
            heads: heads.into_iter().collect(),
            rows: rows.into_iter().collect(),
            ..Self::default()
        }
    }

    #[must_use]
    pub fn whole(mut self) -> Self {
        self.is_whole = true;
        self
    }

    #[must_use]
    pub fn caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    /// Fills a table. A column that is blank in every row is left out.
    pub fn of<'t, T: 't>(
        columns: impl IntoIterator<Item = &'t Column<T>>,
        rows: impl IntoIterator<Item = (&'t T, Row)>,
    ) -> Self {
        let columns: Vec<&Column<T>> = columns.into_iter().collect();
        let rows = rows.into_iter().map(|(of, row)| Row {
            cells: columns.iter().map(|column| (column.cell)(of)).collect(),
            ..row
        });
        let mut table = Self {
            heads: columns.iter().map(|column| column.head.clone()).collect(),
            rows: rows.collect(),
            ..Self::default()
        };
        table.drop_empty();
        table
    }

    /// The same column under another title, for a title that depends on what was measured.
    #[must_use]
    pub fn titled(mut self, title: &str, shown: impl Into<Option<String>>) -> Self {
        let head = self.heads.iter_mut().find(|head| head.title == title);
        if let (Some(head), Some(shown)) = (head, shown.into()) {
            head.title = shown.into();
        }
        self
    }

    fn name(&self) -> usize {
        self.heads
            .iter()
            .position(|head| head.is_words)
            .unwrap_or(0)
    }

    fn drop_empty(&mut self) {
        let says = |i: usize| {
            self.rows
                .iter()
                .any(|row| row.cells.get(i).is_some_and(|cell| !cell.is_empty()))
        };
        let kept: Vec<bool> = (0..self.heads.len()).map(says).collect();
        let mut keep = kept.iter();
        self.heads.retain(|_| *keep.next().unwrap_or(&true));
        for row in &mut self.rows {
            let mut keep = kept.iter();
            row.cells.retain(|_| *keep.next().unwrap_or(&true));
        }
    }

    /// The columns that remain if at most `most` may.
    fn most_important(&self, most: usize) -> Vec<usize> {
        let mut shown: Vec<usize> = (0..self.heads.len()).collect();
        while shown.len() > most
            && let Some(least) = least_important(shown.iter().map(|&i| self.heads[i].drop))
        {
            shown.remove(least);
        }
        shown
    }
}

/// The place of the column to drop next, given the drop priorities; `None` if all must stay.
fn least_important(drops: impl Iterator<Item = u8>) -> Option<usize> {
    let least = drops.enumerate().max_by_key(|&(place, drop)| (drop, place));
    least.filter(|(_, drop)| *drop > 0).map(|(place, _)| place)
}
