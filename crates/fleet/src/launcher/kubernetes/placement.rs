//! Whether all agents run, each on a node of its own, and if not, why.

use std::time::{Duration, Instant};

use super::pod::{Sight, State};

/// How far the start of a fleet has come.
#[derive(Debug)]
pub(super) struct Placement {
    agents: Vec<Option<Sight>>,
    began: Instant,
    /// Since when the scheduler has found no node for some agent.
    stuck: Option<Instant>,
    limits: Limits,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Until all agents run.
    pub(crate) start: Duration,
    /// While the scheduler finds no node for an agent.
    pub(crate) unschedulable: Duration,
}

impl Placement {
    pub(super) fn new(agents: usize, limits: Limits, now: Instant) -> Self {
        Self {
            agents: vec![None; agents],
            began: now,
            stuck: None,
            limits,
        }
    }

    /// Takes in what a pod shows. Whether its agent has just begun to run. Fails if the fleet cannot start any more.
    pub(super) fn see(&mut self, sight: Sight, now: Instant) -> Result<bool, String> {
        let Some(place) = self.agents.get_mut(sight.agent) else {
            return Err(format!(
                "the Job has a pod {} for an agent that does not exist",
                sight.pod
            ));
        };
        let before = place.as_ref().unwrap_or(&sight);
        if let Some(reason) = sight.lost(&before.uid) {
            return Err(format!("{} is lost: {reason}", sight.name()));
        }
        if let State::Broken(reason) = &sight.state {
            return Err(format!("{} cannot start: {reason}", sight.name()));
        }
        let ran = place.as_ref().is_some_and(Sight::is_running);
        let begins = sight.is_running() && !ran;
        *place = Some(sight);
        let stuck = self.unschedulable().next().is_some();
        self.stuck = stuck.then(|| self.stuck.unwrap_or(now));
        Ok(begins)
    }

    /// Fails if the start took too long.
    pub(super) fn check(&self, now: Instant) -> Result<(), String> {
        let stuck = self.stuck.map(|since| now.saturating_duration_since(since));
        if stuck.is_some_and(|time| time >= self.limits.unschedulable) {
            return Err(self.too_few_nodes());
        }
        if now.saturating_duration_since(self.began) >= self.limits.start {
            return Err(self.too_slow());
        }
        Ok(())
    }

    /// Whether no pod exists after that time.
    pub(super) fn is_empty_after(&self, time: Duration, now: Instant) -> bool {
        self.agents.iter().all(Option::is_none) && now.saturating_duration_since(self.began) >= time
    }

    pub(super) fn is_complete(&self) -> bool {
        self.running() == self.agents.len()
    }

    /// The ids of the pods that have been seen, by their agents' numbers.
    pub(super) fn uids(&self) -> Vec<String> {
        let seen = self.agents.iter().flatten();
        seen.map(|one| one.uid.clone()).collect()
    }

    /// An agent, with its node if it has one.
    pub(super) fn name(&self, agent: usize) -> String {
        match self.agents.get(agent) {
            Some(Some(one)) => one.name(),
            _ => format!("agent {agent}"),
        }
    }

    fn running(&self) -> usize {
        let seen = self.agents.iter().flatten();
        seen.filter(|one| one.is_running()).count()
    }

    fn unschedulable(&self) -> impl Iterator<Item = &str> {
        self.agents
            .iter()
            .flatten()
            .filter_map(|one| match &one.state {
                State::Unschedulable(reason) => Some(reason.as_str()),
                _ => None,
            })
    }

    fn too_few_nodes(&self) -> String {
        let waiting = self.unschedulable().count();
        let reason = self.unschedulable().next().unwrap_or_default();
        let all = self.agents.len();
        let verb = if waiting == 1 { "has" } else { "have" };
        format!(
            "{waiting} of {all} agents {verb} no node, because each needs one of its own: {} Add nodes, take fewer agents, or lower `requests`; if the cluster adds nodes itself, raise `unschedulable_timeout`.",
            sentence(reason)
        )
    }

    fn too_slow(&self) -> String {
        let agents = (0..).zip(&self.agents);
        let late = agents.filter(|(_, one)| !one.as_ref().is_some_and(Sight::is_running));
        let late: Vec<String> = late.map(|(agent, _)| self.name(agent)).collect();
        format!(
            "only {} of {} agents were running after {:?} (`placement_timeout`); missing: {}",
            self.running(),
            self.agents.len(),
            self.limits.start,
            late.join(", ")
        )
    }
}

fn sentence(text: &str) -> String {
    let text = text.trim_end();
    if text.ends_with('.') {
        text.to_owned()
    } else {
        format!("{text}.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        start: Duration::from_secs(60),
        unschedulable: Duration::from_secs(5),
    };

    fn sight(agent: usize, state: State) -> Sight {
        Sight {
            agent,
            uid: format!("u{agent}"),
            pod: format!("p{agent}"),
            node: (state == State::Running).then(|| format!("n{agent}")),
            state,
        }
    }

    fn no_node() -> State {
        State::Unschedulable("0/2 nodes are available".into())
    }

    fn seconds(from: Instant, seconds: u64) -> Instant {
        from + Duration::from_secs(seconds)
    }

    #[test]
    fn a_fleet_is_complete_when_each_agent_runs() {
        let now = Instant::now();
        let mut placement = Placement::new(2, LIMITS, now);
        let mut begins = |agent, state| placement.see(sight(agent, state), now).unwrap();
        assert!(begins(0, State::Running) && !begins(0, State::Running));
        assert!(!begins(1, State::Waiting));
        assert!(!placement.is_complete());
        assert!(placement.see(sight(1, State::Running), now).unwrap());
        assert!(placement.is_complete());
        assert_eq!(placement.uids(), ["u0", "u1"]);
        placement.check(seconds(now, 59)).unwrap();
    }

    #[test]
    fn too_few_nodes_are_reported_long_before_the_timeout() {
        let now = Instant::now();
        let mut placement = Placement::new(4, LIMITS, now);
        placement.see(sight(0, State::Running), now).unwrap();
        placement.see(sight(1, State::Running), now).unwrap();
        placement.see(sight(2, no_node()), seconds(now, 1)).unwrap();
        placement.see(sight(3, no_node()), seconds(now, 3)).unwrap();
        placement.check(seconds(now, 5)).unwrap();
        let error = placement.check(seconds(now, 6)).unwrap_err();
        let expected = "2 of 4 agents have no node, because each needs one of its own: 0/2 nodes are available.";
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn a_node_that_comes_in_time_starts_the_wait_again() {
        let now = Instant::now();
        let mut placement = Placement::new(1, LIMITS, now);
        placement.see(sight(0, no_node()), now).unwrap();
        let at = |second| seconds(now, second);
        placement.see(sight(0, State::Waiting), at(4)).unwrap();
        placement.check(at(10)).unwrap();
        placement.see(sight(0, no_node()), at(10)).unwrap();
        placement.check(at(14)).unwrap();
        placement.check(at(15)).unwrap_err();
    }

    #[test]
    fn a_start_that_takes_too_long_names_who_is_missing() {
        let now = Instant::now();
        let mut placement = Placement::new(3, LIMITS, now);
        placement.see(sight(1, State::Running), now).unwrap();
        placement.see(sight(2, State::Waiting), now).unwrap();
        let error = placement.check(seconds(now, 60)).unwrap_err();
        assert_eq!(
            error,
            "only 1 of 3 agents were running after 60s (`placement_timeout`); missing: agent 0, agent 2"
        );
    }

    #[test]
    fn an_agent_that_breaks_ends_or_is_restarted_ends_the_start() {
        let now = Instant::now();
        let mut placement = Placement::new(2, LIMITS, now);
        for (state, expected) in [
            (State::Broken("no".into()), "agent 0 cannot start: no"),
            (State::Ended("it ended".into()), "agent 0 is lost: it ended"),
        ] {
            let error = placement.see(sight(0, state), now).unwrap_err();
            assert_eq!(error, expected);
        }
        placement.see(sight(1, State::Running), now).unwrap();
        let again = Sight {
            uid: "another".into(),
            ..sight(1, State::Running)
        };
        let error = placement.see(again, now).unwrap_err();
        let expected = "agent 1 (node n1) is lost: Kubernetes restarted it";
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn a_job_without_pods_is_noticed() {
        let now = Instant::now();
        let mut placement = Placement::new(2, LIMITS, now);
        let time = Duration::from_secs(3);
        assert!(!placement.is_empty_after(time, seconds(now, 2)));
        assert!(placement.is_empty_after(time, seconds(now, 3)));
        placement.see(sight(0, State::Waiting), now).unwrap();
        assert!(!placement.is_empty_after(time, seconds(now, 3)));
    }
}
