//! Which local address a connection comes from.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Local addresses that connections are spread over, in turn.
///
/// Between one local address and one server there are some 28,000 ports, and a port that has just
/// been used rests for a while. A server that closes after each answer would use them up within a
/// second or two. The loopback network has 16 million addresses, each with ports of its own.
#[derive(Debug)]
pub(super) struct SourceAddresses {
    count: u32,
    next: u32,
}

/// As many as a server can be expected to see without noticing.
const LOOPBACK_ADDRESSES: u32 = 64;

impl SourceAddresses {
    /// Those for a server at `address`.
    pub(super) fn towards(address: SocketAddr) -> Self {
        let loopback = matches!(address.ip(), IpAddr::V4(ip) if ip.is_loopback());
        Self {
            count: if loopback { LOOPBACK_ADDRESSES } else { 0 },
            next: 0,
        }
    }

    /// The next one; `None` to leave it to the system.
    pub(super) fn take(&mut self) -> Option<SocketAddr> {
        if self.count == 0 {
            return None;
        }
        let ip = Ipv4Addr::from_bits(Ipv4Addr::LOCALHOST.to_bits() + self.next);
        self.next = (self.next + 1) % self.count;
        Some(SocketAddr::from((ip, 0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_server_on_the_loopback_network_is_reached_from_several() {
        let mut loopback = SourceAddresses::towards("127.0.0.1:80".parse().unwrap());
        let taken: Vec<_> = (0..65)
            .map(|_| loopback.take().unwrap().to_string())
            .collect();
        assert_eq!(taken[..2], ["127.0.0.1:0", "127.0.0.2:0"]);
        assert_eq!(
            (taken[63].as_str(), &taken[64]),
            ("127.0.0.64:0", &taken[0])
        );
        for other in ["10.0.0.1:80", "[::1]:80"] {
            let mut addresses = SourceAddresses::towards(other.parse().unwrap());
            assert_eq!(addresses.take(), None);
        }
    }
}
