//! Checks of compiled files before they are linked.

use std::collections::HashSet;

use prost_reflect::prost_types::field_descriptor_proto::{Label, Type};
use prost_reflect::prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto,
};

use crate::protobuf::error::{SchemaError, invalid, printable};

/// Checks what the linker and the printers of names take for granted.
pub(crate) fn check(file: &FileDescriptorProto) -> Result<(), SchemaError> {
    let name = file.name();
    if name.is_empty() {
        return Err(SchemaError("a compiled file has no name".into()));
    }
    let files = file.dependency.iter().map(String::as_str).chain([name]);
    if let Some(odd) = files.into_iter().find(|name| printable(name) != **name) {
        let odd = printable(odd);
        return Err(SchemaError(format!(
            "{odd}: the name of the file has control characters"
        )));
    }
    let names = names(file);
    if let Some(odd) = names.iter().find(|name| !is_identifier(name)) {
        return Err(invalid(
            name,
            format!("`{}` is not a valid name", printable(odd)),
        ));
    }
    if !matches!(file.syntax(), "" | "proto2" | "proto3") {
        return Err(invalid(
            name,
            "it is not written in proto2 or proto3; editions are not supported",
        ));
    }
    let mut imports = HashSet::new();
    if let Some(twice) = file.dependency.iter().find(|i| !imports.insert(*i)) {
        return Err(invalid(name, format!("it imports `{twice}` twice")));
    }
    file.message_type
        .iter()
        .try_for_each(|message| check_map_entries(name, message))
}

/// A map entry has a key that can be compared, and a value.
fn check_map_entries(file: &str, message: &DescriptorProto) -> Result<(), SchemaError> {
    let is_map_entry = message.options.as_ref().is_some_and(|o| o.map_entry());
    let has = |number| message.field.iter().filter(move |f| f.number() == number);
    let is_valid = || {
        let mut keys = has(1);
        let key = keys.next().is_some_and(is_map_key) && keys.next().is_none();
        key && has(2).count() == 1 && message.field.len() == 2
    };
    if is_map_entry && !is_valid() {
        let message = message.name();
        return Err(invalid(
            file,
            format!("`{message}` is not a valid map entry"),
        ));
    }
    let mut nested = message.nested_type.iter();
    nested.try_for_each(|message| check_map_entries(file, message))
}

fn is_map_key(field: &FieldDescriptorProto) -> bool {
    let comparable = !matches!(
        field.r#type(),
        Type::Double | Type::Float | Type::Bytes | Type::Message | Type::Group | Type::Enum
    );
    comparable && field.type_name.is_none() && field.label() == Label::Optional
}

/// Every name that a file defines, and the parts of its package.
fn names(file: &FileDescriptorProto) -> Vec<&str> {
    let package = file.package.iter().filter(|package| !package.is_empty());
    let mut names: Vec<&str> = package.flat_map(|package| package.split('.')).collect();
    for service in &file.service {
        names.push(service.name());
        names.extend(service.method.iter().map(|method| method.name()));
    }
    for message in &file.message_type {
        add_names(message, &mut names);
    }
    names.extend(file.enum_type.iter().flat_map(names_in_enum));
    names.extend(file.extension.iter().map(|field| field.name()));
    names
}

fn add_names<'a>(message: &'a DescriptorProto, names: &mut Vec<&'a str>) {
    names.push(message.name());
    let fields = message.field.iter().chain(&message.extension);
    names.extend(fields.map(|field| field.name()));
    names.extend(message.oneof_decl.iter().map(|oneof| oneof.name()));
    names.extend(message.enum_type.iter().flat_map(names_in_enum));
    for nested in &message.nested_type {
        add_names(nested, names);
    }
}

fn names_in_enum(values: &EnumDescriptorProto) -> impl Iterator<Item = &str> {
    let names = values.value.iter().map(|value| value.name());
    names.chain([values.name()])
}

/// Whether `name` may be the name of a type, a field or the like.
pub(crate) fn is_identifier(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}
