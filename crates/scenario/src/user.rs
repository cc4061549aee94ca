//! A user, who goes through the entries of a file.

use std::time::Duration;

use prony_hurl::evaluate::{Failure, FailureKind, Scope, Variables};
use prony_load::{Rejection, Reply, ScenarioRequest, Sending, Turn, User};
use prony_model::Outcome;

use crate::cookies::CookieJar;
use crate::environment::UserEnvironment;
use crate::options::EntryOptions;
use crate::prepare::{HurlScenario, PreparedEntry, accepts, place};
use crate::request::{RequestFailure, add_cookies, render};
use crate::response::{Unexpected, evaluate};
use crate::secrets::{self, hide};

/// The most characters of a reason that are shown.
const LONGEST_REASON: usize = 400;

/// A user of a [`HurlScenario`].
pub(crate) struct HurlUser<'a> {
    scenario: &'a HurlScenario,
    environment: UserEnvironment,
    variables: Variables,
    cookies: CookieJar,
    /// The position of the entry that is sent.
    position: usize,
    /// How far that entry is; `None` if its options are not read yet.
    run: Option<Run>,
    requests: Requests<'a>,
}

/// An entry that is sent, perhaps several times.
struct Run {
    options: EntryOptions,
    /// How often it is sent again if all goes well.
    repeats: u64,
    /// How often it may be sent again if its response is not as expected; `None` for any number.
    retries: Option<u64>,
    /// How long to wait before the next time.
    pause: Duration,
}

/// The requests of a user, and which of them is sent, or was sent last.
struct Requests<'a> {
    prepared: &'a [PreparedEntry],
    /// Those that differ from flow to flow, or from the prepared ones by cookies, by the position of their entry.
    own: Vec<ScenarioRequest>,
    /// The position of the entry of the one that is sent.
    position: usize,
    /// Whether that is one of its own.
    is_own: bool,
}

impl<'a> Requests<'a> {
    fn new(prepared: &'a [PreparedEntry]) -> Self {
        Self {
            prepared,
            own: prepared.iter().map(|entry| entry.request.clone()).collect(),
            position: 0,
            is_own: false,
        }
    }

    fn sent(&self) -> &ScenarioRequest {
        match self.is_own {
            true => &self.own[self.position],
            false => &self.prepared[self.position].request,
        }
    }
}

impl<'a> HurlUser<'a> {
    pub(crate) fn new(scenario: &'a HurlScenario, seed: u64) -> Self {
        Self {
            scenario,
            environment: UserEnvironment::new(scenario.sources.folder.as_deref(), seed),
            variables: scenario.sources.variables.clone(),
            cookies: CookieJar::default(),
            position: 0,
            run: None,
            requests: Requests::new(&scenario.entries),
        }
    }

    fn entry(&self) -> Option<&'a PreparedEntry> {
        self.scenario.entries.get(self.position)
    }

    fn advance(&mut self) -> Result<Turn, RequestFailure> {
        while let Some(entry) = self.entry() {
            let mut run = match self.run.take() {
                Some(run) => run,
                None => match self.begin_entry(entry)? {
                    Some(run) => run,
                    None => {
                        self.position += 1;
                        continue;
                    }
                },
            };
            self.prepare_request(entry, &run.options)?;
            let sending = Sending {
                entry: self.position,
                pause: std::mem::replace(&mut run.pause, run.options.delay),
                timeout: run.options.timeout,
                keep: entry.keep,
            };
            self.run = Some(run);
            return Ok(Turn::Send(sending));
        }
        Ok(Turn::End)
    }

    /// Reads the options of an entry; `None` if it is not sent.
    fn begin_entry(&mut self, entry: &PreparedEntry) -> Result<Option<Run>, Failure> {
        let options = match &entry.options {
            Some(options) => options.clone(),
            None => EntryOptions::evaluate(
                &entry.entry.request.options,
                &mut self.variables,
                &mut self.environment,
            )?,
        };
        let is_sent = !options.is_skipped && options.repeat > 0;
        Ok(is_sent.then(|| Run {
            repeats: options.repeat - 1,
            retries: options.retry,
            pause: options.delay,
            options,
        }))
    }

    fn prepare_request(
        &mut self,
        entry: &'a PreparedEntry,
        options: &EntryOptions,
    ) -> Result<(), RequestFailure> {
        let position = self.position;
        self.requests.position = position;
        self.requests.is_own = !(entry.is_constant && self.cookies.is_empty());
        if !self.requests.is_own {
            return Ok(());
        }
        let server = &self.scenario.server;
        let own = &mut self.requests.own[position];
        match entry.is_constant {
            true => own.clone_from(&entry.request),
            false => {
                let mut scope = Scope::new(&self.variables, &mut self.environment);
                render(&entry.entry.request, options, server, &mut scope, own)?;
            }
        }
        if let Some(cookies) = self.cookies.field(&server.url, own.parts().url().path()) {
            add_cookies(own, &cookies);
        }
        Ok(())
    }

    /// Keeps the cookies of a response.
    fn take_cookies(&mut self, reply: &Reply<'_>) {
        let Some(kept) = reply.kept.filter(|_| self.scenario.keeps_cookies) else {
            return;
        };
        let path = self.requests.sent().parts().url().path();
        self.cookies.take_all(kept, &self.scenario.server.url, path);
    }

    fn check(&mut self, entry: &PreparedEntry, reply: &Reply<'_>) -> Result<(), Unexpected> {
        if !accepts(&entry.entry, reply.status) {
            return Err(wrong_status(entry, reply.status));
        }
        let Some(kept) = reply.kept else {
            return Ok(());
        };
        let coerces = { self.run.as_ref() }.is_none_or(|run| run.options.coerces_json_path);
        evaluate(
            &entry.entry,
            coerces,
            self.requests.sent().parts().url().as_str(),
            (reply, kept),
            &mut self.variables,
            &mut self.environment,
        )
    }

    /// After a response that is as expected: the entry is sent again, or the next one.
    fn go_on(&mut self) {
        match &mut self.run {
            Some(run) if run.repeats > 0 => {
                run.repeats -= 1;
                run.retries = run.options.retry;
            }
            _ => {
                self.run = None;
                self.position += 1;
            }
        }
    }

    /// After one that is not: whether the entry is sent again.
    fn retries(&mut self) -> bool {
        let Some(run) = &mut self.run else {
            return false;
        };
        if run.retries == Some(0) {
            return false;
        }
        run.retries = run.retries.map(|retries| retries - 1);
        run.pause = run.options.retry_interval;
        true
    }

    fn rejection(&self, entry: &PreparedEntry, unexpected: &Unexpected) -> Rejection {
        let (outcome, detail) = match unexpected {
            Unexpected::Status(failures) => (Outcome::WrongStatus, self.described(failures)),
            Unexpected::Content(failures) => (Outcome::WrongBody, self.described(failures)),
            Unexpected::Other(outcome, reason) => {
                let position = entry.entry.request.position;
                let reason = hide(reason, &secrets::forms(&self.variables));
                let detail = format!("{}: {reason}", place(&self.scenario.file, position));
                (*outcome, detail)
            }
        };
        Rejection { outcome, detail }
    }

    /// Why the flow cannot go on.
    fn reason(&self, failure: &RequestFailure) -> String {
        let secrets = secrets::forms(&self.variables);
        let file = &self.scenario.file;
        if let RequestFailure::Failure(failure) = failure {
            return described(file, failure, &secrets);
        }
        let position = self.entry().map(|entry| entry.entry.request.position);
        let position = position.unwrap_or(prony_hurl::Position::START);
        let reason = hide(&failure.to_string(), &secrets);
        format!("{}: {reason}", place(file, position))
    }

    /// The first failure with its place, and how many others there are.
    fn described(&self, failures: &[Failure]) -> String {
        let Some((first, others)) = failures.split_first() else {
            return String::new();
        };
        let others = match others.len() {
            0 => String::new(),
            count => format!(" (and {count} more)"),
        };
        let secrets = secrets::forms(&self.variables);
        format!(
            "{}{others}",
            described(&self.scenario.file, first, &secrets)
        )
    }
}

/// A failure in a line, with its place and without secrets.
fn described(file: &str, failure: &Failure, secrets: &[String]) -> String {
    let place = place(file, failure.span.start);
    format!("{place}: {}", in_a_line(failure, secrets))
}

/// A failure in a line, without secrets.
pub(crate) fn in_a_line(failure: &Failure, secrets: &[String]) -> String {
    // A secret that is cut, or has other white space, would not be found.
    let reason = hide(&failure.kind.reason(), secrets);
    let words: Vec<&str> = reason.split_whitespace().collect();
    let mut reason = words.join(" ");
    if let Some((end, _)) = reason.char_indices().nth(LONGEST_REASON) {
        reason.truncate(end);
        reason.push('…');
    }
    format!("{}: {reason}", failure.kind.title())
}

fn wrong_status(entry: &PreparedEntry, actual: u16) -> Unexpected {
    match &entry.entry.response {
        Some(response) => Unexpected::Status(vec![Failure {
            span: response.status.span,
            kind: FailureKind::Status { actual },
        }]),
        None => Unexpected::Other(
            Outcome::WrongStatus,
            format!("expected a status from 200 to 399, got {actual}"),
        ),
    }
}

impl User for HurlUser<'_> {
    fn begin(&mut self) {
        self.position = 0;
        self.run = None;
        self.cookies.clear();
        let sources = &self.scenario.sources;
        if self.scenario.changes_variables {
            self.variables.clone_from(&sources.variables);
        }
        sources.fill(&mut self.variables, &mut self.environment.random);
    }

    fn next(&mut self) -> Turn {
        self.advance()
            .unwrap_or_else(|failure| Turn::Fail(self.reason(&failure)))
    }

    fn request(&self) -> &ScenarioRequest {
        self.requests.sent()
    }

    fn respond(&mut self, reply: &Reply<'_>) -> Result<(), Rejection> {
        let Some(entry) = self.entry() else {
            return Ok(());
        };
        self.take_cookies(reply);
        match self.check(entry, reply) {
            Ok(()) => self.go_on(),
            Err(unexpected) => {
                if !self.retries() {
                    return Err(self.rejection(entry, &unexpected));
                }
            }
        }
        Ok(())
    }
}
