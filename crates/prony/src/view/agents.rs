//! The agents of a load, a line each.

use prony_model::{AgentResult, FleetResult};
use prony_present::number::{count, duration, exact, share};
use prony_present::table::{Cell, Column, Row, Table, Weight};

use super::{figure, indented};
use crate::fleet::described;

/// With more agents, the terminal shows only those that most likely explain the result.
const MOST_LINES: usize = 16;
/// How many it shows then.
const FEWER_LINES: usize = 8;

/// A title, and a line for each agent: for all of them if `every` is set.
pub(super) fn lines(fleet: &FleetResult, every: bool, width: usize) -> Vec<String> {
    let mut agents: Vec<(usize, AgentResult)> = fleet.agents.iter().cloned().enumerate().collect();
    let all = agents.len();
    let is_short = !every && all > MOST_LINES;
    if is_short {
        agents.sort_by(|(_, one), (_, other)| worse(other).total_cmp(&worse(one)));
        agents.truncate(FEWER_LINES);
    }
    let rows = agents.iter().map(|agent| {
        let limited = agent.1.client_limited_by.iter();
        let limited = limited.map(|why| format!("CLIENT-LIMITED: {why}"));
        (agent, Row::flagged(Weight::Bad, limited))
    });
    let mut lines = vec![format!("Agents:       {}", described(all, &fleet.on))];
    lines.extend(indented(&Table::of(&COLUMNS, rows), width));
    if is_short {
        lines.push(format!(
            "  The {FEWER_LINES} busiest or with most errors of {all}; --json and --markdown have all."
        ));
    }
    let late = fleet.late_start.iter();
    lines.extend(late.map(|late| format!("  LATE START: {late}.")));
    lines
}

const COLUMNS: [Column<(usize, AgentResult)>; 10] = [
    Column::figure("Agent", |(index, _)| Cell::text(index.to_string())),
    Column::words("host", |(_, agent)| Cell::text(&agent.host)),
    Column::figure("requests", |(_, agent)| Cell::text(exact(agent.requests))),
    Column::figure("ok/s", |(_, agent)| Cell::text(count(agent.rate_per_s))),
    Column::figure("errors", |(_, agent)| {
        Cell::text(exact(agent.outcomes.errors()))
    }),
    Column::figure("p50", |(_, agent)| {
        figure(agent.latency_ns.as_ref(), |it| it.p50)
    }),
    Column::figure("p99", |(_, agent)| {
        figure(agent.latency_ns.as_ref(), |it| it.p99)
    }),
    Column::figure("busy", |(_, agent)| Cell::text(share(agent.busy_max))),
    Column::figure("start lag", |(_, agent)| time(agent.start_lag_ns)),
    Column::figure("± clock", |(_, agent)| time(agent.round_trip_ns / 2)),
];

fn time(nanoseconds: u64) -> Cell {
    Cell::text(duration(nanoseconds as f64))
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
        let text = lines(&fleet(3), false, 100).join("\n");
        golden("agents", &[("agents of a load", text)]);
    }

    #[test]
    fn a_late_start_is_shown() {
        let fleet = FleetResult {
            late_start: Some("agent 1 on node-1 began late".into()),
            ..fleet(40)
        };
        let lines = lines(&fleet, false, 100);
        let last = lines.last().unwrap();
        assert_eq!(last, "  LATE START: agent 1 on node-1 began late.");
    }

    #[test]
    fn of_many_agents_the_terminal_shows_the_worst() {
        let lines = lines(&fleet(40), false, 100);
        assert_eq!(lines.len(), 2 + FEWER_LINES + 2);
        assert!(lines[3].contains("CLIENT-LIMITED"), "{lines:#?}");
        assert!(lines[4].contains("node-with-a-name"), "{lines:#?}");
        prony_testkit::contains(lines.last().unwrap(), "of 40; --json");
    }

    #[test]
    fn a_file_has_every_agent() {
        let lines = lines(&fleet(40), true, 100);
        assert_eq!(lines.len(), 2 + 40 + 1);
        assert!(lines[2].contains("node-0 ") && lines[42].contains("node-39 "));
    }
}
