//! The connections of a load: how many, for how long, from where and to where.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use prony_kernel::{allowed_cpus, load_threads};
use prony_load::{Endpoint, TargetError};
use prony_model::{Authority, LoadShape};
use prony_traffic::HttpUrl;

use crate::arguments;
use crate::exit::usage;

/// How many connections there are by default, at least.
pub(super) const CONNECTIONS: usize = 10;
/// How many connections a rate may open by default, if the limit of open files allows it.
const MOST_AT_A_RATE: usize = 1000;

#[derive(Args)]
#[command(next_help_heading = "Connections")]
pub(super) struct ConnectionArguments {
    /// Use this many threads, in each agent with --on [default: half of the CPUs, or one for each of
    /// --cpus; with --on, the CPUs of the smallest agent]
    #[arg(short, long, value_name = "N", value_parser = arguments::threads)]
    pub(crate) threads: Option<usize>,
    /// Keep this many connections open, over all threads and agents; with a rate, open them before it
    /// starts [default: 10, or one for each agent if there are more; 1 with --streams]
    #[arg(short, long, value_name = "N", value_parser = arguments::connections)]
    pub(crate) connections: Option<usize>,
    /// Let a rate open up to this many connections if -c is too few [default: 1000, or -c if more]
    #[arg(long, value_name = "N", value_parser = arguments::connections, requires = "schedule", hide_short_help = true)]
    max_connections: Option<usize>,
    /// Keep up to N requests in flight over each HTTP/1.1 connection (pipelining); at most 1000
    #[arg(long, value_name = "N", value_parser = arguments::positive, default_value = "1", conflicts_with = "users")]
    pub(crate) pipeline: usize,
    /// Ask the server to close the connection after each response (`Connection: close`); over HTTP/2,
    /// Prony closes it
    #[arg(long, conflicts_with_all = ["pipeline", "streams_per_connection"])]
    pub(crate) no_keepalive: bool,
    /// Close each connection after this many responses, and open a new one
    #[arg(long, value_name = "N", value_parser = arguments::some_count, conflicts_with = "no_keepalive", hide_short_help = true)]
    pub(crate) requests_per_connection: Option<NonZeroU64>,
    /// Connect to this Unix socket; the URL's host appears only in the requests
    #[arg(long, value_name = "PATH", conflicts_with_all = ["resolve", "source"], hide_short_help = true)]
    pub(crate) unix_socket: Option<PathBuf>,
    /// Connect from these local addresses, round-robin, separated by commas
    #[arg(
        long,
        value_name = "ADDRESSES",
        value_delimiter = ',',
        value_parser = arguments::address,
        hide_short_help = true
    )]
    pub(crate) source: Vec<IpAddr>,
    /// Use this address for the URL's host and port, as in curl
    #[arg(long, value_name = "HOST:PORT:ADDRESS", hide_short_help = true)]
    resolve: Option<Resolve>,
}

impl ConnectionArguments {
    /// How many connections a load may open that starts with `count`; `None` if no more than that.
    pub(super) fn most(&self, count: usize, shape: &LoadShape) -> Result<Option<usize>, String> {
        match self.max_connections {
            Some(most) if most < count => Err(format!(
                "--max-connections {most} is less than the {count} connections (-c) that are open from the start"
            )),
            None if matches!(shape, LoadShape::Rate(_)) => Ok(Some(
                count.max(MOST_AT_A_RATE.min(prony_load::connections_allowed())),
            )),
            most => Ok(most),
        }
    }

    /// How many threads serve `count` connections, on these CPUs if there are any. How many each of several agents may
    /// have shows when they have been started.
    pub(super) fn threads(&self, count: usize, cpus: &[usize], agents: usize) -> usize {
        self.threads.unwrap_or_else(|| match agents {
            1 => default_threads(cpus.len()).min(count),
            _ => 1,
        })
    }

    /// The first address that accepts a connection within `timeout`.
    pub(super) fn endpoint(
        &self,
        url: &HttpUrl,
        timeout: Duration,
    ) -> Result<Endpoint, Box<dyn std::error::Error>> {
        if let Some(path) = &self.unix_socket {
            return Ok(Endpoint::Unix(path.clone()).connectable(timeout)?);
        }
        let endpoint = match &self.resolve {
            Some(resolve) => resolve.connectable(timeout)?,
            None => Endpoint::of(url, timeout)?,
        };
        check_families(&self.source, &endpoint).map_err(usage)?;
        Ok(endpoint)
    }

    /// Checks the addresses before anything is connected.
    pub(super) fn check_addresses(&self, url: &HttpUrl) -> Result<(), String> {
        if let Some(resolve) = &self.resolve
            && !resolve.is_of(url)
        {
            return Err(format!(
                "--resolve is for {}:{}, but the URL's server is {}:{}",
                resolve.host,
                resolve.port,
                url.host(),
                url.port()
            ));
        }
        let distinct: BTreeSet<IpAddr> = self.source.iter().copied().collect();
        for address in distinct {
            arguments::own_address(address).map_err(|why| format!("--source {why}"))?;
        }
        Ok(())
    }
}

/// Checks that each source address can reach the server.
fn check_families(sources: &[IpAddr], endpoint: &Endpoint) -> Result<(), String> {
    if let Endpoint::Tcp(server) = endpoint
        && let Some(address) = sources.iter().find(|it| it.is_ipv4() != server.is_ipv4())
    {
        return Err(format!(
            "--source {address} cannot reach {server}: one is an IPv4 address and the other is not"
        ));
    }
    Ok(())
}

/// One thread for each given CPU, else for half of the CPUs, since a server on this machine needs some; fewer if a quota
/// limits them.
fn default_threads(cpus_given: usize) -> usize {
    load_threads(match cpus_given {
        0 => allowed_cpus().map_or(1, |cpus| cpus.len().div_ceil(2)),
        given => given,
    })
}

/// Addresses to use instead of those that a name resolves to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Resolve {
    host: String,
    port: u16,
    /// At least one.
    addresses: Vec<SocketAddr>,
}

impl Resolve {
    fn is_of(&self, url: &HttpUrl) -> bool {
        self.host.eq_ignore_ascii_case(url.host()) && self.port == url.port()
    }

    /// The first address that accepts a connection, or why the last did not.
    fn connectable(&self, timeout: Duration) -> Result<Endpoint, TargetError> {
        let connect = |&address: &SocketAddr| Endpoint::Tcp(address).connectable(timeout);
        let (last, before) = self
            .addresses
            .split_last()
            .expect("it has at least one address");
        before
            .iter()
            .find_map(|address| connect(address).ok())
            .map_or_else(|| connect(last), Ok)
    }
}

impl FromStr for Resolve {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not HOST:PORT:ADDRESS; write for instance example.com:80:127.0.0.1"
            )
        };
        // The host of an IPv6 URL contains colons, within brackets.
        let host_end = if text.starts_with('[') {
            text.find("]:").ok_or_else(wrong)? + 1
        } else {
            text.find(':').ok_or_else(wrong)?
        };
        let port_length = text[host_end + 1..].find(':').ok_or_else(wrong)?;
        let (server, addresses) = text.split_at(host_end + 1 + port_length);
        let server: Authority = server.parse().map_err(|_| wrong())?;
        let port = server.port().ok_or_else(wrong)?;
        let addresses = addresses[1..].split(',');
        let addresses = addresses.map(|address| {
            let bare = address.trim_matches(['[', ']']);
            let (ip, zone) = bare.split_once('%').unwrap_or((bare, ""));
            let ip: IpAddr = ip.parse().map_err(|_| wrong())?;
            match zone {
                "" => Ok(SocketAddr::new(ip, port)),
                zone => in_zone(bare, port)
                    .ok_or_else(|| format!("`{zone}` in `{text}` is not a network interface here")),
            }
        });
        Ok(Self {
            host: server.host().to_owned(),
            port,
            addresses: addresses.collect::<Result<_, String>>()?,
        })
    }
}

/// An IPv6 address with the interface that leads to it, which the system looks up: `fe80::1%eth0`.
fn in_zone(address: &str, port: u16) -> Option<SocketAddr> {
    let url: Authority = format!("[{address}]").parse().ok()?;
    (url.host(), port).to_socket_addrs().ok()?.next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_testkit::{contains, starts_with};

    #[test]
    fn an_address_is_written_as_in_curl() {
        let read: Resolve = "example.com:80:127.0.0.1".parse().unwrap();
        assert_eq!((read.host.as_str(), read.port), ("example.com", 80));
        assert_eq!(read.addresses, [SocketAddr::from(([127, 0, 0, 1], 80))]);
        assert!(read.is_of(&"http://EXAMPLE.com/x".parse().unwrap()));
        assert!(!read.is_of(&"http://example.com:81/".parse().unwrap()));
        let read: Resolve = "[::1]:8080:[::1],127.0.0.1".parse().unwrap();
        assert_eq!((read.host.as_str(), read.addresses.len()), ("::1", 2));
        let read: Resolve = "[fe80::1%25lo]:80:[fe80::2%lo],[fe80::3%25lo]"
            .parse()
            .unwrap();
        assert!(read.is_of(&"http://[fe80::1%lo]/".parse().unwrap()));
        let zones = read.addresses.iter().map(|it| match it {
            SocketAddr::V6(address) => address.scope_id(),
            SocketAddr::V4(_) => 0,
        });
        assert!(
            zones.eq([1, 1]),
            "the loopback interface is the first: {read:?}"
        );
        let no_interface = "a:80:fe80::1%none0".parse::<Resolve>().unwrap_err();
        contains(
            &no_interface,
            "`none0` in `a:80:fe80::1%none0` is not a network interface here",
        );
        let wrong = "; a; a:80; a:80:; a:x:127.0.0.1; a:0:127.0.0.1; :80:127.0.0.1; a:80:b; a:99999:127.0.0.1; [::1:80:127.0.0.1";
        for wrong in wrong.split("; ") {
            let message = wrong.parse::<Resolve>().unwrap_err();
            contains(&message, &format!("`{wrong}` is not HOST:PORT:ADDRESS"));
        }
    }

    #[test]
    fn a_source_reaches_its_own_kind_only() {
        let server = Endpoint::Tcp(([127, 0, 0, 1], 80).into());
        let v4 = IpAddr::from([127, 0, 0, 2]);
        let v6 = IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(check_families(&[v4], &server), Ok(()));
        let message = check_families(&[v4, v6], &server).unwrap_err();
        starts_with(&message, "--source ::1 cannot reach 127.0.0.1:80");
        assert_eq!(check_families(&[v6], &Endpoint::Unix("x".into())), Ok(()));
    }
}
