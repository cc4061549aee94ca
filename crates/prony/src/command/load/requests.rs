//! What is sent: one request, several, the requests of a file, or a gRPC call.

use std::error::Error;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use prony_hurl::ast::FlagOption;
use prony_load::Sampling;
use prony_load::tls::TlsSettings;
use prony_present::words::plural;
use prony_traffic::{
    HttpUrl, HttpVersion, Order, RequestFile, RequestFileError, RequestParts, RequestSet, Scenario,
    Traffic, UrlError,
};

use super::call::{CallArguments, Undefined};
use crate::arguments;
use crate::curl::CurlRequest;
use crate::exit::usage;
use crate::grpc::server_of;

#[derive(Args)]
#[command(next_help_heading = "Requests")]
pub(super) struct RequestArguments {
    /// Send this header, `Name: value`; repeatable
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    headers: Vec<String>,
    /// Use this method [default: GET, or POST with a body]
    #[arg(short = 'X', long)]
    method: Option<String>,
    /// Send this body: text, or @FILE of at most 64 MiB
    #[arg(short, long)]
    body: Option<String>,
    /// Send the requests of this file (- for standard input), one JSON object per line: {"method":
    /// "POST", "path": "/x" or "url": "http://…", "headers": {…}, "body": "…" or "body_base64": "…"}
    #[arg(long, value_name = "FILE", conflicts_with_all = ["method", "body"])]
    requests_file: Option<PathBuf>,
    /// Send the request of this curl command, as a browser copies it for bash: text, @FILE, or - for
    /// standard input; instead of a URL, -H, -X and --body
    #[arg(long, value_name = "COMMAND",
        conflicts_with_all = ["urls", "headers", "method", "body", "requests_file", "grpc", "order", "weights"])]
    curl: Option<String>,
    /// Choose the order of several requests [default: in-turn, or random with --weights]
    #[arg(long, value_name = "ORDER", hide_short_help = true)]
    order: Option<OrderName>,
    /// Choose among several requests at random, in these proportions: 3,1
    #[arg(
        long,
        value_name = "NUMBERS",
        value_delimiter = ',',
        value_parser = arguments::whole(0..=u32::MAX),
        hide_short_help = true
    )]
    weights: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OrderName {
    /// Use them round-robin
    InTurn,
    /// Draw them at random
    Random,
}

/// What is sent, to which server, and what it says of its connections.
pub(super) struct Requests {
    /// Over HTTP/1.1 until its version is known.
    pub(crate) traffic: Traffic,
    pub(crate) server: HttpUrl,
    /// The URL or URLs for the record.
    pub(crate) url: String,
    /// How the next one is chosen, if there are several.
    pub(crate) described: Option<String>,
    /// Whether they are drawn at random.
    pub(crate) are_random: bool,
    /// The version of HTTP, unless a flag says another.
    pub(crate) version: Option<HttpVersion>,
    /// Whether a Hurl file or a curl command trusts any certificate.
    pub(crate) is_insecure: bool,
    /// How connections are encrypted, if `prony.toml` says that.
    pub(crate) tls: Option<TlsSettings>,
    /// The check of their responses, if a workload has one.
    pub(crate) sampling: Option<Sampling>,
    /// What the server has to define of a call.
    pub(crate) undefined: Option<Undefined>,
}

impl Requests {
    pub(super) fn new(traffic: Traffic, server: HttpUrl, url: impl Into<String>) -> Self {
        Self {
            traffic,
            server,
            url: url.into(),
            described: None,
            are_random: false,
            version: None,
            is_insecure: false,
            tls: None,
            sampling: None,
            undefined: None,
        }
    }

    /// Those of a scenario in this file.
    pub(super) fn of_scenario(scenario: Scenario, file: &str) -> Self {
        let server = scenario.server().clone();
        let url = server.as_str().to_owned();
        let traffic = Traffic::flows_of(scenario, HttpVersion::Http1);
        Self::new(traffic, server, url).described_by(file)
    }

    /// What a scenario says of itself; `file` is the name of a Hurl file.
    pub(super) fn described_by(self, file: &str) -> Self {
        let Some(scenario) = self.traffic.scenario() else {
            return self;
        };
        let connection = scenario.connection();
        let flows = self.traffic.flows().map(|flows| flows.entries().len());
        Self {
            described: flows
                .map(|count| format!("{} of {file} in each flow", plural(count, "request"))),
            are_random: scenario.is_random(),
            version: match connection {
                _ if connection.http2 => Some(HttpVersion::Http2),
                _ if connection.http1 => Some(HttpVersion::Http1),
                _ => None,
            },
            is_insecure: connection.insecure,
            ..self
        }
    }

    pub(super) fn over(&self, http: HttpVersion) -> Result<Traffic, Box<dyn Error>> {
        Ok(match &self.traffic {
            Traffic::Requests(set, _) => Traffic::requests(set.clone(), http).map_err(usage)?,
            Traffic::Scenario(scenario, _) => Traffic::Scenario(scenario.clone(), http),
            Traffic::Call(call) => call.clone().into(),
        })
    }
}

impl RequestArguments {
    /// The requests to these URLs, or the call of a method there.
    pub(super) fn requests(
        &self,
        urls: &[String],
        call: &CallArguments,
        no_keepalive: bool,
    ) -> Result<Requests, Box<dyn Error>> {
        let urls: Result<Vec<HttpUrl>, UrlError> = urls.iter().map(|url| url.parse()).collect();
        let urls = urls.map_err(usage)?;
        if let Some(command) = &self.curl {
            return self.of_curl(command, no_keepalive);
        }
        let headers = with_close(self.headers.clone(), no_keepalive)?;
        if let Some(method) = call.method()? {
            let [url] = urls.as_slice() else {
                return Err(usage("--grpc needs exactly one URL"));
            };
            let encoded = self.body.as_ref().map(|_| self.body()).transpose()?;
            let (call, undefined) = call.call(method, url, &headers, encoded)?;
            let called = url.with_path(&call.path).map_err(usage)?;
            return Ok(Requests {
                version: Some(HttpVersion::Http2),
                undefined,
                ..Requests::new(call.into(), url.clone(), called.as_str())
            });
        }
        match &self.requests_file {
            Some(file) => self.of_file(file, &urls, &headers),
            None => self.of_urls(&urls, &headers),
        }
    }

    /// A flag that changes the request, if one was given.
    pub(super) fn changed(&self) -> Option<&'static str> {
        arguments::first_given([
            ("-H", !self.headers.is_empty()),
            ("-X", self.method.is_some()),
            ("--body", self.body.is_some()),
            ("--requests-file", self.requests_file.is_some()),
            ("--curl", self.curl.is_some()),
            ("--order", self.order.is_some()),
            ("--weights", !self.weights.is_empty()),
        ])
    }

    fn body(&self) -> Result<Vec<u8>, Box<dyn Error>> {
        let body = self.body.as_deref();
        body.map_or(Ok(Vec::new()), |text| {
            arguments::text_or_file("the body", text)
        })
    }

    fn of_curl(&self, command: &str, no_keepalive: bool) -> Result<Requests, Box<dyn Error>> {
        let CurlRequest { request, options } = CurlRequest::read(command)?;
        let has = |flag| options.flags.contains(&flag);
        if has(FlagOption::FollowLocation) || has(FlagOption::FollowLocationTrusted) {
            errln!(
                "note: -L: Prony does not follow redirects here; `prony import curl` writes a Hurl file that does"
            );
        }
        if let Some(note) = options.note_on_chunks() {
            errln!("note: {note}");
        }
        let server: HttpUrl = request.url.parse().map_err(usage)?;
        let headers = request.headers.iter();
        let headers = headers.map(|(name, value)| format!("{name}: {value}"));
        let headers = with_close(headers.collect(), no_keepalive)?;
        let parts = RequestParts::new(&request.method, &server, &headers, &request.body);
        let parts = parts.map_err(usage)?;
        Ok(Requests {
            is_insecure: has(FlagOption::Insecure),
            // With `--http2` it is the server's choice, also for curl.
            version: options.flags.iter().find_map(|flag| match flag {
                FlagOption::Http11 => Some(HttpVersion::Http1),
                FlagOption::Http2PriorKnowledge => Some(HttpVersion::Http2),
                _ => None,
            }),
            ..Requests::new(parts.into(), server, request.url)
        })
    }

    fn of_urls(&self, urls: &[HttpUrl], headers: &[String]) -> Result<Requests, Box<dyn Error>> {
        let (first, others) = urls
            .split_first()
            .ok_or_else(|| usage("a URL is missing"))?;
        if let Some(other) = others.iter().find(|url| !first.is_same_server(url)) {
            return Err(usage(format!(
                "{} and {} are on two servers; a load needs one server",
                first.as_str(),
                other.as_str()
            )));
        }
        let body = self.body()?;
        let default = if self.body.is_some() { "POST" } else { "GET" };
        let method = self.method.as_deref().unwrap_or(default);
        let requests = urls
            .iter()
            .map(|url| RequestParts::new(method, url, headers, &body))
            .collect::<Result<Vec<_>, _>>()
            .map_err(usage)?;
        let url: Vec<&str> = urls.iter().map(HttpUrl::as_str).collect();
        self.set(requests, first.clone(), url.join(" "), "URL", "")
    }

    fn of_file(
        &self,
        path: &Path,
        urls: &[HttpUrl],
        headers: &[String],
    ) -> Result<Requests, Box<dyn Error>> {
        let server = match urls {
            [] => None,
            [url] if url.path() == "/" => Some(url),
            [url, ..] => {
                return Err(usage(format!(
                    "with --requests-file, the URL only names the server; write {}",
                    server_of(url)
                )));
            }
        };
        let failed = |error: RequestFileError| -> Box<dyn Error> {
            let text = match error {
                RequestFileError::Line { .. } => format!("{}, {error}", path.display()),
                _ => format!("{} {error}", path.display()),
            };
            match error {
                RequestFileError::Read(_) => text.into(),
                _ => usage(text),
            }
        };
        let file = open(path).map_err(|error| failed(error.into()))?;
        let read = RequestFile::read(file, server, headers).map_err(failed)?;
        let url = server_of(&read.server);
        let of_file = format!(" of {}", path.display());
        self.set(read.requests, read.server, url, "request", &of_file)
    }

    /// Requests in the order of the flags: `3 requests of orders.jsonl, at random`.
    fn set(
        &self,
        requests: Vec<RequestParts>,
        server: HttpUrl,
        url: String,
        noun: &str,
        of_what: &str,
    ) -> Result<Requests, Box<dyn Error>> {
        let count = requests.len();
        let order = self.order(count).map_err(usage)?;
        let are_random = count > 1 && order != Order::InTurn;
        let how = match &order {
            Order::InTurn => "round-robin".to_owned(),
            Order::Random(_) if self.weights.is_empty() => "at random".to_owned(),
            Order::Random(weights) => format!("at random, {}", ratio(weights)),
        };
        let set = RequestSet::new(requests, order).map_err(usage)?;
        let traffic = Traffic::requests(set, HttpVersion::Http1).map_err(usage)?;
        Ok(Requests {
            described: (count > 1).then(|| format!("{}{of_what}, {how}", plural(count, noun))),
            are_random,
            ..Requests::new(traffic, server, url)
        })
    }

    fn order(&self, count: usize) -> Result<Order, String> {
        match (self.order, self.weights.len()) {
            (Some(OrderName::InTurn), 1..) => Err(
                "--weights draws requests at random, so it conflicts with --order in-turn".into(),
            ),
            (Some(OrderName::InTurn) | None, 0) => Ok(Order::InTurn),
            (Some(OrderName::Random), 0) => Ok(Order::Random(vec![1; count])),
            (_, weights) if weights != count => Err(format!(
                "--weights has {}, but there are {}; give one number for each",
                plural(weights, "number"),
                plural(count, "request"),
            )),
            _ => Ok(Order::Random(self.weights.clone())),
        }
    }
}

/// Headers with the one of `--no-keepalive`, if it is given.
fn with_close(mut headers: Vec<String>, no_keepalive: bool) -> Result<Vec<String>, Box<dyn Error>> {
    if no_keepalive {
        let names_connection = |line: &String| {
            let name = line.split(':').next().unwrap_or_default();
            name.trim().eq_ignore_ascii_case("connection")
        };
        if headers.iter().any(names_connection) {
            return Err(usage(
                "--no-keepalive sends `Connection: close` itself; remove -H 'Connection: …'",
            ));
        }
        headers.push("Connection: close".into());
    }
    Ok(headers)
}

fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    Ok(if path.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(path)?))
    })
}

/// `3:1`, or `weighted` if that would be too long.
fn ratio(weights: &[u32]) -> String {
    if weights.len() > 8 {
        return "weighted".to_owned();
    }
    let numbers: Vec<String> = weights.iter().map(u32::to_string).collect();
    numbers.join(":")
}
