//! Flows: what users send if a request may depend on earlier responses, or differs from the one before.

use std::fmt;
use std::sync::Arc;

use prony_hurl::ast;
use prony_hurl::evaluate::Scope;

use crate::environment::UserEnvironment;
use crate::options::EntryOptions;
use crate::parts::RequestParts;
use crate::request::Server;
use crate::request_template::{RequestTemplate, TemplateError};
use crate::secrets::Secrets;
use crate::sources::Sources;
use crate::turn::{Entry, FlowShare, Keep, ScenarioRequest};
use crate::url::HttpUrl;

/// What each user of a load does: several requests in an order, and then again from the first. One pass is a flow.
pub struct Scenario {
    pub(crate) origin: Origin,
    pub(crate) entries: Vec<PreparedEntry>,
    pub(crate) server: Server,
    pub(crate) sources: Sources,
    /// Whether an entry sets variables.
    pub(crate) changes_variables: bool,
    pub(crate) cookies: Cookies,
    /// What no message shows, apart from what a user captures.
    pub(crate) secrets: Secrets,
    pub(crate) names: Vec<Entry>,
    pub(crate) connection: ConnectionOptions,
}

/// What a scenario is prepared from.
pub(crate) enum Origin {
    Hurl { file: String, text: String },
    Template(Arc<RequestTemplate>),
}

/// How long a user keeps the cookies that responses set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cookies {
    /// No request can send them.
    Never,
    ForAFlow,
    /// From flow to flow.
    Always,
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

/// A request of a scenario, and what is expected.
pub(crate) struct PreparedEntry {
    pub(crate) source: EntrySource,
    /// Its options, if they are always the same and set no variable.
    pub(crate) options: Option<EntryOptions>,
    /// Its request; as far as it differs from flow to flow, what is rendered into a copy of it.
    pub(crate) request: ScenarioRequest,
    pub(crate) is_constant: bool,
    pub(crate) keep: Keep,
}

/// What the requests of an entry are rendered from.
pub(crate) enum EntrySource {
    /// An entry of a Hurl file, which says what response it expects.
    Hurl(Box<ast::Entry>),
    /// The load checks the responses.
    Template(Arc<RequestTemplate>),
}

impl EntrySource {
    pub(crate) fn hurl(&self) -> Option<&ast::Entry> {
        match self {
            Self::Hurl(entry) => Some(entry),
            Self::Template(_) => None,
        }
    }
}

impl fmt::Debug for Scenario {
    // The entries and their requests have secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Scenario");
        shown.field("file", &self.file()).finish_non_exhaustive()
    }
}

impl Scenario {
    /// Its requests, in their order; at least one.
    pub fn entries(&self) -> &[Entry] {
        &self.names
    }

    /// The name of its file, for messages; empty for a template.
    pub(crate) fn file(&self) -> &str {
        match &self.origin {
            Origin::Hurl { file, .. } => file,
            Origin::Template(_) => "",
        }
    }

    /// Where the values of its variables come from.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    pub fn server(&self) -> &HttpUrl {
        &self.server.url
    }

    /// The options of its file that concern connections.
    pub fn connection(&self) -> ConnectionOptions {
        self.connection
    }

    /// Whether each flow is one request, so that the load counts requests instead of flows, and the plan says which
    /// responses are expected.
    pub fn is_one_request(&self) -> bool {
        matches!(self.origin, Origin::Template(_))
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
        let entries = self.entries.iter().filter_map(|it| it.source.hurl());
        let responses = entries.filter_map(|entry| entry.response.as_ref());
        let mut captures = responses.flat_map(|response| &response.captures);
        captures.any(|capture| capture.is_redacted)
    }

    /// Leaves out the next `count` flows, because other processes have begun them: the next load continues after them.
    pub fn skip_flows(&self, count: u64) {
        self.sources.skip_flows(count);
    }

    /// How many flows have begun.
    pub fn flows_begun(&self) -> u64 {
        self.sources.flows_begun()
    }
}

impl Scenario {
    /// One request to `server`, over and over. The sources begin again.
    ///
    /// # Errors
    ///
    /// If it cannot be sent with the first values.
    pub fn of_template(
        template: Arc<RequestTemplate>,
        server: HttpUrl,
        sources: &Sources,
    ) -> Result<Self, TemplateError> {
        let mut variables = sources.variables.clone();
        let mut environment = UserEnvironment::new(None, 0);
        let random = &mut environment.random;
        sources.clone().fill(FlowShare::ALL, &mut variables, random);
        let mut scope = Scope::new(&variables, &mut environment);
        let request = template.rendered(&server, &mut scope)?;
        let (cookies, keep) = if template.keeps_cookies {
            (Cookies::Always, Keep::Head)
        } else {
            (Cookies::Never, Keep::Status)
        };
        Ok(Self {
            names: vec![Entry::new(template.method.clone(), &template.method)?],
            entries: vec![PreparedEntry {
                source: EntrySource::Template(Arc::clone(&template)),
                options: Some(EntryOptions::default()),
                request,
                is_constant: template.is_constant(),
                keep,
            }],
            origin: Origin::Template(template),
            server: Server::new(server),
            sources: sources.clone(),
            changes_variables: false,
            cookies,
            secrets: Secrets::default(),
            connection: ConnectionOptions::default(),
        })
    }

    /// Its first request; if a flow is one request, with the first values.
    pub fn first(&self) -> &RequestParts {
        self.entries[0].request.parts()
    }

    /// If a flow is one request: sees whether it can be sent with every row of the sources, which begin with the first
    /// one, and passes `check`.
    ///
    /// # Errors
    ///
    /// The number of the first row with which it cannot, from 1 on, and why.
    pub fn check_rows(
        &self,
        check: impl Fn(&RequestParts) -> Result<(), String>,
    ) -> Result<(), (usize, String)> {
        let Origin::Template(template) = &self.origin else {
            return Ok(());
        };
        let sources = self.sources.clone();
        let mut variables = sources.variables.clone();
        let mut environment = UserEnvironment::new(None, 0);
        let mut request = self.entries[0].request.clone();
        for row in 1..=sources.longest() {
            sources.fill(FlowShare::ALL, &mut variables, &mut environment.random);
            let mut scope = Scope::new(&variables, &mut environment);
            let rendered = template.render(&mut scope, &mut request);
            rendered.map_err(|error| (row, error.to_string()))?;
            check(request.parts()).map_err(|reason| (row, reason))?;
        }
        Ok(())
    }
}
