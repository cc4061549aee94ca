//! The local address of a connection.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::plan::LoadPlan;
use crate::target::Endpoint;

/// Local addresses that connections are spread over, in turn.
///
/// Between one local address and one server there are some 28,000 ports, and a port that has just been used rests for a
/// while. With a server that closes after each response they would run out within a second or two. The loopback network
/// has 16 million addresses, each with its own ports.
#[derive(Debug)]
pub(super) struct SourceAddresses {
    addresses: Addresses,
    /// Whether initial connections use them, too.
    at_first: bool,
    next: usize,
}

#[derive(Debug)]
enum Addresses {
    /// The system chooses.
    System,
    /// The first ones of the loopback network.
    Loopback,
    Given(Vec<IpAddr>),
}

/// Few enough for a server not to notice.
const LOOPBACK_ADDRESSES: usize = 64;
/// With more connections than this from one address the kernel searches thousands of ports for a free one: it has
/// 28,000 by default, and tries one half of them first.
const ONE_ADDRESS: usize = 8_000;

impl SourceAddresses {
    /// The addresses of a load: those that it gives, or for a server on the loopback network those of the network.
    pub(super) fn of(plan: &LoadPlan) -> Self {
        let addresses = match &plan.endpoint {
            Endpoint::Unix(_) => Addresses::System,
            Endpoint::Tcp(_) if !plan.here.sources.is_empty() => {
                Addresses::Given(plan.here.sources.clone())
            }
            Endpoint::Tcp(address) => match address.ip() {
                IpAddr::V4(ip) if ip.is_loopback() => Addresses::Loopback,
                _ => Addresses::System,
            },
        };
        let many = plan.load.most_connections() + plan.load.streams > ONE_ADDRESS;
        Self {
            at_first: many || !plan.here.sources.is_empty(),
            addresses,
            next: 0,
        }
    }

    /// The next one; `None` to leave it to the system. Only connections that are opened `again`, or in great number,
    /// can use up the ports.
    pub(super) fn take(&mut self, again: bool) -> Option<SocketAddr> {
        if !again && !self.at_first {
            return None;
        }
        let number = self.next;
        let (ip, count) = match &self.addresses {
            Addresses::System => return None,
            Addresses::Loopback => {
                let ip = Ipv4Addr::from_bits(Ipv4Addr::LOCALHOST.to_bits() + number as u32);
                (IpAddr::V4(ip), LOOPBACK_ADDRESSES)
            }
            Addresses::Given(given) => (given[number], given.len()),
        };
        self.next = (number + 1) % count;
        Some(SocketAddr::from((ip, 0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_traffic::RequestParts;

    fn plan(endpoint: &str) -> LoadPlan {
        let request = RequestParts::new("GET", &"http://a/".parse().unwrap(), &[], b"").unwrap();
        LoadPlan::new(
            Endpoint::Tcp(endpoint.parse().unwrap()),
            "http://a/",
            request,
        )
    }

    fn take(addresses: &mut SourceAddresses, again: bool) -> Option<String> {
        addresses.take(again).map(|address| address.to_string())
    }

    #[test]
    fn only_a_loopback_server_is_reached_from_several_addresses() {
        let mut loopback = SourceAddresses::of(&plan("127.0.0.1:80"));
        assert_eq!(take(&mut loopback, false), None, "few initial connections");
        let taken: Vec<_> = (0..65)
            .map(|_| take(&mut loopback, true).unwrap())
            .collect();
        assert_eq!(taken[..2], ["127.0.0.1:0", "127.0.0.2:0"]);
        assert_eq!(
            (taken[63].as_str(), &taken[64]),
            ("127.0.0.64:0", &taken[0])
        );
        for other in ["10.0.0.1:80", "[::1]:80"] {
            assert_eq!(take(&mut SourceAddresses::of(&plan(other)), true), None);
        }
    }

    #[test]
    fn many_connections_use_several_addresses_at_once() {
        let mut plan = plan("127.0.0.1:80");
        plan.load.connections = 50_000;
        assert!(SourceAddresses::of(&plan).take(false).is_some());
    }

    #[test]
    fn given_addresses_are_used_in_turn() {
        let mut plan = plan("10.0.0.1:80");
        plan.here.sources = vec!["10.0.0.8".parse().unwrap(), "10.0.0.9".parse().unwrap()];
        let mut given = SourceAddresses::of(&plan);
        let taken: Vec<_> = (0..3).map(|_| take(&mut given, false).unwrap()).collect();
        assert_eq!(taken, ["10.0.0.8:0", "10.0.0.9:0", "10.0.0.8:0"]);
    }
}
