//! Schemas from files, and the methods in them.

use std::fs;
use std::path::{Path, PathBuf};

use prony_testkit::contains;
use prony_testkit::table::rows;
use prony_traffic::CallKind;
use prony_traffic::protobuf::Schema;

use crate::protobuf::hostile::{descriptor_set, without_file};
use crate::protobuf::{assert_same, compile, protos, shop};

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// The error of compiling `file` in a folder, without the path of the folder.
fn error(files: &[(&str, &str)], file: &str, import_paths: &[&str]) -> String {
    let folder = folder(files);
    let path = folder.path().to_owned();
    let import_paths: Vec<_> = import_paths.iter().map(|p| path.join(p)).collect();
    let error = Schema::from_proto_files(&[path.join(file)], &import_paths).unwrap_err();
    let (error, path) = (error.to_string(), path.display().to_string());
    error.replace(&format!("{path}/"), "").replace(&path, ".")
}

#[test]
fn the_echo_service_of_the_workloads() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../workloads/echo.proto");
    let schema = Schema::from_proto_files(&[file], &[]).unwrap();
    assert_eq!(schema.services(), ["prony.echo.v1.Echo"]);
    let method = schema.method("prony.echo.v1.Echo/Unary").unwrap();
    assert_eq!(method.path(), "/prony.echo.v1.Echo/Unary");
    let message = method.encode(r#"{"payload":"hello"}"#).unwrap();
    assert_eq!(message, [b"\x0a\x05hello"]);
}

#[test]
fn a_method_has_three_spellings() {
    for name in [
        "shop.v1.Catalog/Find",
        "/shop.v1.Catalog/Find",
        "shop.v1.Catalog.Find",
    ] {
        let method = shop().method(name).unwrap();
        assert_eq!(method.path(), "/shop.v1.Catalog/Find");
        assert_eq!(method.input().full_name(), "shop.v1.Query");
        assert_eq!(method.output().full_name(), "shop.v1.Item");
    }
}

#[test]
fn the_four_kinds_of_methods() {
    for (name, kind) in [
        ("Find", CallKind::Unary),
        ("Watch", CallKind::ServerStreaming),
        ("Import", CallKind::ClientStreaming),
        ("Exchange", CallKind::Bidirectional),
    ] {
        let method = shop().method(&format!("shop.v1.Catalog/{name}"));
        assert_eq!(method.unwrap().kind(), kind, "{name}");
    }
}

#[test]
fn an_unknown_method_suggests_the_nearest() {
    for [name, expected] in rows(
        "shop.v1.Catalog/Fnd | there is no method `shop.v1.Catalog/Fnd`; did you mean `shop.v1.Catalog/Find`?
        shop.v1.Catalogue/Find | there is no service `shop.v1.Catalogue`; did you mean `shop.v1.Catalog`?
        Catalog/Find | there is no service `Catalog`; did you mean `shop.v1.Catalog`?
        shop.v1.Item/Find | `shop.v1.Item` is a message and not a service
        Find | `Find` is not the name of a method; write it as package.Service/Method",
    ) {
        assert_eq!(shop().method(name).unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_file_is_found_in_an_import_path() {
    let file = PathBuf::from("shop/catalog.proto");
    let schema = Schema::from_proto_files(&[file], &[protos()]).unwrap();
    assert_eq!(schema.services(), ["shop.v1.Catalog"]);
}

#[test]
fn imports_are_found_beside_the_file_and_public_ones_through_others() {
    let first = "syntax = \"proto3\"; import \"b.proto\"; message A { D d = 1; }";
    let folder = folder(&[
        ("a.proto", first),
        ("b.proto", "syntax = \"proto3\"; import public \"c.proto\";"),
        ("c.proto", "syntax = \"proto3\"; import public \"d.proto\";"),
        ("d.proto", "syntax = \"proto3\"; message D {}"),
    ]);
    let files = ["d.proto", "a.proto"].map(|name| folder.path().join(name));
    Schema::from_proto_files(&files, &[]).unwrap();
}

#[test]
fn a_faulty_file_is_refused_with_the_place_of_its_fault() {
    for [expected, text] in rows(
        r#"
        a.proto:3:12: expected '=', but found 'name' | syntax = "proto3";\nmessage A {\n  string a name = 1;\n}\n
        a.proto:3:3: name 'B' is not defined | syntax = "proto3";\nmessage A {\n  B b = 1;\n}\n
        a.proto:2:1: Prony reads `syntax = "proto2"` and `syntax = "proto3"`; editions are not supported | // A comment before it.\nedition = "2023";\nmessage A {}\n
        a.proto:2:1: import `sub/b.proto` not found; searched in q, p, .; add its folder with --import-path | syntax = "proto3";\nimport "sub/b.proto";\n
        p/b.proto: the file is imported as both `p/b.proto` and `b.proto`; name the folder that imports start from with --import-path | syntax = "proto3"; import "p/b.proto"; import "b.proto";
    "#,
    ) {
        let other = ("p/b.proto", "syntax = \"proto3\"; message B {}");
        let error = error(&[("a.proto", text), other], "a.proto", &["q", "p"]);
        assert_eq!(error, expected);
    }
    let missing = error(&[], "none.proto", &[]);
    contains(&missing, "none.proto");
    contains(&missing, "searched in .");
}

#[test]
fn files_that_are_too_large_are_refused() {
    let long = error_of(&" ".repeat(prony_traffic::protobuf::MAX_BYTES + 1));
    assert_eq!(long, "a.proto: the schema is larger than 16 MiB");
    let endless = Schema::from_descriptor_sets(&["/dev/zero".into()]).unwrap_err();
    let expected = "/dev/zero: the schema is larger than 16 MiB";
    assert_eq!(endless.to_string(), expected);
}

fn error_of(text: &str) -> String {
    error(&[("a.proto", text)], "a.proto", &[])
}

#[test]
fn deep_files_are_refused() {
    let deep = "message A {".repeat(100_000) + &"}".repeat(100_000);
    let error = error_of(&format!("syntax = \"proto3\"; {deep}"));
    contains(&error, "nested at most");
    let deep = "{ a: ".repeat(100_000) + &"}".repeat(100_000);
    error_of(&format!("syntax = \"proto3\"; option (x) = {deep};"));
}

/// A file with this descriptor set.
fn protoset(bytes: Vec<u8>) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.protoset");
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

#[test]
fn descriptor_sets_know_the_same_as_their_sources() {
    let (_folder, path) = protoset(descriptor_set("shop/catalog.proto"));
    let schema = Schema::from_descriptor_sets(&[path.clone(), path]).unwrap();
    assert_same(&schema, &shop(), &["shop.v1.Catalog", "shop.v1.Item"]);
}

/// protoc 35 wrote these: `protoc --include_imports --descriptor_set_out`.
#[test]
fn what_protoc_compiles_is_described_alike() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/protoc");
    let sets = ["shop.protoset", "legacy.protoset"].map(|name| folder.join(name));
    let compiled = Schema::from_descriptor_sets(&sets).unwrap();
    let symbols = ["shop.v1.Catalog", "shop.v1.Item", "shop.v1.Money"];
    assert_same(&compiled, &shop(), &symbols);
    let symbols = ["legacy.Ledger", "legacy.Entry", "legacy.Color"];
    assert_same(&compiled, &compile("legacy.proto"), &symbols);
}

#[test]
fn an_incomplete_descriptor_set_is_refused() {
    let (_folder, path) = protoset(without_file("shop/catalog.proto", "shop/money.proto"));
    let error = Schema::from_descriptor_sets(&[path]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the descriptor set lacks `shop/money.proto`, which `shop/catalog.proto` imports; write it with `protoc --include_imports`"
    );
}
