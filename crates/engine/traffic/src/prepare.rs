//! Prepares a file: everything that is the same in all flows is done once.

use std::fmt;

use prony_hurl::ast::{
    Assert, Capture, Entry, EntryOption, Expression, FlagOption, HurlFile, OptionValue, PlainQuery,
    Query, QueryValue, Setting, StatusValue, Template, TemplateElement,
};
use prony_hurl::evaluate::{Failure, Scope, Variables};
use prony_hurl::{Position, parse, unsupported};
use serde::Deserialize;

use crate::MOST_ENTRIES;
use crate::carried::HurlText;
use crate::constants::Constants;
use crate::environment::UserEnvironment;
use crate::error::ScenarioError;
use crate::option_values::OptionValues;
use crate::options::EntryOptions;
use crate::placeholders::check_variables;
use crate::request::{RequestFailure, Server, blank, render};
use crate::secrets::Secrets;
use crate::sources::Sources;
use crate::target;
use crate::turn::{Entry as NamedEntry, Keep, ScenarioRequest};
use crate::url::HttpUrl;

/// A Hurl file, ready to be run by any number of users.
#[derive(Deserialize)]
#[serde(try_from = "HurlText")]
pub struct HurlScenario {
    pub(crate) file: String,
    pub(crate) text: String,
    pub(crate) entries: Vec<PreparedEntry>,
    pub(crate) server: Server,
    pub(crate) sources: Sources,
    /// Whether an entry sets variables.
    pub(crate) changes_variables: bool,
    /// Whether a response may set a cookie for a later request of the flow.
    pub(crate) keeps_cookies: bool,
    /// What no message shows, apart from what a user captures.
    pub(crate) secrets: Secrets,
    names: Vec<NamedEntry>,
    connection: ConnectionOptions,
}

impl fmt::Debug for HurlScenario {
    // The entries and their requests have secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("HurlScenario");
        shown.field("file", &self.file).finish_non_exhaustive()
    }
}

/// Options of a file that concern the connection of a user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionOptions {
    /// `insecure`
    pub insecure: bool,
    /// `http1.1`
    pub http1: bool,
    /// `http2` or `http2-prior-knowledge`
    pub http2: bool,
}

/// An entry of a file.
pub(crate) struct PreparedEntry {
    pub(crate) entry: Entry,
    /// Its options, if they are always the same and set no variable.
    pub(crate) options: Option<EntryOptions>,
    /// Its request, or a blank one of its method if it differs from flow to flow.
    pub(crate) request: ScenarioRequest,
    pub(crate) is_constant: bool,
    pub(crate) keep: Keep,
}

impl HurlScenario {
    /// Prepares the text of a file, whose name is for messages.
    ///
    /// # Errors
    ///
    /// If the text is not Hurl, has something that Prony does not run, uses a variable that is not defined, or needs
    /// several servers.
    pub fn new(file: &str, text: &str, sources: Sources) -> Result<Self, ScenarioError> {
        Self::hiding(Secrets::default(), file, text, sources)
    }

    /// The same, whose messages do not show these secrets either: parts of its variables, for instance.
    ///
    /// # Errors
    ///
    /// As for [`HurlScenario::new`].
    pub fn hiding(
        mut secrets: Secrets,
        file: &str,
        text: &str,
        sources: Sources,
    ) -> Result<Self, ScenarioError> {
        secrets.extend(sources.variables.secrets());
        let mut scenario = Self::prepared(file, text, sources, &secrets)
            .map_err(|error| error.without_secrets(&secrets))?;
        for entry in &scenario.entries {
            secrets.add_credentials(&entry.request);
        }
        scenario.secrets = secrets;
        Ok(scenario)
    }

    fn prepared(
        file: &str,
        text: &str,
        sources: Sources,
        secrets: &Secrets,
    ) -> Result<Self, ScenarioError> {
        let mut parsed =
            parse(text).map_err(|error| ScenarioError::Parse(error.render(file, text)))?;
        let refused = unsupported(&parsed);
        if !refused.is_empty() {
            let lines = refused.iter().map(|it| it.render(file, text));
            return Err(ScenarioError::Unsupported(lines.collect()));
        }
        check_count(file, &parsed)?;
        check_variables(file, &parsed, &sources)?;
        let connection = ConnectionOptions::of(file, &parsed, &sources)?;
        let names = names(file, &parsed)?;
        let constants = Constants::of(&parsed, &sources.variables, sources.changing());
        let entries = parsed.entries.iter_mut();
        let constant: Vec<bool> = entries.map(|entry| constants.put_into(entry)).collect();
        let server = Server::new(server(file, &parsed, &constants)?);
        let changes_variables = parsed.entries.iter().any(sets_variables);
        // Only a later request can send a cookie.
        let keeps_cookies = parsed.entries.len() > 1 || sends_again(&parsed.entries[0]);
        let prepare = Prepare {
            file,
            server: &server,
            sources: &sources,
            secrets,
            keeps_cookies,
        };
        let entries = parsed.entries.into_iter().zip(constant);
        let entries = entries
            .map(|(entry, is_constant)| prepare.entry(entry, is_constant))
            .collect::<Result<Vec<_>, _>>()?;
        if entries.iter().all(PreparedEntry::is_never_sent) {
            return Err(ScenarioError::Invalid {
                place: file.to_owned(),
                reason: "every entry is skipped".into(),
            });
        }
        Ok(Self {
            file: file.to_owned(),
            text: text.to_owned(),
            entries,
            server,
            changes_variables,
            sources,
            keeps_cookies,
            names,
            connection,
            secrets: Secrets::default(),
        })
    }

    /// Its requests, in their order; at least one.
    pub fn entries(&self) -> &[NamedEntry] {
        &self.names
    }

    /// Where the values of its variables come from.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    pub fn server(&self) -> &HttpUrl {
        &self.server.url
    }

    /// The options of the file that concern connections.
    pub fn connection(&self) -> ConnectionOptions {
        self.connection
    }

    /// Whether values are drawn at random, so that the seed of the load matters.
    pub fn is_random(&self) -> bool {
        self.sources.is_random()
    }

    /// What its messages do not show: the given secrets, those among its variables, and what basic authentication makes
    /// of them.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Whether users capture secrets from responses (`redact`), which only they know.
    pub fn captures_secrets(&self) -> bool {
        let responses = self
            .entries
            .iter()
            .filter_map(|it| it.entry.response.as_ref());
        let mut captures = responses.flat_map(|response| &response.captures);
        captures.any(|capture| capture.is_redacted)
    }
}

impl PreparedEntry {
    fn is_never_sent(&self) -> bool {
        let options = self.options.as_ref();
        options.is_some_and(|options| options.is_skipped || options.repeat == 0)
    }
}

impl ConnectionOptions {
    fn of(file: &str, parsed: &HurlFile, sources: &Sources) -> Result<Self, ScenarioError> {
        let of_entry = |entry: &Entry| Self::of_entry(file, entry, sources);
        let all: Vec<Self> = parsed
            .entries
            .iter()
            .map(of_entry)
            .collect::<Result<_, _>>()?;
        let mut all = all.into_iter();
        let first = all.next().unwrap_or_default();
        let option = all.find_map(|other| {
            if other.insecure != first.insecure {
                Some("insecure")
            } else if other.http1 != first.http1 {
                Some("http1.1")
            } else if other.http2 != first.http2 {
                Some("http2")
            } else {
                None
            }
        });
        match option {
            None => Ok(first),
            Some(option) => Err(ScenarioError::Differs {
                file: file.to_owned(),
                option,
            }),
        }
    }

    fn of_entry(file: &str, entry: &Entry, sources: &Sources) -> Result<Self, ScenarioError> {
        let mut options = Self::default();
        let mut environment = UserEnvironment::new(None, 0);
        let mut scope = Scope::new(&sources.variables, &mut environment);
        for EntryOption { value, position } in &entry.request.options {
            let OptionValue::Flag(flag, setting) = value else {
                continue;
            };
            let option = match flag {
                FlagOption::Insecure => &mut options.insecure,
                FlagOption::Http11 => &mut options.http1,
                FlagOption::Http2 | FlagOption::Http2PriorKnowledge => &mut options.http2,
                _ => continue,
            };
            let is_set = scope.flag(setting).map_err(|_| ScenarioError::Invalid {
                place: place(file, *position),
                reason: format!(
                    "`{}` is about connections, so it must be true or false before the load",
                    flag.name()
                ),
            })?;
            *option |= is_set;
        }
        Ok(options)
    }
}

fn check_count(file: &str, parsed: &HurlFile) -> Result<(), ScenarioError> {
    match parsed.entries.len() {
        0 => Err(ScenarioError::Empty {
            file: file.to_owned(),
        }),
        1..=MOST_ENTRIES => Ok(()),
        given => Err(ScenarioError::TooMany {
            file: file.to_owned(),
            given,
            most: MOST_ENTRIES,
        }),
    }
}

/// What each entry is called in the result: its method and its path.
fn names(file: &str, parsed: &HurlFile) -> Result<Vec<NamedEntry>, ScenarioError> {
    let short = |entry: &Entry| {
        let request = &entry.request;
        format!("{} {}", request.method, path_of(&request.url))
    };
    let all: Vec<String> = parsed.entries.iter().map(short).collect();
    let entries = parsed.entries.iter().zip(&all);
    entries
        .map(|(entry, name)| {
            let request = &entry.request;
            let is_alone = all.iter().filter(|other| *other == name).count() == 1;
            let name = if is_alone {
                name.clone()
            } else {
                format!("{name} (line {})", request.position.line)
            };
            NamedEntry::new(name, &request.method).map_err(|error| ScenarioError::Invalid {
                place: place(file, request.position),
                reason: error.to_string(),
            })
        })
        .collect()
}

/// A URL as the file has it.
fn text_of(url: &Template) -> String {
    let pieces = url.elements.iter().map(|element| match element {
        TemplateElement::Text(text) => text.clone(),
        TemplateElement::Placeholder(placeholder) => match &placeholder.expression {
            Expression::Variable(name) => format!("{{{{{name}}}}}"),
            Expression::NewDate => "{{newDate}}".to_owned(),
            Expression::NewUuid => "{{newUuid}}".to_owned(),
        },
    });
    pieces.collect()
}

/// The path of a URL as the file has it, without its query.
fn path_of(url: &Template) -> String {
    let text = text_of(url);
    let without_scheme = text
        .split_once("://")
        .map_or(text.as_str(), |(_, rest)| rest);
    let path = match without_scheme.find('/') {
        Some(at) => &without_scheme[at..],
        None => "/",
    };
    path.split(['?', '#']).next().unwrap_or(path).to_owned()
}

/// The one server of all entries, as far as their URLs say which it is. The others are checked when they are sent.
fn server(
    file: &str,
    parsed: &HurlFile,
    constants: &Constants<'_>,
) -> Result<HttpUrl, ScenarioError> {
    let mut server: Option<HttpUrl> = None;
    let mut values = OptionValues::new(constants);
    for entry in &parsed.entries {
        let request = &entry.request;
        let place = || place(file, request.url.position);
        values.request(entry);
        let url = known_server(&values.put_into(&request.url));
        values.response(entry);
        let Some(url) = url else {
            match server {
                Some(_) => continue,
                None => {
                    return Err(ScenarioError::UnknownServer {
                        place: place(),
                        url: text_of(&request.url),
                    });
                }
            }
        };
        let url = target::parse(&url, false).map_err(|error| ScenarioError::Invalid {
            place: place(),
            reason: error.to_string(),
        })?;
        match &server {
            None => server = Some(url),
            Some(server) if server.is_same_server(&url) => {}
            Some(server) => {
                return Err(ScenarioError::OtherServer {
                    place: place(),
                    url: url.as_str().to_owned(),
                    server: server.as_str().to_owned(),
                });
            }
        }
    }
    server.ok_or_else(|| ScenarioError::Empty {
        file: file.to_owned(),
    })
}

/// The URL up to its path, if no placeholder is before that.
fn known_server(url: &Template) -> Option<String> {
    let text = match url.elements.first()? {
        TemplateElement::Text(text) => text,
        TemplateElement::Placeholder(_) => return None,
    };
    let Some((scheme, rest)) = text.split_once("://") else {
        // As a whole it is wrong, which its parser explains.
        return (url.elements.len() == 1).then(|| text.clone());
    };
    match rest.find(['/', '?', '#']) {
        Some(at) => Some(format!("{scheme}://{}/", &rest[..at])),
        None => (url.elements.len() == 1).then(|| text.clone()),
    }
}

fn sets_variables(entry: &Entry) -> bool {
    let captures = entry
        .response
        .iter()
        .flat_map(|response| &response.captures);
    let mut options = entry.request.options.iter();
    captures.count() > 0 || options.any(|option| matches!(option.value, OptionValue::Variable(_)))
}

fn sends_again(entry: &Entry) -> bool {
    may_redirect(entry)
        || entry.request.options.iter().any(|option| {
            use prony_hurl::ast::CountOption::{Repeat, Retry};
            matches!(option.value, OptionValue::Count(Repeat | Retry, _))
        })
}

/// Whether an entry follows redirects, as far as that is known before the load.
fn may_redirect(entry: &Entry) -> bool {
    entry
        .request
        .options
        .iter()
        .any(|option| match &option.value {
            OptionValue::Flag(
                FlagOption::FollowLocation | FlagOption::FollowLocationTrusted,
                setting,
            ) => !matches!(setting, Setting::Literal(false)),
            _ => false,
        })
}

/// The most characters of a reason that are shown.
const LONGEST_REASON: usize = 400;

/// A failure in a line, without secrets.
pub(crate) fn in_a_line(failure: &Failure, secrets: &Secrets) -> String {
    // A secret that is cut, or has other white space, would not be found.
    let reason = secrets.hide(&failure.reason);
    let words: Vec<&str> = reason.split_whitespace().collect();
    let mut reason = words.join(" ");
    if let Some((end, _)) = reason.char_indices().nth(LONGEST_REASON) {
        reason.truncate(end);
        reason.push('…');
    }
    format!("{}: {reason}", failure.title)
}

pub(crate) fn place(file: &str, position: Position) -> String {
    format!("{file}:{}:{}", position.line, position.column)
}

/// What all entries are prepared with.
struct Prepare<'a> {
    file: &'a str,
    server: &'a Server,
    sources: &'a Sources,
    secrets: &'a Secrets,
    keeps_cookies: bool,
}

impl Prepare<'_> {
    fn entry(&self, entry: Entry, is_constant: bool) -> Result<PreparedEntry, ScenarioError> {
        let options = self.options(&entry)?;
        let is_constant = is_constant && options.is_some();
        let constant_options = options.as_ref().filter(|_| is_constant);
        let request = self.request(&entry, constant_options)?;
        let keep = match needs(&entry) {
            Keep::Status if self.keeps_cookies || may_redirect(&entry) => Keep::Head,
            keep => keep,
        };
        Ok(PreparedEntry {
            is_constant,
            entry,
            options,
            request,
            keep,
        })
    }

    /// The options of an entry, if they have no placeholders and set no variables.
    fn options(&self, entry: &Entry) -> Result<Option<EntryOptions>, ScenarioError> {
        let options = &entry.request.options;
        let is_literal = |value: &OptionValue| match value {
            OptionValue::Flag(_, setting) => matches!(setting, Setting::Literal(_)),
            OptionValue::Count(_, setting) => matches!(setting, Setting::Literal(_)),
            OptionValue::Duration(_, setting) => matches!(setting, Setting::Literal(_)),
            OptionValue::Variable(_) => false,
            OptionValue::Text(..) | OptionValue::Ignored | OptionValue::Unsupported(_) => true,
        };
        if !options.iter().all(|option| is_literal(&option.value)) {
            return Ok(None);
        }
        let mut environment = self.environment();
        EntryOptions::evaluate(options, &mut Variables::default(), &mut environment)
            .map(Some)
            .map_err(|failure| self.invalid(entry, failure.into()))
    }

    /// The request of an entry; a blank one without options, because it differs from flow to flow.
    fn request(
        &self,
        entry: &Entry,
        options: Option<&EntryOptions>,
    ) -> Result<ScenarioRequest, ScenarioError> {
        let request = &entry.request;
        let prepare = || {
            let mut rendered = blank(&request.method, &self.server.url)?;
            let Some(options) = options else {
                return Ok(rendered);
            };
            let mut environment = self.environment();
            let mut scope = Scope::new(&self.sources.variables, &mut environment);
            render(request, options, self.server, &mut scope, &mut rendered)?;
            Ok(rendered)
        };
        prepare().map_err(|failure| self.invalid(entry, failure))
    }

    /// Why an entry cannot be prepared.
    fn invalid(&self, entry: &Entry, failure: RequestFailure) -> ScenarioError {
        let (position, reason) = match failure {
            RequestFailure::Failure(failure) => {
                (failure.position, in_a_line(&failure, self.secrets))
            }
            other => (entry.request.position, other.to_string()),
        };
        ScenarioError::Invalid {
            place: place(self.file, position),
            reason,
        }
    }

    /// Boundaries of multipart bodies are random, and the same in all flows.
    fn environment(&self) -> UserEnvironment {
        UserEnvironment::new(self.sources.files.as_ref(), 0)
    }
}

/// What an entry needs of its response.
fn needs(entry: &Entry) -> Keep {
    let Some(response) = &entry.response else {
        return Keep::Status;
    };
    let captures = response.captures.iter().map(|Capture { query, .. }| query);
    let asserts = response.asserts.iter().map(|Assert { query, .. }| query);
    if response.body.is_some() || captures.clone().chain(asserts.clone()).any(needs_body) {
        return Keep::All;
    }
    let is_status_enough = response.version.is_none()
        && response.headers.is_empty()
        && captures.count() + asserts.count() == 0;
    if is_status_enough {
        Keep::Status
    } else {
        Keep::Head
    }
}

fn needs_body(query: &Query) -> bool {
    !matches!(
        query.value,
        QueryValue::Header(_)
            | QueryValue::Cookie(_)
            | QueryValue::Variable(_)
            | QueryValue::Plain(
                PlainQuery::Status
                    | PlainQuery::Version
                    | PlainQuery::Url
                    | PlainQuery::Duration
                    | PlainQuery::Ip
                    | PlainQuery::Redirects
            )
    )
}

/// The status that an entry expects; `None` if its file says `HTTP *`. Without a response the entry accepts what every
/// load does.
pub(crate) fn accepts(entry: &Entry, status: u16) -> bool {
    match entry
        .response
        .as_ref()
        .map(|response| response.status.value)
    {
        None => (200..400).contains(&status),
        Some(StatusValue::Any) => true,
        Some(StatusValue::Exactly(expected)) => u64::from(status) == expected,
    }
}
