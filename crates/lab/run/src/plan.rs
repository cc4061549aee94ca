//! The interleaved plan: the order of the trials, and attempts at them.

use std::time::Duration;

use prony_model::{LoadSpec, Seconds, Trial};

/// One workload under one load: what is measured of each server, and how often.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// The workload's id.
    pub workload: String,
    /// The load. The plan draws its seed.
    pub load: LoadSpec,
    /// In how many rounds of the run, from the first on.
    pub rounds: u32,
    /// How long a server may take to warm up under this load; 0 for exactly the load's own warm-up.
    pub warmup_limit: Duration,
}

/// The trials of a run, round after round. The number of rounds need not be known at its start.
#[derive(Clone, Debug)]
pub struct Plan {
    measures: Vec<Measure>,
    /// Each server with each measure that it takes part in, in the order of the last round.
    order: Vec<(String, usize)>,
    random: fastrand::Rng,
    load_seeds: fastrand::Rng,
    /// The server of the last round's first trial.
    opener: Option<String>,
    round: u32,
}

/// A planned trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The trial. Its sequence starts with its round.
    pub trial: Trial,
    /// The index of its measure in the plan.
    pub measure: usize,
}

impl Plan {
    /// Plans every server with every measure that it takes part in once per round, as long as the measure has rounds
    /// left, in a new random order for each round, so that drift on the machine affects all alike. No server opens two
    /// rounds in a row (if the second has another). All loads of a round have the same seed, so that every server gets
    /// the same arrivals, and each round has another one. All of that is drawn from `seed`.
    pub fn interleaved(
        servers: &[String],
        measures: &[Measure],
        takes_part: impl Fn(&str, &Measure) -> bool,
        seed: u64,
    ) -> Self {
        let indices = 0..measures.len();
        let order = servers
            .iter()
            .flat_map(|server| indices.clone().map(move |measure| (server, measure)))
            .filter(|&(server, measure)| takes_part(server, &measures[measure]))
            .map(|(server, measure)| (server.clone(), measure));
        Self {
            measures: measures.to_vec(),
            order: order.collect(),
            random: fastrand::Rng::with_seed(seed),
            // A generator of its own, so that a seed still gives the same order.
            load_seeds: fastrand::Rng::with_seed(!seed),
            opener: None,
            round: 0,
        }
    }

    /// The measures, with the most rounds that each may have.
    pub fn measures(&self) -> &[Measure] {
        &self.measures
    }

    /// The next round, of the measures that have rounds left and for which `goes_on` is true; empty if there is none. A
    /// measure that has ended does not resume.
    pub fn next_round(&mut self, goes_on: impl Fn(usize) -> bool) -> Vec<Planned> {
        let (measures, round) = (&self.measures, self.round + 1);
        self.order
            .retain(|&(_, measure)| measures[measure].rounds >= round && goes_on(measure));
        if self.order.is_empty() {
            return Vec::new();
        }
        self.round = round;
        self.random.shuffle(&mut self.order);
        change_opener(&mut self.order, self.opener.as_ref(), &mut self.random);
        self.opener = self.order.first().map(|(server, _)| server.clone());
        let load_seed = self.load_seeds.u64(..);
        let planned = |(sequence, (server, measure)): (usize, &(String, usize))| Planned {
            trial: Trial {
                sequence: sequence as u32,
                server: server.clone(),
                workload: measures[*measure].workload.clone(),
                load: LoadSpec {
                    seed: load_seed,
                    ..measures[*measure].load.clone()
                },
                round,
            },
            measure: *measure,
        };
        self.order.iter().enumerate().map(planned).collect()
    }

    /// The trials of the remaining rounds, at most `most` of them, in order.
    pub fn trials(&self, most: u32) -> Vec<Trial> {
        let mut plan = self.clone();
        let rounds = (0..most).map(|_| plan.next_round(|_| true));
        let trials = rounds.take_while(|round| !round.is_empty()).flatten();
        let numbered = trials.zip(0..).map(|(planned, sequence)| Trial {
            sequence,
            ..planned.trial
        });
        numbered.collect()
    }
}

/// Swaps the first trial with one of another server if `last` would open two rounds in a row.
fn change_opener(order: &mut [(String, usize)], last: Option<&String>, random: &mut fastrand::Rng) {
    if order.first().map(|(server, _)| server) != last {
        return;
    }
    let others: Vec<usize> = (0..order.len())
        .filter(|&i| Some(&order[i].0) != last)
        .collect();
    if let Some(other) = random.choice(others) {
        order.swap(0, other);
    }
}

/// An attempt at a trial; a noisy trial is re-run.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialAttempt {
    pub trial: Trial,
    /// Its number, from 1.
    pub number: u32,
    /// The index of its measure in the plan.
    pub measure: usize,
    /// Which process the server uses.
    pub warming: Warming,
    /// How long it may take to warm up under load.
    pub warmup_limit: Duration,
    /// The warm-up of the load: longer than the trial says if that was too short.
    pub warmup: Seconds,
    /// How long it may take, if it counts instructions within a budget.
    pub allowed: Option<Duration>,
}

/// Which process the server of a trial uses, and how it is warmed up before the trial's load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warming {
    /// A new process, with only the load's own warm-up.
    Fixed,
    /// A new process, warmed up until it is steady, to learn how long that takes.
    UntilSteady,
    /// The process kept for this server and measure. If there is none, a new one is warmed up until it is steady, and
    /// kept.
    Keep,
}

impl TrialAttempt {
    /// The load with the attempt's warm-up.
    pub fn load(&self) -> LoadSpec {
        LoadSpec {
            warmup: self.warmup,
            ..self.trial.load.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn names(prefix: &str, count: usize) -> Vec<String> {
        (0..count).map(|i| format!("{prefix}{i}")).collect()
    }

    /// A measure for each of these numbers of rounds.
    fn measures(rounds: &[u32]) -> Vec<Measure> {
        let measure = |(i, &rounds): (usize, &u32)| Measure {
            // Two loads for each workload.
            workload: format!("w{}", i / 2),
            load: LoadSpec {
                connections: i + 1,
                duration: Some(Seconds::from_secs(1)),
                ..LoadSpec::default()
            },
            rounds,
            warmup_limit: Duration::ZERO,
        };
        rounds.iter().enumerate().map(measure).collect()
    }

    /// A plan of this many servers, all of which take part in all measures.
    fn plan(servers: usize, rounds: &[u32], seed: u64) -> Plan {
        Plan::interleaved(&names("s", servers), &measures(rounds), |_, _| true, seed)
    }

    /// A trial without its place in the order.
    fn matter(trial: &Trial) -> (&str, &str, usize) {
        (&trial.server, &trial.workload, trial.load.connections)
    }

    /// All combinations without those that `absent` leaves out.
    fn partly(absent: &BTreeSet<(usize, usize)>) -> impl Fn(&str, &Measure) -> bool {
        move |server, measure| {
            let server: usize = server[1..].parse().unwrap();
            !absent.contains(&(server, measure.load.connections))
        }
    }

    fn rounds_of(trials: &[Trial]) -> Vec<Vec<(&str, &str, usize)>> {
        trials
            .chunk_by(|a, b| a.round == b.round)
            .map(|round| round.iter().map(matter).collect())
            .collect()
    }

    proptest! {
        #[test]
        fn every_round_has_each_remaining_combination_once_and_ends_before_the_next(
            servers in 0usize..6,
            rounds in prop::collection::vec(0u32..8, 0..6),
            absent in prop::collection::btree_set((0usize..6, 1usize..7), 0..12),
            seed: u64,
        ) {
            let (names, measures) = (names("s", servers), measures(&rounds));
            let takes_part = partly(&absent);
            let plan = Plan::interleaved(&names, &measures, &takes_part, seed).trials(u32::MAX);
            let mut counts = BTreeMap::new();
            for (i, trial) in plan.iter().enumerate() {
                prop_assert_eq!(trial.sequence as usize, i);
                prop_assert!(i == 0 || plan[i - 1].round <= trial.round);
                *counts.entry((matter(trial), trial.round)).or_insert(0) += 1;
            }
            prop_assert!(counts.values().all(|&count| count == 1));
            let mut expected = 0;
            for server in &names {
                for measure in measures.iter().filter(|measure| takes_part(server, measure)) {
                    expected += measure.rounds as usize;
                    let matter = (server.as_str(), &*measure.workload, measure.load.connections);
                    for round in 1..=measure.rounds {
                        prop_assert!(counts.contains_key(&(matter, round)));
                    }
                }
            }
            prop_assert_eq!(plan.len(), expected);
        }

        #[test]
        fn the_seed_determines_the_order(seed: u64, other: u64) {
            let plan = |seed| plan(5, &[6; 4], seed).trials(u32::MAX);
            prop_assert_eq!(plan(seed), plan(seed));
            // 20! orders for each of 6 rounds.
            let orders_differ = plan(seed) != plan(other);
            prop_assert_eq!(orders_differ, seed != other);
        }

        #[test]
        fn consecutive_rounds_differ_and_no_server_opens_both(
            servers in 2usize..6,
            rounds in prop::collection::vec(0u32..7, 1..4),
            absent in prop::collection::btree_set((0usize..6, 1usize..5), 0..6),
            seed: u64,
        ) {
            let measures = measures(&rounds);
            let plan = Plan::interleaved(&names("s", servers), &measures, partly(&absent), seed)
                .trials(u32::MAX);
            for pair in rounds_of(&plan).windows(2) {
                let opener = pair[0][0].0;
                if pair[1].iter().any(|(server, ..)| *server != opener) {
                    prop_assert_ne!(pair[1][0].0, opener);
                }
            }
        }

        #[test]
        fn arrivals_are_the_same_within_a_round_and_differ_between_rounds(seed: u64, other: u64) {
            let plan = |seed| plan(3, &[4, 6], seed).trials(u32::MAX);
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
        fn loads_of_different_seeds_are_the_same_load(seed: u64) {
            let measures = measures(&[2, 3]);
            for trial in &plan(2, &[2, 3], seed).trials(u32::MAX) {
                let same = measures.iter().filter(|measure| measure.load.same_load(&trial.load));
                prop_assert_eq!(same.count(), 1);
            }
        }

        #[test]
        fn an_ended_measure_has_no_more_rounds_and_the_others_have_all_theirs(
            ended_after in 0u32..6,
            seed: u64,
        ) {
            let mut plan = plan(3, &[5, 5], seed);
            for round in 1..=5 {
                // Later `goes_on` is true again, which changes nothing.
                let trials = plan.next_round(|measure| measure == 1 || round - 1 != ended_after);
                let of = |measure| trials.iter().filter(move |one| one.measure == measure).count();
                prop_assert_eq!(of(0), if round <= ended_after { 3 } else { 0 });
                prop_assert_eq!(of(1), 3);
                prop_assert!(trials.iter().all(|one| one.trial.round == round));
            }
            prop_assert!(plan.next_round(|_| true).is_empty());
        }

        #[test]
        fn rounds_are_the_same_whether_taken_at_once_or_one_by_one(seed: u64) {
            let mut plan = plan(3, &[2, 4], seed);
            let at_once = plan.trials(u32::MAX);
            let two = plan.trials(2);
            prop_assert_eq!(&at_once[..two.len()], &two[..]);
            let rounds = std::iter::repeat_with(|| plan.next_round(|_| true));
            let rounds = rounds.take_while(|round| !round.is_empty());
            let mut in_turn: Vec<Trial> = rounds.flatten().map(|one| one.trial).collect();
            for (sequence, trial) in in_turn.iter_mut().enumerate() {
                trial.sequence = sequence as u32;
            }
            prop_assert_eq!(in_turn, at_once);
        }
    }

    /// A recorded seed must repeat its order.
    #[test]
    fn a_seed_gives_the_same_order_in_every_version() {
        let trials = plan(3, &[2], 42).trials(9).into_iter();
        let order: Vec<String> = trials.map(|one| one.server).collect();
        assert_eq!(order, ["s0", "s2", "s1", "s1", "s2", "s0"]);
    }
}
