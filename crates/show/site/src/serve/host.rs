//! Which `Host` a request may name. A page of another site can make a browser send requests to a loopback address under a name
//! of its own (DNS rebinding), and could then read the responses.

use std::net::{IpAddr, SocketAddr};

/// Whether other machines can reach this address.
pub fn is_served_to_others(address: SocketAddr) -> bool {
    !address.ip().is_loopback()
}

/// Whether a request with this `Host` is for the server that listens on this address.
pub(super) fn is_own(host: &str, listens: SocketAddr) -> bool {
    let (name, port) = split(host);
    if port.unwrap_or(80) != listens.port() {
        return false;
    }
    if name.eq_ignore_ascii_case("localhost") {
        return true;
    }
    let literal = name.trim_start_matches('[').trim_end_matches(']');
    let Ok(address) = literal.parse::<IpAddr>() else {
        return false;
    };
    // On all addresses, the server does not know which of them are its own; but an address is not a name that a stranger's
    // DNS could bind to it.
    address.is_loopback() || address == listens.ip() || listens.ip().is_unspecified()
}

fn split(host: &str) -> (&str, Option<u16>) {
    match host.rsplit_once(':') {
        // The colons of an address without a port.
        Some((_, rest)) if rest.ends_with(']') => (host, None),
        Some((name, port)) => match port.parse() {
            Ok(port) => (name, Some(port)),
            Err(_) => (name, Some(0)),
        },
        None => (host, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_names_of_this_machine_are_its_own() {
        let listens: SocketAddr = "127.0.0.1:7669".parse().unwrap();
        for own in "localhost:7669 LOCALHOST:7669 127.0.0.1:7669 [::1]:7669".split(' ') {
            assert!(is_own(own, listens), "{own}");
        }
        let others = "evil.example:7669 localhost localhost:80 127.0.0.1.evil.example:7669 :7669 10.0.0.1:7669 \
            localhost.evil.example:7669 localhost:7669:7669 localhost:x [::1]";
        for other in others.split(' ').chain([""]) {
            assert!(!is_own(other, listens), "{other}");
        }
        let everywhere: SocketAddr = "0.0.0.0:7669".parse().unwrap();
        assert!(is_own("10.0.0.1:7669", everywhere) && !is_own("evil.example:7669", everywhere));
        let at_80: SocketAddr = "127.0.0.1:80".parse().unwrap();
        assert!(is_own("localhost", at_80) && is_own("[::1]", at_80));
    }
}
