//! The matrix of pairs: each ranked server beside each other one, exactly as the ranks tell them apart.

use std::cmp::Ordering;
use std::iter;

use prony_present::number;
use prony_present::page::Block;
use prony_present::table::{Cell, Head, Row, Table};
use prony_present::words::{Joined, plural};
use prony_stats::Beside;

use crate::columns;
use crate::table::{RateOrder, ResultTable, ServerRow};

/// The title of the matrix.
pub(crate) const TITLE: &str = "Which pairs are told apart";
/// A page folds the matrix of more servers away.
const MOST_UNFOLDED: usize = 8;
/// The tips of a larger matrix are short, because it has hundreds of cells.
const MOST_WITH_WORDS: usize = 12;
/// A larger matrix has texts alone, so that a page of ten workloads stays small.
const MOST_WITH_TIPS: usize = 20;

/// Every pair of a table's ranked servers.
pub(crate) struct Pairs<'a> {
    rows: Vec<&'a ServerRow>,
    order: &'a RateOrder,
    /// What the ratios are of.
    figure: &'static str,
    /// What a server with a higher figure is.
    ahead: [&'static str; 2],
}

impl<'a> Pairs<'a> {
    /// The pairs of the servers that the table ranks: by their rates, in an open loop by what they do in a second of CPU time.
    /// `None` if it ranks fewer than two.
    pub(crate) fn of(table: &'a ResultTable) -> Option<Self> {
        let by_cpu = if table.load.flows {
            "flows per CPU second"
        } else {
            "requests per CPU second"
        };
        let (order, figure, ahead) = match &table.order {
            Some(order) => (order, "rate", ["faster", "slower"]),
            None => (
                &table.cpu_order,
                by_cpu,
                ["cheaper in CPU time", "dearer in CPU time"],
            ),
        };
        let in_order = if table.is_open() {
            table.by_cpu()
        } else {
            table.rows.iter().collect()
        };
        let rows: Vec<&ServerRow> = in_order
            .into_iter()
            .filter(|row| order.has(&row.server.id))
            .collect();
        (rows.len() > 1).then_some(Self {
            rows,
            order,
            figure,
            ahead,
        })
    }

    /// The matrix with its explanation; a large one is folded away.
    pub(crate) fn blocks(&self) -> Vec<Block> {
        vec![
            Block::Text(self.sentence()),
            Block::Table(self.table()),
            Block::Caption(self.legend()),
        ]
    }

    /// The same as part of a section, with a heading.
    pub(crate) fn part(&self) -> Vec<Block> {
        let blocks = self.blocks();
        if self.is_large() {
            vec![Block::Fold(TITLE.into(), blocks)]
        } else {
            let heading = iter::once(Block::Heading(TITLE.into()));
            heading.chain(blocks).collect()
        }
    }

    /// Whether it is too large to precede the figures.
    pub(crate) fn is_large(&self) -> bool {
        self.rows.len() > MOST_UNFOLDED
    }

    fn beside(&self, one: &ServerRow, other: &ServerRow) -> Option<Beside> {
        self.order.beside(&one.server.id, &other.server.id)
    }

    /// Every pair once, the one of the higher row first.
    fn each(&self) -> impl Iterator<Item = Option<Beside>> + '_ {
        let rows = self.rows.iter().enumerate();
        rows.flat_map(|(i, one)| {
            let below = self.rows[i + 1..].iter();
            below.map(|other| self.beside(one, other))
        })
    }

    /// How many pairs the rounds tell apart.
    fn sentence(&self) -> String {
        let all = self.each().count();
        let told = self.each().flatten();
        let told = told.filter(|pair| pair.told != Ordering::Equal).count();
        let by = self.figure;
        let exact = match self.order.order.pairs() {
            pairs if pairs == all => String::new(),
            pairs => format!(
                " ({} of the {} without a lower bound)",
                self.order.order.separated(),
                plural(pairs, "pair")
            ),
        };
        match (told, all) {
            (1, 1) => format!("The rounds tell the two servers apart by their {by}."),
            (0, 1) => format!("The rounds do not tell the two servers apart by their {by}."),
            (0, _) => {
                format!("The rounds tell none of the {all} pairs of servers apart by their {by}.")
            }
            _ if told == all => {
                format!("The rounds tell all {all} pairs of servers apart by their {by}.")
            }
            _ => {
                format!(
                    "The rounds tell {told} of {all} pairs of servers apart by their {by}{exact}."
                )
            }
        }
    }

    /// What the signs mean.
    fn legend(&self) -> String {
        let [ahead, behind] = self.ahead;
        let missing = if self.each().any(|pair| pair.is_none()) {
            format!(
                "; {} not compared: fewer than two rounds in common",
                number::NONE
            )
        } else {
            String::new()
        };
        format!(
            "Each cell compares the server of its row with the server of its column: ▲ certainly {ahead}, ▼ certainly {behind}, \
             ≈ not told apart{missing}. The figure is the row's {} as a ratio to the column's, within rounds.",
            self.figure
        )
    }

    fn table(&self) -> Table {
        let heads = self
            .rows
            .iter()
            .map(|row| Head::figure(row.server.id.clone()));
        let rows = self.rows.iter().map(|row| {
            let cells = self.rows.iter().map(|column| self.cell(row, column));
            let row_of = Row::of(iter::once(Cell::text(&row.server.id)).chain(cells));
            row_of.facets(columns::facets(&row.server))
        });
        Table::with(iter::once(Head::words("server")).chain(heads), rows)
    }

    fn cell(&self, row: &ServerRow, column: &ServerRow) -> Cell {
        if row.server.id == column.server.id {
            return Cell::blank("");
        }
        let Some(pair) = self.beside(row, column) else {
            let cell = Cell::text(number::NONE);
            return cell.tip("Not compared: fewer than two rounds in common");
        };
        let text = match pair.told {
            Ordering::Greater => format!("▲ {}", times(pair.ratio.ratio)),
            Ordering::Less => format!("▼ {}", times(pair.ratio.ratio)),
            Ordering::Equal => "≈".to_owned(),
        };
        // Between those that are told apart, which are sorted by their figures.
        let order = (pair.told == Ordering::Equal && self.has_tips()).then_some(1.0);
        Cell::text(text)
            .order(order)
            .tip(self.tip(row, column, pair))
    }

    /// Whether cells have more than their text, which would make a page of many servers too large.
    fn has_tips(&self) -> bool {
        self.rows.len() <= MOST_WITH_TIPS
    }

    fn tip(&self, row: &ServerRow, column: &ServerRow, pair: Beside) -> String {
        if !self.has_tips() {
            return String::new();
        }
        let interval = pair.interval().map(|(low, high)| {
            let interval = number::interval(low, high, number::ratio);
            format!("95 % interval {interval}")
        });
        let rounds = plural(pair.ratio.n, "round");
        let ratio = times(pair.ratio.ratio);
        if self.rows.len() > MOST_WITH_WORDS {
            return iter::once(ratio).chain(interval).joined(", ");
        }
        let (one, other) = (&row.server.id, &column.server.id);
        let [ahead, behind] = self.ahead;
        let verdict = match pair.told {
            Ordering::Greater => format!("{one} is certainly {ahead} than {other}"),
            Ordering::Less => format!("{one} is certainly {behind} than {other}"),
            Ordering::Equal => format!("{one} and {other} are not told apart"),
        };
        let figures = [
            Some(format!("{ratio} its {}", self.figure)),
            interval,
            Some(rounds),
        ];
        format!("{verdict}: {}", figures.into_iter().flatten().joined(", "))
    }
}

/// A ratio: `1.23×`, with more digits if it is so near 1 that it would read as 1.
pub(crate) fn times(ratio: f64) -> String {
    let shown = number::ratio(ratio);
    match shown.as_str() {
        "1.00" if ratio != 1.0 => format!("{ratio:.4}×"),
        _ => format!("{shown}×"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_near_one_has_more_digits() {
        let shown = [1.23, 0.812, 1.0041, 0.9962, 1.0, 47.26].map(times);
        assert_eq!(
            shown,
            ["1.23×", "0.81×", "1.0041×", "0.9962×", "1.00×", "47.3×"]
        );
    }
}
