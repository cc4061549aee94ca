//! gRPC servers: their schemas, from files or by reflection, and metadata.

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use clap::Args;
use prony_load::wire::grpc::Status;
use prony_load::{Endpoint, ExchangeError, exchange};
use prony_run::run::other_scheme;
use prony_traffic::protobuf::{CallError, Reflection, ReflectionError, Schema};
use prony_traffic::{
    Call, CallKind, Field, HttpUrl, PREFIX, Response, Scheme, add_user, header_fields,
};

use crate::exit::usage;
use crate::tls::{SPEAKS_TLS, Tls};

#[derive(Args)]
#[command(next_help_heading = "gRPC")]
pub(crate) struct SchemaFlags {
    /// Read services and messages from this .proto file; repeatable [default: server reflection]
    #[arg(long, value_name = "FILE", conflicts_with = "protoset")]
    proto: Vec<PathBuf>,
    /// Search this folder for imports of --proto files; repeatable
    #[arg(
        long,
        value_name = "FOLDER",
        requires = "proto",
        hide_short_help = true
    )]
    import_path: Vec<PathBuf>,
    /// Read services and messages from this descriptor set, as `protoc --include_imports
    /// --descriptor_set_out` writes it; repeatable
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    protoset: Vec<PathBuf>,
}

impl SchemaFlags {
    pub(crate) fn are_given(&self) -> bool {
        !self.proto.is_empty() || !self.protoset.is_empty()
    }

    /// The schema in the files; `None` if the server has to provide it.
    pub(crate) fn local(&self) -> Result<Option<Schema>, Box<dyn Error>> {
        Ok(match (self.proto.as_slice(), self.protoset.as_slice()) {
            ([], []) => None,
            ([], sets) => Some(Schema::from_descriptor_sets(sets)?),
            (files, _) => Some(Schema::from_proto_files(files, &self.import_path)?),
        })
    }
}

/// The fields of `Name: value` lines as metadata, and the user of the URL. The value of a name that ends with `-bin` must
/// be base64.
pub(crate) fn metadata(lines: &[String], url: &HttpUrl) -> Result<Vec<Field>, Box<dyn Error>> {
    let mut fields = header_fields(lines).map_err(usage)?;
    add_user(&mut fields, url);
    let mut fields_in_base64 = fields
        .iter()
        .filter(|(name, _)| name.as_str().ends_with("-bin"));
    match fields_in_base64.find(|(_, value)| BASE64.decode(value).is_err()) {
        Some((name, _)) => Err(usage(format!(
            "the value of `{name}` is not base64, which a name with -bin needs"
        ))),
        None => Ok(fields),
    }
}

/// gRPC allows base64 with and without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Checks that the URL names only a server.
pub(crate) fn check_url(url: &HttpUrl) -> Result<(), Box<dyn Error>> {
    match url.path() {
        "/" => Ok(()),
        _ => Err(usage(format!(
            "the URL of a gRPC server has no path; write {}",
            server_of(url)
        ))),
    }
}

pub(crate) fn server_of(url: &HttpUrl) -> String {
    format!("{}/", url.origin())
}

pub(crate) struct GrpcServer {
    pub(crate) endpoint: Endpoint,
    pub(crate) url: HttpUrl,
    pub(crate) tls: Option<Tls>,
    pub(crate) metadata: Vec<Field>,
    pub(crate) timeout: Duration,
}

impl GrpcServer {
    /// The names of its services, by reflection, with a connection for each request.
    pub(crate) fn services(&self) -> Result<Vec<String>, ReflectionError> {
        Reflection::new(|path, message| self.call(path, message)).services()
    }

    /// The schema of a service, a method or a type, likewise.
    pub(crate) fn schema(&self, symbol: &str) -> Result<Schema, ReflectionError> {
        Reflection::new(|path, message| self.call(path, message)).schema(symbol)
    }

    /// Sends one message over a stream, and returns the first message of the response.
    fn call(&self, path: &str, message: &[u8]) -> Result<Vec<u8>, CallError> {
        let call = Call {
            scheme: self.url.scheme(),
            kind: CallKind::Bidirectional,
            metadata: self.metadata.clone(),
            ..Call::unary(path, self.url.host_header(), message)
        };
        call.check().map_err(failed)?;
        let tls = self.tls.as_ref().map(|tls| &tls.client);
        let response = exchange(&self.endpoint, &call.into(), tls, self.timeout)
            .map_err(|error| failed(self.explain(error).to_string()))?;
        first_message(&response)
    }

    /// Why there was no response, and what helps. A server over TLS that gets a call in plain text closes the connection,
    /// sends an alert, or responds in HTTP/1.1.
    fn explain(&self, error: ExchangeError) -> Box<dyn Error> {
        let did_connect = !matches!(error, ExchangeError::Connect { .. });
        match &self.tls {
            Some(tls) => tls.offered.explain(error),
            None if did_connect
                && other_scheme(&self.endpoint, Scheme::Http, self.timeout).is_some() =>
            {
                SPEAKS_TLS.into()
            }
            None => error.into(),
        }
    }
}

/// `UNIMPLEMENTED`.
const UNIMPLEMENTED: u32 = 12;

fn first_message(response: &Response) -> Result<Vec<u8>, CallError> {
    let status = response
        .header("grpc-status")
        .and_then(|text| text.parse().ok());
    match status {
        Some(0) => message_of(&response.body).ok_or_else(|| failed("the response has no message")),
        Some(UNIMPLEMENTED) => Err(CallError::Unimplemented),
        Some(status) => {
            let message = response.header("grpc-message").unwrap_or_default();
            Err(failed(format!("grpc-status {}: {message}", Status(status))))
        }
        None => Err(failed(format!(
            "the response has HTTP status {} and no grpc-status: is it a gRPC server?",
            response.status
        ))),
    }
}

/// The first message of a body; the wire has checked its length.
fn message_of(body: &[u8]) -> Option<Vec<u8>> {
    let (prefix, rest) = body.split_at_checked(PREFIX)?;
    let length = u32::from_be_bytes(prefix[1..].try_into().ok()?);
    rest.get(..length as usize).map(<[u8]>::to_vec)
}

fn failed(error: impl Into<Box<dyn Error + Send + Sync>>) -> CallError {
    CallError::Failed(error.into())
}

#[cfg(test)]
mod tests {
    use prony_testkit::contains;

    use super::*;

    #[test]
    fn binary_metadata_is_base64() {
        let lines = ["X-Token: t", "key-bin: AAE", "b-bin: AA=="].map(String::from);
        let url = "http://me@a".parse().unwrap();
        let fields = metadata(&lines, &url).unwrap();
        assert_eq!(fields[0].0, "x-token");
        assert_eq!(fields[1].1, "AAE");
        let (name, value) = &fields[3];
        assert_eq!(
            (name.as_str(), value.as_bytes()),
            ("authorization", &b"Basic bWU6"[..])
        );
        let error = metadata(&["key-bin: ?".into()], &url).unwrap_err();
        contains(&error.to_string(), "`key-bin` is not base64");
        assert!(metadata(&["nothing".into()], &url).is_err());
    }

    #[test]
    fn a_url_of_a_server_has_no_path() {
        let error = check_url(&"https://a:1/x".parse().unwrap()).unwrap_err();
        assert!(error.to_string().ends_with("write https://a:1/"), "{error}");
        assert!(check_url(&"http://a".parse().unwrap()).is_ok());
    }

    #[test]
    fn a_response_has_a_message_or_a_reason() {
        let response = |status: &str, message: &str, body: &[u8]| Response {
            status: 200,
            headers: vec![
                ("grpc-status".into(), status.into()),
                ("grpc-message".into(), message.into()),
            ],
            body: body.into(),
        };
        let whole = response("0", "", b"\0\0\0\0\x01ab");
        assert_eq!(first_message(&whole).unwrap(), b"a");
        assert!(first_message(&response("0", "", b"\0\0\0\0\x02a")).is_err());
        let unimplemented = first_message(&response("12", "", b""));
        assert!(matches!(unimplemented, Err(CallError::Unimplemented)));
        let refused = first_message(&response("7", "not you", b"")).unwrap_err();
        let message = "grpc-status 7 (PERMISSION_DENIED): not you";
        assert_eq!(refused.to_string(), message);
        let other = Response {
            status: 404,
            ..Response::default()
        };
        let error = first_message(&other).unwrap_err().to_string();
        prony_testkit::contains(&error, "HTTP status 404 and no grpc-status");
    }
}
