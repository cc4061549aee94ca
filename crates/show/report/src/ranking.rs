//! Ranks: bands by the rate and by requests per CPU second, and why a row has none.

use std::collections::BTreeMap;

use prony_model::{Bound, FigureKind};
use prony_stats::{Band, Competitor, Order};

use crate::table::{RateOrder, ServerRow, Standing};

/// Decides what limits each row's figures, and why it has no rank. Bands are assigned later.
pub fn assess(rows: &mut [ServerRow], open: bool) {
    for row in rows {
        let rounds = row.figures.rate.n;
        row.bounds = row.figures.limits.clone();
        if !row.is_reference() {
            let share = row.share_of_ceiling.map(|share| share.ratio);
            row.bounds.extend(Bound::at_ceiling(rounds, share));
        }
        row.standing = standing(row, open);
    }
}

fn standing(row: &ServerRow, open: bool) -> Standing {
    if row.figures.wrong.is_some() {
        Standing::WrongResponses
    } else if Bound::any_hides(&row.bounds, FigureKind::Pace) {
        Standing::AtLeast(None)
    } else if row.is_reference() {
        Standing::Reference
    } else if open {
        Standing::Offered
    } else {
        Standing::Ranked(Band { best: 1, worst: 1 })
    }
}

/// Assigns bands to the rows of a closed loop, by the rates of the rounds.
pub fn rank(rows: &mut [ServerRow]) -> RateOrder {
    let mut ranked: Vec<&mut ServerRow> =
        rows.iter_mut().filter(|row| row.is_comparable()).collect();
    let competitors: Vec<Competitor> = ranked
        .iter()
        .map(|row| competitor(row, &row.figures.headline, FigureKind::Pace))
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

/// Assigns bands by ok responses per second of CPU time.
pub fn rank_by_cpu(rows: &mut [ServerRow]) -> RateOrder {
    let by_round = |row: &ServerRow| row.figures.costs.requests_per_cpu_s_by_round.clone();
    let mut ranked: Vec<&mut ServerRow> = rows
        .iter_mut()
        .filter(|row| row.is_comparable() && !by_round(row).is_empty())
        .collect();
    let competitors: Vec<Competitor> = ranked
        .iter()
        .map(|row| competitor(row, &by_round(row), FigureKind::Cost))
        .collect();
    let order = Order::of(&competitors);
    for (row, band) in ranked.iter_mut().zip(order.bands()) {
        row.cpu_band = Some(band);
    }
    RateOrder {
        servers: ranked.iter().map(|row| row.server.id.clone()).collect(),
        order,
    }
}

fn competitor(row: &ServerRow, rounds: &BTreeMap<u32, f64>, kind: FigureKind) -> Competitor {
    Competitor {
        rounds: rounds.clone(),
        known: row.known(kind),
    }
}
