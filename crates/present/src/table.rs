//! Tables: one registry of columns feeds terminal, Markdown and HTML alike.
//!
//! A [`Column`] says what stands in it and how important it is. [`Table::of`] fills a table from columns and rows, and leaves
//! out each column that says nothing of any row. Each medium then shows as much as it has room for: HTML everything, Markdown
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

use std::borrow::Cow;

use crate::number;

/// A column of tables whose rows are made from a `T`.
pub struct Column<T> {
    head: Head,
    cell: fn(&T) -> Cell,
}

/// What a column is called, and what becomes of it if there is no room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its title.
    pub title: Cow<'static, str>,
    /// What stands in it, and in which unit: the tooltip of its title.
    pub hint: &'static str,
    /// Whether it holds words, which are set to the left, and not figures.
    pub is_words: bool,
    /// The column with the highest is left out first if there is no room for all; one with 0 always stays.
    pub drop: u8,
    /// The title of the details in a terminal, where they are a column of their own, and when that is left out; `None` if
    /// they are not shown there.
    pub detail: Option<(&'static str, u8)>,
}

impl Head {
    /// A column of words.
    pub const fn words(title: &'static str) -> Self {
        Self {
            title: Cow::Borrowed(title),
            hint: "",
            is_words: true,
            drop: 0,
            detail: None,
        }
    }

    /// A column of figures with a title made at run time.
    pub fn figure(title: impl Into<Cow<'static, str>>) -> Self {
        Self {
            title: title.into(),
            is_words: false,
            ..Self::words("")
        }
    }
}

impl<T> Column<T> {
    /// A column of words.
    pub const fn words(title: &'static str, cell: fn(&T) -> Cell) -> Self {
        let head = Head::words(title);
        Self { head, cell }
    }

    /// A column of figures.
    pub const fn figure(title: &'static str, cell: fn(&T) -> Cell) -> Self {
        let mut head = Head::words(title);
        head.is_words = false;
        Self { head, cell }
    }

    /// With the tooltip of its title.
    #[must_use]
    pub const fn hint(mut self, hint: &'static str) -> Self {
        self.head.hint = hint;
        self
    }

    /// To be left out if there is no room: the highest first.
    #[must_use]
    pub const fn drop(mut self, drop: u8) -> Self {
        self.head.drop = drop;
        self
    }

    /// With a title for its details in a terminal, and when they are left out there.
    #[must_use]
    pub const fn detail(mut self, title: &'static str, drop: u8) -> Self {
        self.head.detail = Some((title, drop));
        self
    }
}

/// What stands in one place of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// The figure or words; empty if there is nothing to show.
    pub text: String,
    /// What belongs to it, in smaller letters: an interval, a framework.
    pub detail: String,
    /// A rank.
    pub badge: Option<Badge>,
    /// A bar as long as this share (0 to 1) of the widest.
    pub bar: Option<f64>,
    /// Its colour in a terminal; in Markdown what is good or bad is bold.
    pub colour: Option<Colour>,
}

/// What a cell's colour says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// It is good.
    Good,
    /// It is bad.
    Bad,
    /// It must be read with care.
    Warning,
    /// It does not matter much.
    Soft,
}

/// A rank beside a figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Badge {
    /// The ranks: `2–4`.
    pub text: String,
    /// Whether the first rank is among them.
    pub is_first: bool,
    /// What is to be known of it: a tooltip.
    pub hint: String,
}

impl Cell {
    /// Of a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Of a text that may be empty, which leaves the cell blank instead of saying that there is no figure.
    pub fn blank(text: impl Into<String>) -> Self {
        let text: String = text.into();
        match text.is_empty() {
            true => Self::text(" "),
            false => Self::text(text),
        }
    }

    /// Of a figure, if there is one.
    pub fn optional(figure: Option<f64>, shown: fn(f64) -> String) -> Self {
        figure.map_or_else(Self::default, |figure| Self::text(shown(figure)))
    }

    /// With what belongs to it. A detail that reads like the figure adds nothing.
    #[must_use]
    pub fn with(mut self, detail: Option<String>) -> Self {
        self.detail = detail
            .filter(|detail| *detail != self.text)
            .unwrap_or_default();
        self
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.badge.is_none()
    }

    /// The figure and the rank in one: `45.3 k #2–4`.
    fn plain(&self) -> String {
        match &self.badge {
            _ if self.is_empty() => number::NONE.to_owned(),
            None => self.text.clone(),
            Some(badge) if self.text.is_empty() => badge.text.clone(),
            Some(badge) => format!("{} #{}", self.text, badge.text),
        }
    }
}

/// How a row stands among the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Like the others.
    #[default]
    Plain,
    /// It leads.
    Leading,
    /// Its figures are not to be compared with the others'.
    Aside,
}

/// What is to be known of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// A few words.
    pub text: String,
    /// How much it matters.
    pub weight: Weight,
}

/// How much something matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// It is wrong.
    Bad,
    /// The figures must be read with care.
    Warning,
    /// Good to know.
    Note,
}

/// A row: how it is set, and its cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// How it stands among the others.
    pub tone: Tone,
    /// Whether a line above it divides it from the row before.
    pub begins_group: bool,
    /// What is to be known of it.
    pub flags: Vec<Flag>,
    /// Lines beneath it in a terminal.
    pub notes: Vec<String>,
    /// The cells, one for each column; fewer if `absent` says why there are no more.
    pub cells: Vec<Cell>,
    /// Why the cells behind the last are missing.
    pub absent: Option<String>,
}

/// A table that is ready to be shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What it shows, if its place does not say so.
    pub caption: String,
    /// Its columns.
    pub heads: Vec<Head>,
    /// Its rows.
    pub rows: Vec<Row>,
    /// Whether Markdown shows every column, however many there are, because they were chosen one by one.
    pub is_whole: bool,
}

impl Table {
    /// Fills a table. A column that says nothing of any row is left out.
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

    /// The same under another title, for a column whose title depends on what was measured.
    #[must_use]
    pub fn titled(mut self, title: &str, shown: Option<String>) -> Self {
        let head = self.heads.iter_mut().find(|head| head.title == title);
        if let (Some(head), Some(shown)) = (head, shown) {
            head.title = shown.into();
        }
        self
    }

    /// The column with the names of the rows.
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

    /// Which columns stay if at most `most` may.
    fn most_important(&self, most: usize) -> Vec<usize> {
        let mut shown: Vec<usize> = (0..self.heads.len()).collect();
        while shown.len() > most && self.leave_one_out(&mut shown) {}
        shown
    }

    /// Takes out the column that is missed least; false if all that are left must stay.
    fn leave_one_out(&self, shown: &mut Vec<usize>) -> bool {
        let least = (0..shown.len()).max_by_key(|&place| (self.heads[shown[place]].drop, place));
        match least.filter(|&place| self.heads[shown[place]].drop > 0) {
            Some(place) => {
                shown.remove(place);
                true
            }
            None => false,
        }
    }
}
