//! Who stands where: rank bands by the rate and by requests per CPU second, and what speaks against a rank.

use prony_stats::{Band, Competitor, Known, bands};

use super::{Figures, Row, Standing, SubjectLabel};

/// From this share of the ceiling's rate on, a rate may be the machine's and no longer the server's.
pub const AT_CEILING: f64 = 0.9;

/// Bands are given later; here only what speaks against one.
pub(super) fn standing(label: &SubjectLabel, figures: &Figures, open: bool) -> Standing {
    if figures.has_wrong_answers() {
        Standing::WrongAnswers
    } else if figures.client_limited {
        Standing::ClientLimited(None)
    } else if label.is_reference() {
        Standing::Reference
    } else if open {
        Standing::Offered
    } else {
        Standing::Ranked(Band { best: 1, worst: 1 })
    }
}

/// Gives the rows of a closed loop their bands, by the rates of the rounds. What is limited by the generator or by the
/// machine may be faster than it seems, so that nobody is faster than it for certain.
pub(super) fn rank(rows: &mut [Row]) {
    let mut ranked: Vec<&mut Row> = rows.iter_mut().filter(|row| competes(row)).collect();
    let competitors: Vec<Competitor> = ranked
        .iter()
        .map(|row| Competitor {
            rounds: row.figures.compared.clone(),
            known: match row.figures.client_limited || at_ceiling(row) {
                true => Known::AtLeast,
                false => Known::Exactly,
            },
        })
        .collect();
    for (row, band) in ranked.iter_mut().zip(bands(&competitors)) {
        row.standing = match row.standing {
            Standing::ClientLimited(_) => Standing::ClientLimited(Some(band)),
            _ if at_ceiling(row) => Standing::AtCeiling(band),
            _ => Standing::Ranked(band),
        };
    }
}

/// Gives the rows their bands by the requests that they answer for a second of CPU time. A limit of the generator
/// is none of these.
pub(super) fn rank_by_cpu(rows: &mut [Row]) {
    let by_round = |row: &Row| row.figures.costs.requests_per_cpu_s_by_round.clone();
    let mut ranked: Vec<&mut Row> = rows
        .iter_mut()
        .filter(|row| competes(row) && !by_round(row).is_empty())
        .collect();
    let competitors: Vec<Competitor> = ranked
        .iter()
        .map(|row| Competitor {
            rounds: by_round(row),
            known: Known::Exactly,
        })
        .collect();
    for (row, band) in ranked.iter_mut().zip(bands(&competitors)) {
        row.cpu_band = Some(band);
    }
}

/// Neither a reference server nor one whose answers were wrong.
fn competes(row: &Row) -> bool {
    !row.is_reference() && row.standing != Standing::WrongAnswers
}

fn at_ceiling(row: &Row) -> bool {
    let share = row.share_of_ceiling;
    share.is_some_and(|share| share.ratio >= AT_CEILING)
}
