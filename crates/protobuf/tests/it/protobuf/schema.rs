//! Schemas from files, and the methods in them.

use std::fs;
use std::path::{Path, PathBuf};

use prony_protobuf::{MethodKind, Schema};

use crate::protobuf::{compile, protos, shop};

/// A folder with files.
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
    error
        .to_string()
        .replace(&format!("{}/", path.display()), "")
}

#[test]
fn the_echo_service_of_the_workloads() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workloads/echo.proto");
    let schema = Schema::from_proto_files(&[file], &[]).unwrap();
    assert_eq!(schema.services(), ["prony.echo.v1.Echo"]);
    let method = schema.method("prony.echo.v1.Echo/Unary").unwrap();
    assert_eq!(method.path(), "/prony.echo.v1.Echo/Unary");
    assert_eq!(
        method.encode(r#"{"payload":"hello"}"#).unwrap(),
        [b"\x0a\x05hello"]
    );
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
    let kinds = ["Find", "Watch", "Import", "Exchange"].map(|name| {
        shop()
            .method(&format!("shop.v1.Catalog/{name}"))
            .unwrap()
            .kind()
    });
    assert_eq!(
        kinds,
        [
            MethodKind::Unary,
            MethodKind::ServerStreaming,
            MethodKind::ClientStreaming,
            MethodKind::Bidirectional
        ]
    );
}

#[test]
fn an_unknown_method_suggests_the_nearest() {
    let error = |name: &str| shop().method(name).unwrap_err().to_string();
    assert_eq!(
        error("shop.v1.Catalog/Fnd"),
        "there is no method `shop.v1.Catalog/Fnd`; did you mean `shop.v1.Catalog/Find`?"
    );
    assert_eq!(
        error("shop.v1.Catalogue/Find"),
        "there is no service `shop.v1.Catalogue`; did you mean `shop.v1.Catalog`?"
    );
    assert_eq!(
        error("Catalog/Find"),
        "there is no service `Catalog`; did you mean `shop.v1.Catalog`?"
    );
    assert_eq!(
        error("shop.v1.Item/Find"),
        "`shop.v1.Item` is a message and not a service"
    );
    assert_eq!(
        error("Find"),
        "`Find` is not the name of a method; write it as package.Service/Method"
    );
}

#[test]
fn imports_are_found_beside_the_file() {
    let folder = folder(&[
        (
            "a.proto",
            "syntax = \"proto3\"; import \"b.proto\"; message A { B b = 1; }",
        ),
        ("b.proto", "syntax = \"proto3\"; message B {}"),
    ]);
    let files = ["b.proto", "a.proto"].map(|name| folder.path().join(name));
    Schema::from_proto_files(&files, &[]).unwrap();
}

#[test]
fn a_file_is_found_in_an_import_path() {
    let file = PathBuf::from("shop/catalog.proto");
    let schema = Schema::from_proto_files(&[file], &[protos()]).unwrap();
    assert_eq!(schema.services(), ["shop.v1.Catalog"]);
}

#[test]
fn public_imports_are_visible_through_others() {
    let folder = folder(&[
        (
            "a.proto",
            "syntax = \"proto3\"; import \"b.proto\"; message A { D d = 1; }",
        ),
        ("b.proto", "syntax = \"proto3\"; import public \"c.proto\";"),
        ("c.proto", "syntax = \"proto3\"; import public \"d.proto\";"),
        ("d.proto", "syntax = \"proto3\"; message D {}"),
    ]);
    Schema::from_proto_files(&[folder.path().join("a.proto")], &[]).unwrap();
}

#[test]
fn a_syntax_error_has_its_place() {
    let text = "syntax = \"proto3\";\nmessage A {\n  string a name = 1;\n}\n";
    assert_eq!(
        error(&[("a.proto", text)], "a.proto", &[]),
        "a.proto:3:12: expected '=', but found 'name'"
    );
}

#[test]
fn an_unknown_type_has_its_place() {
    let text = "syntax = \"proto3\";\nmessage A {\n  B b = 1;\n}\n";
    assert_eq!(
        error(&[("a.proto", text)], "a.proto", &[]),
        "a.proto:3:3: name 'B' is not defined"
    );
}

#[test]
fn a_missing_import_tells_where_it_was_searched() {
    let text = "syntax = \"proto3\";\nimport \"sub/b.proto\";\n";
    assert_eq!(
        error(&[("p/a.proto", text), ("q/x", "")], "p/a.proto", &["q"]),
        "p/a.proto:2:1: import `sub/b.proto` not found; searched in q, p; add its folder with --import-path"
    );
}

#[test]
fn a_missing_file_is_named() {
    let error = error(&[], "none.proto", &[]);
    assert!(error.contains("none.proto"), "{error}");
    assert!(error.contains("searched in ."), "{error}");
}

#[test]
fn editions_are_not_supported() {
    let text = "// A comment.\nedition = \"2023\";\nmessage A {}\n";
    assert_eq!(
        error(&[("a.proto", text)], "a.proto", &[]),
        "a.proto:2:1: Prony reads `syntax = \"proto2\"` and `syntax = \"proto3\"`; editions are not supported"
    );
}

#[test]
fn a_file_with_two_names_is_reported() {
    let files = [
        (
            "main.proto",
            "syntax = \"proto3\"; import \"p/b.proto\"; import \"b.proto\";",
        ),
        ("p/b.proto", "syntax = \"proto3\"; message B {}"),
    ];
    assert_eq!(
        error(&files, "main.proto", &[".", "p"]).replace("./", ""),
        "p/b.proto: the file is imported as both `p/b.proto` and `b.proto`; name the folder that imports start from with --import-path"
    );
}

#[test]
fn files_that_are_too_large_are_refused() {
    let long = " ".repeat(prony_protobuf::MAX_BYTES + 1);
    assert_eq!(
        error(&[("a.proto", &long)], "a.proto", &[]),
        "a.proto: the schema is larger than 16 MiB"
    );
    let endless = Schema::from_descriptor_sets(&["/dev/zero".into()]).unwrap_err();
    assert_eq!(
        endless.to_string(),
        "/dev/zero: the schema is larger than 16 MiB"
    );
}

#[test]
fn deep_files_are_refused() {
    let deep = format!(
        "syntax = \"proto3\"; {}{}",
        "message A {".repeat(100_000),
        "}".repeat(100_000)
    );
    let error = error(&[("a.proto", &deep)], "a.proto", &[]);
    assert!(error.contains("nested at most"), "{error}");
    let deep = format!(
        "syntax = \"proto3\"; option (x) = {}{};",
        "{ a: ".repeat(100_000),
        "}".repeat(100_000)
    );
    let _ = self::error(&[("a.proto", &deep)], "a.proto", &[]);
}

#[test]
fn descriptor_sets_know_the_same_as_their_sources() {
    let folder = folder(&[]);
    let path = folder.path().join("shop.protoset");
    fs::write(
        &path,
        crate::protobuf::hostile::descriptor_set("shop/catalog.proto"),
    )
    .unwrap();
    let schema = Schema::from_descriptor_sets(&[path.clone(), path]).unwrap();
    for symbol in ["shop.v1.Catalog", "shop.v1.Item"] {
        assert_eq!(
            schema.describe(symbol).unwrap(),
            shop().describe(symbol).unwrap()
        );
    }
}

/// protoc 35 wrote these: `protoc --include_imports --descriptor_set_out`.
#[test]
fn what_protoc_compiles_is_described_alike() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/protoc");
    let sets = ["shop.protoset", "legacy.protoset"].map(|name| folder.join(name));
    let compiled = Schema::from_descriptor_sets(&sets).unwrap();
    for (schema, symbols) in [
        (shop(), ["shop.v1.Catalog", "shop.v1.Item", "shop.v1.Money"]),
        (
            compile("legacy.proto"),
            ["legacy.Ledger", "legacy.Entry", "legacy.Color"],
        ),
    ] {
        for symbol in symbols {
            let expected = schema.describe(symbol).unwrap();
            assert_eq!(compiled.describe(symbol).unwrap(), expected);
        }
    }
}

#[test]
fn an_incomplete_descriptor_set_is_refused() {
    let folder = folder(&[]);
    let path = folder.path().join("shop.protoset");
    let without = crate::protobuf::hostile::without_file("shop/catalog.proto", "shop/money.proto");
    fs::write(&path, without).unwrap();
    let error = Schema::from_descriptor_sets(&[path]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the descriptor set lacks `shop/money.proto`, which `shop/catalog.proto` imports; write it with `protoc --include_imports`"
    );
}
