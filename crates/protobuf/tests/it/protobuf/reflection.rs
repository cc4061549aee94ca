//! Reflection, with servers that are honest, old, broken or lying.

use std::collections::HashMap;

use prony_protobuf::{CallError, Reflection, ReflectionError, Request, Response, Schema};
use proptest::prelude::*;
use prost::Message;
use prost_reflect::prost_types::{FileDescriptorProto, FileDescriptorSet};
use prost_reflect::{DynamicMessage, MessageDescriptor};

use crate::protobuf::hostile::{descriptor_set, importing, use_all};
use crate::protobuf::{compile, shop};

/// A server with a catalog. It reads requests by the schema of reflection, not by the code under test.
struct Server {
    /// Its encoded files, by name.
    files: HashMap<String, Vec<u8>>,
    request: MessageDescriptor,
    response: MessageDescriptor,
    /// The method that it has.
    method: &'static str,
    calls: Vec<String>,
}

const V1: &str = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
const V1_ALPHA: &str = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

impl Server {
    fn new() -> Self {
        let set = FileDescriptorSet::decode(descriptor_set("shop/catalog.proto").as_slice());
        let files = set.unwrap().file;
        let method = compile("reflection.proto").method(&V1[1..]).unwrap();
        Self {
            files: files
                .into_iter()
                .map(|file| (file.name().to_owned(), file.encode_to_vec()))
                .collect(),
            request: method.input(),
            response: method.output(),
            method: V1,
            calls: Vec::new(),
        }
    }

    fn add(&mut self, file: &FileDescriptorProto) {
        let name = file.name().to_owned();
        self.files.insert(name, file.encode_to_vec());
    }

    fn call(&mut self, method: &str, request: &[u8]) -> Result<Vec<u8>, CallError> {
        if method != self.method {
            return Err(CallError::Unimplemented);
        }
        let request = DynamicMessage::decode(self.request.clone(), request).unwrap();
        let request = serde_json::to_value(&request).unwrap();
        self.calls.push(request.to_string());
        Ok(self.respond(&request))
    }

    fn respond(&self, request: &serde_json::Value) -> Vec<u8> {
        if request.get("listServices").is_some() {
            return self
                .message(r#"{"listServicesResponse":{"service":[{"name":"shop.v1.Catalog"}]}}"#);
        }
        let file = match (
            request.get("fileByFilename"),
            request.get("fileContainingSymbol"),
        ) {
            (Some(name), _) => self.files.get(name.as_str().unwrap()),
            (_, Some(symbol)) if symbol.as_str().unwrap().starts_with("shop.v1.") => {
                self.files.get("shop/catalog.proto")
            }
            _ => None,
        };
        match file {
            Some(file) => files_response(std::slice::from_ref(file)),
            None => self.message(r#"{"errorResponse":{"errorCode":5,"errorMessage":"not found"}}"#),
        }
    }

    fn message(&self, json: &str) -> Vec<u8> {
        let messages = prony_protobuf::encode(&self.response, json, false);
        messages.unwrap().remove(0)
    }

    fn reflect<T>(
        &mut self,
        use_reflection: impl FnOnce(
            &mut Reflection<&mut dyn FnMut(&str, &[u8]) -> Result<Vec<u8>, CallError>>,
        ) -> T,
    ) -> T {
        let mut call = |method: &str, request: &[u8]| self.call(method, request);
        use_reflection(&mut Reflection::new(&mut call))
    }
}

fn files_response(files: &[Vec<u8>]) -> Vec<u8> {
    let mut list = Vec::new();
    for file in files {
        prost::encoding::bytes::encode(1, file, &mut list);
    }
    let mut response = Vec::new();
    prost::encoding::bytes::encode(4, &list, &mut response);
    response
}

/// The error of a server that always sends the same.
fn error_of(response: &[u8]) -> String {
    let mut reflection = Reflection::new(|_: &str, _: &[u8]| Ok(response.to_vec()));
    reflection
        .schema("shop.v1.Catalog")
        .unwrap_err()
        .to_string()
}

#[test]
fn a_server_sends_the_schema_of_a_service() {
    let mut server = Server::new();
    let schema = server
        .reflect(|r| r.schema("shop.v1.Catalog/Find"))
        .unwrap();
    for symbol in ["shop.v1.Catalog", "shop.v1.Item"] {
        assert_eq!(
            schema.describe(symbol).unwrap(),
            shop().describe(symbol).unwrap()
        );
    }
    // The well-known types need no request.
    assert_eq!(
        server.calls,
        [
            r#"{"fileContainingSymbol":"shop.v1.Catalog"}"#,
            r#"{"fileByFilename":"shop/money.proto"}"#
        ]
    );
}

#[test]
fn a_server_lists_its_services() {
    let mut server = Server::new();
    assert_eq!(
        server.reflect(|r| r.services()).unwrap(),
        ["shop.v1.Catalog"]
    );
    let schema = server.reflect(|r| r.whole_schema()).unwrap();
    assert_eq!(schema.services(), ["shop.v1.Catalog"]);
}

#[test]
fn an_older_server_has_v1alpha() {
    let mut server = Server::new();
    server.method = V1_ALPHA;
    server.reflect(|r| r.whole_schema()).unwrap();
    server.method = "none";
    let error = server.reflect(|r| r.services()).unwrap_err();
    assert!(matches!(error, ReflectionError::Unavailable));
    assert_eq!(
        error.to_string(),
        "the server does not support reflection (grpc.reflection.v1 or v1alpha); give its schema with --proto or --protoset"
    );
}

#[test]
fn the_failure_of_a_call_is_reported() {
    let mut reflection =
        Reflection::new(|_: &str, _: &[u8]| Err(CallError::Failed("connection refused".into())));
    let error = reflection.services().unwrap_err();
    assert_eq!(
        error.to_string(),
        "server reflection failed: connection refused"
    );
}

#[test]
fn an_unknown_service_suggests_the_nearest() {
    let mut server = Server::new();
    let error = server.reflect(|r| r.schema("shop.Catalog")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "server reflection returned an error for `shop.Catalog` (status 5): not found; did you mean `shop.v1.Catalog`?"
    );
}

#[test]
fn a_missing_import_is_named() {
    let mut server = Server::new();
    server.files.remove("shop/money.proto");
    let error = server.reflect(|r| r.schema("shop.v1.Catalog")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "server reflection returned an error for the file `shop/money.proto` (status 5): not found"
    );
}

#[test]
fn files_that_import_each_other_end() {
    let mut server = Server::new();
    server.add(&importing("shop/money.proto", &["shop/catalog.proto"], 1));
    let error = server.reflect(|r| r.schema("shop.v1.Catalog")).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("in a circle"), "{text}");
}

#[test]
fn a_server_that_invents_files_is_stopped() {
    let mut count = 0;
    let mut reflection = Reflection::new(|_: &str, request: &[u8]| {
        count += 1;
        let name = match count {
            1 => "shop".to_owned(),
            _ => format!("{}", count - 1),
        };
        assert!(count == 1 || request.ends_with(name.as_bytes()));
        let mut file = importing(&name, &[&count.to_string()], 0);
        file.package = Some("shop.v1".into());
        file.service.push(Default::default());
        file.service[0].name = Some("Catalog".into());
        Ok(files_response(&[file.encode_to_vec()]))
    });
    let error = reflection.schema("shop.v1.Catalog").unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server's schema is invalid: the schema has more than 1000 files"
    );
    assert_eq!(count, 1001);
}

#[test]
fn a_server_that_sends_another_file_is_refused() {
    let mut server = Server::new();
    let other = importing("other.proto", &[], 0);
    server
        .files
        .insert("shop/money.proto".into(), other.encode_to_vec());
    let error = server.reflect(|r| r.schema("shop.v1.Catalog")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the response to a reflection request is invalid: it lacks the requested file `shop/money.proto`"
    );
}

#[test]
fn responses_that_do_not_fit_are_refused() {
    let server = Server::new();
    for (response, fault) in [
        (vec![], "it is empty"),
        (
            server.message(r#"{"listServicesResponse":{}}"#),
            "it has services instead of files",
        ),
        (
            files_response(&[]),
            "its files do not define `shop.v1.Catalog`",
        ),
        (
            files_response(std::slice::from_ref(&server.files["shop/money.proto"])),
            "its files do not define `shop.v1.Catalog`",
        ),
        (vec![0; prony_protobuf::MAX_BYTES + 1], "it is too long"),
    ] {
        let expected = format!("the response to a reflection request is invalid: {fault}");
        assert_eq!(error_of(&response), expected);
    }
    assert!(
        error_of(b"HTTP/1.1 400").starts_with("the response to a reflection request is invalid: ")
    );
    assert!(error_of(&files_response(&[b"\x0a\xff".to_vec()])).contains("not a compiled file"));
}

#[test]
fn responses_cannot_control_a_terminal() {
    let server = Server::new();
    let refusal = server.message(r#"{"errorResponse":{"errorCode":5,"errorMessage":"\u001b[2J"}}"#);
    assert!(error_of(&refusal).ends_with("(status 5): \u{fffd}[2J"));
    let services = server.message(r#"{"listServicesResponse":{"service":[{"name":"\u001b[2J"}]}}"#);
    let mut reflection = Reflection::new(|_: &str, _: &[u8]| Ok(services.clone()));
    assert_eq!(
        reflection.services().unwrap_err().to_string(),
        "the response to a reflection request is invalid: `\u{fffd}[2J` is not the name of a service"
    );
}

#[test]
fn requests_and_responses_are_bytes() {
    assert_eq!(Request::FileByName("a".into()).encode(), b"\x1a\x01a");
    assert_eq!(Request::ListServices.encode(), b"\x3a\x01*");
    let server = Server::new();
    let response = server.message(r#"{"errorResponse":{"errorCode":5,"errorMessage":"no"}}"#);
    let expected = Response::Error {
        code: 5,
        message: "no".into(),
    };
    assert_eq!(Response::decode(&response).unwrap(), expected);
}

proptest! {
    #[test]
    fn damaged_responses_are_used_or_refused(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut server = Server::new();
        let mut count = 0;
        let mut call = |method: &str, request: &[u8]| {
            let mut response = server.call(method, request)?;
            for (call, index, byte) in &damage {
                if call.index(3) == count {
                    let at = index.index(response.len());
                    response[at] = *byte;
                }
            }
            if let Some(cut) = cut.filter(|_| count == 1) {
                response.truncate(cut.index(response.len()));
            }
            count += 1;
            Ok(response)
        };
        let schema: Result<Schema, _> = Reflection::new(&mut call).whole_schema();
        if let Ok(schema) = schema {
            use_all(&schema, &[]);
        }
    }

    #[test]
    fn garbage_responses_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        error_of(&bytes);
    }
}
