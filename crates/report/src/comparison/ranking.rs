//! Who stands where: rank bands by the rate and by requests per CPU second, and what speaks against a rank.

use std::collections::BTreeMap;

use prony_stats::{Band, Competitor, Order, bands};

use super::{Row, Standing};
use crate::bound::{self, FigureKind};

/// Who is told apart from whom by the rate.
#[derive(Clone, Debug)]
pub struct RateOrder {
    /// The servers that are ranked, in the order of `order`.
    servers: Vec<String>,
    /// What the rounds tell of them.
    pub order: Order,
}

impl RateOrder {
    /// The server that is faster for certain; `None` if that is open, or one of them is not ranked.
    pub fn faster<'a>(&self, one: &'a str, other: &'a str) -> Option<&'a str> {
        let place = |id: &str| self.servers.iter().position(|server| server == id);
        let (first, second) = (place(one)?, place(other)?);
        let better = self.order.better(first, second)?;
        Some(if better == first { one } else { other })
    }
}

/// Says what each row's figures are worth: what bounds them, and what speaks against a rank. Bands are given later.
pub(super) fn assess(rows: &mut [Row], open: bool) {
    for row in rows {
        let rounds = row.figures.rate.n;
        row.bounds = row.figures.limits.clone();
        if !row.is_reference() {
            let share = row.share_of_ceiling.map(|share| share.ratio);
            row.bounds.extend(bound::at_ceiling(rounds, share));
        }
        row.standing = standing(row, open);
    }
}

fn standing(row: &Row, open: bool) -> Standing {
    if row.figures.wrong.is_some() {
        Standing::WrongResponses
    } else if row.bounds.iter().any(|bound| bound.hides(FigureKind::Pace)) {
        Standing::AtLeast(None)
    } else if row.is_reference() {
        Standing::Reference
    } else if open {
        Standing::Offered
    } else {
        Standing::Ranked(Band { best: 1, worst: 1 })
    }
}

/// Gives the rows of a closed loop their bands, by the rates of the rounds.
pub(super) fn rank(rows: &mut [Row]) -> RateOrder {
    let mut ranked: Vec<&mut Row> = rows.iter_mut().filter(|row| competes(row)).collect();
    let competitors: Vec<Competitor> = ranked
        .iter()
        .map(|row| competitor(row, &row.figures.compared, FigureKind::Pace))
        .collect();
    let order = Order::of(&competitors);
    for (row, band) in ranked.iter_mut().zip(order.bands()) {
        row.standing = match row.standing {
            Standing::AtLeast(_) => Standing::AtLeast(Some(band)),
            _ => Standing::Ranked(band),
        };
    }
    RateOrder {
        servers: ranked.iter().map(|row| row.server.id.clone()).collect(),
        order,
    }
}

/// Gives the rows their bands by the requests that they respond for a second of CPU time.
pub(super) fn rank_by_cpu(rows: &mut [Row]) {
    let by_round = |row: &Row| row.figures.costs.requests_per_cpu_s_by_round.clone();
    let mut ranked: Vec<&mut Row> = rows
        .iter_mut()
        .filter(|row| competes(row) && !by_round(row).is_empty())
        .collect();
    let competitors: Vec<Competitor> = ranked
        .iter()
        .map(|row| competitor(row, &by_round(row), FigureKind::Cost))
        .collect();
    for (row, band) in ranked.iter_mut().zip(bands(&competitors)) {
        row.cpu_band = Some(band);
    }
}

fn competitor(row: &Row, rounds: &BTreeMap<u32, f64>, kind: FigureKind) -> Competitor {
    Competitor {
        rounds: rounds.clone(),
        known: row.known(kind),
    }
}

/// Neither a reference server nor one whose responses were wrong.
fn competes(row: &Row) -> bool {
    !row.is_reference() && row.standing != Standing::WrongResponses
}
