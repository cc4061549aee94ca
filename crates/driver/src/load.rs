//! The load that a tool is to make.

use std::time::Duration;

/// One request over and over.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// What is asked for.
    pub url: String,
    /// When its requests are sent.
    pub arrivals: Arrivals,
    /// How many connections, over all threads.
    pub connections: usize,
    /// How many threads.
    pub threads: usize,
    /// What ends it.
    pub end: End,
    /// How many requests are in flight over one connection at a time; 1 for no pipelining.
    pub pipeline: usize,
    /// Whether every request has a connection of its own.
    pub close: bool,
    /// The request's method; `None` for GET.
    pub method: Option<String>,
    /// Headers, `Name: value`.
    pub headers: Vec<String>,
    /// The request's body.
    pub body: Vec<u8>,
    /// How long a response may take.
    pub timeout: Duration,
}

/// When requests are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// The next one when the response to the last one is whole.
    Closed,
    /// At this rate, in requests a second.
    Rate(f64),
}

/// What ends a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Its time is up.
    After(Duration),
    /// So many requests were made.
    Requests(u64),
}

impl Load {
    /// GET in a closed loop over one connection of one thread, for a second.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            arrivals: Arrivals::Closed,
            connections: 1,
            threads: 1,
            end: End::After(Duration::from_secs(1)),
            pipeline: 1,
            close: false,
            method: None,
            headers: Vec::new(),
            body: Vec::new(),
            timeout: Duration::from_secs(10),
        }
    }
}
