//! Server reflection: a server sends the files that define its services. `grpc.reflection.v1` and, for older servers,
//! `grpc.reflection.v1alpha`, whose messages are the same.

use prony_manifest::{did_you_mean, nearest};
use prost::{Message, Oneof};

use crate::protobuf::descriptors::Descriptors;
use crate::protobuf::schema::{MAX_FILES, is_identifier, printable, split_method_name};
use crate::protobuf::{Schema, SchemaError};

/// The streaming methods that reflect, the newer one first. Prony sends one request over each stream.
const METHODS: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// The most bytes that a response may have. Its files count towards [`MAX_BYTES`](crate::protobuf::MAX_BYTES) too.
const MAX_RESPONSE: usize = crate::protobuf::MAX_BYTES;

/// What the client wants to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// The names of the services.
    ListServices,
    /// The file that defines a service, a method or a type.
    FileContainingSymbol(String),
    /// The file of this name.
    FileByName(String),
}

/// What the server responds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// The names of the services.
    Services(Vec<String>),
    /// Encoded files: the requested one, and perhaps others that it imports.
    Files(Vec<Vec<u8>>),
    /// There is no such file or symbol.
    Error {
        /// A gRPC status code.
        code: i32,
        /// Why, without control characters.
        message: String,
    },
}

impl Request {
    /// The request message.
    pub fn encode(&self) -> Vec<u8> {
        let kind = match self {
            Self::ListServices => wire::RequestKind::ListServices("*".into()),
            Self::FileContainingSymbol(symbol) => {
                wire::RequestKind::FileContainingSymbol(symbol.clone())
            }
            Self::FileByName(name) => wire::RequestKind::FileByFilename(name.clone()),
        };
        wire::Request { kind: Some(kind) }.encode_to_vec()
    }
}

impl Response {
    /// Reads a response message.
    ///
    /// # Errors
    /// If it is none.
    pub fn decode(bytes: &[u8]) -> Result<Self, ReflectionError> {
        if bytes.len() > MAX_RESPONSE {
            return Err(ReflectionError::Response("it is too long".into()));
        }
        let response = wire::Response::decode(bytes)
            .map_err(|error| ReflectionError::Response(error.to_string()))?;
        Ok(match response.kind {
            Some(wire::ResponseKind::Files(files)) => Self::Files(files.file),
            Some(wire::ResponseKind::Services(list)) => {
                Self::Services(list.service.into_iter().map(|s| s.name).collect())
            }
            Some(wire::ResponseKind::Error(error)) => Self::Error {
                code: error.code,
                message: printable(&error.message),
            },
            None => return Err(ReflectionError::Response("it is empty".into())),
        })
    }
}

/// The messages of `grpc/reflection/v1/reflection.proto` that Prony uses.
mod wire {
    use super::{Message, Oneof};

    #[derive(Clone, PartialEq, Message)]
    pub struct Request {
        #[prost(oneof = "RequestKind", tags = "3, 4, 7")]
        pub kind: Option<RequestKind>,
    }

    #[derive(Clone, PartialEq, Oneof)]
    pub enum RequestKind {
        #[prost(string, tag = "3")]
        FileByFilename(String),
        #[prost(string, tag = "4")]
        FileContainingSymbol(String),
        #[prost(string, tag = "7")]
        ListServices(String),
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Response {
        #[prost(oneof = "ResponseKind", tags = "4, 6, 7")]
        pub kind: Option<ResponseKind>,
    }

    #[derive(Clone, PartialEq, Oneof)]
    pub enum ResponseKind {
        #[prost(message, tag = "4")]
        Files(Files),
        #[prost(message, tag = "6")]
        Services(Services),
        #[prost(message, tag = "7")]
        Error(Error),
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Files {
        #[prost(bytes = "vec", repeated, tag = "1")]
        pub file: Vec<Vec<u8>>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Services {
        #[prost(message, repeated, tag = "1")]
        pub service: Vec<Service>,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Service {
        #[prost(string, tag = "1")]
        pub name: String,
    }

    #[derive(Clone, PartialEq, Message)]
    pub struct Error {
        #[prost(int32, tag = "1")]
        pub code: i32,
        #[prost(string, tag = "2")]
        pub message: String,
    }
}

/// Why a call of the server returned no message.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The server does not have the method (gRPC status 12).
    #[error("the server does not have the method")]
    Unimplemented,
    /// Anything else.
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
    /// Reflects through `call`.
    pub fn new(call: C) -> Self {
        Self { call, method: None }
    }

    /// The names of the server's services, sorted.
    ///
    /// # Errors
    /// If the server does not reflect, or responds with anything else.
    pub fn services(&mut self) -> Result<Vec<String>, ReflectionError> {
        match self.exchange(&Request::ListServices)? {
            Response::Services(mut names) => {
                if let Some(odd) = names.iter().find(|n| !n.split('.').all(is_identifier)) {
                    return Err(ReflectionError::Response(format!(
                        "`{}` is not the name of a service",
                        printable(odd)
                    )));
                }
                names.sort_unstable();
                names.dedup();
                Ok(names)
            }
            Response::Error { code, message } => Err(ReflectionError::Refused {
                what: "the list of services".into(),
                code,
                message,
            }),
            Response::Files(_) => Err(ReflectionError::Response(
                "it has files instead of services".into(),
            )),
        }
    }

    /// The schema of a service or a type, or of the service of a method.
    ///
    /// # Errors
    /// If the server does not know it, or sends files that do not define it or do not fit together.
    pub fn schema(&mut self, symbol: &str) -> Result<Schema, ReflectionError> {
        let symbol = if symbol.contains('/') {
            split_method_name(symbol).map_or(symbol, |(service, _)| service)
        } else {
            symbol
        };
        self.schema_of(std::slice::from_ref(&symbol.to_owned()))
    }

    /// The schema of every service of the server.
    ///
    /// # Errors
    /// As [`Reflection::schema`].
    pub fn whole_schema(&mut self) -> Result<Schema, ReflectionError> {
        let services = self.services()?;
        if services.len() > MAX_FILES {
            return Err(ReflectionError::Response(format!(
                "it lists more than {MAX_FILES} services"
            )));
        }
        self.schema_of(&services)
    }

    fn schema_of(&mut self, symbols: &[String]) -> Result<Schema, ReflectionError> {
        let mut descriptors = Descriptors::default();
        for symbol in symbols {
            if !descriptors.defines(symbol) {
                self.files_of(symbol, &mut descriptors)?;
            }
        }
        descriptors.into_schema().map_err(ReflectionError::Schema)
    }

    /// Adds the files that define `symbol` and what they import.
    fn files_of(
        &mut self,
        symbol: &str,
        descriptors: &mut Descriptors,
    ) -> Result<(), ReflectionError> {
        let request = Request::FileContainingSymbol(symbol.to_owned());
        self.add_files(&request, &format!("`{symbol}`"), descriptors)
            .map_err(|error| self.suggest(symbol, error))?;
        if !descriptors.defines(symbol) {
            return Err(ReflectionError::Response(format!(
                "its files do not define `{symbol}`"
            )));
        }
        self.add_imports(descriptors)
    }

    /// Adds the service that was probably meant to the refusal of a symbol.
    fn suggest(&mut self, symbol: &str, error: ReflectionError) -> ReflectionError {
        let ReflectionError::Refused {
            what,
            code,
            message,
        } = error
        else {
            return error;
        };
        let known = self.services().unwrap_or_default();
        let nearest = nearest(symbol, known.iter().map(String::as_str));
        let message = format!("{message}{}", did_you_mean(&nearest));
        ReflectionError::Refused {
            what,
            code,
            message,
        }
    }

    fn add_imports(&mut self, descriptors: &mut Descriptors) -> Result<(), ReflectionError> {
        let add_well_known = |descriptors: &mut Descriptors| {
            let added = descriptors.add_well_known_imports();
            added.map_err(ReflectionError::Schema)
        };
        add_well_known(descriptors)?;
        while let Some(missing) = descriptors.missing_import() {
            let import = missing.import.to_owned();
            let request = Request::FileByName(import.clone());
            self.add_files(&request, &format!("the file `{import}`"), descriptors)?;
            if !descriptors.has(&import) {
                return Err(ReflectionError::Response(format!(
                    "it lacks the requested file `{import}`"
                )));
            }
            add_well_known(descriptors)?;
        }
        Ok(())
    }

    fn add_files(
        &mut self,
        request: &Request,
        what: &str,
        descriptors: &mut Descriptors,
    ) -> Result<(), ReflectionError> {
        match self.exchange(request)? {
            Response::Files(files) => files
                .into_iter()
                .try_for_each(|file| descriptors.add(file).map(drop))
                .map_err(ReflectionError::Schema),
            Response::Error { code, message } => Err(ReflectionError::Refused {
                what: what.to_owned(),
                code,
                message,
            }),
            Response::Services(_) => Err(ReflectionError::Response(
                "it has services instead of files".into(),
            )),
        }
    }

    fn exchange(&mut self, request: &Request) -> Result<Response, ReflectionError> {
        let bytes = request.encode();
        let methods = match self.method {
            Some(method) => vec![method],
            None => METHODS.to_vec(),
        };
        for method in methods {
            match (self.call)(method, &bytes) {
                Ok(response) => {
                    self.method = Some(method);
                    return Response::decode(&response);
                }
                Err(CallError::Unimplemented) => {}
                Err(CallError::Failed(error)) => return Err(ReflectionError::Call(error)),
            }
        }
        Err(ReflectionError::Unavailable)
    }
}

/// Why there is no schema from a server.
#[derive(Debug, thiserror::Error)]
pub enum ReflectionError {
    /// The server has neither method.
    #[error(
        "the server does not support reflection (grpc.reflection.v1 or v1alpha); give its schema \
         with --proto or --protoset"
    )]
    Unavailable,
    /// A call failed.
    #[error("server reflection failed: {0}")]
    Call(Box<dyn std::error::Error + Send + Sync>),
    /// The server responded with an error.
    #[error("server reflection returned an error for {what} (status {code}): {message}")]
    Refused {
        /// What was requested.
        what: String,
        /// A gRPC status code.
        code: i32,
        /// The server's words, and the service that was probably meant.
        message: String,
    },
    /// A response is not what the protocol requires.
    #[error("the response to a reflection request is invalid: {0}")]
    Response(String),
    /// The files do not fit together.
    #[error("the server's schema is invalid: {0}")]
    Schema(SchemaError),
}
