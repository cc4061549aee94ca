//! What is sent: one request, several, the requests of a file, or a gRPC call.

use std::error::Error;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use prony_hurl::ast::FlagOption;
use prony_present::words::plural;
use prony_traffic::{
    HttpUrl, HttpVersion, HurlScenario, Order, RequestFile, RequestFileError, RequestParts,
    RequestSet, Scenario, Traffic, UrlError,
};

use super::call::{CallArguments, GrpcCall};
use crate::arguments;
use crate::curl::CurlRequest;
use crate::exit::usage;
use crate::grpc::server_of;

/// What is sent.
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

/// What is sent, and to which server.
pub(super) struct Requests {
    pub(crate) content: RequestContent,
    pub(crate) server: HttpUrl,
    /// The URL or URLs for the record.
    pub(crate) url: String,
    /// How the next one is chosen, if there are several.
    pub(crate) described: Option<String>,
    /// Whether they are drawn at random.
    pub(crate) are_random: bool,
    /// What they say of their connection.
    pub(crate) preferred: Preferred,
}

/// What a Hurl file or a curl command says of the connection, unless a flag says otherwise.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Preferred {
    /// Whether any certificate is trusted.
    pub(crate) insecure: bool,
    /// The version of HTTP.
    pub(crate) version: Option<HttpVersion>,
}

impl Preferred {
    fn of_command(flags: &[FlagOption]) -> Self {
        Self {
            insecure: flags.contains(&FlagOption::Insecure),
            // With `--http2` it is the server's choice, also for curl.
            version: flags.iter().find_map(|flag| match flag {
                FlagOption::Http11 => Some(HttpVersion::Http1),
                FlagOption::Http2PriorKnowledge => Some(HttpVersion::Http2),
                _ => None,
            }),
        }
    }

    /// That of a Hurl file.
    pub(super) fn of_scenario(scenario: &HurlScenario) -> Self {
        let connection = scenario.connection();
        Self {
            insecure: connection.insecure,
            version: if connection.http2 {
                Some(HttpVersion::Http2)
            } else if connection.http1 {
                Some(HttpVersion::Http1)
            } else {
                None
            },
        }
    }
}

/// What is sent, before it is encoded.
pub(super) enum RequestContent {
    Http(RequestSet),
    Grpc(Box<GrpcCall>),
    Scenario(Arc<Scenario>),
}

impl RequestContent {
    /// Whether users go through flows of several requests.
    pub(super) fn has_flows(&self) -> bool {
        matches!(self, Self::Scenario(scenario) if !scenario.is_one_request())
    }

    /// The requests for that version of HTTP. A call that only the server can describe is known without its message.
    pub(super) fn over(&self, http: HttpVersion) -> Result<Traffic, Box<dyn Error>> {
        Ok(match self {
            Self::Http(requests) => Traffic::requests(requests.clone(), http).map_err(usage)?,
            Self::Grpc(call) => call.known()?.into(),
            Self::Scenario(scenario) => Traffic::Scenario(scenario.clone(), http),
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
        let urls: Vec<HttpUrl> = urls
            .iter()
            .map(|url| url.parse())
            .collect::<Result<_, UrlError>>()
            .map_err(usage)?;
        if let Some(command) = &self.curl {
            return self.of_curl(command, no_keepalive);
        }
        let headers = with_close(self.headers.clone(), no_keepalive)?;
        if let Some(method) = call.method().map_err(usage)? {
            return self.call(call, method, &urls);
        }
        match &self.requests_file {
            Some(file) => self.of_file(file, &urls, &headers),
            None => self.of_urls(&urls, &headers),
        }
    }

    /// A flag that changes the request, if one was given.
    pub(super) fn changed(&self) -> Option<&'static str> {
        [
            ("-H", !self.headers.is_empty()),
            ("-X", self.method.is_some()),
            ("--body", self.body.is_some()),
            ("--requests-file", self.requests_file.is_some()),
            ("--curl", self.curl.is_some()),
            ("--order", self.order.is_some()),
            ("--weights", !self.weights.is_empty()),
        ]
        .into_iter()
        .find_map(|(flag, is_given)| is_given.then_some(flag))
    }

    fn body(&self) -> Result<Vec<u8>, Box<dyn Error>> {
        let body = self.body.as_deref();
        body.map_or(Ok(Vec::new()), |text| {
            arguments::text_or_file("the body", text)
        })
    }

    fn call(
        &self,
        arguments: &CallArguments,
        method: &str,
        urls: &[HttpUrl],
    ) -> Result<Requests, Box<dyn Error>> {
        let [url] = urls else {
            return Err(usage("--grpc needs exactly one URL"));
        };
        let encoded = self.body.as_ref().map(|_| self.body()).transpose()?;
        let call = arguments.call(method, url, &self.headers, encoded)?;
        Ok(Requests {
            url: call.url()?,
            content: RequestContent::Grpc(call.into()),
            server: url.clone(),
            described: None,
            are_random: false,
            preferred: Preferred::default(),
        })
    }

    fn of_curl(&self, command: &str, no_keepalive: bool) -> Result<Requests, Box<dyn Error>> {
        let CurlRequest { request, options } = CurlRequest::read(command)?;
        let redirects = "-L: Prony does not follow redirects here; `prony import curl` writes a Hurl file that does";
        let follows = [
            FlagOption::FollowLocation,
            FlagOption::FollowLocationTrusted,
        ];
        let follows = options.flags.iter().any(|flag| follows.contains(flag));
        let redirects = follows.then_some(redirects);
        for note in redirects.into_iter().chain(options.note_on_chunks()) {
            errln!("note: {note}");
        }
        let server: HttpUrl = request.url.parse().map_err(usage)?;
        let headers = request.headers.iter();
        let headers = headers.map(|(name, value)| format!("{name}: {value}"));
        let headers = with_close(headers.collect(), no_keepalive)?;
        let parts = RequestParts::new(&request.method, &server, &headers, &request.body);
        let parts = parts.map_err(usage)?;
        let sent = self.set(vec![parts], server, request.url, "request", "")?;
        Ok(Requests {
            preferred: Preferred::of_command(&options.flags),
            ..sent
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
            let text = format!("{} {error}", named(path, &error));
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
        Ok(Requests {
            content: RequestContent::Http(RequestSet::new(requests, order).map_err(usage)?),
            server,
            url,
            described: (count > 1).then(|| format!("{}{of_what}, {how}", plural(count, noun))),
            are_random,
            preferred: Preferred::default(),
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

/// The file at the start of an error message: `orders.jsonl,` before a line number.
fn named(path: &Path, error: &RequestFileError) -> String {
    match error {
        RequestFileError::Line { .. } => format!("{},", path.display()),
        _ => path.display().to_string(),
    }
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
    match weights.len() {
        ..=8 => {
            let numbers: Vec<String> = weights.iter().map(u32::to_string).collect();
            numbers.join(":")
        }
        _ => "weighted".to_owned(),
    }
}
