//! Services and types as text, in the language of `.proto` files.

use std::fmt::Write;
use std::ops::Range;

use prony_manifest::UnknownName;
use prost_reflect::prost_types::FieldDescriptorProto;
use prost_reflect::{
    Cardinality, EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor, MethodDescriptor,
    OneofDescriptor, ServiceDescriptor,
};

use crate::protobuf::error::SchemaError;
use crate::protobuf::schema::{Schema, split_method_name};

impl Schema {
    /// The names of the services, or the methods of one (`package.Service.Method`), one a line.
    pub fn list(&self, service: Option<&str>) -> Result<String, SchemaError> {
        let names = match service {
            None => self.services(),
            Some(name) => {
                let service = self.service(name)?;
                let methods = service.methods();
                methods.map(|m| m.full_name().to_owned()).collect()
            }
        };
        Ok(names.iter().map(|name| format!("{name}\n")).collect())
    }

    /// Describes a service, a method, a message or an enum.
    pub fn describe(&self, symbol: &str) -> Result<String, SchemaError> {
        let symbol = symbol.strip_prefix(['/', '.']).unwrap_or(symbol);
        let (kind, definition) = self.definition(symbol).ok_or_else(|| {
            let known = self.symbols();
            UnknownName::new("service or type", symbol, known.iter().map(String::as_str))
        })?;
        let name = symbol.replace('/', ".");
        Ok(format!("{name} is {kind}:\n{definition}"))
    }

    fn definition(&self, symbol: &str) -> Option<(&'static str, String)> {
        if let Some(service) = self.pool.get_service_by_name(symbol) {
            return Some(("a service", service_text(&service)));
        }
        if let Some(message) = self.pool.get_message_by_name(symbol) {
            return Some(("a message", message_text(&message, 0)));
        }
        if let Some(values) = self.pool.get_enum_by_name(symbol) {
            return Some(("an enum", enum_text(&values, 0)));
        }
        let (service, method) = split_method_name(symbol)?;
        let service = self.pool.get_service_by_name(service)?;
        let method = service.methods().find(|known| known.name() == method)?;
        Some(("a method", method_text(&method)))
    }

    fn symbols(&self) -> Vec<String> {
        let messages = self.pool.all_messages().filter(|m| !m.is_map_entry());
        let mut names = self.services();
        names.extend(messages.map(|m| m.full_name().to_owned()));
        names.extend(self.pool.all_enums().map(|e| e.full_name().to_owned()));
        names.retain(|name| !name.starts_with("google.protobuf."));
        names
    }
}

fn service_text(service: &ServiceDescriptor) -> String {
    let methods: String = service
        .methods()
        .map(|method| format!("  {}", method_text(&method)))
        .collect();
    block(&format!("service {}", service.name()), &methods, 0)
}

fn method_text(method: &MethodDescriptor) -> String {
    let stream = |streams| if streams { "stream " } else { "" };
    format!(
        "rpc {} ( {}.{} ) returns ( {}.{} );\n",
        method.name(),
        stream(method.is_client_streaming()),
        method.input().full_name(),
        stream(method.is_server_streaming()),
        method.output().full_name(),
    )
}

/// `head { body }`, indented by `depth`; the body has its indentation.
fn block(head: &str, body: &str, depth: usize) -> String {
    let indent = indent(depth);
    if body.is_empty() {
        format!("{indent}{head} {{}}\n")
    } else {
        format!("{indent}{head} {{\n{body}{indent}}}\n")
    }
}

fn indent(depth: usize) -> String {
    "  ".repeat(depth)
}

fn message_text(message: &MessageDescriptor, depth: usize) -> String {
    let body = message_body(message, depth + 1);
    block(&format!("message {}", message.name()), &body, depth)
}

fn message_body(message: &MessageDescriptor, depth: usize) -> String {
    let mut body = String::new();
    for field in fields_in_order(message) {
        match field.containing_oneof().filter(|o| !o.is_synthetic()) {
            None => body += &field_text(&field, depth),
            Some(oneof) if members(&oneof).next().as_ref() == Some(&field) => {
                body += &oneof_text(&oneof, depth)
            }
            Some(_) => {}
        }
    }
    body += &ranges_text(message, &indent(depth));
    let groups: Vec<_> = message.fields().filter_map(|f| group_of(&f)).collect();
    for nested in message.child_messages() {
        if !nested.is_map_entry() && !groups.contains(&nested) {
            body += &message_text(&nested, depth);
        }
    }
    for nested in message.child_enums() {
        body += &enum_text(&nested, depth);
    }
    body
}

/// The numbers of extensions, and the numbers and names that nothing may use.
fn ranges_text(message: &MessageDescriptor, indent: &str) -> String {
    const MAX_NUMBER: u32 = (1 << 29) - 1;
    let range = |range: Range<u32>| match range.end.saturating_sub(1) {
        last if last == range.start => last.to_string(),
        MAX_NUMBER => format!("{} to max", range.start),
        last => format!("{} to {last}", range.start),
    };
    let mut text = String::new();
    for extensions in message.extension_ranges() {
        let _ = writeln!(text, "{indent}extensions {};", range(extensions));
    }
    let numbers: Vec<_> = message.reserved_ranges().map(range).collect();
    let names: Vec<_> = message
        .reserved_names()
        .map(|name| format!("{name:?}"))
        .collect();
    for reserved in [numbers, names] {
        if !reserved.is_empty() {
            let _ = writeln!(text, "{indent}reserved {};", reserved.join(", "));
        }
    }
    text
}

/// The fields as the file declares them.
fn fields_in_order(message: &MessageDescriptor) -> impl Iterator<Item = FieldDescriptor> {
    let declared = message.descriptor_proto().field.iter();
    declared.filter_map(|field| message.get_field(u32::try_from(field.number()).ok()?))
}

/// The fields of a oneof as the file declares them.
fn members(oneof: &OneofDescriptor) -> impl Iterator<Item = FieldDescriptor> {
    fields_in_order(oneof.parent_message())
        .filter(move |field| field.containing_oneof().as_ref() == Some(oneof))
}

fn oneof_text(oneof: &OneofDescriptor, depth: usize) -> String {
    let members = members(oneof).map(|field| field_text(&field, depth + 1));
    let body: String = members.collect();
    block(&format!("oneof {}", oneof.name()), &body, depth)
}

fn field_text(field: &FieldDescriptor, depth: usize) -> String {
    let label = label(field);
    let number = field.number();
    if let Some(group) = group_of(field) {
        let head = format!("{label}group {} = {number}", group.name());
        return block(&head, &message_body(&group, depth + 1), depth);
    }
    let ty = map_type(field).unwrap_or_else(|| type_name(&field.kind()));
    let options = options(field.field_descriptor_proto(), &field.kind());
    let name = field.name();
    format!("{}{label}{ty} {name} = {number}{options};\n", indent(depth))
}

fn group_of(field: &FieldDescriptor) -> Option<MessageDescriptor> {
    let kind = field.kind();
    kind.as_message().filter(|_| field.is_group()).cloned()
}

fn label(field: &FieldDescriptor) -> &'static str {
    use prost_reflect::Syntax;

    let optional = field.field_descriptor_proto().proto3_optional()
        || (field.parent_file().syntax() == Syntax::Proto2 && field.containing_oneof().is_none());
    match field.cardinality() {
        _ if field.is_map() => "",
        Cardinality::Repeated => "repeated ",
        Cardinality::Required => "required ",
        Cardinality::Optional if optional => "optional ",
        Cardinality::Optional => "",
    }
}

fn map_type(field: &FieldDescriptor) -> Option<String> {
    let entry = field
        .kind()
        .as_message()
        .filter(|_| field.is_map())?
        .clone();
    let key = type_name(&entry.map_entry_key_field().kind());
    let value = type_name(&entry.map_entry_value_field().kind());
    Some(format!("map<{key}, {value}>"))
}

fn type_name(kind: &Kind) -> String {
    match kind {
        Kind::Message(message) => format!(".{}", message.full_name()),
        Kind::Enum(values) => format!(".{}", values.full_name()),
        // The debug format of a scalar is its name in a .proto file.
        scalar => format!("{scalar:?}"),
    }
}

/// ` [default = 3, deprecated = true]`.
fn options(field: &FieldDescriptorProto, kind: &Kind) -> String {
    let mut options = Vec::new();
    if let Some(value) = &field.default_value {
        options.push(match kind {
            Kind::String | Kind::Bytes => format!("default = {value:?}"),
            _ => format!("default = {value}"),
        });
    }
    let set = field.options.as_ref();
    if let Some(packed) = set.and_then(|options| options.packed) {
        options.push(format!("packed = {packed}"));
    }
    if set.is_some_and(|options| options.deprecated()) {
        options.push("deprecated = true".into());
    }
    if options.is_empty() {
        String::new()
    } else {
        format!(" [{}]", options.join(", "))
    }
}

fn enum_text(values: &EnumDescriptor, depth: usize) -> String {
    let mut body = String::new();
    let inner = indent(depth + 1);
    let options = values.enum_descriptor_proto().options.as_ref();
    if options.is_some_and(|options| options.allow_alias()) {
        let _ = writeln!(body, "{inner}option allow_alias = true;");
    }
    for value in &values.enum_descriptor_proto().value {
        let _ = writeln!(body, "{inner}{} = {};", value.name(), value.number());
    }
    block(&format!("enum {}", values.name()), &body, depth)
}
