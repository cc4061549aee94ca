//! What users of a Hurl file send, and what they make of responses. A test is the server: there are no sockets.

mod captures;
mod cookies;
mod options;
mod redirects;
mod refused;
mod requests;
mod responses;
mod secrets;
mod sources;

use std::path::Path;
use std::time::Duration;

use prony_load::tls::HttpVersion;
use prony_load::wire::h1::{Collect, Keep as _};
use prony_load::{FlowShare, Keep, Rejection, Reply, Scenario, ScenarioRequest, Turn, User};
use prony_scenario::{HurlScenario, Sources};

/// The start of every file: its server, `http://a`.
const FILE: &str = "test.hurl";

fn scenario_of(text: &str, sources: Sources) -> HurlScenario {
    HurlScenario::new(FILE, text, sources).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn scenario(text: &str) -> HurlScenario {
    scenario_of(text, Sources::default())
}

/// With constants.
fn scenario_with(text: &str, variables: &[(&str, &str)]) -> HurlScenario {
    let mut sources = Sources::default();
    for (name, value) in variables {
        sources.set(name, value).unwrap();
    }
    scenario_of(text, sources)
}

fn in_folder(folder: &Path) -> Sources {
    let mut sources = Sources::default();
    sources.set_folder(folder.to_path_buf());
    sources
}

/// Why a file is refused.
fn refusal(text: &str, sources: Sources) -> String {
    match HurlScenario::new(FILE, text, sources) {
        Ok(_) => panic!("accepted: {text}"),
        Err(error) => error.to_string(),
    }
}

/// A request as a test sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sent {
    entry: usize,
    method: String,
    path: String,
    /// `name: value` each.
    fields: Vec<String>,
    body: Vec<u8>,
    pause: Duration,
    timeout: Option<Duration>,
    keep: Keep,
}

impl Sent {
    fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter().filter_map(|line| line.split_once(": "));
        fields.find(|(field, _)| *field == name).map(|it| it.1)
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// The method and the path.
    fn line(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// A response that a test gives.
#[derive(Clone)]
struct Given {
    status: u16,
    http: HttpVersion,
    minor: u8,
    fields: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
}

impl Given {
    fn status(status: u16) -> Self {
        Self {
            status,
            http: HttpVersion::Http1,
            minor: 1,
            fields: Vec::new(),
            body: Vec::new(),
        }
    }

    fn ok(body: impl AsRef<[u8]>) -> Self {
        Self {
            body: body.as_ref().to_vec(),
            ..Self::status(200)
        }
    }

    fn field(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.fields.push((name.into(), value.as_ref().to_vec()));
        self
    }

    fn over(self, http: HttpVersion) -> Self {
        Self { http, ..self }
    }

    fn collect(&self, keep: Keep) -> Option<Collect> {
        let longest = match keep {
            Keep::Status => return None,
            Keep::Head => 0,
            Keep::All => u64::MAX,
        };
        let mut collect = Collect::of_bodies_up_to(longest);
        let mut head = format!("HTTP/1.{} {} x\r\n", self.minor, self.status).into_bytes();
        for (name, value) in &self.fields {
            head.extend_from_slice(name.as_bytes());
            head.extend_from_slice(b": ");
            head.extend_from_slice(value);
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(b"\r\n");
        collect.head(&head);
        collect.body(&self.body);
        Some(collect)
    }
}

/// A user, whose server is the test.
struct Client<'a> {
    user: Box<dyn User + 'a>,
    keep: Keep,
}

impl<'a> Client<'a> {
    fn of(scenario: &'a HurlScenario) -> Self {
        Self::seeded(scenario, 1)
    }

    /// The scenario lives as long as the test program.
    fn new(scenario: HurlScenario) -> Self {
        Self::of(Box::leak(Box::new(scenario)))
    }

    fn seeded(scenario: &'a HurlScenario, seed: u64) -> Self {
        let mut user = scenario.user(0, seed, FlowShare::ALL);
        user.begin();
        Self {
            user,
            keep: Keep::Status,
        }
    }

    fn turn(&mut self) -> Result<Option<Sent>, String> {
        let sending = match self.user.next() {
            Turn::Send(sending) => sending,
            Turn::End => return Ok(None),
            Turn::Fail(reason) => return Err(reason),
        };
        self.keep = sending.keep;
        let parts = self.user.request().parts();
        // Every request has these two, unless its entry replaces them.
        let is_default = |name: &http::HeaderName| name == "accept" || name == "user-agent";
        let fields = parts.fields().iter().filter(|(name, _)| !is_default(name));
        Ok(Some(Sent {
            entry: sending.entry,
            method: parts.method().as_str().into(),
            path: parts.url().path().into(),
            fields: fields
                .map(|(name, value)| {
                    format!("{name}: {}", String::from_utf8_lossy(value.as_bytes()))
                })
                .collect(),
            body: parts.body().to_vec(),
            pause: sending.pause,
            timeout: sending.timeout,
            keep: sending.keep,
        }))
    }

    /// What is sent next.
    #[track_caller]
    fn sends(&mut self) -> Sent {
        self.turn().unwrap().expect("the flow is over")
    }

    #[track_caller]
    fn ends(&mut self) {
        assert_eq!(self.turn(), Ok(None));
    }

    /// Why the flow cannot go on.
    #[track_caller]
    fn fails(&mut self) -> String {
        self.turn().expect_err("the flow goes on")
    }

    fn respond(&mut self, given: &Given) -> Result<(), Rejection> {
        let kept = given.collect(self.keep);
        self.user.respond(&Reply {
            status: given.status,
            http: given.http,
            kept: kept.as_ref(),
            duration: Duration::from_millis(5),
            server: Some([127, 0, 0, 1].into()),
        })
    }

    /// A response that must be as expected.
    #[track_caller]
    fn takes(&mut self, given: &Given) {
        self.respond(given).unwrap();
    }

    /// Sends the next request, whose response must be as expected.
    #[track_caller]
    fn exchange(&mut self, given: &Given) -> Sent {
        let sent = self.sends();
        self.takes(given);
        sent
    }

    /// Why a response is not as expected.
    #[track_caller]
    fn rejects(&mut self, given: &Given) -> Rejection {
        self.respond(given).expect_err("the response is accepted")
    }

    /// What the request of the last turn is, by its place in memory.
    fn identity(&self) -> *const ScenarioRequest {
        std::ptr::from_ref(self.user.request())
    }

    /// Goes through a flow of responses that are all this one.
    #[track_caller]
    fn flow(&mut self, given: &Given) -> Vec<Sent> {
        self.user.begin();
        let mut all = Vec::new();
        while let Some(sent) = self.turn().unwrap() {
            all.push(sent);
            self.takes(given);
        }
        all
    }
}

/// What a flow of a file sends if every response is an empty 200.
fn sent(text: &str, variables: &[(&str, &str)]) -> Vec<Sent> {
    Client::of(&scenario_with(text, variables)).flow(&Given::status(200))
}
