//! More clients than the server may have descriptors.
//!
//! The limit applies to a process, so the server runs in its own process: this test's program, started again.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::common::{Client, config};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use prony_reference::Server;

const ROLE: &str = "PRONY_TEST_SERVER_WITH_FEW_DESCRIPTORS";
const DESCRIPTORS: u64 = 24;
const CLIENTS: usize = 60;

struct KilledAtEnd(Child);

impl Drop for KilledAtEnd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn clients_without_a_descriptor_wait_until_there_is_one() {
    if std::env::var_os(ROLE).is_some() {
        return serve_with_few_descriptors();
    }
    let server = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture"])
        .arg("few_descriptors::clients_without_a_descriptor_wait_until_there_is_one")
        .env(ROLE, "1")
        .stdout(Stdio::piped())
        .spawn();
    let mut server = KilledAtEnd(server.unwrap());
    let output = BufReader::new(server.0.stdout.take().unwrap());
    let address = output.lines().find_map(|line| {
        let line = line.unwrap();
        let (_, address) = line.split_once("listening on ")?;
        Some(address.parse().unwrap())
    });
    let address = address.expect("the server says where it listens");
    let mut clients: Vec<Client> = (0..CLIENTS).map(|_| Client::connect(address)).collect();
    for client in &mut clients {
        client.send("GET /byte HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    for mut client in clients {
        assert_eq!(client.response().body, "r");
    }
}

fn serve_with_few_descriptors() {
    let server = Server::bind(&config(1)).unwrap();
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, DESCRIPTORS, most).unwrap();
    println!("\nlistening on {}", server.address());
    server.run(&File::create("/dev/null").unwrap()).unwrap();
}
