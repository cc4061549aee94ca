//! The kernel's TCP counters, from `/proc/net`.

use std::collections::BTreeMap;
use std::fs;

use prony_model::{LatencyHistogram, LoadResult, Outcome, SHORTEST_TIMEOUT_NS, TcpEvents};
use serde::{Deserialize, Serialize};

use super::clock::nanoseconds;

/// The counters so far, in this thread's network namespace; `None` if the kernel does not have them.
pub(super) fn now() -> Option<TcpEvents> {
    // A thread may be in another namespace than its process.
    let read = |name| fs::read_to_string(format!("/proc/thread-self/net/{name}")).ok();
    parse(&read("netstat")?, &read("snmp")?)
}

/// What the kernel of a host counted during a load.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct HostEvents {
    /// The host and the network namespace, if they are known: what two processes of one namespace count is the same.
    network: Option<String>,
    events: TcpEvents,
}

impl HostEvents {
    /// What was counted since `before`.
    pub(super) fn since(before: Option<TcpEvents>) -> Option<Self> {
        Some(Self {
            events: now()?.since(&before?),
            network: network(),
        })
    }
}

/// A name for this thread's network namespace that no other one has, on any host.
fn network() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = fs::read_link("/proc/thread-self/ns/net").ok()?;
    Some(format!("{} {}", boot.trim(), namespace.display()))
}

/// Adds to a load what the kernels of its hosts counted during it.
pub(super) fn add_to<'a>(result: &mut LoadResult, hosts: impl IntoIterator<Item = &'a HostEvents>) {
    let Some(events) = sum(hosts) else {
        return;
    };
    result.tcp = Some(events);
    result.slow_because = slow_because(result, events);
}

/// The sum over all network namespaces.
fn sum<'a>(hosts: impl IntoIterator<Item = &'a HostEvents>) -> Option<TcpEvents> {
    let mut networks: BTreeMap<&str, TcpEvents> = BTreeMap::new();
    let mut others = Vec::new();
    for HostEvents { network, events } in hosts {
        match network {
            None => others.push(*events),
            Some(network) => {
                let counted = networks.entry(network).or_default();
                *counted = counted.highest(events);
            }
        }
    }
    let all = networks.into_values().chain(others);
    all.reduce(|sum, events| sum.plus(&events))
}

/// Why requests took as long as a retransmission timeout.
fn slow_because(result: &LoadResult, events: TcpEvents) -> Option<String> {
    let latency = LatencyHistogram::from_base64(&result.histogram).ok()?;
    let responded = latency
        .counted()
        .filter(|(ns, _)| *ns >= SHORTEST_TIMEOUT_NS);
    let responded = responded.map(|(_, count)| count);
    let timed_out = result.outcomes[Outcome::TimedOut];
    let slowest = latency.summary().map_or(0, |latency| latency.max);
    let waited = match timed_out {
        0 => 0,
        _ => nanoseconds(result.load.timeout),
    };
    let slow = responded.fold(timed_out, u64::saturating_add);
    events.explain(slow, slowest.max(waited))
}

/// Each group of counters is two lines with the same prefix: names, and their values.
fn parse(netstat: &str, snmp: &str) -> Option<TcpEvents> {
    let extended = |name| counter(netstat, "TcpExt:", name);
    Some(TcpEvents {
        retransmitted_segments: counter(snmp, "Tcp:", "RetransSegs")?,
        retransmitted_syns: extended("TCPSynRetrans")?,
        timeouts: extended("TCPTimeouts")?,
        lost_retransmits: extended("TCPLostRetransmit")?,
        accept_queue_overflows: extended("ListenOverflows")?,
        listen_drops: extended("ListenDrops")?,
    })
}

fn counter(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(group));
    let (names, values) = (lines.next()?, lines.next()?);
    let mut pairs = names.split_whitespace().zip(values.split_whitespace());
    pairs.find(|(known, _)| *known == name)?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETSTAT: &str = "\
TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPLostRetransmit TCPTimeouts TCPSynRetrans
TcpExt: 6 26 27 2 14 8
IpExt: InNoRoutes ListenOverflows
IpExt: 0 99
";
    const SNMP: &str = "\
Ip: Forwarding DefaultTTL
Ip: 1 64
Tcp: RtoAlgorithm MaxConn RetransSegs InErrs
Tcp: 1 -1 20 0
";

    #[test]
    fn the_kernels_files_are_read() {
        let expected = TcpEvents {
            retransmitted_segments: 20,
            retransmitted_syns: 8,
            timeouts: 14,
            lost_retransmits: 2,
            accept_queue_overflows: 26,
            listen_drops: 27,
        };
        assert_eq!(parse(NETSTAT, SNMP), Some(expected));
    }

    #[test]
    fn agents_of_one_network_count_the_same_events() {
        let events = |network: Option<&str>, timeouts, listen_drops| HostEvents {
            network: network.map(str::to_owned),
            events: TcpEvents {
                timeouts,
                listen_drops,
                ..TcpEvents::default()
            },
        };
        let hosts = [
            events(Some("a"), 5, 0),
            events(Some("a"), 4, 1),
            events(Some("b"), 10, 0),
            events(None, 100, 0),
            events(None, 100, u64::MAX),
        ];
        let sum = sum(&hosts).unwrap();
        assert_eq!((sum.timeouts, sum.listen_drops), (215, u64::MAX));
        assert_eq!(super::sum(&[]), None);
        assert!(network().is_some_and(|network| network.contains("net:[")));
    }

    #[test]
    fn files_without_a_counter_give_nothing() {
        assert_eq!(parse("", SNMP), None);
        assert_eq!(parse(NETSTAT, ""), None);
        assert_eq!(parse(&NETSTAT.replace("TCPTimeouts", "Other"), SNMP), None);
        assert_eq!(parse(&NETSTAT.replace(" 8\n", "\n"), SNMP), None);
    }
}
