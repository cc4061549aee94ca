//! `prony grpc`: what a gRPC server offers.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use prony_load::Endpoint;
use prony_load::tls::Offer;
use prony_traffic::protobuf::Schema;
use prony_traffic::{HttpUrl, HttpVersion};

use crate::arguments;
use crate::exit::{Outcome, usage};
use crate::grpc::{GrpcServer, SchemaFlags, check_url, metadata};
use crate::tls::{Tls, TlsFlags};

const EXAMPLES: &str = "\
Examples:
  prony grpc list http://localhost:50051         the services
  prony grpc list http://localhost:50051 shop.Orders
                                                 the methods of a service
  prony grpc describe http://localhost:50051 shop.Order
                                                 a message
  prony grpc list --proto shop.proto             the services of a file

Exit status:
  0  the definitions are shown
  1  the server does not provide them (reflection), or a file is invalid
  2  the command line is wrong";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Shown,
}

#[derive(Subcommand)]
enum Shown {
    /// List the services, or the methods of one
    #[command(after_help = EXAMPLES)]
    List {
        /// List the methods of this service
        #[arg(value_name = "SERVICE", index = 2)]
        service: Option<String>,
        #[command(flatten)]
        source: SchemaSource,
    },
    /// Show the definition of a service, a method, a message or an enum
    #[command(after_help = EXAMPLES)]
    Describe {
        /// Show the definition of this name: package.Service, package.Service/Method, package.Message
        #[arg(value_name = "SYMBOL", index = 2)]
        symbol: Option<String>,
        #[command(flatten)]
        source: SchemaSource,
    },
}

#[derive(Args)]
struct SchemaSource {
    /// Get the definitions from the server at this URL, by reflection; leave it out with --proto or
    /// --protoset
    #[arg(value_name = "URL", index = 1, required_unless_present_any = ["proto", "protoset"])]
    url: Option<String>,
    /// Send this metadata, `Name: value`; repeatable
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    headers: Vec<String>,
    /// Connect to this Unix socket; the URL's host appears only in the requests
    #[arg(long, value_name = "PATH")]
    unix_socket: Option<PathBuf>,
    /// Wait at most this long for each response
    #[arg(long, value_name = "DURATION", value_parser = arguments::timeout, default_value = "10s")]
    timeout: Duration,
    #[command(flatten)]
    schema: SchemaFlags,
    #[command(flatten)]
    tls: TlsFlags,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let text = match &arguments.command {
        Shown::List { source, service } => source.list(service.as_deref())?,
        Shown::Describe { source, symbol } => source.describe(symbol.as_deref())?,
    };
    out!("{text}");
    Ok(ExitCode::SUCCESS)
}

impl SchemaSource {
    fn list(&self, service: Option<&str>) -> Result<String, Box<dyn Error>> {
        if let Some(schema) = self.schema.local()? {
            let service = self.name_beside_files(service)?;
            return schema.list(service).map_err(usage);
        }
        let server = self.server()?;
        match service {
            None => {
                let names = server.services()?;
                Ok(names.iter().map(|name| format!("{name}\n")).collect())
            }
            Some(name) => Ok(server.schema(name)?.list(service)?),
        }
    }

    fn describe(&self, symbol: Option<&str>) -> Result<String, Box<dyn Error>> {
        let missing = || usage("give the name of a service, a method, a message or an enum");
        if let Some(schema) = self.schema.local()? {
            let symbol = self.name_beside_files(symbol)?.ok_or_else(missing)?;
            return schema.describe(symbol).map_err(usage);
        }
        let symbol = symbol.ok_or_else(missing)?;
        let server = self.server()?;
        let schema: Schema = server.schema(symbol)?;
        Ok(schema.describe(symbol)?)
    }

    /// The name to show. If files provide the definitions, it is the first word, because there is no URL.
    fn name_beside_files<'a>(
        &'a self,
        second: Option<&'a str>,
    ) -> Result<Option<&'a str>, Box<dyn Error>> {
        match (self.url.as_deref(), second) {
            (Some(url), _) if url.contains("://") => Err(usage(format!(
                "--proto and --protoset provide the definitions, so no server is needed; leave out `{url}`"
            ))),
            (first, None) => Ok(first),
            (_, Some(second)) => Err(usage(format!(
                "`{second}` is one name too many: give one at a time"
            ))),
        }
    }

    /// The server, connected to for the first time.
    fn server(&self) -> Result<GrpcServer, Box<dyn Error>> {
        let url: HttpUrl = self
            .url
            .as_deref()
            .unwrap_or_default()
            .parse()
            .map_err(usage)?;
        check_url(&url)?;
        let metadata = metadata(&self.headers, &url)?;
        let tls = self.tls.of(&url, None, false).map_err(usage)?;
        let http = Offer::Only(HttpVersion::Http2);
        let tls = tls.map(|settings| Tls::new(settings, url.host(), http, true));
        Ok(GrpcServer {
            tls: tls.transpose()?,
            endpoint: match &self.unix_socket {
                Some(path) => Endpoint::Unix(path.clone()).connectable(self.timeout)?,
                None => Endpoint::of(&url, self.timeout)?,
            },
            url,
            metadata,
            timeout: self.timeout,
        })
    }
}
