//! `prony serve`: the site live from the record file.

use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use prony_site::{Service, ServiceTimes, is_served_to_others};
use prony_store::Store;

use super::flags::StoreFlag;
use crate::exit::{self, Outcome};

const EXAMPLES: &str = "\
Examples:
  prony serve                           at http://127.0.0.1:7669/
  prony serve --listen localhost:8000   on another port
  prony serve --store ci.sqlite         of another record file

The pages are those of `prony site`, made from the record file when they are \
requested. The page of a run in progress follows it, and any two runs or servers \
can be compared. Ctrl-C stops it.

Exit status:
  0  you stopped it
  1  it could not listen, or the record file could not be read
  2  the command line is wrong";

/// The port without `--listen`.
const PORT: u16 = 7669;

/// Where, and which runs.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Listen on this address and port; on any but a loopback address, others can read every
    /// run [default: 127.0.0.1:7669]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    listen: Option<SocketAddr>,
    #[command(flatten)]
    store: StoreFlag,
}

/// Serves until it is stopped.
pub(super) fn run(project: Option<&Path>, arguments: &Arguments) -> Outcome {
    let file = arguments.store.path(project)?;
    let address = arguments
        .listen
        .unwrap_or_else(|| (Ipv4Addr::LOCALHOST, PORT).into());
    let stop = exit::interrupt_on_signals()?;
    let open = Box::new(move || Store::open_read(&file));
    let service = Service::bind(address, open, ServiceTimes::default())?;
    if is_served_to_others(service.address()) {
        errln!(
            "warning: {} is not a loopback address: anyone who can reach it can read every run",
            service.address()
        );
    }
    for left_out in service.left_out() {
        errln!(
            "warning: the run {} is left out: {}",
            left_out.id,
            left_out.why
        );
    }
    outln!("http://{}/", service.address());
    service.serve(&stop)?;
    Ok(ExitCode::SUCCESS)
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let help = "write an address with a port, for instance 127.0.0.1:7669 or localhost:8000";
    let mut found = text
        .to_socket_addrs()
        .map_err(|error| format!("{error}; {help}"))?;
    found.next().ok_or_else(|| help.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_port() {
        assert_eq!(address("127.0.0.1:80"), Ok("127.0.0.1:80".parse().unwrap()));
        assert_eq!(address("[::1]:80"), Ok("[::1]:80".parse().unwrap()));
        for wrong in ["127.0.0.1", "", ":x", "127.0.0.1:70000"] {
            let error = address(wrong).unwrap_err();
            assert!(error.contains("7669"), "{wrong}: {error}");
        }
    }
}
