//! One request that users send over and over, with values that differ from one to the next.

use std::fmt;
use std::sync::Arc;

use http::HeaderValue;
use prony_hurl::evaluate::{Scope, Variables};
use serde::{Deserialize, Serialize, Serializer};

use crate::cookies::CookieJar;
use crate::environment::UserEnvironment;
use crate::parts::{RequestError, RequestParts};
use crate::request::{given_cookies, set_cookies};
use crate::sources::Sources;
use crate::text::{Text, TextError};
use crate::turn::{Entry, FlowShare, Keep, Reply, ScenarioRequest, Sending, Turn};
use crate::url::HttpUrl;

/// A request with placeholders.
#[derive(Serialize, Deserialize)]
pub struct RequestTemplate {
    pub method: String,
    /// The path and query.
    pub target: Text,
    /// The header fields, without those that frame the body.
    pub fields: Vec<(String, Text)>,
    pub body: Text,
    /// Whether each user sends the cookies that responses set.
    pub keeps_cookies: bool,
}

/// Why a request with placeholders cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum OneRequestError {
    #[error(transparent)]
    Text(#[from] TextError),
    #[error(transparent)]
    Request(#[from] RequestError),
}

/// A request with placeholders for one server: a scenario whose flows are single requests.
#[derive(Deserialize)]
#[serde(try_from = "(RequestTemplate, HttpUrl, Sources)")]
pub struct OneRequest {
    pub(crate) template: Arc<RequestTemplate>,
    pub(crate) sources: Sources,
    pub(crate) server: HttpUrl,
    /// The request with the first values.
    first: ScenarioRequest,
    entries: [Entry; 1],
}

impl fmt::Debug for OneRequest {
    // The rest may have secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("OneRequest");
        shown.field("server", &self.server).finish_non_exhaustive()
    }
}

impl OneRequest {
    /// The request to `server`. The sources begin again.
    ///
    /// # Errors
    ///
    /// If it cannot be sent with the first values.
    pub fn new(
        template: Arc<RequestTemplate>,
        server: HttpUrl,
        sources: &Sources,
    ) -> Result<Self, OneRequestError> {
        let first = first(&template, &server, &sources.clone())?;
        Ok(Self {
            entries: [Entry::new(template.method.clone(), &template.method)?],
            template,
            sources: sources.clone(),
            server,
            first,
        })
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(crate) fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The request with the first values.
    pub fn first(&self) -> &RequestParts {
        self.first.parts()
    }

    /// Sees whether the request can be sent with every row of the sources, which begin with the first one, and passes
    /// `check`.
    ///
    /// # Errors
    ///
    /// The number of the first row with which it cannot, from 1 on, and why.
    pub fn check_rows(
        &self,
        check: impl Fn(&RequestParts) -> Result<(), String>,
    ) -> Result<(), (usize, String)> {
        let sources = self.sources.clone();
        let mut user = OneUser::with(self, &sources, 0, FlowShare::ALL);
        for row in 1..=sources.longest() {
            user.begin();
            user.render().map_err(|error| (row, error.to_string()))?;
            check(user.request.parts()).map_err(|reason| (row, reason))?;
        }
        Ok(())
    }
}

/// The request with the first values. Later ones differ in what is not constant.
fn first(
    template: &RequestTemplate,
    server: &HttpUrl,
    sources: &Sources,
) -> Result<ScenarioRequest, OneRequestError> {
    let mut values = Values::new(sources, 0, FlowShare::ALL);
    values.next(sources);
    let mut render = |text: &Text| -> Result<Vec<u8>, TextError> {
        let mut bytes = Vec::new();
        values.render(text, &mut bytes)?;
        Ok(bytes)
    };
    let mut lines = Vec::with_capacity(template.fields.len());
    for (name, text) in &template.fields {
        lines.push(format!("{name}: {}", into_text(render(text)?)));
    }
    let target = into_text(render(&template.target)?);
    let body = render(&template.body)?;
    let parts = RequestParts::new(&template.method, server, &lines, &body)?;
    let mut request = ScenarioRequest::new(parts)?;
    request.set_path(&target)?;
    Ok(request)
}

fn into_text(bytes: Vec<u8>) -> String {
    // Paths and fields come from texts.
    String::from_utf8_lossy(&bytes).into_owned()
}

impl TryFrom<(RequestTemplate, HttpUrl, Sources)> for OneRequest {
    type Error = OneRequestError;

    fn try_from(
        (template, server, sources): (RequestTemplate, HttpUrl, Sources),
    ) -> Result<Self, OneRequestError> {
        Self::new(Arc::new(template), server, &sources)
    }
}

impl Serialize for OneRequest {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        (&self.template, &self.server, &self.sources).serialize(to)
    }
}

/// The present values of a user.
struct Values {
    share: FlowShare,
    variables: Variables,
    environment: UserEnvironment,
}

impl Values {
    fn new(sources: &Sources, seed: u64, share: FlowShare) -> Self {
        Self {
            share,
            variables: sources.variables.clone(),
            environment: UserEnvironment::new(None, seed),
        }
    }

    fn next(&mut self, sources: &Sources) {
        let random = &mut self.environment.random;
        sources.fill(self.share, &mut self.variables, random);
    }

    fn render(&mut self, text: &Text, bytes: &mut Vec<u8>) -> Result<(), TextError> {
        let mut scope = Scope::new(&self.variables, &mut self.environment);
        text.render(&mut scope, bytes)
    }
}

/// A user who sends one request over and over.
pub struct OneUser<'a> {
    scenario: &'a OneRequest,
    sources: &'a Sources,
    values: Values,
    cookies: CookieJar,
    request: ScenarioRequest,
    /// The positions of the fields that differ, and their texts.
    fields: Vec<(usize, &'a Text)>,
    target: Option<&'a Text>,
    body: Option<&'a Text>,
    /// Memory for what is rendered.
    rendered: Vec<u8>,
    is_sent: bool,
}

impl<'a> OneUser<'a> {
    pub(crate) fn new(scenario: &'a OneRequest, seed: u64, share: FlowShare) -> Self {
        Self::with(scenario, &scenario.sources, seed, share)
    }

    fn with(scenario: &'a OneRequest, sources: &'a Sources, seed: u64, share: FlowShare) -> Self {
        let template = &scenario.template;
        let differing = |text: &&'a Text| text.constant().is_none();
        let fields = template.fields.iter().map(|(_, text)| text).enumerate();
        Self {
            scenario,
            sources,
            values: Values::new(sources, seed, share),
            cookies: CookieJar::default(),
            request: scenario.first.clone(),
            fields: fields.filter(|(_, text)| differing(text)).collect(),
            target: Some(&template.target).filter(differing),
            body: Some(&template.body).filter(differing),
            rendered: Vec::new(),
            is_sent: false,
        }
    }

    /// Puts the present values and the cookies into the request.
    fn render(&mut self) -> Result<(), OneRequestError> {
        if self.scenario.template.keeps_cookies {
            // The cookies of the last request go.
            let first = self.scenario.first.parts().fields();
            first.clone_into(self.request.fields_mut());
        }
        for &(at, text) in &self.fields {
            self.rendered.clear();
            self.values.render(text, &mut self.rendered)?;
            let (name, value) = &mut self.request.fields_mut()[at];
            *value = HeaderValue::from_str(String::from_utf8_lossy(&self.rendered).trim())
                .map_err(|_| RequestError::HeaderValue(name.as_str().to_owned()))?;
        }
        if let Some(target) = self.target {
            self.rendered.clear();
            self.values.render(target, &mut self.rendered)?;
            let target = String::from_utf8_lossy(&self.rendered);
            self.request.set_path(&target)?;
        }
        if let Some(body) = self.body {
            let bytes = self.request.body_mut();
            bytes.clear();
            self.values.render(body, bytes)?;
        }
        if let Some(cookies) = self.kept_cookies() {
            let given = given_cookies(&self.request);
            set_cookies(&mut self.request, Some(&cookies), given.as_ref());
        }
        Ok(())
    }

    fn kept_cookies(&self) -> Option<String> {
        let path = self.request.parts().url().path();
        self.cookies.field(&self.scenario.server, path)
    }
}

impl OneUser<'_> {
    pub(crate) fn begin(&mut self) {
        self.is_sent = false;
        self.values.next(self.sources);
    }

    pub(crate) fn next(&mut self) -> Turn {
        if std::mem::replace(&mut self.is_sent, true) {
            return Turn::End;
        }
        match self.render() {
            Err(error) => Turn::Fail(error.to_string()),
            Ok(()) => Turn::Send(Sending {
                entry: 0,
                pause: std::time::Duration::ZERO,
                timeout: None,
                keep: if self.scenario.template.keeps_cookies {
                    Keep::Head
                } else {
                    Keep::Status
                },
                is_redirected: false,
            }),
        }
    }

    pub(crate) fn request(&self) -> &ScenarioRequest {
        &self.request
    }

    /// Keeps the cookies. Whether the response is as expected, the load sees itself.
    pub(crate) fn respond(&mut self, reply: &Reply<'_>) {
        let keeps = self.scenario.template.keeps_cookies;
        if let Some(kept) = reply.kept.filter(|_| keeps) {
            let path = self.request.parts().url().path();
            self.cookies.take_all(kept, &self.scenario.server, path);
        }
    }
}
