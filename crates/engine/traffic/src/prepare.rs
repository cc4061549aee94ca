//! Prepares a file: everything that is the same in all flows is done once.

use prony_hurl::ast::{
    Assert, Capture, Entry, EntryOption, Expression, FlagOption, HurlFile, OptionValue, PlainQuery,
    Query, QueryValue, Setting, Template, TemplateElement,
};
use prony_hurl::evaluate::{Scope, Variables};
use prony_hurl::{parse, unsupported};

use crate::MOST_ENTRIES;
use crate::constants::Constants;
use crate::environment::UserEnvironment;
use crate::error::{ScenarioError, in_a_line, place};
use crate::option_values::OptionValues;
use crate::options::EntryOptions;
use crate::placeholders::check_variables;
use crate::request::{RequestFailure, Server, blank, render};
use crate::scenario::{ConnectionOptions, Cookies, EntrySource, Origin, PreparedEntry, Scenario};
use crate::secrets::Secrets;
use crate::sources::Sources;
use crate::target;
use crate::turn::{Entry as NamedEntry, Keep, ScenarioRequest};
use crate::url::HttpUrl;

impl Scenario {
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
    /// As for [`Self::new`].
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
        let cookies = if parsed.entries.len() > 1 || sends_again(&parsed.entries[0]) {
            Cookies::ForAFlow
        } else {
            Cookies::Never
        };
        let prepare = Prepare {
            file,
            server: &server,
            sources: &sources,
            secrets,
            keeps_cookies: cookies != Cookies::Never,
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
            origin: Origin::Hurl {
                file: file.to_owned(),
                text: text.to_owned(),
            },
            entries,
            server,
            changes_variables,
            sources,
            cookies,
            names,
            connection,
            secrets: Secrets::default(),
        })
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
            source: EntrySource::Hurl(entry.into()),
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
