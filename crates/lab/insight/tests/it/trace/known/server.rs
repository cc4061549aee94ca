//! A server with a thread for each connection, whose system calls are known. It is this test program, started again.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write, pipe};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::parent_id;
use std::process::Stdio;
use std::thread;

use prony_testkit::processes::Killed;

use crate::trace::known::again;

/// How often two threads of the server wake each other for one request.
pub(super) const ROUNDS: u64 = 500;

const PING_PONG: u8 = b'p';

pub(super) struct Server {
    process: Killed,
    address: String,
}

pub(super) struct Connection(TcpStream);

impl Server {
    pub(super) fn start() -> Server {
        let mut command = again(&std::env::current_exe().unwrap(), "server::serve");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Killed(command.spawn().unwrap());
        let lines = BufReader::new(process.0.stdout.take().unwrap()).lines();
        let address = lines
            .map(|line| line.unwrap())
            .find_map(|line| Some(line.split_once("listens on ")?.1.to_owned()));
        Server {
            process,
            address: address.expect("the server prints its address"),
        }
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.0.id()
    }

    pub(super) fn connect(&self) -> Connection {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_nodelay(true).unwrap();
        Connection(stream)
    }
}

impl Connection {
    /// Three bytes, one after the other, and as many in response.
    pub(super) fn request(&mut self) {
        self.0.write_all(b"abc").unwrap();
        self.0.read_exact(&mut [0; 3]).unwrap();
    }

    /// A request for which two threads wake each other.
    pub(super) fn ping_pong(&mut self) {
        self.0.write_all(&[PING_PONG; 3]).unwrap();
        self.0.read_exact(&mut [0; 3]).unwrap();
    }
}

/// Not a test: the server. It ends with the process that started it.
#[test]
#[ignore = "a server that the tests start"]
fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // Started by hand, it ends at once.
    println!("listens on {}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || serve_connection(stream.unwrap()));
        }
    });
    let _ = std::io::stdin().read(&mut [0]);
}

/// For each request exactly 3 recvfrom, 3 sendto and a getppid.
fn serve_connection(mut stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    loop {
        let mut bytes = [0; 3];
        for byte in bytes.chunks_mut(1) {
            match stream.read(byte) {
                Ok(1) => (),
                _ => return,
            }
        }
        if bytes[0] == PING_PONG {
            ping_pong();
        }
        std::hint::black_box(parent_id());
        for byte in bytes.chunks(1) {
            stream.write_all(byte).unwrap();
        }
    }
}

fn ping_pong() {
    let (ping, pinging) = pipe().unwrap();
    let (pong, ponging) = pipe().unwrap();
    let other = thread::spawn(move || play(ping, ponging));
    (&pinging).write_all(b"x").unwrap();
    play(pong, pinging);
    other.join().unwrap();
}

fn play(mut from: PipeReader, mut to: PipeWriter) {
    for _ in 0..ROUNDS {
        if from.read(&mut [0]).unwrap() == 0 || to.write_all(b"x").is_err() {
            return;
        }
    }
}
