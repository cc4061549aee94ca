//! A server that writes down its requests, and sends a part of each back.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use hyper::Response;

use crate::scripted;

/// A request as it arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct Received {
    pub(crate) target: String,
    pub(crate) cookie: String,
    pub(crate) authorization: String,
    pub(crate) note: String,
    pub(crate) body: String,
}

pub(super) struct Server {
    pub(crate) address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Server {
    pub(super) fn start() -> Self {
        let received = Arc::new(Mutex::new(Vec::new()));
        let log = received.clone();
        let address = scripted::start(move |received| respond(&received, &log));
        Self { address, received }
    }

    /// What has arrived so far.
    pub(super) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}

fn respond(arrived: &scripted::Received, log: &Mutex<Vec<Received>>) -> Response<Bytes> {
    let (request, header) = (&arrived.request, |name| arrived.header(name).to_owned());
    let target = request.uri().path_and_query();
    let received = Received {
        target: target.map_or(String::new(), ToString::to_string),
        cookie: header("cookie"),
        authorization: header("authorization"),
        note: header("x-note"),
        body: String::from_utf8_lossy(request.body()).into_owned(),
    };
    let mut response = Response::builder().header("content-type", "application/json");
    if received.cookie.is_empty() {
        let cookie = format!("user=c{}; Path=/", arrived.connection);
        response = response.header("set-cookie", cookie);
    }
    let echo = serde_json::json!({"target": received.target, "authorization": received.authorization, "note": received.note});
    log.lock().unwrap().push(received);
    response.body(echo.to_string().into()).unwrap()
}
