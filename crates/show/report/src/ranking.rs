//! Ranks: bands by the rate and by requests per CPU second, and why a row has none.

use std::collections::BTreeMap;

use prony_model::{Bound, FigureKind};
use prony_stats::{Band, Competitor, Order};

use crate::table::{RateOrder, ServerRow, Standing};

/// Decides what limits each row's figures, and why it has no rank. Bands are assigned later.
pub(crate) fn assess(rows: &mut [ServerRow], open: bool) {
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
pub(crate) fn rank(rows: &mut [ServerRow]) -> RateOrder {
    let by_round = |row: &ServerRow| Some(row.figures.headline.clone());
    rank_by(rows, FigureKind::Pace, by_round, |row, band| {
        row.standing = match row.standing {
            Standing::AtLeast(_) => Standing::AtLeast(Some(band)),
            _ => Standing::Ranked(band),
        };
    })
}

/// Assigns bands by ok responses per second of CPU time.
pub(crate) fn rank_by_cpu(rows: &mut [ServerRow]) -> RateOrder {
    let by_round = |row: &ServerRow| {
        let costs = &row.figures.costs;
        Some(costs.requests_per_cpu_s_by_round.clone()).filter(|rounds| !rounds.is_empty())
    };
    rank_by(rows, FigureKind::Cost, by_round, |row, band| {
        row.cpu_band = Some(band);
    })
}

/// Ranks the comparable rows that have figures by round.
fn rank_by(
    rows: &mut [ServerRow],
    kind: FigureKind,
    by_round: impl Fn(&ServerRow) -> Option<BTreeMap<u32, f64>>,
    set: impl Fn(&mut ServerRow, Band),
) -> RateOrder {
    let comparable = rows.iter_mut().filter(|row| row.is_comparable());
    let ranked = comparable.filter_map(|row| {
        let (rounds, known) = (by_round(row)?, row.known(kind));
        Some((row, Competitor { rounds, known }))
    });
    let (ranked, competitors): (Vec<&mut ServerRow>, Vec<_>) = ranked.unzip();
    let order = Order::of(&competitors);
    let servers = ranked.iter().map(|row| row.server.id.clone()).collect();
    for (row, band) in ranked.into_iter().zip(order.bands()) {
        set(row, band);
    }
    RateOrder { servers, order }
}
