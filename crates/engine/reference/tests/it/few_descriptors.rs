//! More clients than the server may have descriptors.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::thread;

use crate::common::{Client, HELLO, config};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use prony_reference::Server;
use prony_testkit::alone::alone;

/// How many more descriptors there may be than the clients need.
const DESCRIPTORS: u64 = 20;
const CLIENTS: usize = 60;

#[test]
fn clients_without_a_descriptor_wait_until_there_is_one() {
    // The limit applies to a process.
    alone(
        "few_descriptors::clients_without_a_descriptor_wait_until_there_is_one",
        serve_with_few_descriptors,
    );
}

fn serve_with_few_descriptors() {
    let server = Server::bind(&config(1)).unwrap();
    let address = server.address();
    let clients: Vec<Client> = (0..CLIENTS).map(|_| Client::connect(address)).collect();
    let log = File::create("/dev/null").unwrap();
    let last = u64::try_from(log.as_raw_fd()).unwrap();
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, last + DESCRIPTORS, most).unwrap();
    thread::spawn(move || server.run(&log));
    for mut client in clients {
        client.send(HELLO);
        assert_eq!(client.response().body, "hello from prony\n");
    }
}
