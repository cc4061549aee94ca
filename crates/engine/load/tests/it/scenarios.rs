//! Flows for tests: Hurl files made of steps, whose requests say which flow they belong to.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use prony_traffic::{HttpVersion, Keep, Scenario, Sources, Traffic};

/// A step of a flow. A request of it has the path `/flow/ENTRY?row=R`, of the `R`th flow of all.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub(crate) turn: Kind,
    pub(crate) method: &'static str,
    pub(crate) pause: Duration,
    pub(crate) timeout: Option<Duration>,
    pub(crate) keep: Keep,
    /// How many bytes its body has, and that of its response if all of that is kept and the server gives it back.
    pub(crate) body: usize,
    pub(crate) follows_redirects: bool,
}

/// What a user does in a step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Send,
    Skip,
    Fail,
}

impl Step {
    /// A request without a body, whose response must be 200.
    pub(super) const GET: Self = Self {
        turn: Kind::Send,
        method: "GET",
        pause: Duration::ZERO,
        timeout: None,
        keep: Keep::Status,
        body: 0,
        follows_redirects: false,
    };

    pub(super) const SKIP: Self = Self {
        turn: Kind::Skip,
        ..Self::GET
    };

    pub(super) const FAIL: Self = Self {
        turn: Kind::Fail,
        ..Self::GET
    };

    /// The entry of the file.
    fn entry(&self, number: usize, server: &str) -> String {
        let Self { method, body, .. } = self;
        let mut text = format!("{method} {server}flow/{number}?row={{{{row}}}}\n[Options]\n");
        let mut option = |name: &str, value: &dyn std::fmt::Display| {
            writeln!(text, "{name}: {value}").unwrap();
        };
        match self.turn {
            Kind::Send => {}
            Kind::Skip => option("skip", &"{{yes}}"),
            Kind::Fail => option("skip", &"{{word}}"),
        }
        if !self.pause.is_zero() {
            option("delay", &format_args!("{}ms", self.pause.as_millis()));
        }
        if let Some(timeout) = self.timeout {
            option("max-time", &format_args!("{}ms", timeout.as_millis()));
        }
        if self.follows_redirects {
            option("location", &true);
        }
        if *body > 0 {
            writeln!(text, "`{}`", "x".repeat(*body)).unwrap();
        }
        text.push_str(match self.keep {
            Keep::Status => "HTTP 200\n",
            Keep::Head => "HTTP 200\n[Asserts]\nheader \"x-none\" not exists\n",
            Keep::All => "HTTP 200\n[Asserts]\nbody contains \"x\"\n",
        });
        if self.keep == Keep::All && *body > 0 {
            writeln!(text, "bytes count == {body}").unwrap();
        }
        text
    }
}

/// The flows of a plan, which count themselves.
pub(super) struct Counts(Arc<Scenario>);

impl Counts {
    pub(super) fn begun(&self) -> u64 {
        self.0.flows_begun()
    }
}

/// What users send who go through these steps.
pub(super) fn flows_of(server: &str, steps: &[Step], http: HttpVersion) -> (Traffic, Counts) {
    let steps = steps.iter().enumerate();
    let text: String = steps
        .map(|(number, step)| step.entry(number, server))
        .collect();
    let mut sources = Sources::default();
    sources.set("yes", "true").unwrap();
    sources.set("word", "no-flag").unwrap();
    sources.add_counter("row", 0).unwrap();
    let scenario = Scenario::new("steps.hurl", &text, sources).unwrap();
    let scenario = Arc::new(scenario);
    (Traffic::Scenario(scenario.clone(), http), Counts(scenario))
}
