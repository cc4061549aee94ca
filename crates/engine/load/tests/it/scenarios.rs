//! A scenario for tests: users go through steps, say in each request where they are, and count what they do.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use prony_load::tls::HttpVersion;
use prony_load::{
    Entry, FlowShare, HttpUrl, Keep, LoadRequest, Rejection, Reply, RequestParts, Scenario,
    ScenarioRequest, Sending, Turn, User,
};
use prony_model::Outcome;

/// A step of a flow. A request of it has the path `/flow/ENTRY?user=U&flow=F&row=R`: the `F`th flow of user `U`, and
/// the `R`th of all.
#[derive(Clone, Copy)]
pub struct Step {
    pub turn: Kind,
    pub method: &'static str,
    pub pause: Duration,
    pub timeout: Option<Duration>,
    pub keep: Keep,
    /// How many bytes its body has.
    pub body: usize,
    pub is_redirected: bool,
}

/// What a user does in a step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Send,
    End,
    Fail,
}

impl Step {
    /// A request without a body, whose response must be 200.
    pub const GET: Self = Self {
        turn: Kind::Send,
        method: "GET",
        pause: Duration::ZERO,
        timeout: None,
        keep: Keep::Status,
        body: 0,
        is_redirected: false,
    };

    pub const END: Self = Self {
        turn: Kind::End,
        ..Self::GET
    };

    pub const FAIL: Self = Self {
        turn: Kind::Fail,
        ..Self::GET
    };
}

/// What all users have done.
#[derive(Default)]
pub struct Counts {
    pub begun: AtomicU64,
    pub accepted: AtomicU64,
}

impl Counts {
    pub fn begun(&self) -> u64 {
        self.begun.load(Relaxed)
    }
}

/// The scenario.
pub struct Steps {
    entries: Vec<Entry>,
    steps: Vec<Step>,
    server: HttpUrl,
    http: HttpVersion,
    /// Whether the server gives every body back.
    echoes: bool,
    counts: Arc<Counts>,
}

impl Steps {
    pub fn of(server: &str, steps: &[Step]) -> Self {
        let entries = steps.iter().enumerate();
        Self {
            entries: entries
                .map(|(number, step)| Entry::new(format!("entry {number}"), step.method).unwrap())
                .collect(),
            steps: steps.to_vec(),
            server: server.parse().unwrap(),
            http: HttpVersion::Http1,
            echoes: false,
            counts: Arc::default(),
        }
    }

    /// The server gives every body back, which a user who keeps it checks.
    pub fn echoed_over(self, http: HttpVersion) -> Self {
        Self {
            http,
            echoes: true,
            ..self
        }
    }

    /// As a plan has it, with what is counted.
    pub fn request(self) -> (LoadRequest, Arc<Counts>) {
        let (counts, http) = (self.counts.clone(), self.http);
        (LoadRequest::Scenario(Arc::new(self), http), counts)
    }
}

impl Scenario for Steps {
    fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn user(&self, number: u64, _: u64, share: FlowShare) -> Box<dyn User + '_> {
        Box::new(Walker {
            steps: self,
            number,
            share,
            flow: 0,
            row: 0,
            position: 0,
            request: None,
        })
    }

    fn skip_flows(&self, count: u64) {
        self.counts.begun.fetch_add(count, Relaxed);
    }
}

struct Walker<'a> {
    steps: &'a Steps,
    number: u64,
    share: FlowShare,
    flow: u64,
    row: u64,
    /// How many steps were taken.
    position: usize,
    request: Option<ScenarioRequest>,
}

impl User for Walker<'_> {
    fn begin(&mut self) {
        let nth = self.steps.counts.begun.fetch_add(1, Relaxed);
        self.row = self.share.number(nth);
        self.flow += 1;
        self.position = 0;
    }

    fn next(&mut self) -> Turn {
        let entry = self.position;
        let Some(step) = self.steps.steps.get(entry) else {
            return Turn::End;
        };
        match step.turn {
            Kind::Send => {}
            Kind::End => return Turn::End,
            Kind::Fail => return Turn::Fail("it cannot go on".into()),
        }
        self.position += 1;
        let (user, flow, row) = (self.number, self.flow, self.row);
        let path = format!("/flow/{entry}?user={user}&flow={flow}&row={row}");
        let url = self.steps.server.with_path(&path).unwrap();
        let parts = RequestParts::new(step.method, &url, &[], &vec![b'x'; step.body]);
        self.request = Some(ScenarioRequest::new(parts.unwrap()).unwrap());
        Turn::Send(Sending {
            entry,
            pause: step.pause,
            timeout: step.timeout,
            keep: step.keep,
            is_redirected: step.is_redirected,
        })
    }

    fn request(&self) -> &ScenarioRequest {
        self.request.as_ref().unwrap()
    }

    fn respond(&mut self, reply: &Reply<'_>) -> Result<(), Rejection> {
        let reject = |outcome, detail: String| Err(Rejection { outcome, detail });
        let step = &self.steps.steps[self.position - 1];
        if reply.status != 200 {
            return reject(Outcome::WrongStatus, format!("the status {}", reply.status));
        }
        if reply.http != self.steps.http || reply.server.is_none() {
            return reject(Outcome::WrongBody, format!("{reply:?}"));
        }
        let fields = reply.kept.map(|kept| kept.fields().count());
        match (step.keep, reply.kept) {
            (Keep::Status, None) => {}
            (Keep::Head, Some(_)) if fields > Some(0) => {}
            (Keep::All, Some(kept))
                if fields > Some(0)
                    && (!self.steps.echoes || kept.kept_body() == vec![b'x'; step.body]) => {}
            _ => return reject(Outcome::WrongBody, format!("kept {:?}", reply.kept)),
        }
        self.steps.counts.accepted.fetch_add(1, Relaxed);
        Ok(())
    }
}
