//! What is said of a table that its rounds cannot order.

use super::plural;
use crate::{Table, format};

/// Says that a table has too few rounds to be ranked, and how many would do; `None` if its rounds tell at least half of the
/// pairs apart that something else does not keep open.
pub fn too_few_rounds(table: &Table) -> Option<String> {
    let order = &table.order.as_ref()?.order;
    let (pairs, told) = (order.pairs(), order.told());
    let wanted = pairs.div_ceil(2);
    if told >= wanted {
        return None;
    }
    let rounds = plural(table.rounds, "round");
    let Some(least) = order.least_ratio() else {
        return Some(format!(
            "Too few rounds to rank: {rounds} cannot tell a difference from noise. At least two are needed, and with six or \
             more the intervals are distribution-free (`--rounds 6`)."
        ));
    };
    let advice = match order.rounds_for(wanted) {
        Some(enough) => {
            format!("{enough} rounds would tell half of them apart (`--rounds {enough}`).")
        }
        None => {
            "100 rounds would not tell half of them apart: their differences are lost in the noise."
                .to_owned()
        }
    };
    Some(format!(
        "Too few rounds to rank: at this noise {rounds} order only servers that differ by {} or more: {told} of {} are told \
         apart. {advice}",
        factor(least),
        plural(pairs, "pair"),
    ))
}

/// `12 %`, and from twice on `2.4 times`.
fn factor(ratio: f64) -> String {
    match ratio < 2.0 {
        true => format::share(ratio - 1.0),
        false => format!("{} times", format::ratio(ratio)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_factors_are_percentages() {
        assert_eq!(factor(1.12), "12 %");
        assert_eq!(factor(2.4), "2.40 times");
    }
}
