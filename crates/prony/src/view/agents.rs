//! The agents of a load, a line each.

use prony_model::{AgentResult, FleetResult};
use prony_present::number::{count, duration, exact};

use crate::fleet::described;

/// With more agents, the terminal shows only those that most likely explain the result.
const MOST_LINES: usize = 16;
/// How many it shows then.
const FEWER_LINES: usize = 8;

/// A title, and a line for each agent: for all of them if `every` is set.
pub fn lines(fleet: &FleetResult, every: bool) -> Vec<String> {
    let mut agents: Vec<(usize, &AgentResult)> = fleet.agents.iter().enumerate().collect();
    let all = agents.len();
    let is_short = !every && all > MOST_LINES;
    let shown = if is_short { FEWER_LINES } else { all };
    if is_short {
        agents.sort_by(|(_, one), (_, other)| worse(other).total_cmp(&worse(one)));
        agents.truncate(shown);
    }
    let longest = agents.iter().map(|(_, agent)| agent.host.chars().count());
    let host = longest.max().unwrap_or(0).clamp(4, LONGEST_HOST);
    let mut lines = vec![format!("Agents:       {}", described(all, &fleet.on))];
    lines.push(title(host));
    lines.extend(
        agents
            .iter()
            .map(|(index, agent)| line(*index, agent, host)),
    );
    if is_short {
        lines.push(format!(
            "  The {shown} busiest or with most errors of {all}; --json and --markdown have all."
        ));
    }
    lines.extend({
        let late = fleet.late_start.iter();
        late.map(|late| format!("  LATE START: {late}."))
    });
    lines
}

/// Longer names of hosts are cut.
const LONGEST_HOST: usize = 24;

fn title(host: usize) -> String {
    format!(
        "  {:>5}  {:<host$} {:>9} {:>8} {:>7} {:>8} {:>8} {:>5} {:>9} {:>8}",
        "Agent", "host", "requests", "ok/s", "errors", "p50", "p99", "busy", "start lag", "± clock"
    )
}

fn line(index: usize, agent: &AgentResult, host: usize) -> String {
    let times = agent.latency_ns.as_ref();
    let time = |nanoseconds: u64| duration(nanoseconds as f64);
    let [p50, p99] = match times {
        Some(times) => [times.p50, times.p99].map(time),
        None => ["-".to_owned(), "-".to_owned()],
    };
    let limited = match agent.client_limited_by {
        Some(_) => "  CLIENT-LIMITED",
        None => "",
    };
    format!(
        "  {index:>5}  {:<host$} {:>9} {:>8} {:>7} {p50:>8} {p99:>8} {:>3.0} % {:>9} {:>8}{limited}",
        prony_present::terminal::cut(&agent.host, host),
        exact(agent.requests),
        count(agent.rate_per_s),
        exact(agent.outcomes.errors()),
        agent.busy_max * 100.0,
        time(agent.start_lag_ns),
        time(agent.round_trip_ns / 2),
    )
}

/// How likely an agent explains a bad result: it was the bottleneck, it had errors, it was busy.
fn worse(agent: &AgentResult) -> f64 {
    let limited = f64::from(u8::from(agent.client_limited_by.is_some()));
    let errors = agent.outcomes.errors() as f64 / (agent.requests as f64).max(1.0);
    4.0 * limited + 2.0 * errors + agent.busy_max
}

#[cfg(test)]
mod tests {
    use prony_model::{Outcome, Outcomes};

    use super::super::load_summary::tests::closed;
    use super::*;
    use crate::tests::golden;

    fn agent(index: u64) -> AgentResult {
        let mut outcomes = Outcomes::default();
        outcomes[Outcome::Ok] = 1000;
        AgentResult {
            host: format!("node-{index}"),
            connections: 4,
            requests: 1000,
            outcomes,
            rate_per_s: 500.0,
            latency_ns: closed().latency_ns,
            busy_max: 0.4,
            client_limited_by: None,
            clock_offset_ns: -1_234_567,
            round_trip_ns: 80_000,
            start_lag_ns: 12_000 + index,
        }
    }

    /// One that was the bottleneck, and one that got errors, among others.
    fn fleet(agents: u64) -> FleetResult {
        let mut agents: Vec<AgentResult> = (0..agents).map(agent).collect();
        agents[1].client_limited_by = Some("a thread was 99 % busy".into());
        agents[1].busy_max = 0.99;
        agents[2].outcomes[Outcome::Refused] = 100;
        agents[2].requests = 1100;
        agents[2].host = "node-with-a-name-that-is-too-long.example.com".into();
        agents[2].latency_ns = None;
        FleetResult {
            on: "kubernetes".into(),
            agents,
            late_start: None,
        }
    }

    #[test]
    fn each_agent_has_a_line() {
        let text = lines(&fleet(3), false).join("\n");
        golden("agents", &[("agents of a load", text)]);
    }

    #[test]
    fn a_late_start_is_shown() {
        let fleet = FleetResult {
            late_start: Some("agent 1 on node-1 began late".into()),
            ..fleet(40)
        };
        let lines = lines(&fleet, false);
        let last = lines.last().unwrap();
        assert_eq!(last, "  LATE START: agent 1 on node-1 began late.");
    }

    #[test]
    fn of_many_agents_the_terminal_shows_the_worst() {
        let lines = lines(&fleet(40), false);
        assert_eq!(lines.len(), 2 + FEWER_LINES + 1);
        assert!(lines[2].contains("CLIENT-LIMITED"), "{lines:#?}");
        assert!(lines[3].contains("node-with-a-name"), "{lines:#?}");
        prony_testkit::contains(lines.last().unwrap(), "of 40; --json");
    }

    #[test]
    fn a_file_has_every_agent() {
        let lines = lines(&fleet(40), true);
        assert_eq!(lines.len(), 2 + 40);
        assert!(lines[2].contains("node-0 ") && lines[41].contains("node-39 "));
    }
}
