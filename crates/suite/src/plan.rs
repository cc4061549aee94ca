//! The interleaved plan: in which order the trials are made.

use prony_record::{LoadSpec, Trial};

/// One workload under one load: what is measured of each subject, and how many times.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// The workload's id.
    pub workload: String,
    /// The load. What its random arrivals come from is drawn by the plan.
    pub load: LoadSpec,
    /// In how many rounds, the first ones of the run.
    pub rounds: u32,
}

/// The trials of a run, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What the order, and the seeds of the loads, were drawn from.
    pub seed: u64,
    /// The trials, in order.
    pub trials: Vec<Trial>,
}

impl Plan {
    /// Every subject with every measure that it takes part in once a round, as long as the measure
    /// has rounds left, in an order drawn anew for each round, so that what drifts on the machine
    /// hits all alike. A round is over before the next begins, and no subject opens two rounds
    /// running (where the second has another). The loads of a round all have one seed, so that every
    /// subject meets the same arrivals, and each round has another.
    pub fn interleaved(
        subjects: &[String],
        measures: &[Measure],
        takes_part: impl Fn(&str, &Measure) -> bool,
        seed: u64,
    ) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        // A source of its own, so that a seed gives the same order as ever.
        let mut load_seeds = fastrand::Rng::with_seed(!seed);
        let mut order: Vec<(&String, &Measure)> = subjects
            .iter()
            .flat_map(|subject| measures.iter().map(move |measure| (subject, measure)))
            .filter(|(subject, measure)| takes_part(subject, measure))
            .collect();
        let mut trials = Vec::new();
        let mut opener = None;
        for round in 1.. {
            order.retain(|(_, measure)| measure.rounds >= round);
            if order.is_empty() {
                break;
            }
            random.shuffle(&mut order);
            change_opener(&mut order, opener, &mut random);
            opener = order.first().map(|(subject, _)| *subject);
            let load_seed = load_seeds.u64(..);
            for (subject, measure) in &order {
                trials.push(Trial {
                    sequence: trials.len() as u32,
                    subject: (*subject).clone(),
                    workload: measure.workload.clone(),
                    load: LoadSpec {
                        seed: load_seed,
                        ..measure.load.clone()
                    },
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
    use std::collections::{BTreeMap, BTreeSet};

    fn names(prefix: &str, count: usize) -> Vec<String> {
        (0..count).map(|i| format!("{prefix}{i}")).collect()
    }

    /// A measure for each number of rounds.
    fn measures(rounds: &[u32]) -> Vec<Measure> {
        let measure = |(i, &rounds): (usize, &u32)| Measure {
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
                ..LoadSpec::default()
            },
            rounds,
        };
        rounds.iter().enumerate().map(measure).collect()
    }

    /// What is measured, apart from when.
    fn subject_matter(trial: &Trial) -> (&str, &str, usize) {
        (&trial.subject, &trial.workload, trial.load.connections)
    }

    /// A part of all combinations: `absent` says which are left out.
    fn partly(absent: &BTreeSet<(usize, usize)>) -> impl Fn(&str, &Measure) -> bool {
        move |subject, measure| {
            let subject: usize = subject[1..].parse().unwrap();
            !absent.contains(&(subject, measure.load.connections))
        }
    }

    fn rounds_of(plan: &Plan) -> Vec<Vec<(&str, &str, usize)>> {
        plan.trials
            .chunk_by(|a, b| a.round == b.round)
            .map(|round| round.iter().map(subject_matter).collect())
            .collect()
    }

    proptest! {
        #[test]
        fn every_round_holds_what_takes_part_and_has_rounds_left_once_and_ends_before_the_next(
            subjects in 0usize..6,
            rounds in prop::collection::vec(0u32..8, 0..6),
            absent in prop::collection::btree_set((0usize..6, 1usize..7), 0..12),
            seed: u64,
        ) {
            let (names, measures) = (names("s", subjects), measures(&rounds));
            let takes_part = partly(&absent);
            let plan = Plan::interleaved(&names, &measures, &takes_part, seed);
            let mut counts = BTreeMap::new();
            for (i, trial) in plan.trials.iter().enumerate() {
                prop_assert_eq!(trial.sequence as usize, i);
                prop_assert!(i == 0 || plan.trials[i - 1].round <= trial.round);
                *counts.entry((subject_matter(trial), trial.round)).or_insert(0) += 1;
            }
            prop_assert!(counts.values().all(|&count| count == 1));
            let mut expected = 0;
            for subject in &names {
                for measure in measures.iter().filter(|measure| takes_part(subject, measure)) {
                    expected += measure.rounds as usize;
                    let matter = (subject.as_str(), &*measure.workload, measure.load.connections);
                    for round in 1..=measure.rounds {
                        prop_assert!(counts.contains_key(&(matter, round)));
                    }
                }
            }
            prop_assert_eq!(plan.trials.len(), expected);
        }

        #[test]
        fn the_seed_is_the_order(seed: u64, other: u64) {
            let all = |_: &str, _: &Measure| true;
            let plan = |seed| Plan::interleaved(&names("s", 5), &measures(&[6; 4]), all, seed);
            prop_assert_eq!(plan(seed), plan(seed));
            // 20! orders for each of 6 rounds.
            let orders_differ = plan(seed).trials != plan(other).trials;
            prop_assert_eq!(orders_differ, seed != other);
        }

        #[test]
        fn rounds_that_follow_each_other_differ_and_no_subject_opens_both(
            subjects in 2usize..6,
            rounds in prop::collection::vec(0u32..7, 1..4),
            absent in prop::collection::btree_set((0usize..6, 1usize..5), 0..6),
            seed: u64,
        ) {
            let measures = measures(&rounds);
            let plan = Plan::interleaved(&names("s", subjects), &measures, partly(&absent), seed);
            for pair in rounds_of(&plan).windows(2) {
                let opener = pair[0][0].0;
                if pair[1].iter().any(|(subject, ..)| *subject != opener) {
                    prop_assert_ne!(pair[1][0].0, opener);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn all_of_a_round_meet_the_same_arrivals_and_each_round_others(seed: u64, other: u64) {
            let plan = |seed| {
                let all = |_: &str, _: &Measure| true;
                Plan::interleaved(&names("s", 3), &measures(&[4, 6]), all, seed).trials
            };
            let seeds = |trials: &[Trial]| -> BTreeMap<u32, BTreeSet<u64>> {
                let mut seeds = BTreeMap::<u32, BTreeSet<u64>>::new();
                for trial in trials {
                    seeds.entry(trial.round).or_default().insert(trial.load.seed);
                }
                seeds
            };
            let by_round = seeds(&plan(seed));
            prop_assert!(by_round.values().all(|seeds| seeds.len() == 1));
            let different: BTreeSet<u64> = by_round.values().flatten().copied().collect();
            prop_assert_eq!(different.len(), 6);
            prop_assert_eq!(seeds(&plan(other)) == by_round, seed == other);
        }

        #[test]
        fn a_seed_does_not_make_another_load(seed: u64) {
            let measures = measures(&[2, 3]);
            let plan = Plan::interleaved(&names("s", 2), &measures, |_, _| true, seed);
            for trial in &plan.trials {
                let same = measures.iter().filter(|measure| measure.load.same_load(&trial.load));
                prop_assert_eq!(same.count(), 1);
            }
        }
    }

    #[test]
    fn a_single_subject_opens_every_round() {
        let plan = Plan::interleaved(&names("s", 1), &measures(&[3]), |_, _| true, 7);
        assert_eq!(plan.trials.len(), 3);
    }

    #[test]
    fn a_measure_with_fewer_rounds_is_in_the_first_ones() {
        let plan = Plan::interleaved(&names("s", 1), &measures(&[1, 3]), |_, _| true, 7);
        let rounds = rounds_of(&plan);
        let sizes: Vec<usize> = rounds.iter().map(Vec::len).collect();
        assert_eq!(sizes, [2, 1, 1]);
    }
}
