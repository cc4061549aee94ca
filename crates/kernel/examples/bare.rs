//! The floor: a closed loop that only exchanges bytes. It costs what this machine's kernel costs; no load generator
//! with such a loop can cost less.
//!
//!     cargo run --release -p prony-kernel --example bare -- --loop ring --connections 64 127.0.0.1:8080
//!
//! Each connection sends its next request when a receive has completed, so a response must arrive in one piece; with
//! `--skip`, when that many bytes of response have arrived.

use std::error::Error;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use nix::errno::Errno;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::socket::{MsgFlags, recv, send};
use nix::sys::time::TimeValLike;
use prony_kernel::{Completion, Counters, LONGEST_SKIP, Receive, Ring, RingSettings};
use rustix::buffer::spare_capacity;
use rustix::event::epoll;

#[derive(Parser)]
struct Arguments {
    /// The server's address and port
    server: SocketAddr,
    /// The path to request
    #[arg(long, default_value = "/hello")]
    path: String,
    /// The event loop
    #[arg(long = "loop", value_enum, default_value = "ring")]
    event_loop: EventLoop,
    /// The number of connections
    #[arg(short, long, default_value_t = 64)]
    connections: usize,
    /// How many seconds to run
    #[arg(short, long, default_value_t = 3.0)]
    seconds: f64,
    /// Size of a response, head and body; the kernel throws away what the first read leaves of it
    #[arg(long)]
    skip: Option<u64>,
    /// Send this many requests at a time; their responses must arrive in one piece
    #[arg(long, default_value_t = 1)]
    pipeline: usize,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum EventLoop {
    Ring,
    Epoll,
}

/// What to send, and how to recognise the end of a response.
struct Exchange {
    request: Vec<u8>,
    response_bytes: Option<u64>,
    end: Instant,
}

/// Enough for a head.
const FIRST_LOOK: usize = 4096;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\n\r\n",
        arguments.path, arguments.server
    );
    let sockets = (0..arguments.connections)
        .map(|_| connect(arguments.server))
        .collect::<io::Result<Vec<_>>>()?;
    let counters = Counters::open();
    let (user, system) = thread_cpu()?;
    let exchange = Exchange {
        request: request.repeat(arguments.pipeline).into_bytes(),
        response_bytes: arguments.skip,
        end: Instant::now() + Duration::from_secs_f64(arguments.seconds),
    };
    let (responses, system_calls) = match arguments.event_loop {
        EventLoop::Ring => ring_loop(sockets, &exchange)?,
        EventLoop::Epoll => epoll_loop(&sockets, &exchange)?,
    };
    let (user_after, system_after) = thread_cpu()?;
    let requests = responses * arguments.pipeline as u64;
    let each = |total: f64| total / requests as f64;
    let (user, system) = (each(user_after - user), each(system_after - system));
    print!(
        "{:?} requests={requests} rate={:.0} cpu_ns={:.0} user_ns={user:.0} kernel_ns={system:.0} calls={:.3}",
        arguments.event_loop,
        requests as f64 / arguments.seconds,
        user + system,
        each(system_calls as f64)
    );
    match counters.and_then(|counters| counters.read()) {
        Some(values) => println!(
            " cycles={:.0} instructions={:.0}",
            each(values.cycles as f64),
            each(values.instructions as f64)
        ),
        None => println!(),
    }
    Ok(())
}

fn connect(server: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpStream::connect(server)?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

/// CPU time of this thread in nanoseconds: user, kernel.
fn thread_cpu() -> Result<(f64, f64), Errno> {
    let usage = getrusage(UsageWho::RUSAGE_THREAD)?;
    Ok((
        usage.user_time().num_microseconds() as f64 * 1e3,
        usage.system_time().num_microseconds() as f64 * 1e3,
    ))
}

fn ring_loop(sockets: Vec<TcpStream>, exchange: &Exchange) -> Result<(u64, u64), Box<dyn Error>> {
    let mut ring = Ring::new(&RingSettings {
        slots: sockets.len(),
        small_buffers: (sockets.len() * 2).next_power_of_two() as u16,
        small_buffer_bytes: 4096,
        large_buffers: (sockets.len() * 2).next_power_of_two() as u16,
        large_buffer_bytes: FIRST_LOOK as u32,
    })?;
    let first = match exchange.response_bytes {
        None => Receive::Many,
        Some(_) => Receive::Once {
            at_most: FIRST_LOOK as u32,
        },
    };
    let mut left = vec![0; sockets.len()];
    for (slot, socket) in sockets.into_iter().enumerate() {
        ring.adopt(slot, socket.into());
        ring.send(slot, &exchange.request);
        ring.receive(slot, first);
        left[slot] = exchange.response_bytes.unwrap_or(0);
    }
    let mut responses = 0;
    while Instant::now() < exchange.end {
        ring.wait(Duration::from_millis(100))?;
        while let Some((slot, completion)) = ring.next() {
            let received = match completion {
                Completion::Sent(Ok(_)) => continue,
                Completion::Received(chunk) => chunk.len() as u64,
                Completion::Skipped(bytes) => bytes,
                other => return Err(format!("{other:?}").into()),
            };
            match exchange.response_bytes {
                None => {
                    responses += 1;
                    ring.send(slot, &exchange.request);
                }
                Some(bytes) => {
                    left[slot] -= received;
                    if left[slot] == 0 {
                        responses += 1;
                        left[slot] = bytes;
                        ring.send(slot, &exchange.request);
                        ring.receive(slot, first);
                    } else {
                        ring.receive(slot, Receive::Skip(left[slot]));
                    }
                }
            }
        }
    }
    Ok((responses, ring.system_calls()))
}

fn epoll_loop(sockets: &[TcpStream], exchange: &Exchange) -> Result<(u64, u64), Box<dyn Error>> {
    let poller = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let interest = epoll::EventFlags::IN | epoll::EventFlags::ET;
    for (index, socket) in sockets.iter().enumerate() {
        socket.set_nonblocking(true)?;
        epoll::add(
            &poller,
            socket.as_fd(),
            epoll::EventData::new_u64(index as u64),
            interest,
        )?;
        send(
            socket.as_raw_fd(),
            &exchange.request,
            MsgFlags::MSG_NOSIGNAL,
        )?;
    }
    let mut left = vec![exchange.response_bytes.unwrap_or(0); sockets.len()];
    let mut events = Vec::with_capacity(256);
    let mut buffer = vec![0; LONGEST_SKIP as usize];
    let (mut responses, mut system_calls) = (0, 0);
    let timeout = rustix::event::Timespec::try_from(Duration::from_millis(100))?;
    while Instant::now() < exchange.end {
        events.clear();
        epoll::wait(&poller, spare_capacity(&mut events), Some(&timeout))?;
        system_calls += 1;
        for event in &events {
            let index = event.data.u64() as usize;
            let socket = sockets[index].as_raw_fd();
            loop {
                let skipping = exchange
                    .response_bytes
                    .is_some_and(|bytes| left[index] != bytes);
                let (wanted, flags) = match skipping {
                    true => (left[index].min(LONGEST_SKIP) as usize, MsgFlags::MSG_TRUNC),
                    false => (FIRST_LOOK, MsgFlags::empty()),
                };
                system_calls += 1;
                let received = match recv(socket, &mut buffer[..wanted], flags) {
                    Err(Errno::EAGAIN) => break,
                    Ok(0) => return Err("the server closed a connection".into()),
                    other => other?,
                };
                let is_whole = match exchange.response_bytes {
                    None => true,
                    Some(bytes) => {
                        left[index] -= received as u64;
                        let is_whole = left[index] == 0;
                        if is_whole {
                            left[index] = bytes;
                        }
                        is_whole
                    }
                };
                if is_whole {
                    responses += 1;
                    system_calls += 1;
                    send(socket, &exchange.request, MsgFlags::MSG_NOSIGNAL)?;
                    break;
                }
                if received < wanted {
                    break;
                }
            }
        }
    }
    Ok((responses, system_calls))
}
