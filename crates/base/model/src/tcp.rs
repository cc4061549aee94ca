//! What the kernel's TCP did during a load: what it retransmitted, and the queues that overflowed.

use serde::{Deserialize, Serialize};

/// The kernel's shortest retransmission timeout (`TCP_RTO_MIN`), in nanoseconds: no timeout costs less.
pub const SHORTEST_TIMEOUT_NS: u64 = 200_000_000;
/// How long a SYN waits for its response before it is sent again (`TCP_TIMEOUT_INIT`), in nanoseconds. It doubles each
/// time. The kernel's timers may fire a few percent early.
const SYN_TIMEOUT_NS: u64 = 950_000_000;

/// How often the kernel's TCP had to repair something from the beginning of a load to its end, warm-up included.
///
/// The kernel counts for the whole network namespace of the generator, so the connections of other programs count too;
/// the queues of a server on another machine do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TcpEvents {
    /// Segments that were sent again (`RetransSegs`).
    pub retransmitted_segments: u64,
    /// How many retransmitted segments were SYNs and SYN-ACKs (`TCPSynRetrans`): each had waited for 1 s or longer.
    pub retransmitted_syns: u64,
    /// Retransmission timeouts (`TCPTimeouts`), those of SYNs included: each lasted 0.2 s or longer.
    pub timeouts: u64,
    /// Retransmitted segments that were lost again (`TCPLostRetransmit`).
    pub lost_retransmits: u64,
    /// Connections that a server of this namespace did not take because its accept queue was full (`ListenOverflows`).
    pub accept_queue_overflows: u64,
    /// SYNs and ACKs that listening sockets of this namespace dropped, for any reason (`ListenDrops`).
    pub listen_drops: u64,
}

impl TcpEvents {
    /// What was counted since `earlier`.
    pub fn since(&self, earlier: &TcpEvents) -> TcpEvents {
        self.combined(earlier, u64::saturating_sub)
    }

    /// What two hosts counted together.
    pub fn plus(&self, other: &TcpEvents) -> TcpEvents {
        self.combined(other, u64::saturating_add)
    }

    /// The higher count of each kind, of two processes of one host that counted at about the same time.
    pub fn highest(&self, other: &TcpEvents) -> TcpEvents {
        self.combined(other, u64::max)
    }

    fn combined(&self, other: &TcpEvents, combine: fn(u64, u64) -> u64) -> TcpEvents {
        let combined = |of: fn(&TcpEvents) -> u64| combine(of(self), of(other));
        TcpEvents {
            retransmitted_segments: combined(|events| events.retransmitted_segments),
            retransmitted_syns: combined(|events| events.retransmitted_syns),
            timeouts: combined(|events| events.timeouts),
            lost_retransmits: combined(|events| events.lost_retransmits),
            accept_queue_overflows: combined(|events| events.accept_queue_overflows),
            listen_drops: combined(|events| events.listen_drops),
        }
    }

    /// Why requests were slow, if these counts explain it: `slow` of them took [`SHORTEST_TIMEOUT_NS`] or longer, the
    /// slowest `longest_ns`.
    pub fn explain(&self, slow: u64, longest_ns: u64) -> Option<String> {
        if slow == 0 || longest_ns < SHORTEST_TIMEOUT_NS {
            return None;
        }
        let syns = if longest_ns >= SYN_TIMEOUT_NS {
            self.retransmitted_syns
        } else {
            0
        };
        let others = self.timeouts.saturating_sub(self.retransmitted_syns);
        let syns_text = (syns > 0).then(|| {
            let sent = counted(syns, "SYN was", "SYNs were");
            format!("{sent} sent again after waiting 1 s or longer")
        });
        let others_text = (others > 0).then(|| {
            let ended = counted(others, "retransmission timeout", "retransmission timeouts");
            format!("{ended} of 0.2 s or longer")
        });
        let told: Vec<String> = syns_text.into_iter().chain(others_text).collect();
        if told.is_empty() {
            return None;
        }
        let mut text = told.join(", and ");
        if self.accept_queue_overflows > 0 {
            let times = counted(self.accept_queue_overflows, "time", "times");
            text.push_str(&format!(
                " (the server's accept queue overflowed {times}: it accepts too slowly, or its backlog is too short)"
            ));
        }
        // A connection that lost a segment may hold up to `pipeline` requests, so this is not an exact bound.
        if syns.saturating_add(others).saturating_mul(2) < slow {
            text.push_str(&format!(
                "; that explains only a part of the {slow} requests that took 0.2 s or longer"
            ));
        }
        Some(text)
    }
}

fn counted(count: u64, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn events(syns: u64, timeouts: u64, overflows: u64) -> TcpEvents {
        TcpEvents {
            retransmitted_segments: timeouts,
            retransmitted_syns: syns,
            timeouts,
            accept_queue_overflows: overflows,
            ..TcpEvents::default()
        }
    }

    #[test]
    fn a_second_of_latency_is_a_retransmitted_syn() {
        let text = events(37, 37, 41).explain(37, 1030 * MS).unwrap();
        assert_eq!(
            text,
            "37 SYNs were sent again after waiting 1 s or longer (the server's accept queue overflowed 41 times: it \
             accepts too slowly, or its backlog is too short)"
        );
        let one = events(1, 1, 0).explain(1, 1030 * MS).unwrap();
        assert_eq!(one, "1 SYN was sent again after waiting 1 s or longer");
    }

    #[test]
    fn less_than_a_second_is_a_timeout_and_less_than_0_2_s_is_not_explained() {
        assert_eq!(events(5, 5, 0).explain(5, 400 * MS), None);
        let text = events(5, 8, 0).explain(5, 400 * MS).unwrap();
        assert_eq!(text, "3 retransmission timeouts of 0.2 s or longer");
        assert_eq!(events(5, 8, 9).explain(5, 199 * MS), None);
        assert_eq!(events(5, 8, 9).explain(0, 400 * MS), None);
        assert_eq!(events(0, 0, 9).explain(5, 2000 * MS), None);
    }

    #[test]
    fn a_few_timeouts_do_not_explain_a_slow_server() {
        let text = events(0, 3, 0).explain(5000, 900 * MS).unwrap();
        assert!(
            text.ends_with("only a part of the 5000 requests that took 0.2 s or longer"),
            "{text}"
        );
    }

    #[test]
    fn counts_are_differences_of_readings() {
        let since = events(5, 9, 3).since(&events(2, 4, 3));
        assert_eq!(since, events(3, 5, 0));
    }
}
