//! Descriptor sets that are damaged or lie.

use std::fs;

use prony_testkit::contains;
use prony_traffic::protobuf::{Schema, decode};
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

fn with_message(message: DescriptorProto) -> FileDescriptorProto {
    FileDescriptorProto {
        message_type: vec![message],
        ..importing("a.proto", &[], 0)
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
fn files_that_do_not_fit_together_are_refused() {
    let a = |imports: &[&str]| importing("a.proto", imports, imports.len());
    let b = |imports: &[&str]| importing("b.proto", imports, imports.len());
    let mut edition = a(&[]);
    edition.syntax = Some("editions".into());
    let many = (0..=prony_traffic::protobuf::MAX_FILES).map(|i| importing(&i.to_string(), &[], 0));
    for (files, expected) in [
        (
            vec![a(&["b.proto"]), b(&["a.proto"])],
            "b.proto: it imports `a.proto` in a circle",
        ),
        (
            vec![a(&["a.proto"])],
            "a.proto: it imports `a.proto` in a circle",
        ),
        (
            vec![b(&[]), a(&["b.proto", "b.proto"])],
            "a.proto: it imports `b.proto` twice",
        ),
        (
            vec![a(&[]), a(&["b.proto"])],
            "a.proto: two different files have this name",
        ),
        (many.collect(), "the schema has more than 1000 files"),
        (
            vec![edition],
            "a.proto: it is not written in proto2 or proto3; editions are not supported",
        ),
    ] {
        assert_eq!(error(files), expected);
    }
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
fn map_entries_are_checked() {
    for fields in [
        vec![],
        vec![field(1, Type::String)],
        vec![field(1, Type::Double), field(2, Type::String)],
        vec![field(1, Type::String), field(3, Type::String)],
    ] {
        let options = MessageOptions {
            map_entry: Some(true),
            ..Default::default()
        };
        let entry = DescriptorProto {
            name: Some("Entry".into()),
            field: fields,
            options: Some(options),
            ..Default::default()
        };
        let expected = "a.proto: `Entry` is not a valid map entry";
        assert_eq!(error(vec![with_message(entry)]), expected);
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
    let reason = error(vec![with_message(message.clone())]);
    contains(&reason, "'A\u{fffd}[2J' is not defined");
    message.name = odd();
    let reason = error(vec![with_message(message)]);
    assert_eq!(reason, "a.proto: `A\u{fffd}[2J` is not a valid name");
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

fn use_if_accepted(set: &[u8], bytes: &[u8]) {
    if let Ok(schema) = Schema::from_descriptor_set(set) {
        use_all(&schema, bytes);
    }
}

type Damage = Vec<(prop::sample::Index, u8)>;

fn damage() -> impl Strategy<Value = Damage> {
    prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)
}

fn apply(bytes: &mut [u8], damage: &Damage) {
    for (index, byte) in damage {
        bytes[index.index(bytes.len())] = *byte;
    }
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
        apply(&mut set, &damage);
        use_if_accepted(&set, &bytes);
    }

    #[test]
    fn damaged_files_are_used_or_refused(damage in damage(), bytes in prop::collection::vec(any::<u8>(), 0..50)) {
        // Only the file itself: the damage is where the kinds of fields are.
        let set = FileDescriptorSet::decode(descriptor_set("shop/catalog.proto").as_slice()).unwrap();
        let mut files: Vec<_> = set.file.iter().map(Message::encode_to_vec).collect();
        apply(files.last_mut().unwrap(), &damage);
        let mut set = Vec::new();
        for file in files {
            prost::encoding::bytes::encode(1, &file, &mut set);
        }
        use_if_accepted(&set, &bytes);
    }

    #[test]
    fn cut_sets_are_used_or_refused(length in any::<prop::sample::Index>()) {
        let set = descriptor_set("shop/catalog.proto");
        let length = length.index(set.len());
        use_if_accepted(&set[..length], &[]);
    }

    #[test]
    fn garbage_is_refused(bytes in prop::collection::vec(any::<u8>(), 1..300)) {
        use_if_accepted(&bytes, &bytes);
    }
}
