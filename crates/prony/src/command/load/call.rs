//! A gRPC call: its method, its messages and its metadata.

use std::error::Error;
use std::time::Duration;

use clap::Args;
use prony_traffic::protobuf::{Method, Schema};
use prony_traffic::{Base64, Call, CallKind, HttpUrl};

use crate::arguments;
use crate::exit::usage;
use crate::grpc::{GrpcServer, SchemaFlags, check_url, metadata};

#[derive(Args)]
#[command(next_help_heading = "gRPC")]
pub(super) struct CallArguments {
    /// Call this gRPC method, with the message of --data or an encoded one (-b); -H adds metadata
    #[arg(long, value_name = "PACKAGE.SERVICE/METHOD",
        conflicts_with_all = ["method", "requests_file", "order", "weights", "pipeline", "http1",
            "sse", "streams"])]
    pub(crate) grpc: Option<String>,
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
    pub(super) fn method(&self) -> Result<Option<&str>, Box<dyn Error>> {
        match &self.grpc {
            None if self.schema.are_given() => Err(usage(
                "--proto and --protoset define the method of a call; name the method with --grpc",
            )),
            method => Ok(method.as_deref()),
        }
    }

    /// The call of the method with this name, and what only the server can say of it. `encoded` is a message that is
    /// encoded already.
    pub(super) fn call(
        &self,
        name: &str,
        server: &HttpUrl,
        headers: &[String],
        encoded: Option<Vec<u8>>,
    ) -> Result<(Call, Option<Undefined>), Box<dyn Error>> {
        check_url(server)?;
        let schema = self.schema.local()?;
        let method = schema.map(|schema| schema.method(name)).transpose();
        let method = method.map_err(usage)?;
        let json = match encoded {
            Some(_) => None,
            None => Some(self.json()?),
        };
        let mut call = Call {
            path: path_of(name),
            authority: server.host_header().to_owned(),
            scheme: server.scheme(),
            kind: CallKind::Unary,
            metadata: metadata(headers, server)?,
            timeout: self.grpc_timeout,
            messages: vec![Base64(encoded.unwrap_or_default())],
        };
        call.check().map_err(usage)?;
        let undefined = match (method, json) {
            (Some(method), json) => {
                call = defined(call, &method, json.as_deref())?;
                None
            }
            (None, json) => json.map(|json| Undefined {
                method: name.to_owned(),
                json,
            }),
        };
        Ok((call, undefined))
    }

    fn json(&self) -> Result<String, Box<dyn Error>> {
        let text = self.data.as_deref().unwrap_or("{}");
        let bytes = arguments::text_or_file("the data", text)?;
        String::from_utf8(bytes).map_err(|_| usage("--data is not JSON: it is not UTF-8"))
    }
}

/// The message of a call whose method only the server can define. Until then the call is unary, with an empty message.
pub(super) struct Undefined {
    method: String,
    json: String,
}

impl Undefined {
    /// The call, as the server defines its method.
    pub(super) fn define(&self, call: Call, server: &GrpcServer) -> Result<Call, Box<dyn Error>> {
        let schema: Schema = server.schema(&self.method)?;
        let method = schema.method(&self.method).map_err(usage)?;
        defined(call, &method, Some(&self.json))
    }
}

/// The call of a method, with this message unless it has one.
fn defined(call: Call, method: &Method, json: Option<&str>) -> Result<Call, Box<dyn Error>> {
    let messages = match json {
        None => call.messages,
        Some(json) => {
            let encoded = method.encode(json);
            let encoded = encoded.map_err(|error| usage(format!("--data: {error}")))?;
            encoded.into_iter().map(Base64).collect()
        }
    };
    let call = Call {
        path: method.path(),
        kind: method.kind(),
        messages,
        ..call
    };
    call.check().map_err(usage)?;
    Ok(call)
}

/// The path of a method by its name, with a dot or a slash before the method.
fn path_of(name: &str) -> String {
    let name = name.trim_start_matches('/');
    match name.rsplit_once('.') {
        Some((service, method)) if !name.contains('/') => format!("/{service}/{method}"),
        _ => format!("/{name}"),
    }
}
