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

use prony_traffic::{
    Collect, FlowShare, HttpVersion, Keep, Rejection, Reply, Scenario, ScenarioRequest, Sources,
    SourcesError, Turn, User,
};

/// The start of every file: its server, `http://a`.
const FILE: &str = "test.hurl";

fn scenario_of(text: &str, sources: Sources) -> Scenario {
    Scenario::new(FILE, text, sources).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn scenario(text: &str) -> Scenario {
    scenario_of(text, Sources::default())
}

/// With constants.
fn scenario_with(text: &str, variables: &[(&str, &str)]) -> Scenario {
    let mut variables = variables.iter();
    let set = |it: &mut Sources| variables.try_for_each(|(name, value)| it.set(name, value));
    scenario_of(text, sources(set))
}

fn in_folder(folder: &Path) -> Sources {
    let mut sources = Sources::default();
    sources.set_folder(folder.to_path_buf());
    sources
}

fn sources(add: impl FnOnce(&mut Sources) -> Result<(), SourcesError>) -> Sources {
    let mut sources = Sources::default();
    add(&mut sources).unwrap();
    sources
}

/// Why a file is refused.
fn refusal(text: &str, sources: Sources) -> String {
    match Scenario::new(FILE, text, sources) {
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

    /// The method, the path and the parts that `line` has: `GET /x + cookie: none + pause: 5ms + body: text`.
    fn like(&self, line: &str) -> String {
        let part = |part: &str| {
            let name = part.split_once(": ").expect(line).0;
            let value = match name {
                "body" => self.text().to_owned(),
                "pause" => format!("{:?}", self.pause),
                _ => self.field(name).unwrap_or("none").to_owned(),
            };
            format!(" + {name}: {value}")
        };
        let parts: String = line.split(" + ").skip(1).map(part).collect();
        format!("{} {}{parts}", self.method, self.path)
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

/// `302 + location: /x + body: text`, and `http: 1.0` or `http: 2` for another version than 1.1.
impl From<&str> for Given {
    fn from(text: &str) -> Self {
        let mut parts = text.split(" + ");
        let mut given = Self {
            status: parts.next().unwrap_or_default().parse().expect(text),
            http: HttpVersion::Http1,
            minor: 1,
            fields: Vec::new(),
            body: Vec::new(),
        };
        for part in parts {
            match part.split_once(": ").expect(text) {
                ("body", body) => given.body = body.into(),
                ("http", "1.0") => given.minor = 0,
                ("http", "2") => given.http = HttpVersion::Http2,
                (name, value) => given = given.field(name, value),
            }
        }
        given
    }
}

impl Given {
    fn ok(body: impl AsRef<[u8]>) -> Self {
        Self {
            body: body.as_ref().to_vec(),
            ..Self::from("200")
        }
    }

    fn field(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let value = value.as_ref().to_vec();
        self.fields.push((name.to_owned(), value));
        self
    }

    fn collect(&self, keep: Keep) -> Option<Collect> {
        let longest = match keep {
            Keep::Status => return None,
            Keep::Head => 0,
            Keep::All => u64::MAX,
        };
        let mut collect = Collect::of_bodies_up_to(longest);
        collect.begin_head(self.status);
        if self.minor == 0 {
            collect.set_http10();
        }
        for (name, value) in &self.fields {
            collect.add_field(name.as_bytes(), value);
        }
        collect.add_body(&self.body);
        Some(collect)
    }
}

/// A user, whose server is the test.
struct Client<'a> {
    user: User<'a>,
    keep: Keep,
}

impl<'a> Client<'a> {
    fn of(scenario: &'a Scenario) -> Self {
        Self::seeded(scenario, 1)
    }

    /// The scenario lives as long as the test program.
    fn new(scenario: Scenario) -> Self {
        Self::of(Box::leak(Box::new(scenario)))
    }

    fn seeded(scenario: &'a Scenario, seed: u64) -> Self {
        let mut user = scenario.user(seed, FlowShare::ALL);
        user.begin();
        Self {
            user,
            keep: Keep::Status,
        }
    }

    fn turn(&mut self) -> Result<Option<Sent>, String> {
        let sending = match self.user.next_turn() {
            Turn::Send(sending) => sending,
            Turn::End => return Ok(None),
            Turn::Fail(reason) => return Err(reason),
        };
        self.keep = sending.keep;
        let parts = self.user.request().parts();
        let field = |(name, value): &(http::HeaderName, http::HeaderValue)| {
            format!("{name}: {}", String::from_utf8_lossy(value.as_bytes()))
        };
        Ok(Some(Sent {
            entry: sending.entry,
            method: parts.method().as_str().into(),
            path: parts.url().path().into(),
            fields: parts.fields().iter().map(field).collect(),
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

    /// Why the flow cannot go on.
    #[track_caller]
    fn fails(&mut self) -> String {
        self.turn().expect_err("the flow goes on")
    }

    fn respond(&mut self, given: impl Into<Given>) -> Result<(), Rejection> {
        let given = given.into();
        let kept = given.collect(self.keep);
        self.user.respond(&Reply {
            status: given.status,
            http: given.http,
            kept: kept.as_ref(),
            duration: Duration::from_millis(5),
            server: Some([127, 0, 0, 1].into()),
        })
    }

    /// Sends the next request, whose response must be as expected.
    #[track_caller]
    fn exchange(&mut self, given: impl Into<Given>) -> Sent {
        let sent = self.sends();
        self.respond(given).unwrap();
        sent
    }

    /// Sends the next request. Why its response is not as expected.
    #[track_caller]
    fn rejects(&mut self, given: impl Into<Given>) -> String {
        self.sends();
        let rejection = self.respond(given);
        rejection.expect_err("the response is accepted").detail
    }

    /// What the request of the last turn is, by its place in memory.
    fn identity(&self) -> *const ScenarioRequest {
        std::ptr::from_ref(self.user.request())
    }

    /// Goes through a flow of responses that are all this one.
    #[track_caller]
    fn flow(&mut self, given: impl Into<Given>) -> Vec<Sent> {
        let given = given.into();
        self.user.begin();
        let mut all = Vec::new();
        while let Some(sent) = self.turn().unwrap() {
            all.push(sent);
            self.respond(given.clone()).unwrap();
        }
        all
    }

    /// Each line is what is sent (see [`Sent::like`]), ` | ` and the response to it, and ` | ` and why it is rejected, if
    /// it is. Other lines are `begin`, which begins a flow, `end`, and `fail: REASON`.
    #[track_caller]
    fn talk(&mut self, lines: &[&str]) {
        for &line in lines {
            if line == "begin" {
                self.user.begin();
                continue;
            }
            let mut cells = line.split(" | ");
            let request = cells.next().expect(line);
            let sent = match self.turn() {
                Ok(Some(sent)) => sent.like(request),
                Ok(None) => "end".to_owned(),
                Err(reason) => format!("fail: {reason}"),
            };
            assert_eq!(sent, request, "{line}");
            if let Some(given) = cells.next() {
                let rejection = self.respond(given).err();
                let rejection = rejection.map(|it| format!("{:?} {}", it.outcome, it.detail));
                assert_eq!(rejection.as_deref(), cells.next(), "{line}");
            }
        }
    }
}

/// A user of this file.
fn client(text: &str) -> Client<'static> {
    Client::new(scenario(text))
}

/// With constants.
fn client_with(text: &str, variables: &[(&str, &str)]) -> Client<'static> {
    Client::new(scenario_with(text, variables))
}

/// What a flow of a file sends if every response is an empty 200.
fn sent(text: &str, variables: &[(&str, &str)]) -> Vec<Sent> {
    client_with(text, variables).flow("200")
}

fn paths(all: &[Sent]) -> Vec<&str> {
    all.iter().map(|sent| sent.path.as_str()).collect()
}
