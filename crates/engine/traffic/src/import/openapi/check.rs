//! Whether a sample matches its schema.

use std::collections::HashSet;

use jsonschema::{Draft, PatternOptions};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use super::document::Document;
use super::node::Node;
use crate::import::shortened;

/// How many values a schema may have, with those that it refers to.
const MOST_VALUES: usize = 100_000;

/// How long a reason may be, in characters: it may have the whole value.
const LONGEST: usize = 200;

/// Keywords of a schema that have a schema, several by name or in a list, or another value.
const SCHEMA: &str = "items contains not if then else propertyNames additionalProperties unevaluatedProperties \
    unevaluatedItems";
const SCHEMAS_BY_NAME: &str = "properties patternProperties $defs dependentSchemas";
const SCHEMAS: &str = "allOf anyOf oneOf prefixItems";
const LIMITS: &str = "type enum const format pattern multipleOf minimum maximum minLength maxLength minItems maxItems \
    uniqueItems minContains maxContains minProperties maxProperties dependentRequired";
const BOUNDS: &str = "exclusiveMinimum exclusiveMaximum";

/// A sentence that tells a user to check a value, such as "the body", if it does not match its schema or Prony cannot tell.
pub(super) fn unmet(
    document: &Document,
    what: &str,
    schema: &Node,
    value: &Node,
) -> Option<String> {
    let check = |how: &str, why: &str| {
        let why = shortened(why, LONGEST);
        Some(format!("Check {what}, which {how} its schema: {why}"))
    };
    let cannot = |why: &str| check("Prony cannot compare with", why);
    let mut converted = Conversion {
        document,
        left: MOST_VALUES,
        references: Vec::new(),
    };
    let Some(schema) = converted.whole(schema) else {
        return cannot("the schema is too large");
    };
    let options = jsonschema::options()
        .with_draft(Draft::Draft202012)
        .should_validate_formats(true)
        .with_pattern_options(PatternOptions::regex());
    let validator = match options.build(&schema) {
        Ok(validator) => validator,
        Err(error) => return cannot(&error.to_string()),
    };
    let value = serde_json::to_value(value).ok()?;
    let error = validator.iter_errors(&value).next()?;
    let why = match error.instance_path().as_str() {
        "" => error.to_string(),
        place => format!("{error} at {place}"),
    };
    check("does not match", &why)
}

/// Makes a schema of OpenAPI one of JSON Schema, 2020-12, on which OpenAPI 3.1 is based. Those of 3.0 have `nullable`,
/// and booleans for exclusive bounds.
struct Conversion<'a> {
    document: &'a Document,
    left: usize,
    references: Vec<&'a str>,
}

impl<'a> Conversion<'a> {
    /// A schema with what it refers to, at the places that its references name; `None` if it is too large.
    fn whole(&mut self, schema: &'a Node) -> Option<Value> {
        let mut whole = json!({ "allOf": [self.schema(schema)?] });
        let mut known = HashSet::new();
        while let Some(reference) = self.references.pop() {
            let pointer = reference.strip_prefix('#').unwrap_or_default();
            let found = self.document.root.at(pointer);
            if let Some(found) = found.filter(|_| known.insert(reference)) {
                let found = self.schema(found)?;
                put(&mut whole, pointer, found);
            }
        }
        Some(whole)
    }

    fn schema(&mut self, schema: &'a Node) -> Option<Value> {
        self.left = self.left.checked_sub(1)?;
        if let Some(reference) = schema.text_of("$ref") {
            self.references.push(reference);
            return Some(json!({ "$ref": reference }));
        }
        let Node::Map(members) = schema else {
            return self.plain(schema);
        };
        let mut all = Map::new();
        for (name, member) in members {
            let name = match name.as_str() {
                "minimum" if schema.is_true("exclusiveMinimum") => "exclusiveMinimum",
                "maximum" if schema.is_true("exclusiveMaximum") => "exclusiveMaximum",
                name => name,
            };
            let is_in = |keywords: &str| keywords.split_whitespace().any(|it| it == name);
            let converted = if name == "required" {
                self.required(schema, member.items())?
            } else if is_in(SCHEMA) {
                self.schema(member)?
            } else if is_in(SCHEMAS_BY_NAME) {
                self.schemas_by_name(member)?
            } else if is_in(SCHEMAS) {
                let schemas = member.items().iter().map(|schema| self.schema(schema));
                schemas.collect::<Option<Value>>()?
            } else if is_in(LIMITS) || is_in(BOUNDS) && !matches!(member, Node::Bool(_)) {
                self.plain(member)?
            } else {
                // The others do not limit a value.
                continue;
            };
            all.insert(name.to_owned(), converted);
        }
        let all = Value::Object(all);
        if schema.is_true("nullable") {
            return Some(json!({ "anyOf": [{ "type": "null" }, all] }));
        }
        Some(all)
    }

    fn schemas_by_name(&mut self, schemas: &'a Node) -> Option<Value> {
        let schemas = schemas.members().iter();
        let converted = schemas.map(|(name, schema)| Some((name.clone(), self.schema(schema)?)));
        converted.collect()
    }

    /// The names of required properties, without those that only responses have.
    fn required(&mut self, schema: &Node, names: &'a [Node]) -> Option<Value> {
        let properties = schema.get("properties");
        let is_read_only = |name: &&Node| {
            let property = properties.and_then(|all| all.get(name.text()?));
            let property = property.and_then(|it| self.document.resolve(it).ok());
            property.is_some_and(|it| it.is_true("readOnly"))
        };
        let names: Vec<&Node> = names.iter().filter(|name| !is_read_only(name)).collect();
        self.left = self.left.checked_sub(names.len())?;
        serde_json::to_value(names).ok()
    }

    /// A value that is no schema.
    fn plain(&mut self, value: &Node) -> Option<Value> {
        let values = value.items().len() + value.members().len();
        self.left = self.left.checked_sub(values)?;
        serde_json::to_value(value).ok()
    }
}

/// Puts a value at a place, with maps on the way there. A place that has a value already keeps it: it is part of one
/// that was put there as a whole.
fn put(whole: &mut Value, pointer: &str, value: Value) {
    let pointer = percent_decode_str(pointer).decode_utf8_lossy();
    let mut place = whole;
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        let Value::Object(members) = place else {
            return;
        };
        place = members.entry(step).or_insert_with(|| json!({}));
    }
    if let (Value::Object(found), Value::Object(more)) = (place, value) {
        found.extend(more);
    }
}
