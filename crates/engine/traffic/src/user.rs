//! A user, who goes through the entries of a scenario.

use std::time::Duration;

use http::HeaderValue;
use prony_hurl::ast;
use prony_hurl::evaluate::{Failure, Redirect, Scope, Variables};
use prony_model::Outcome;

use crate::cookies::CookieJar;
use crate::environment::UserEnvironment;
use crate::error::{in_a_line, place};
use crate::evaluate::{Received, Unexpected, accepts, evaluate};
use crate::options::EntryOptions;
use crate::redirect;
use crate::request::{RequestFailure, follow, given_cookies, render, set_cookies};
use crate::scenario::{Cookies, EntrySource, PreparedEntry, Scenario};
use crate::secrets::Secrets;
use crate::turn::{FlowShare, Rejection, Reply, ScenarioRequest, Sending, Turn};

/// A user of a [`Scenario`].
pub struct User<'a> {
    scenario: &'a Scenario,
    share: FlowShare,
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
    /// The redirects that were followed this time.
    redirects: Vec<Redirect>,
}

/// The requests of a user, and which of them is sent, or was sent last.
struct Requests<'a> {
    prepared: &'a [PreparedEntry],
    /// Those that differ from flow to flow, or from the prepared ones by cookies, by the position of their entry.
    own: Vec<ScenarioRequest>,
    /// The position of the entry of the one that is sent.
    position: usize,
    is_own: bool,
    /// The cookies that its entry gives, if it is one of its own.
    given_cookies: Option<HeaderValue>,
    /// The request that follows a redirect instead.
    redirected: Option<ScenarioRequest>,
}

impl<'a> Requests<'a> {
    fn new(prepared: &'a [PreparedEntry]) -> Self {
        Self {
            prepared,
            own: prepared.iter().map(|entry| entry.request.clone()).collect(),
            position: 0,
            is_own: false,
            given_cookies: None,
            redirected: None,
        }
    }

    fn sent(&self) -> &ScenarioRequest {
        match &self.redirected {
            Some(request) => request,
            None if self.is_own => &self.own[self.position],
            None => &self.prepared[self.position].request,
        }
    }
}

impl<'a> User<'a> {
    fn new(scenario: &'a Scenario, seed: u64, share: FlowShare) -> Self {
        Self {
            scenario,
            share,
            environment: UserEnvironment::new(scenario.sources.files.as_ref(), seed),
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
            let is_redirected = self.requests.redirected.is_some();
            let pause = if is_redirected {
                Duration::ZERO
            } else {
                self.prepare_request(entry, &run.options)?;
                std::mem::replace(&mut run.pause, run.options.delay)
            };
            let sending = Sending {
                entry: self.position,
                pause,
                timeout: run.options.timeout,
                keep: entry.keep,
                is_redirected,
            };
            self.run = Some(run);
            return Ok(Turn::Send(sending));
        }
        Ok(Turn::End)
    }

    /// Reads the options of an entry; `None` if it is not sent.
    fn begin_entry(&mut self, entry: &PreparedEntry) -> Result<Option<Run>, Failure> {
        let options = match (entry.options, entry.source.hurl()) {
            (None, Some(hurl)) => EntryOptions::evaluate(
                &hurl.request.options,
                &mut self.variables,
                &mut self.environment,
            )?,
            (options, _) => options.unwrap_or_default(),
        };
        let is_sent = !options.is_skipped && options.repeat > 0;
        Ok(is_sent.then(|| Run {
            repeats: options.repeat - 1,
            retries: options.retry,
            pause: options.delay,
            redirects: Vec::new(),
            options,
        }))
    }

    fn prepare_request(
        &mut self,
        entry: &'a PreparedEntry,
        options: &EntryOptions,
    ) -> Result<(), RequestFailure> {
        let requests = &mut self.requests;
        requests.position = self.position;
        requests.is_own = false;
        if entry.is_constant && self.cookies.is_empty() {
            return Ok(());
        }
        let server = &self.scenario.server;
        let own = &mut requests.own[self.position];
        // A constant one only ever differs by its cookies.
        if !entry.is_constant {
            let mut scope = Scope::new(&self.variables, &mut self.environment);
            match &entry.source {
                EntrySource::Hurl(entry) => {
                    render(&entry.request, options, server, &mut scope, own)?;
                }
                EntrySource::Template(template) => {
                    if template.keeps_cookies {
                        // The cookies of the last request go.
                        let fields = entry.request.parts().fields();
                        fields.clone_into(own.fields_mut());
                    }
                    template.render(&mut scope, own)?;
                }
            }
        }
        let kept = self.cookies.field(&server.url, own.parts().url().path());
        requests.is_own = !entry.is_constant || kept.is_some();
        if kept.is_some() || options.follows_redirects {
            let given = if entry.is_constant {
                given_cookies(&entry.request)
            } else {
                given_cookies(own)
            };
            set_cookies(own, kept.as_deref(), given.as_ref());
            requests.given_cookies = given;
        }
        Ok(())
    }

    /// Follows a redirect: makes the next request of the entry, and returns whether there is one.
    fn redirect(
        &mut self,
        prepared: &PreparedEntry,
        entry: &ast::Entry,
        reply: &Reply<'_>,
    ) -> Result<bool, Unexpected> {
        let Some(run) = &mut self.run else {
            return Ok(false);
        };
        let location = if run.options.follows_redirects {
            redirect::location(reply)
        } else {
            None
        };
        let Some(location) = location else {
            return Ok(false);
        };
        if run.redirects.len() as u64 >= run.options.most_redirects {
            let position = entry.request.url.position;
            let failure = Failure::new(position, "HTTP connection", "too many redirect");
            return Err(Unexpected::Status(vec![failure]));
        }
        let refused = |reason: RequestFailure| {
            let reason = format!("the response redirects, but {reason}");
            Unexpected::Other(Outcome::WrongStatus, reason)
        };
        let server = &self.scenario.server;
        let sent = self.requests.sent();
        let url = redirect::resolved(sent.parts().url(), &location);
        let target = server.target_of(&url, false).map_err(refused)?;
        let given = if self.requests.is_own {
            self.requests.given_cookies.clone()
        } else {
            given_cookies(&prepared.request)
        };
        let mut next = sent.clone();
        follow(&mut next, &target, reply.status, &entry.request)
            .map_err(|error| refused(error.into()))?;
        let url = next.parts().url();
        let kept = self.cookies.field(&server.url, url.path());
        run.redirects.push(Redirect {
            location: url.as_str().to_owned(),
            status: reply.status,
        });
        set_cookies(&mut next, kept.as_deref(), given.as_ref());
        self.requests.redirected = Some(next);
        Ok(true)
    }

    /// Takes a response, which may be the last one of several redirects.
    fn take(
        &mut self,
        prepared: &PreparedEntry,
        entry: &ast::Entry,
        reply: &Reply<'_>,
    ) -> Result<(), Unexpected> {
        let result = match self.redirect(prepared, entry, reply) {
            Ok(true) => return Ok(()),
            Ok(false) => self.check(entry, reply).map(|()| self.go_on()),
            Err(unexpected) => Err(unexpected),
        };
        self.requests.redirected = None;
        if let Some(run) = &mut self.run {
            run.redirects.clear();
        }
        result
    }

    /// Keeps the cookies of a response.
    fn take_cookies(&mut self, reply: &Reply<'_>) {
        let Some(kept) = reply
            .kept
            .filter(|_| self.scenario.cookies != Cookies::Never)
        else {
            return;
        };
        let path = self.requests.sent().parts().url().path();
        self.cookies.take_all(kept, &self.scenario.server.url, path);
    }

    fn check(&mut self, entry: &ast::Entry, reply: &Reply<'_>) -> Result<(), Unexpected> {
        if !accepts(entry, reply.status) {
            return Err(wrong_status(entry, reply.status));
        }
        let Some(kept) = reply.kept else {
            return Ok(());
        };
        let run = self.run.as_ref();
        let coerces = run.is_none_or(|run| run.options.coerces_json_path);
        let received = Received {
            url: self.requests.sent().parts().url().as_str(),
            redirects: run.map_or(&[][..], |run| &run.redirects),
            reply,
            kept,
        };
        evaluate(
            entry,
            coerces,
            &received,
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

    fn rejection(&self, entry: &ast::Entry, unexpected: &Unexpected) -> Rejection {
        let (outcome, detail) = match unexpected {
            Unexpected::Status(failures) => (Outcome::WrongStatus, self.described(failures)),
            Unexpected::Content(failures) => (Outcome::WrongBody, self.described(failures)),
            Unexpected::Other(outcome, reason) => {
                let position = entry.request.position;
                let reason = self.secrets().hide(reason);
                let detail = format!("{}: {reason}", place(self.scenario.file(), position));
                (*outcome, detail)
            }
        };
        Rejection { outcome, detail }
    }

    /// Why the flow cannot go on.
    fn reason(&self, failure: &RequestFailure) -> String {
        let secrets = self.secrets();
        if let RequestFailure::Failure(failure) = failure {
            return described(self.scenario.file(), failure, &secrets);
        }
        let reason = secrets.hide(&failure.to_string());
        match self.entry().and_then(|entry| entry.source.hurl()) {
            Some(entry) => format!(
                "{}: {reason}",
                place(self.scenario.file(), entry.request.position)
            ),
            None => reason,
        }
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
        let first = described(self.scenario.file(), first, &self.secrets());
        format!("{first}{others}")
    }

    /// What no message shows: the secrets of the scenario, those that were captured, and what basic authentication made
    /// of them.
    fn secrets(&self) -> Secrets {
        let mut secrets = self.scenario.secrets.clone();
        secrets.extend(self.variables.secrets());
        // A response may show the credentials of any request of the flow.
        for request in self.requests.own.iter().chain([self.requests.sent()]) {
            secrets.add_credentials(request);
        }
        secrets
    }
}

/// A failure in a line, with its place and without secrets.
fn described(file: &str, failure: &Failure, secrets: &Secrets) -> String {
    let place = place(file, failure.position);
    format!("{place}: {}", in_a_line(failure, secrets))
}

fn wrong_status(entry: &ast::Entry, actual: u16) -> Unexpected {
    match &entry.response {
        Some(response) => Unexpected::Status(vec![Failure::status(&response.status, actual)]),
        None => Unexpected::Other(
            Outcome::WrongStatus,
            format!("expected a status from 200 to 399, got {actual}"),
        ),
    }
}

impl Scenario {
    /// A new user, who begins flows of `share`. Random values of the user come from `seed`, and values that differ from
    /// flow to flow are those of the flows in `share`.
    pub fn user(&self, seed: u64, share: FlowShare) -> User<'_> {
        User::new(self, seed, share)
    }
}

impl User<'_> {
    /// Begins the next flow.
    pub fn begin(&mut self) {
        self.position = 0;
        self.run = None;
        self.requests.redirected = None;
        if self.scenario.cookies != Cookies::Always {
            self.cookies.clear();
        }
        let sources = &self.scenario.sources;
        if self.scenario.changes_variables {
            self.variables.clone_from(&sources.variables);
        }
        let random = &mut self.environment.random;
        sources.fill(self.share, &mut self.variables, random);
    }

    /// What the user does next in the flow.
    pub fn next_turn(&mut self) -> Turn {
        self.advance()
            .unwrap_or_else(|failure| Turn::Fail(self.reason(&failure)))
    }

    /// The request of the last [`Turn::Send`].
    pub fn request(&self) -> &ScenarioRequest {
        self.requests.sent()
    }

    /// Takes the response to it.
    ///
    /// # Errors
    ///
    /// If it is not as expected. That ends the flow.
    pub fn respond(&mut self, reply: &Reply<'_>) -> Result<(), Rejection> {
        let Some(prepared) = self.entry() else {
            return Ok(());
        };
        self.take_cookies(reply);
        let Some(entry) = prepared.source.hurl() else {
            self.go_on();
            return Ok(());
        };
        match self.take(prepared, entry, reply) {
            Err(unexpected) if !self.retries() => Err(self.rejection(entry, &unexpected)),
            _ => Ok(()),
        }
    }
}
