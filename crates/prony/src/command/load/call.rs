//! A gRPC call: its method, its messages and its metadata.

use std::error::Error;
use std::time::Duration;

use clap::Args;
use prony_load::Endpoint;
use prony_load::tls::TlsClient;
use prony_traffic::protobuf::{Method, Schema};
use prony_traffic::{Base64, Call, CallKind, Field, HttpUrl};

use crate::arguments;
use crate::exit::usage;
use crate::grpc::{GrpcServer, SchemaFlags, check_url, metadata};

/// A gRPC call.
#[derive(Args)]
#[command(next_help_heading = "gRPC")]
pub(super) struct CallArguments {
    /// Call this gRPC method, with the message of --data or an encoded one (-b); -H adds metadata
    #[arg(long, value_name = "PACKAGE.SERVICE/METHOD",
        conflicts_with_all = ["method", "requests_file", "order", "weights", "pipeline", "http1",
            "sse", "streams"])]
    grpc: Option<String>,
    /// Send this message: JSON or @FILE; for a method that streams its requests, several one after
    /// the other or in an array [default: {}]
    #[arg(long, value_name = "JSON", requires = "grpc", conflicts_with = "body")]
    data: Option<String>,
    #[command(flatten)]
    schema: SchemaFlags,
    /// Send this timeout to the server with each call (`grpc-timeout`); --timeout is Prony's own
    #[arg(long, value_name = "DURATION", value_parser = arguments::timeout, requires = "grpc",
        hide_short_help = true)]
    grpc_timeout: Option<Duration>,
}

impl CallArguments {
    /// A flag that makes the request a call, if one was given.
    pub(super) fn changed(&self) -> Option<&'static str> {
        self.grpc.is_some().then_some("--grpc")
    }

    /// The method to call, if one is given.
    pub(super) fn method(&self) -> Result<Option<&str>, &'static str> {
        match &self.grpc {
            None if self.schema.are_given() => Err(
                "--proto and --protoset define the method of a call; name the method with --grpc",
            ),
            method => Ok(method.as_deref()),
        }
    }

    /// The call of `method` of the server at `url`. `encoded` is a message that is encoded already.
    pub(super) fn call(
        &self,
        method: &str,
        url: &HttpUrl,
        headers: &[String],
        encoded: Option<Vec<u8>>,
    ) -> Result<GrpcCall, Box<dyn Error>> {
        check_url(url)?;
        let schema = self.schema.local()?;
        let call = GrpcCall {
            name: method.to_owned(),
            server: url.clone(),
            metadata: metadata(headers, url)?,
            timeout: self.grpc_timeout,
            message: match encoded {
                Some(message) => Message::Encoded(message),
                None => Message::Json(self.json()?),
            },
            method: schema
                .map(|schema| schema.method(method))
                .transpose()
                .map_err(usage)?,
        };
        // Whatever is wrong with it is found before anything is connected.
        call.known().map(|_| call)
    }

    fn json(&self) -> Result<String, Box<dyn Error>> {
        let text = self.data.as_deref().unwrap_or("{}");
        let bytes = arguments::text_or_file("the data", text)?;
        String::from_utf8(bytes).map_err(|_| usage("--data is not JSON: it is not UTF-8"))
    }
}

/// A call of a gRPC method.
pub(super) struct GrpcCall {
    /// The method's name, as the user wrote it.
    name: String,
    server: HttpUrl,
    metadata: Vec<Field>,
    timeout: Option<Duration>,
    message: Message,
    /// The method, if its definition is at hand.
    method: Option<Method>,
}

enum Message {
    Json(String),
    Encoded(Vec<u8>),
}

impl GrpcCall {
    /// The URL of the method, for the record.
    pub(super) fn url(&self) -> Result<String, Box<dyn Error>> {
        let url = self.server.with_path(&self.path()).map_err(usage)?;
        Ok(url.as_str().to_owned())
    }

    /// Whether the server has to define the method, because its messages are JSON and no file does.
    pub(super) fn needs_reflection(&self) -> bool {
        self.method.is_none() && matches!(self.message, Message::Json(_))
    }

    /// Gets the definition of the method from the server.
    pub(super) fn reflect(
        &mut self,
        endpoint: &Endpoint,
        tls: Option<&TlsClient>,
        has_certificate: bool,
        timeout: Duration,
    ) -> Result<(), Box<dyn Error>> {
        let server = GrpcServer {
            endpoint: endpoint.clone(),
            url: self.server.clone(),
            tls: tls.cloned(),
            has_certificate,
            metadata: self.metadata.clone(),
            timeout,
        };
        let schema: Schema = server.schema(&self.name)?;
        self.method = Some(schema.method(&self.name).map_err(usage)?);
        Ok(())
    }

    /// Whether the responses of the method are streams of messages.
    pub(super) fn streams_responses(&self) -> bool {
        self.kind().streams_responses()
    }

    /// The call as far as it is known here. If the server has to define the method, it has an empty message.
    pub(super) fn known(&self) -> Result<Call, Box<dyn Error>> {
        let messages = match (&self.message, &self.method) {
            (Message::Encoded(message), _) => vec![message.clone()],
            (Message::Json(json), Some(method)) => method
                .encode(json)
                .map_err(|error| usage(format!("--data: {error}")))?,
            (Message::Json(_), None) => vec![Vec::new()],
        };
        let call = Call {
            path: self.path(),
            authority: self.server.host_header().to_owned(),
            scheme: self.server.scheme(),
            kind: self.kind(),
            metadata: self.metadata.clone(),
            timeout: self.timeout,
            messages: messages.into_iter().map(Base64).collect(),
        };
        call.check().map_err(usage)?;
        Ok(call)
    }

    fn path(&self) -> String {
        match &self.method {
            Some(method) => method.path(),
            None => path_of(&self.name),
        }
    }

    /// Unary, unless its definition says otherwise.
    fn kind(&self) -> CallKind {
        let kind = self.method.as_ref().map(Method::kind);
        kind.unwrap_or(CallKind::Unary)
    }
}

/// The path of a method by its name, with a dot or a slash before the method.
fn path_of(name: &str) -> String {
    let name = name.trim_start_matches('/');
    match name.rsplit_once('.') {
        Some((service, method)) if !name.contains('/') => format!("/{service}/{method}"),
        _ => format!("/{name}"),
    }
}
