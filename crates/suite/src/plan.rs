//! The interleaved plan: in which order the trials are made.

use prony_record::{LoadSpec, Trial};

/// One workload under one load: what is measured of each subject in each round.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// The workload's id.
    pub workload: String,
    /// The load.
    pub load: LoadSpec,
}

/// The trials of a run, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What the order was drawn from.
    pub seed: u64,
    /// The trials, in order.
    pub trials: Vec<Trial>,
}

impl Plan {
    /// Every subject with every measure once a round, in an order drawn anew for each round, so
    /// that what drifts on the machine hits all alike. A round is over before the next begins,
    /// and no subject opens two rounds running (where there are two or more).
    pub fn interleaved(subjects: &[String], measures: &[Measure], rounds: u32, seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut order: Vec<(&String, &Measure)> = subjects
            .iter()
            .flat_map(|subject| measures.iter().map(move |measure| (subject, measure)))
            .collect();
        let mut trials = Vec::with_capacity(order.len() * rounds as usize);
        let mut opener = None;
        for round in 1..=rounds {
            random.shuffle(&mut order);
            change_opener(&mut order, opener, &mut random);
            opener = order.first().map(|(subject, _)| *subject);
            for (subject, measure) in &order {
                trials.push(Trial {
                    sequence: trials.len() as u32,
                    subject: (*subject).clone(),
                    workload: measure.workload.clone(),
                    load: measure.load.clone(),
                    round,
                });
            }
        }
        Self { seed, trials }
    }
}

/// Swaps the first trial with one of another subject, where `last` would open again.
fn change_opener(
    order: &mut [(&String, &Measure)],
    last: Option<&String>,
    random: &mut fastrand::Rng,
) {
    if order.first().map(|(subject, _)| *subject) != last {
        return;
    }
    let others: Vec<usize> = (0..order.len())
        .filter(|&i| Some(order[i].0) != last)
        .collect();
    if let Some(other) = random.choice(others) {
        order.swap(0, other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_record::LoadShape;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn names(prefix: &str, count: usize) -> Vec<String> {
        (0..count).map(|i| format!("{prefix}{i}")).collect()
    }

    fn measures(count: usize) -> Vec<Measure> {
        let measure = |i: usize| Measure {
            // Two loads for each workload.
            workload: format!("w{}", i / 2),
            load: LoadSpec {
                shape: LoadShape::Closed,
                connections: i + 1,
                threads: 1,
                duration_s: Some(1.0),
                requests: None,
                warmup_s: 0.1,
                timeout_s: 5.0,
            },
        };
        (0..count).map(measure).collect()
    }

    /// What is measured, apart from when.
    fn subject_matter(trial: &Trial) -> (&str, &str, usize) {
        (&trial.subject, &trial.workload, trial.load.connections)
    }

    proptest! {
        #[test]
        fn every_round_holds_every_combination_once_and_ends_before_the_next(
            (subjects, measured) in (0usize..6, 0usize..6), rounds in 0u32..8, seed: u64,
        ) {
            let plan = Plan::interleaved(&names("s", subjects), &measures(measured), rounds, seed);
            let combinations = subjects * measured;
            prop_assert_eq!(plan.trials.len(), combinations * rounds as usize);
            for (i, trial) in plan.trials.iter().enumerate() {
                prop_assert_eq!(trial.sequence as usize, i);
                prop_assert_eq!(trial.round as usize, i / combinations + 1);
            }
            let mut counts = BTreeMap::new();
            for trial in &plan.trials {
                *counts.entry((subject_matter(trial), trial.round)).or_insert(0) += 1;
            }
            prop_assert_eq!(counts.len(), plan.trials.len());
        }

        #[test]
        fn the_seed_is_the_order(seed: u64, other: u64) {
            let plan = |seed| Plan::interleaved(&names("s", 5), &measures(4), 6, seed);
            prop_assert_eq!(plan(seed), plan(seed));
            // 20! orders for each of 6 rounds.
            let orders_differ = plan(seed).trials != plan(other).trials;
            prop_assert_eq!(orders_differ, seed != other);
        }

        #[test]
        fn rounds_that_follow_each_other_differ_and_no_subject_opens_both(
            subjects in 2usize..6, measured in 1usize..4, seed: u64,
        ) {
            let plan = Plan::interleaved(&names("s", subjects), &measures(measured), 6, seed);
            let rounds: Vec<Vec<_>> = plan.trials
                .chunks(subjects * measured)
                .map(|round| round.iter().map(subject_matter).collect())
                .collect();
            for pair in rounds.windows(2) {
                prop_assert_ne!(pair[0][0].0, pair[1][0].0);
                prop_assert_ne!(&pair[0], &pair[1]);
            }
        }
    }

    #[test]
    fn a_single_subject_opens_every_round() {
        let plan = Plan::interleaved(&names("s", 1), &measures(1), 3, 7);
        assert_eq!(plan.trials.len(), 3);
    }
}
