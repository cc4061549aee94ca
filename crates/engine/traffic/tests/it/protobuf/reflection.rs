//! Reflection, with servers that are honest, old, broken or lying.

use std::collections::HashMap;

use prony_testkit::contains;
use prony_traffic::protobuf::{CallError, Reflection, ReflectionError, Schema};
use proptest::prelude::*;
use prost::Message;
use prost_reflect::prost_types::{FileDescriptorProto, FileDescriptorSet};
use prost_reflect::{DynamicMessage, MessageDescriptor};
use serde_json::Value;

use crate::protobuf::hostile::{descriptor_set, importing, use_all};
use crate::protobuf::{assert_same, compile, shop};

/// A server with a catalog. It reads requests by the schema of reflection, not by the code under test.
struct Server {
    /// Its encoded files, by name.
    files: HashMap<String, Vec<u8>>,
    request: MessageDescriptor,
    response: MessageDescriptor,
    method: &'static str,
    calls: Vec<String>,
}

const V1: &str = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
const V1_ALPHA: &str = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

impl Server {
    fn new() -> Self {
        let set = FileDescriptorSet::decode(descriptor_set("shop/catalog.proto").as_slice());
        let file = |file: FileDescriptorProto| (file.name().to_owned(), file.encode_to_vec());
        let method = compile("reflection.proto").method(&V1[1..]).unwrap();
        Self {
            files: set.unwrap().file.into_iter().map(file).collect(),
            request: method.input(),
            response: method.output(),
            method: V1,
            calls: Vec::new(),
        }
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

    fn respond(&self, request: &Value) -> Vec<u8> {
        if request.get("listServices").is_some() {
            return self
                .message(r#"{"listServicesResponse":{"service":[{"name":"shop.v1.Catalog"}]}}"#);
        }
        let file = match (&request["fileByFilename"], &request["fileContainingSymbol"]) {
            (Value::String(name), _) => self.files.get(name),
            (_, Value::String(symbol)) if symbol.starts_with("shop.v1.") => {
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
        let messages = prony_traffic::protobuf::encode(&self.response, json, false);
        messages.unwrap().remove(0)
    }

    fn schema(&mut self, symbol: &str) -> Result<Schema, ReflectionError> {
        Reflection::new(|method: &str, request: &[u8]| self.call(method, request)).schema(symbol)
    }

    fn services(&mut self) -> Result<Vec<String>, ReflectionError> {
        Reflection::new(|method: &str, request: &[u8]| self.call(method, request)).services()
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
    let schema = reflection.schema("shop.v1.Catalog");
    schema.unwrap_err().to_string()
}

#[test]
fn a_server_sends_the_schema_of_a_service() {
    let mut server = Server::new();
    let schema = server.schema("shop.v1.Catalog/Find").unwrap();
    assert_same(&schema, &shop(), &["shop.v1.Catalog", "shop.v1.Item"]);
    // The well-known types need no request.
    let calls = [
        r#"{"fileContainingSymbol":"shop.v1.Catalog"}"#,
        r#"{"fileByFilename":"shop/money.proto"}"#,
    ];
    assert_eq!(server.calls, calls);
}

#[test]
fn a_server_of_either_version_lists_its_services() {
    let mut server = Server::new();
    for method in [V1, V1_ALPHA] {
        server.method = method;
        assert_eq!(server.services().unwrap(), ["shop.v1.Catalog"]);
        let schema = server.schema("shop.v1.Catalog").unwrap();
        assert_eq!(schema.services(), ["shop.v1.Catalog"]);
    }
    server.method = "none";
    let error = server.services().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server does not support reflection (grpc.reflection.v1 or v1alpha); give its schema with --proto or --protoset"
    );
}

#[test]
fn the_failure_of_a_call_is_reported() {
    let mut reflection =
        Reflection::new(|_: &str, _: &[u8]| Err(CallError::Failed("connection refused".into())));
    let error = reflection.services().unwrap_err().to_string();
    assert_eq!(error, "server reflection failed: connection refused");
}

#[test]
fn a_server_with_other_files_is_refused() {
    let error = |server: &mut Server, symbol| server.schema(symbol).unwrap_err().to_string();
    let mut server = Server::new();
    let expected = "server reflection returned an error for `shop.Catalog` (status 5): not found; did you mean `shop.v1.Catalog`?";
    assert_eq!(error(&mut server, "shop.Catalog"), expected);

    let money = "shop/money.proto";
    server.files.remove(money);
    let expected =
        "server reflection returned an error for the file `shop/money.proto` (status 5): not found";
    assert_eq!(error(&mut server, "shop.v1.Catalog"), expected);

    let other = importing("other.proto", &[], 0).encode_to_vec();
    server.files.insert(money.into(), other);
    let expected = "the response to a reflection request is invalid: it lacks the requested file `shop/money.proto`";
    assert_eq!(error(&mut server, "shop.v1.Catalog"), expected);

    let circle = importing(money, &["shop/catalog.proto"], 1).encode_to_vec();
    server.files.insert(money.into(), circle);
    let expected = "the server's schema is invalid: shop/money.proto: it imports `shop/catalog.proto` in a circle";
    assert_eq!(error(&mut server, "shop.v1.Catalog"), expected);
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
fn responses_that_do_not_fit_are_refused() {
    let server = Server::new();
    let services = server.message(r#"{"listServicesResponse":{}}"#);
    let import = files_response(std::slice::from_ref(&server.files["shop/money.proto"]));
    let no_message = "failed to decode Protobuf message: unexpected end group tag";
    let without_service = "its files do not define `shop.v1.Catalog`";
    for (response, fault) in [
        (vec![], "it is empty"),
        (services, "it has services instead of files"),
        (files_response(&[]), without_service),
        (import, without_service),
        (
            vec![0; prony_traffic::protobuf::MAX_BYTES + 1],
            "it is too long",
        ),
        (b"HTTP/1.1 400".to_vec(), no_message),
    ] {
        let expected = format!("the response to a reflection request is invalid: {fault}");
        assert_eq!(error_of(&response), expected);
    }
    let broken = files_response(&[b"\x0a\xff".to_vec()]);
    contains(&error_of(&broken), "not a compiled file");
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
        let mut reflection = Reflection::new(&mut call);
        let _ = reflection.services();
        if let Ok(schema) = reflection.schema("shop.v1.Catalog") {
            use_all(&schema, &[]);
        }
    }

    #[test]
    fn garbage_responses_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        error_of(&bytes);
    }
}
