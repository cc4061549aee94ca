//! Server reflection: a server sends the files that define its services. `grpc.reflection.v1` and, for older servers,
//! `grpc.reflection.v1alpha`, whose messages are the same.

use std::fmt;

use prony_manifest::{did_you_mean, nearest};
use prost::{Message, Oneof};

use self::wire::{RequestKind, ResponseKind, Services};
use crate::protobuf::check::is_identifier;
use crate::protobuf::descriptors::Descriptors;
use crate::protobuf::error::{SchemaError, printable};
use crate::protobuf::schema::{Schema, split_method_name};

/// The streaming methods that reflect, the newer one first. Prony sends one request over each stream.
const METHODS: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// The most bytes that a response may have. Its files count towards [`MAX_BYTES`](crate::protobuf::MAX_BYTES) too.
const MAX_RESPONSE: usize = crate::protobuf::MAX_BYTES;

/// The messages of `grpc/reflection/v1/reflection.proto` that Prony uses.
mod wire {
    use super::{Message, Oneof};

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Request {
        #[prost(oneof = "RequestKind", tags = "3, 4, 7")]
        pub(crate) kind: Option<RequestKind>,
    }

    #[derive(Clone, PartialEq, Oneof)]
    pub(super) enum RequestKind {
        #[prost(string, tag = "3")]
        FileByFilename(String),
        #[prost(string, tag = "4")]
        FileContainingSymbol(String),
        #[prost(string, tag = "7")]
        ListServices(String),
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Response {
        #[prost(oneof = "ResponseKind", tags = "4, 6, 7")]
        pub(crate) kind: Option<ResponseKind>,
    }

    #[derive(Clone, PartialEq, Oneof)]
    pub(super) enum ResponseKind {
        #[prost(message, tag = "4")]
        Files(Files),
        #[prost(message, tag = "6")]
        Services(Services),
        #[prost(message, tag = "7")]
        Error(Error),
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Files {
        #[prost(bytes = "vec", repeated, tag = "1")]
        pub(crate) file: Vec<Vec<u8>>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Services {
        #[prost(message, repeated, tag = "1")]
        pub(crate) service: Vec<Service>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Service {
        #[prost(string, tag = "1")]
        pub(crate) name: String,
    }

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Error {
        #[prost(int32, tag = "1")]
        pub(crate) code: i32,
        #[prost(string, tag = "2")]
        pub(crate) message: String,
    }
}

/// Why a call of the server returned no message.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error("the server does not have the method")]
    Unimplemented,
    #[error(transparent)]
    Failed(Box<dyn std::error::Error + Send + Sync>),
}

/// Collects schemas from a server.
///
/// `call` calls the method at a path (`/package.Service/Method`) with one request message, ends its side of the stream,
/// and returns the response message.
pub struct Reflection<C> {
    call: C,
    /// Which of [`METHODS`] the server has, once it has responded.
    method: Option<&'static str>,
}

impl<C: FnMut(&str, &[u8]) -> Result<Vec<u8>, CallError>> Reflection<C> {
    pub fn new(call: C) -> Self {
        Self { call, method: None }
    }

    /// The names of the server's services, sorted.
    pub fn services(&mut self) -> Result<Vec<String>, ReflectionError> {
        match self.exchange(RequestKind::ListServices("*".into()))? {
            ResponseKind::Services(Services { service }) => {
                let mut names: Vec<String> = service.into_iter().map(|it| it.name).collect();
                if let Some(odd) = names.iter().find(|n| !n.split('.').all(is_identifier)) {
                    let odd = printable(odd);
                    return Err(wrong(format!("`{odd}` is not the name of a service")));
                }
                names.sort_unstable();
                names.dedup();
                Ok(names)
            }
            ResponseKind::Error(error) => Err(refused("the list of services", &error)),
            ResponseKind::Files(_) => Err(wrong("it has files instead of services")),
        }
    }

    /// The schema of a service or a type, or of the service of a method.
    pub fn schema(&mut self, symbol: &str) -> Result<Schema, ReflectionError> {
        let symbol = if symbol.contains('/') {
            split_method_name(symbol).map_or(symbol, |(service, _)| service)
        } else {
            symbol
        };
        let mut descriptors = Descriptors::default();
        self.files_of(symbol, &mut descriptors)?;
        let pool = descriptors.linked()?;
        Ok(Schema { pool })
    }

    /// Adds the files that define `symbol` and what they import.
    fn files_of(
        &mut self,
        symbol: &str,
        descriptors: &mut Descriptors,
    ) -> Result<(), ReflectionError> {
        let request = RequestKind::FileContainingSymbol(symbol.to_owned());
        if let Err(error) = self.add_files(request, descriptors)? {
            // Maybe a service was meant.
            let known = self.services().unwrap_or_default();
            let nearest = nearest(symbol, known.iter().map(String::as_str));
            let ReflectionError(text) = refused(&format!("`{symbol}`"), &error);
            return Err(ReflectionError(text + &did_you_mean(&nearest)));
        }
        if !descriptors.defines(symbol) {
            return Err(wrong(format!("its files do not define `{symbol}`")));
        }
        self.add_imports(descriptors)
    }

    fn add_imports(&mut self, descriptors: &mut Descriptors) -> Result<(), ReflectionError> {
        descriptors.add_well_known_imports()?;
        while let Some(missing) = descriptors.missing_import() {
            let import = missing.import.to_owned();
            let request = RequestKind::FileByFilename(import.clone());
            self.add_files(request, descriptors)?
                .map_err(|error| refused(&format!("the file `{import}`"), &error))?;
            if !descriptors.has(&import) {
                return Err(wrong(format!("it lacks the requested file `{import}`")));
            }
            descriptors.add_well_known_imports()?;
        }
        Ok(())
    }

    /// Adds the files that the server sends, unless it responds with an error.
    fn add_files(
        &mut self,
        request: RequestKind,
        descriptors: &mut Descriptors,
    ) -> Result<Result<(), wire::Error>, ReflectionError> {
        match self.exchange(request)? {
            ResponseKind::Files(files) => {
                for file in files.file {
                    descriptors.add(file)?;
                }
                Ok(Ok(()))
            }
            ResponseKind::Error(error) => Ok(Err(error)),
            ResponseKind::Services(_) => Err(wrong("it has services instead of files")),
        }
    }

    fn exchange(&mut self, request: RequestKind) -> Result<ResponseKind, ReflectionError> {
        let kind = Some(request);
        let bytes = wire::Request { kind }.encode_to_vec();
        let methods = match self.method {
            Some(method) => vec![method],
            None => METHODS.to_vec(),
        };
        for method in methods {
            match (self.call)(method, &bytes) {
                Ok(response) => {
                    self.method = Some(method);
                    return decoded(&response);
                }
                Err(CallError::Unimplemented) => {}
                Err(CallError::Failed(error)) => {
                    return Err(ReflectionError(format!(
                        "server reflection failed: {error}"
                    )));
                }
            }
        }
        Err(ReflectionError(
            "the server does not support reflection (grpc.reflection.v1 or v1alpha); give its schema with --proto or \
             --protoset"
                .into(),
        ))
    }
}

fn decoded(bytes: &[u8]) -> Result<ResponseKind, ReflectionError> {
    if bytes.len() > MAX_RESPONSE {
        return Err(wrong("it is too long"));
    }
    let response = wire::Response::decode(bytes).map_err(|error| wrong(error.to_string()))?;
    response.kind.ok_or_else(|| wrong("it is empty"))
}

/// Why there is no schema from a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ReflectionError(String);

impl From<SchemaError> for ReflectionError {
    fn from(error: SchemaError) -> Self {
        Self(format!("the server's schema is invalid: {error}"))
    }
}

fn refused(what: &str, error: &wire::Error) -> ReflectionError {
    let (code, message) = (error.code, printable(&error.message));
    ReflectionError(format!(
        "server reflection returned an error for {what} (status {code}): {message}"
    ))
}

/// A response is not what the protocol requires.
fn wrong(why: impl fmt::Display) -> ReflectionError {
    ReflectionError(format!(
        "the response to a reflection request is invalid: {why}"
    ))
}
