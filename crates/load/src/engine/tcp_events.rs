//! The kernel's TCP counters, from `/proc/net`.

use std::fs;

use prony_model::{LatencyHistogram, LoadResult, Outcome, SHORTEST_TIMEOUT_NS, TcpEvents};

/// The counters so far, in this thread's network namespace; `None` if the kernel does not have them.
pub(super) fn now() -> Option<TcpEvents> {
    // A thread may be in another namespace than its process.
    let read = |name| fs::read_to_string(format!("/proc/thread-self/net/{name}")).ok();
    parse(&read("netstat")?, &read("snmp")?)
}

/// Adds to a load what the kernel counted during it.
pub(super) fn add_to(result: &mut LoadResult, before: Option<TcpEvents>) {
    let Some(events) = now()
        .zip(before)
        .map(|(after, before)| after.since(&before))
    else {
        return;
    };
    result.tcp = Some(events);
    result.slow_because = slow(result).and_then(|(slow, longest)| events.explain(slow, longest));
}

/// How many requests took as long as a retransmission timeout, and how long the slowest took, in nanoseconds.
fn slow(result: &LoadResult) -> Option<(u64, u64)> {
    let latency = LatencyHistogram::from_base64(&result.histogram).ok()?;
    let responded = latency
        .counted()
        .filter(|(ns, _)| *ns >= SHORTEST_TIMEOUT_NS);
    let responded: u64 = responded.map(|(_, count)| count).sum();
    let timed_out = result.outcomes[Outcome::TimedOut];
    let slowest = latency.summary().map_or(0, |latency| latency.max);
    let waited = match timed_out {
        0 => 0,
        _ => (result.load.timeout_s * 1e9) as u64,
    };
    Some((responded + timed_out, slowest.max(waited)))
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
    fn files_without_a_counter_give_nothing() {
        assert_eq!(parse("", SNMP), None);
        assert_eq!(parse(NETSTAT, ""), None);
        assert_eq!(parse(&NETSTAT.replace("TCPTimeouts", "Other"), SNMP), None);
        assert_eq!(parse(&NETSTAT.replace(" 8\n", "\n"), SNMP), None);
    }
}
