//! A load, and the command with which a tool generates it.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};
use tempfile::NamedTempFile;

use crate::manifest::Placeholder::{self, *};
use crate::manifest::{Manifest, Word};

/// One request over and over.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// The URL.
    pub url: String,
    /// When its requests are sent.
    pub arrivals: Arrivals,
    /// How many connections, over all threads.
    pub connections: usize,
    /// How many threads.
    pub threads: usize,
    /// What ends it.
    pub end: End,
    /// How many requests are in flight over one connection at a time; 1 for no pipelining.
    pub pipeline: usize,
    /// Whether every request has a connection of its own.
    pub close: bool,
    /// The request's method; `None` for GET.
    pub method: Option<String>,
    /// Headers, `Name: value`.
    pub headers: Vec<String>,
    /// The request's body.
    pub body: Vec<u8>,
    /// How long a response may take.
    pub timeout: Duration,
}

/// When requests are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// Each when the previous response is complete.
    Closed,
    /// At this rate, in requests a second.
    Rate(f64),
}

/// What ends a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Its time is up.
    After(Duration),
    /// This many requests were sent.
    Requests(u64),
}

impl Load {
    /// GET in a closed loop over one connection of one thread, for a second.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            arrivals: Arrivals::Closed,
            connections: 1,
            threads: 1,
            end: End::After(Duration::from_secs(1)),
            pipeline: 1,
            close: false,
            method: None,
            headers: Vec::new(),
            body: Vec::new(),
            timeout: Duration::from_secs(10),
        }
    }
}

/// The values of the placeholders for one load; those without a value are missing.
pub type Values = BTreeMap<Placeholder, String>;

/// A command that generates a load.
#[derive(Debug)]
pub struct Invocation {
    /// The arguments, without the program.
    pub arguments: Vec<String>,
    /// Variables in addition to Prony's own.
    pub environment: Vec<(String, String)>,
    /// The file with the request's body, removed when this is dropped.
    _body: Option<NamedTempFile>,
}

/// Why a tool cannot generate a load.
#[derive(Debug, thiserror::Error)]
pub enum Unsupported {
    /// It has no arguments for a property of the load.
    #[error("it does not support {0}")]
    Property(&'static str),
    /// It only takes whole seconds.
    #[error("it only takes durations in whole seconds")]
    WholeSeconds,
    /// The file with the body could not be written.
    #[error("cannot write the request's body for it: {0}")]
    Body(#[from] io::Error),
}

impl From<&'static str> for Unsupported {
    /// It does not support this property.
    fn from(property: &'static str) -> Self {
        Unsupported::Property(property)
    }
}

impl Manifest {
    /// The command's arguments for a load; `prony` is Prony's own program.
    ///
    /// # Errors
    /// If the tool cannot generate that load.
    pub fn invocation(&self, load: &Load, prony: &Path) -> Result<Invocation, Unsupported> {
        let body = (!load.body.is_empty())
            .then(|| file_with(&load.body))
            .transpose()?;
        let body_file = body.as_ref().map(NamedTempFile::path);
        let values = self.values(load, prony, body_file);
        let environment = self.environment.iter();
        Ok(Invocation {
            arguments: self.words(load, &values)?,
            environment: environment
                .filter_map(|(name, value)| Some((name.clone(), value.fill(value_of(&values))?)))
                .collect(),
            _body: body,
        })
    }

    /// The program that it runs, if it is not looked for in `PATH`.
    pub(crate) fn program_with(&self, prony: &Path) -> String {
        let values = self.places(prony);
        // The manifest's reader has checked that no other placeholder is used.
        self.program.fill(value_of(&values)).unwrap_or_default()
    }

    fn places(&self, prony: &Path) -> Values {
        let folder = std::path::absolute(&self.folder).unwrap_or_else(|_| self.folder.clone());
        Values::from([
            (Placeholder::Driver, folder.display().to_string()),
            (Placeholder::Prony, prony.display().to_string()),
        ])
    }

    fn values(&self, load: &Load, prony: &Path, body: Option<&Path>) -> Values {
        let mut values = self.places(prony);
        let mut set = |placeholder, value: String| values.insert(placeholder, value);
        set(Url, load.url.clone());
        set(Connections, load.connections.to_string());
        set(Threads, load.threads.to_string());
        set(
            TimeoutS,
            load.timeout.as_secs_f64().ceil().max(1.0).to_string(),
        );
        if let Arrivals::Rate(rate) = load.arrivals {
            set(Rate, rate.to_string());
            set(
                RatePerConnection,
                (rate / load.connections as f64).to_string(),
            );
        }
        if load.pipeline > 1 {
            set(Pipeline, load.pipeline.to_string());
        }
        if load.close {
            set(Close, "1".to_owned());
        }
        match load.end {
            End::After(duration) => {
                set(Milliseconds, duration.as_millis().to_string());
                if duration.subsec_nanos() == 0 {
                    set(Seconds, duration.as_secs().to_string());
                }
            }
            End::Requests(requests) => {
                set(Requests, requests.to_string());
            }
        }
        if !load.headers.is_empty() {
            set(HeadersJson, headers_json(&load.headers));
        }
        if let Some(method) = &load.method {
            set(Method, method.clone());
        }
        if let Some(body) = body {
            set(BodyFile, body.display().to_string());
        }
        values
    }

    fn words(&self, load: &Load, values: &Values) -> Result<Vec<String>, Unsupported> {
        let all = &self.arguments;
        let need = |part: &Option<Vec<Word>>, what| part.clone().ok_or(Unsupported::Property(what));
        let mut parts = all.before.clone();
        parts.extend(match load.arrivals {
            Arrivals::Closed => need(&all.closed, "a closed loop")?,
            Arrivals::Rate(_) => need(&all.rate, "a fixed rate")?,
        });
        parts.extend(match load.close {
            true => need(&all.close, "a new connection for every request")?,
            false => all.keep.clone(),
        });
        if load.pipeline > 1 {
            parts.extend(need(&all.pipeline, "pipelining")?);
        }
        parts.extend(match load.end {
            End::After(_) => need(&all.duration, "a fixed duration")?,
            End::Requests(_) => need(&all.requests, "a fixed number of requests")?,
        });
        if load.method.is_some() {
            parts.extend(need(&all.method, "methods other than GET")?);
        }
        if !load.body.is_empty() {
            parts.extend(need(&all.body, "a request body")?);
        }
        let mut words = filled(&parts, values)?;
        for header in &load.headers {
            let mut values = values.clone();
            values.insert(Placeholder::Header, header.clone());
            words.extend(filled(&need(&all.header, "request headers")?, &values)?);
        }
        words.extend(filled(&all.after, values)?);
        Ok(words)
    }
}

fn value_of(values: &Values) -> impl Fn(Placeholder) -> Option<String> {
    |placeholder| values.get(&placeholder).cloned()
}

/// Only a duration in whole seconds may lack a value.
fn filled(templates: &[Word], values: &Values) -> Result<Vec<String>, Unsupported> {
    let word = |template: &Word| {
        template
            .fill(value_of(values))
            .ok_or(Unsupported::WholeSeconds)
    };
    templates.iter().map(word).collect()
}

fn headers_json(headers: &[String]) -> String {
    let pairs = headers.iter().map(|header| {
        let (name, value) = header.split_once(':').unwrap_or((header, ""));
        (name.trim().to_owned(), Value::from(value.trim()))
    });
    Value::Object(pairs.collect::<Map<_, _>>()).to_string()
}

fn file_with(body: &[u8]) -> io::Result<NamedTempFile> {
    let mut file = NamedTempFile::new()?;
    file.write_all(body)?;
    file.flush()?;
    Ok(file)
}
