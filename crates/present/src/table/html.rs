//! A table in a page: every column, with details below figures and flags below names.

use maud::{Markup, html};

use super::{Cell, Head, Row, Table, Tone, Weight};
use crate::number;

impl Table {
    /// The table as HTML, in a box that scrolls sideways if the page is too narrow.
    pub fn html(&self) -> Markup {
        html! {
            @if !self.caption.is_empty() { p class="table-caption" { (self.caption) } }
            div class="scroll" tabindex="0" {
                table {
                    thead { tr { @for head in &self.heads { (title(head)) } } }
                    tbody { @for row in &self.rows { (self.line(row)) } }
                }
            }
        }
    }

    fn line(&self, row: &Row) -> Markup {
        let classes = [
            (row.begins_group, "group"),
            (row.tone == Tone::Aside, "aside"),
        ];
        let classes: Vec<&str> = classes
            .iter()
            .filter(|class| class.0)
            .map(|class| class.1)
            .collect();
        html! {
            tr class=[(!classes.is_empty()).then(|| classes.join(" "))] {
                @for (i, (cell, head)) in row.cells.iter().zip(&self.heads).enumerate() {
                    @if i == self.name() { th scope="row" { (content(cell)) (flags(row)) } }
                    @else { (figure(cell, head)) }
                }
                @if let Some(why) = &row.absent {
                    td class="none text" colspan=(self.heads.len() - row.cells.len()) { (why) }
                }
            }
        }
    }
}

fn title(head: &Head) -> Markup {
    let hint = Some(head.hint).filter(|hint| !hint.is_empty());
    let words = head.is_words.then_some("text");
    html! { th scope="col" class=[words] title=[hint] { (head.title) } }
}

fn figure(cell: &Cell, head: &Head) -> Markup {
    let class = match (cell.is_empty(), head.is_words) {
        (true, _) => Some("none"),
        (false, true) => Some("text"),
        (false, false) => None,
    };
    html! { td class=[class] { (content(cell)) } }
}

fn content(cell: &Cell) -> Markup {
    html! {
        @if cell.is_empty() { (number::NONE) }
        (cell.text)
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
