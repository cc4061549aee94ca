//! Descriptor sets that are damaged or lie.

use std::fs;

use prony_protobuf::{Schema, decode};
use proptest::prelude::*;
use prost::Message;
use prost_reflect::DescriptorPool;
use prost_reflect::prost_types::field_descriptor_proto::{Label, Type};
use prost_reflect::prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet, MessageOptions,
};

use crate::protobuf::protos;

/// The descriptor set of a `.proto` file, with what it imports.
pub(crate) fn descriptor_set(file: &str) -> Vec<u8> {
    let mut files = Vec::new();
    add_file(file, &mut files);
    FileDescriptorSet { file: files }.encode_to_vec()
}

fn add_file(name: &str, files: &mut Vec<FileDescriptorProto>) {
    if files.iter().any(|file| file.name() == name) {
        return;
    }
    let well_known = DescriptorPool::global().get_file_by_name(name);
    let file = match well_known {
        Some(file) => file.file_descriptor_proto().clone(),
        None => {
            protox_parse::parse(name, &fs::read_to_string(protos().join(name)).unwrap()).unwrap()
        }
    };
    file.dependency
        .iter()
        .for_each(|import| add_file(import, files));
    files.push(file);
}

/// A descriptor set that lacks one of its files.
pub(crate) fn without_file(file: &str, without: &str) -> Vec<u8> {
    let mut set = FileDescriptorSet::decode(descriptor_set(file).as_slice()).unwrap();
    set.file.retain(|file| file.name() != without);
    set.encode_to_vec()
}

/// The error of a descriptor set of `files`.
fn error(files: Vec<FileDescriptorProto>) -> String {
    let set = FileDescriptorSet { file: files };
    let schema = Schema::from_descriptor_set(&set.encode_to_vec());
    schema.unwrap_err().to_string()
}

/// A file that imports others, the first `public` of them publicly.
pub(crate) fn importing(name: &str, imports: &[&str], public: usize) -> FileDescriptorProto {
    FileDescriptorProto {
        name: Some(name.into()),
        dependency: imports.iter().map(|i| (*i).to_owned()).collect(),
        public_dependency: (0..i32::try_from(public).unwrap()).collect(),
        ..Default::default()
    }
}

fn field(number: i32, ty: Type) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(format!("f{number}")),
        number: Some(number),
        label: Some(Label::Optional.into()),
        r#type: Some(ty.into()),
        ..Default::default()
    }
}

#[test]
fn imports_in_a_circle_are_refused() {
    let circle = vec![
        importing("a.proto", &["b.proto"], 1),
        importing("b.proto", &["a.proto"], 1),
    ];
    assert_eq!(error(circle), "b.proto: it imports `a.proto` in a circle");
    let own = vec![importing("a.proto", &["a.proto"], 1)];
    assert_eq!(error(own), "a.proto: it imports `a.proto` in a circle");
}

#[test]
fn an_import_twice_is_refused() {
    let twice = vec![
        importing("b.proto", &[], 0),
        importing("a.proto", &["b.proto", "b.proto"], 2),
    ];
    assert_eq!(error(twice), "a.proto: it imports `b.proto` twice");
}

#[test]
fn public_imports_that_branch_without_end_are_refused() {
    let names = |level: usize| [format!("a{level}"), format!("b{level}")];
    let mut files: Vec<_> = names(0)
        .iter()
        .map(|name| importing(name, &[], 0))
        .collect();
    for level in 1..100 {
        let imports = names(level - 1);
        let imports = imports.each_ref().map(String::as_str);
        files.extend(names(level).iter().map(|name| importing(name, &imports, 2)));
    }
    assert!(error(files).ends_with("it imports too many files publicly"));
}

#[test]
fn two_files_of_one_name_are_refused() {
    let files = vec![
        importing("a.proto", &[], 0),
        importing("a.proto", &["b.proto"], 0),
    ];
    assert_eq!(error(files), "a.proto: two different files have this name");
}

#[test]
fn too_many_files_are_refused() {
    let files = (0..=prony_protobuf::MAX_FILES).map(|i| importing(&i.to_string(), &[], 0));
    assert_eq!(
        error(files.collect()),
        "the schema has more than 1000 files"
    );
}

#[test]
fn editions_are_refused() {
    let mut file = importing("a.proto", &[], 0);
    file.syntax = Some("editions".into());
    assert_eq!(
        error(vec![file]),
        "a.proto: it is not written in proto2 or proto3; editions are not supported"
    );
}

#[test]
fn map_entries_are_checked() {
    for fields in [
        vec![],
        vec![field(1, Type::String)],
        vec![field(1, Type::Double), field(2, Type::String)],
        vec![field(1, Type::String), field(3, Type::String)],
    ] {
        let message = DescriptorProto {
            name: Some("Entry".into()),
            field: fields,
            options: Some(MessageOptions {
                map_entry: Some(true),
                ..Default::default()
            }),
            ..Default::default()
        };
        let mut file = importing("a.proto", &[], 0);
        file.message_type.push(message);
        assert_eq!(
            error(vec![file]),
            "a.proto: `Entry` is not a valid map entry"
        );
    }
}

#[test]
fn names_cannot_control_a_terminal() {
    let odd = || Some("A\u{1b}[2J".to_owned());
    let mut message = DescriptorProto {
        name: Some("A".into()),
        field: vec![field(1, Type::Message)],
        ..Default::default()
    };
    message.field[0].type_name = odd();
    let mut unknown_type = importing("a.proto", &[], 0);
    unknown_type.message_type.push(message.clone());
    assert!(error(vec![unknown_type]).contains("'A\u{fffd}[2J' is not defined"));
    message.name = odd();
    let mut odd_message = importing("a.proto", &[], 0);
    odd_message.message_type.push(message);
    assert_eq!(
        error(vec![odd_message]),
        "a.proto: `A\u{fffd}[2J` is not a valid name"
    );
    let odd_import = importing("a.proto", &["\u{1b}[2J"], 0);
    let odd_file = importing("\u{1b}[2J", &[], 0);
    for file in [odd_import, odd_file] {
        assert_eq!(
            error(vec![file]),
            "\u{fffd}[2J: the name of the file has control characters"
        );
    }
}

#[test]
fn what_is_no_descriptor_set_is_refused() {
    let error = |bytes: &[u8]| Schema::from_descriptor_set(bytes).unwrap_err().to_string();
    assert_eq!(error(b""), "the descriptor set is empty");
    assert!(error(b"syntax = \"proto3\";").starts_with("not a descriptor set ("));
}

/// Uses everything that a schema has.
pub(crate) fn use_all(schema: &Schema, bytes: &[u8]) {
    for service in schema.services() {
        let _ = schema.describe(&service);
        for method in schema.list(Some(&service)).unwrap().lines() {
            let _ = schema.describe(method);
            let Ok(method) = schema.method(method) else {
                continue;
            };
            for message in [method.input(), method.output()] {
                schema.describe(message.full_name()).unwrap();
                let _ = decode(&message, bytes);
            }
            let _ = method.encode(r#"{"id": 1, "names": {"1": "x"}, "parts": {"a": {}}}"#);
        }
    }
}

fn damage() -> impl Strategy<Value = Vec<(prop::sample::Index, u8)>> {
    prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn damaged_sets_are_used_or_refused(
        damage in damage(),
        name in prop::sample::select(vec!["shop/money.proto", "legacy.proto", "reflection.proto"]),
        bytes in prop::collection::vec(any::<u8>(), 0..50),
    ) {
        let mut set = descriptor_set(name);
        for (index, byte) in damage {
            let at = index.index(set.len());
            set[at] = byte;
        }
        if let Ok(schema) = Schema::from_descriptor_set(&set) {
            use_all(&schema, &bytes);
        }
    }

    #[test]
    fn damaged_files_are_used_or_refused(damage in damage(), bytes in prop::collection::vec(any::<u8>(), 0..50)) {
        // Only the file itself: the damage is where the kinds of fields are.
        let set = FileDescriptorSet::decode(descriptor_set("shop/catalog.proto").as_slice()).unwrap();
        let mut files: Vec<_> = set.file.iter().map(Message::encode_to_vec).collect();
        let file = files.last_mut().unwrap();
        for (index, byte) in damage {
            let at = index.index(file.len());
            file[at] = byte;
        }
        let mut set = Vec::new();
        for file in files {
            prost::encoding::bytes::encode(1, &file, &mut set);
        }
        if let Ok(schema) = Schema::from_descriptor_set(&set) {
            use_all(&schema, &bytes);
        }
    }

    #[test]
    fn cut_sets_are_used_or_refused(length in any::<prop::sample::Index>()) {
        let set = descriptor_set("shop/catalog.proto");
        let length = length.index(set.len());
        if let Ok(schema) = Schema::from_descriptor_set(&set[..length]) {
            use_all(&schema, &[]);
        }
    }

    #[test]
    fn garbage_is_refused(bytes in prop::collection::vec(any::<u8>(), 1..300)) {
        if let Ok(schema) = Schema::from_descriptor_set(&bytes) {
            use_all(&schema, &bytes);
        }
    }
}
