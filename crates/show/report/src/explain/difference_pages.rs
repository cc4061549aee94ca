//! A difference as text, Markdown and a section of a page.

use prony_model::CostFigure;
use prony_present::number::{self, change, duration, more_or_less_time};
use prony_present::page::{Block, LEAST_WIDTH, Page, Section};
use prony_present::table::{Cell, Colour, Head, Row, Table};
use prony_present::terminal::Paint;
use prony_present::words::{counted, list};
use prony_stats::Estimate;

use crate::explain::cost_table::{Medium, interval, name, per};
use crate::explain::difference::{CostChange, Difference, FunctionChange, MeasuredChange};
use crate::explain::flames::embedded;
use crate::explain::functions;

/// The most functions that grew, and that shrank, in a table.
const LISTED: usize = 10;

impl Difference<'_> {
    /// The difference as text with lines of at most `width` characters (at least 40). `colour` allows ANSI colours.
    pub fn text(&self, width: usize, colour: bool) -> String {
        let width = width.max(LEAST_WIDTH);
        let page = Page::of(vec![self.shown(Medium::Terminal(width), None)]);
        page.terminal(width, Paint { colour })
    }

    /// The difference as Markdown, from a heading of the second level on.
    pub fn markdown(&self) -> String {
        // It is a part of another document, which has its own title.
        Page::of(vec![self.shown(Medium::Markdown, None)]).markdown()
    }

    /// The difference as a section of a page, with the SVG of a differential flame graph if there is one.
    pub fn section(&self, flame: Option<&str>) -> Section {
        self.shown(Medium::Page, flame)
    }

    /// What the two sides are called.
    pub fn title(&self) -> String {
        format!(
            "{}: {} → {}",
            self.before.workload, self.before.server, self.after.server
        )
    }

    fn shown(&self, medium: Medium, flame: Option<&str>) -> Section {
        let table = self.costs_table(medium);
        let sentence = Block::Text(self.sentence());
        let basis = self.basis().map(Block::Caption);
        let mut blocks = vec![Block::Table(table)];
        blocks.extend(basis);
        match medium {
            Medium::Terminal(_) => {
                blocks.extend(self.functions_blocks(flame));
                blocks.push(sentence);
            }
            Medium::Markdown | Medium::Page => {
                blocks.insert(0, sentence);
                blocks.extend(self.functions_blocks(flame));
            }
        }
        let id = format!("difference-{}", self.after.server);
        Section::of(id, self.title(), blocks).lead("what changed")
    }

    /// How many figures changed, and the CPU time.
    pub(crate) fn sentence(&self) -> String {
        let compared = self
            .costs
            .iter()
            .filter(|cost| cost.change.is_some())
            .count();
        let figures = counted(compared as u64, "figure", "figures");
        let cpu = self
            .costs
            .iter()
            .find(|cost| cost.figure() == Some(CostFigure::Cpu));
        let cpu = cpu.and_then(|cost| Some((cost.is_clear(), cost.change?)));
        let cpu = cpu.map_or_else(String::new, |(is_clear, found)| {
            let [middle, low, high] = [found.ratio, found.low, found.high].map(change);
            if is_clear {
                format!(
                    " CPU time {}: {middle} (95 % interval {low} to {high}).",
                    per(self.before.unit)
                )
            } else {
                format!(
                    " No certain change of the CPU time {}; it is between {low} and {high}.",
                    per(self.before.unit)
                )
            }
        });
        let new = self.named("New", |cost| cost.is_new());
        let gone = self.named("Gone", |cost| cost.is_gone());
        let likely = self.named("Probably", |cost| cost.is_likely());
        let clear = self.names(|cost| cost.is_clear());
        let certain = match clear.len() {
            0 => format!("None of {figures} certainly changed."),
            count => format!("{count} of {figures} certainly changed: {}.", list(&clear)),
        };
        format!("{certain}{likely}{cpu}{new}{gone}")
    }

    /// The figures and system calls that this is true of: ` New: madvise.`
    fn named(&self, title: &str, is_so: impl Fn(&CostChange<'_>) -> bool) -> String {
        let names = self.names(is_so);
        if names.is_empty() {
            String::new()
        } else {
            format!(" {title}: {}.", list(&names))
        }
    }

    fn names(&self, is_so: impl Fn(&CostChange<'_>) -> bool) -> Vec<String> {
        let found = self.costs.iter().filter(|cost| is_so(cost));
        found.map(|cost| cost.row.title()).collect()
    }

    fn basis(&self) -> Option<String> {
        let found = self.costs.iter().find_map(|cost| cost.change)?;
        let compared = if found.paired {
            "Each round is compared with the same round of the other."
        } else {
            "The two have different numbers of rounds, so all rounds of one are compared with all of the other."
        };
        Some(format!("{compared} {VERDICTS}"))
    }

    fn costs_table(&self, medium: Medium) -> Table {
        let heads = [
            Head::words(per(self.before.unit)),
            Head::figure("before").drop(2),
            Head::figure("after").drop(1),
            Head::figure("change"),
            Head::figure("95 % interval").drop(3),
            Head::words("verdict"),
        ];
        let rows = self.costs.iter().map(|cost| cost_line(cost, medium));
        Table::with(heads, rows).whole()
    }

    fn functions_blocks(&self, flame: Option<&str>) -> Vec<Block> {
        let both_profiled = self.before.on_cpu.is_some() && self.after.on_cpu.is_some();
        if !both_profiled {
            return Vec::new();
        }
        let mut blocks = vec![Block::Heading(
            "Functions whose CPU time changed".to_owned(),
        )];
        let title = format!(
            "Differential flame graph: {} → {}",
            self.before.server, self.after.server
        );
        blocks.extend(flame.map(|svg| embedded(&title, svg)));
        let (grew, shrank): (Vec<_>, Vec<_>) = self
            .functions
            .iter()
            .partition(|one| one.difference_s > 0.0);
        let shrank: Vec<&FunctionChange> = shrank.into_iter().rev().collect();
        for (caption, changes) in [("Grew", grew), ("Shrank", shrank)] {
            if !changes.is_empty() {
                blocks.push(Block::Table(self.functions_table(caption, &changes)));
            }
        }
        let listed = if self.functions.is_empty() {
            "No function changed by more than the noise of its samples."
        } else {
            FUNCTIONS
        };
        let visible = self.visible.map_or(String::new(), visible);
        blocks.push(Block::Caption(format!("{listed}{visible}")));
        blocks
    }

    fn functions_table(&self, caption: &str, changes: &[&FunctionChange]) -> Table {
        let rest = changes.len().saturating_sub(LISTED);
        let more = if rest > 0 {
            format!(" ({rest} more did by less)")
        } else {
            String::new()
        };
        let figures = ["before", "after", "difference"].map(Head::figure);
        let heads = [functions::head(), Head::words("in")];
        let rows = changes.iter().take(LISTED).map(|one| function_line(one));
        let table = Table::with(heads.into_iter().chain(figures), rows);
        table.whole().caption(format!("{caption}{more}"))
    }
}

/// How small a change of a function is seen, and how many samples would show 2 %.
fn visible(share: f64) -> String {
    let times = (share / 0.02).powi(2);
    let more = if times < 1.05 {
        String::new()
    } else {
        format!(
            "; {} times the samples would show 2 % (--profile-duration, --frequency)",
            number::about_times(times)
        )
    };
    format!(
        " These profiles show a change of {} of the CPU time in a function that has a tenth of it{more}.",
        number::share(share)
    )
}

const VERDICTS: &str = "A figure “grew” or “shrank” after correction for all figures (Holm), “probably” by its own interval alone.";

const FUNCTIONS: &str = "CPU time of the function itself for each request or event, without those that it calls. A function is listed if it changed by more \
     than three standard errors of its samples.";

fn cost_line(cost: &CostChange<'_>, medium: Medium) -> Row {
    let shown = cost.row.shown();
    let figure = |estimate: Option<Estimate>| {
        estimate.map_or_else(Cell::default, |one| {
            let ends = interval(&one, shown).filter(|_| !matches!(medium, Medium::Terminal(_)));
            Cell::text(shown(one.median)).with(ends)
        })
    };
    let (middle, ends) = match &cost.change {
        Some(found) => (change(found.ratio), ends(found)),
        None if cost.is_new() => ("new".to_owned(), String::new()),
        None if cost.is_gone() => ("gone".to_owned(), String::new()),
        None => (number::NONE.to_owned(), String::new()),
    };
    let cells = [
        name(&cost.row),
        figure(cost.before),
        figure(cost.after),
        Cell::text(middle).colour(colour(cost)),
        Cell::blank(ends),
        Cell::text(cost.verdict().unwrap_or_default()),
    ];
    Row::of(cells).begins_group(cost.row.begins_group())
}

fn ends(found: &MeasuredChange) -> String {
    format!("{} to {}", change(found.low), change(found.high))
}

/// Less is better, except for the number of threads.
fn colour(cost: &CostChange<'_>) -> Option<Colour> {
    let ratio = cost.change?.ratio;
    match (cost.is_clear(), cost.figure()) {
        (false, _) => Some(Colour::Soft),
        (true, Some(CostFigure::Threads)) => None,
        (true, _) if ratio > 1.0 => Some(Colour::Bad),
        (true, _) => Some(Colour::Good),
    }
}

fn function_line(one: &FunctionChange) -> Row {
    let time = |seconds: f64| Cell::text(duration(seconds * 1e9)).order(seconds);
    Row::of([
        functions::name(&one.frame),
        Cell::text(one.place()),
        time(one.before_s),
        time(one.after_s),
        Cell::text(more_or_less_time(one.difference_s)).order(one.difference_s),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_that_show_two_percent_need_no_more_samples() {
        assert!(visible(0.02).ends_with("a tenth of it."));
        assert!(visible(0.04).contains("a tenth of it; 4.0 times the samples would show 2 %"));
    }
}
