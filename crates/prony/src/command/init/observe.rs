//! What a server responds, so that its responses need not be described by hand.

use std::path::Path;
use std::time::{Duration, Instant};

use prony_load::{Conversation, EncodedTraffic, ExchangeError};
use prony_model::{Protocol, ServerStatus};
use prony_present::words;
use prony_run::run::{
    Access, OutsideProcess, Target, Testbed, WrongScheme, is_unavailable, prepare,
};
use prony_server::{Built, Outside, Probe, Server, bring_up, free_port};
use prony_traffic::{HttpUrl, RequestError, RequestParts, Response, UrlError};

use super::routes;
use crate::view::run_progress;

/// The least time for a first response, even if the server took nearly all of its time to listen.
const LEAST_TIME: Duration = Duration::from_secs(1);
const STOP_TIME: Duration = Duration::from_secs(2);
/// How often each path is requested, to see what stays the same.
const REQUESTS: usize = 3;
const BAD_REQUEST: u16 = 400;
/// What Prony tries if `/` has no page.
const USUAL_PATHS: [&str; 8] = [
    "/",
    "/health",
    "/healthz",
    "/api",
    "/hello",
    "/ping",
    "/status",
    "/index.html",
];

pub(super) enum NotObserved {
    WrongScheme(WrongScheme),
    /// It has none of the paths that Prony tried.
    NoPath(String),
    /// It needs longer than a flag allows, or a program that is missing.
    Unfit(String),
    Because(String),
}

impl<T: Into<String>> From<T> for NotObserved {
    fn from(reason: T) -> Self {
        Self::Because(reason.into())
    }
}

/// What a server responded to requests for one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Observed {
    pub(crate) path: String,
    pub(crate) status: u16,
    pub(crate) content_type: Option<String>,
    /// The body, if it was the same each time.
    pub(crate) body: Option<Vec<u8>>,
    /// Whether the server kept the connection open between the requests.
    pub(crate) keeps_alive: bool,
}

impl Observed {
    fn of(path: &str, responses: &[Response], keeps_alive: bool) -> Option<Self> {
        let (first, others) = responses.split_first()?;
        let content_type = first.header("content-type");
        let content_type = content_type.and_then(|value| value.split(';').next());
        let is_same = others.iter().all(|other| other.body == first.body);
        Some(Self {
            path: path.to_owned(),
            status: first.status,
            content_type: content_type.map(|media| media.trim().to_owned()),
            body: is_same.then(|| first.body.clone()),
            keeps_alive,
        })
    }

    fn is_fit(&self) -> bool {
        self.status < BAD_REQUEST
    }
}

pub(super) struct WantedPaths<'a> {
    /// These paths, or else the first one that it has: of the usual ones, and of the routes in its sources.
    pub(crate) paths: &'a [String],
    /// How long each response but the first may take.
    pub(crate) timeout: Duration,
    pub(crate) sources: &'a Path,
}

/// Builds and starts the server, unless it already runs, and requests what is wanted. The first response of a server that
/// Prony starts may take as long as the server has to be ready. `Err` if the server cannot be built or started, does not
/// respond, or has none of the paths.
pub(super) fn observe(
    testbed: &Testbed,
    server: &Server,
    wanted: &WantedPaths<'_>,
) -> Result<Vec<Observed>, NotObserved> {
    let prepared = prepare(
        testbed,
        &[server],
        &mut run_progress::say_what_is_built(None),
    );
    let prepared = prepared.into_iter().next().ok_or("interrupted")?;
    match &prepared.access {
        Some(Access::Start(built)) => observe_started(testbed, server, built, wanted),
        Some(Access::Outside(outside)) => observe_outside(outside, wanted),
        None => {
            let status = &prepared.record.status;
            let reason = words::not_ready(status).unwrap_or_default();
            Err(match status {
                ServerStatus::Skipped { .. } => NotObserved::Unfit(reason),
                _ => NotObserved::Because(reason),
            })
        }
    }
}

fn observe_outside(
    outside: &Outside,
    wanted: &WantedPaths<'_>,
) -> Result<Vec<Observed>, NotObserved> {
    let process = OutsideProcess::find(outside).map_err(|error| error.to_string())?;
    let protocol = if outside.url.is_tls() {
        Protocol::Https11
    } else {
        Protocol::Http11
    };
    let target = process
        .target(protocol)
        .map_err(|error| error.to_string())?;
    let observed = wanted.observe(&target);
    // Some servers over TLS respond to plain HTTP with 400.
    let is_refused = |all: &Vec<Observed>| all.iter().any(|one| one.status == BAD_REQUEST);
    if observed.as_ref().map_or(true, is_refused)
        && let Some(wrong) = process.wrong_scheme()
    {
        return Err(NotObserved::WrongScheme(wrong));
    }
    observed
}

fn observe_started(
    testbed: &Testbed,
    server: &Server,
    built: &Built,
    wanted: &WantedPaths<'_>,
) -> Result<Vec<Observed>, NotObserved> {
    let launch = testbed.launch(&format!("{}-init", server.id), built);
    let begin = Instant::now();
    let mut probe = |address| {
        let target = Target::plain(address);
        let left = testbed.ready_timeout.saturating_sub(begin.elapsed());
        let first = match request(&target, "/", 1, left.max(LEAST_TIME)) {
            Ok((responses, _)) => responses,
            Err((reason, _)) => return Probe::NotYet(reason),
        };
        // Whatever else is wrong with this path shows when it is observed.
        let path = wanted.paths.first();
        let path = path.and_then(|path| request(&target, path, 1, wanted.timeout).ok());
        let responses = path.map_or(first, |(responses, _)| responses);
        // Once the time is over, another path may be available.
        let is_starting = responses.iter().any(|one| is_unavailable(one.status));
        if is_starting && !left.is_zero() {
            Probe::Unavailable("the server is not available".to_owned())
        } else {
            Probe::Right
        }
    };
    let started = bring_up(
        built,
        &launch,
        &mut free_port,
        &mut probe,
        testbed.ready_timeout,
        &testbed.interrupt,
    );
    let (mut running, _) = started.map_err(|error| error.to_string())?;
    let observed = wanted.observe(&Target::plain(running.address()));
    running.stop(STOP_TIME);
    if observed.is_ok() {
        running.logs().discard();
    }
    observed
}

impl WantedPaths<'_> {
    fn observe(&self, target: &Target) -> Result<Vec<Observed>, NotObserved> {
        if !self.paths.is_empty() {
            let paths = self.paths.iter();
            return paths
                .map(|path| observe_path(target, path, self.timeout))
                .collect();
        }
        let mut statuses = Vec::new();
        let mut routes = routes::in_sources(self.sources);
        routes.retain(|path| !USUAL_PATHS.contains(&path.as_str()));
        for path in USUAL_PATHS
            .into_iter()
            .chain(routes.iter().map(String::as_str))
        {
            let observed = observe_path(target, path, self.timeout)?;
            if observed.is_fit() {
                return Ok(vec![observed]);
            }
            statuses.push(format!("{path}: {}", observed.status));
        }
        Err(NotObserved::NoPath(format!(
            "it has none of the paths that Prony tried ({}); name one with --path",
            statuses.join(", ")
        )))
    }
}

fn observe_path(target: &Target, path: &str, timeout: Duration) -> Result<Observed, NotObserved> {
    let (responses, connections) =
        request(target, path, REQUESTS, timeout).map_err(|(reason, is_timeout)| {
            if is_timeout {
                NotObserved::Unfit(format!("{path}: {reason}; give it longer with --timeout"))
            } else {
                NotObserved::Because(format!("{path}: {reason}"))
            }
        })?;
    let mut statuses = responses.iter().map(|response| response.status);
    let first = statuses.next();
    if let Some(other) = statuses.find(|status| Some(*status) != first) {
        let first = first.unwrap_or_default();
        return Err(NotObserved::Because(format!(
            "{path}: the status differs from response to response: {first}, then {other}"
        )));
    }
    let observed = Observed::of(path, &responses, connections == 1);
    observed.ok_or_else(|| "there was no response".into())
}

/// The responses to `count` requests, and over how many connections they came. `Err` with the reason, and whether a
/// response took too long.
fn request(
    target: &Target,
    path: &str,
    count: usize,
    timeout: Duration,
) -> Result<(Vec<Response>, u64), (String, bool)> {
    let scheme = target.client.as_ref().map_or("http", |_| "https");
    let url: HttpUrl = format!("{scheme}://{}{path}", target.authority)
        .parse()
        .map_err(|error: UrlError| (error.to_string(), false))?;
    let failed = |error: RequestError| (error.to_string(), false);
    let request = RequestParts::new("GET", &url, &[], b"")
        .map_err(failed)?
        .into();
    let sent = EncodedTraffic::of(&request).map_err(failed)?;
    let (endpoint, client) = (target.address.into(), target.client.as_ref());
    let mut conversation = Conversation::new(&endpoint, &sent, client, timeout);
    let responses = (0..count).map(|_| conversation.request());
    let responses = responses.collect::<Result<_, ExchangeError>>();
    let responses = responses.map_err(|error| {
        let is_timeout = matches!(error, ExchangeError::TimedOut { .. });
        (target.explain(&error), is_timeout)
    })?;
    Ok((responses, conversation.connections()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(body: &str) -> Response {
        Response {
            status: 200,
            headers: vec![(
                "content-type".to_owned(),
                b"text/html; charset=utf-8".to_vec(),
            )],
            body: body.as_bytes().to_vec(),
        }
    }

    #[test]
    fn a_body_is_expected_only_if_it_stays_the_same() {
        let [a, b] = ["a", "b"].map(response);
        let same = Observed::of("/", &[a.clone(), a.clone()], true).unwrap();
        assert_eq!(same.body.as_deref(), Some(&b"a"[..]));
        assert_eq!(same.content_type.as_deref(), Some("text/html"));
        assert_eq!(Observed::of("/", &[a, b], true).unwrap().body, None);
    }
}
