//! A value that a schema allows: its example, or a small one.

use serde_json::Number;

use super::OpenApiError;
use super::document::Document;
use super::node::Node;

/// How deep the values of schemas may be nested.
const MOST_NESTING: usize = 16;

/// How many values a sample may have: schemas that name each other may describe very many.
const MOST_VALUES: usize = 2_000;

/// How long a list or a text of a sample may be.
const LONGEST: usize = 1_000;

/// Makes values for schemas.
pub(super) struct Sampler<'a> {
    document: &'a Document,
    left: usize,
}

impl<'a> Sampler<'a> {
    pub(super) fn new(document: &'a Document) -> Self {
        Self {
            document,
            left: MOST_VALUES,
        }
    }

    /// The example of a media type or a parameter, or a value that its schema allows.
    pub(super) fn described(&mut self, node: &Node) -> Result<Option<Node>, OpenApiError> {
        if let Some(example) = node.get("example") {
            return Ok(Some(example.clone()));
        }
        let examples = node.get("examples").map_or(&[][..], Node::members);
        for (_, example) in examples {
            let example = self.document.resolve(example)?;
            if let Some(value) = example.get("value") {
                return Ok(Some(value.clone()));
            }
        }
        match node.get("schema") {
            Some(schema) => self.schema(schema, 0),
            None => Ok(None),
        }
    }

    /// A value that a schema allows; `None` if it would be too large.
    pub(super) fn schema(
        &mut self,
        schema: &Node,
        depth: usize,
    ) -> Result<Option<Node>, OpenApiError> {
        if depth >= MOST_NESTING || self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let schema = self.document.resolve(schema)?;
        if let Some(value) = given(schema) {
            return Ok(Some(value));
        }
        let mut value = None;
        for part in schema.get("allOf").map_or(&[][..], Node::items) {
            let part = self.schema(part, depth + 1)?;
            value = merged(value, part);
        }
        let choices = ["oneOf", "anyOf"]
            .into_iter()
            .filter_map(|name| schema.get(name));
        for choices in choices {
            let chosen = self.first_choice(choices.items(), depth)?;
            value = merged(value, chosen);
        }
        // A schema without a type of its own only says more about its parts.
        let own = match (type_of(schema), &value) {
            (None, Some(_)) => None,
            (kind, _) => self.of_type(kind.unwrap_or("object"), schema, depth)?,
        };
        Ok(merged(value, own))
    }

    fn first_choice(
        &mut self,
        choices: &[Node],
        depth: usize,
    ) -> Result<Option<Node>, OpenApiError> {
        for choice in choices {
            match self.schema(choice, depth + 1)? {
                None | Some(Node::Null) => {}
                some => return Ok(some),
            }
        }
        Ok(None)
    }

    fn of_type(
        &mut self,
        kind: &str,
        schema: &Node,
        depth: usize,
    ) -> Result<Option<Node>, OpenApiError> {
        Ok(match kind {
            "object" => Some(self.object(schema, depth)?),
            "array" => self.list(schema, depth)?,
            "string" => Some(Node::Text(text(schema))),
            "integer" | "number" => Some(Node::Number(number(schema))),
            "boolean" => Some(Node::Bool(true)),
            _ => Some(Node::Null),
        })
    }

    /// The required properties, and those with an example.
    fn object(&mut self, schema: &Node, depth: usize) -> Result<Node, OpenApiError> {
        let required = schema.get("required").map_or(&[][..], Node::items);
        let mut members = Vec::new();
        for (name, property) in schema.get("properties").map_or(&[][..], Node::members) {
            let is_required = required.iter().any(|it| it.text() == Some(name));
            let property = self.document.resolve(property)?;
            // The server sets these.
            if property.is_true("readOnly") || !is_required && given(property).is_none() {
                continue;
            }
            if let Some(value) = self.schema(property, depth + 1)? {
                members.push((name.clone(), value));
            }
        }
        Ok(Node::Map(members))
    }

    fn list(&mut self, schema: &Node, depth: usize) -> Result<Option<Node>, OpenApiError> {
        let least = length(schema, "minItems").unwrap_or(0);
        let Some(items) = schema.get("items").filter(|_| least > 0) else {
            return Ok(Some(Node::List(Vec::new())));
        };
        let Some(item) = self.schema(items, depth + 1)? else {
            return Ok(None);
        };
        let count = least.min(self.left);
        self.left -= count;
        Ok(Some(Node::List(vec![item; count])))
    }
}

/// The value that a schema names.
fn given(schema: &Node) -> Option<Node> {
    let first = |name| schema.get(name).and_then(|values| values.items().first());
    let value = schema
        .get("example")
        .or_else(|| first("examples"))
        .or_else(|| schema.get("default"))
        .or_else(|| schema.get("const"))
        .or_else(|| first("enum"));
    value.cloned()
}

/// The members of both, or the one that there is.
fn merged(one: Option<Node>, other: Option<Node>) -> Option<Node> {
    match (one, other) {
        (Some(Node::Map(mut all)), Some(Node::Map(more))) => {
            for (name, value) in more {
                if !all.iter().any(|(known, _)| *known == name) {
                    all.push((name, value));
                }
            }
            Some(Node::Map(all))
        }
        (one, other) => one.or(other),
    }
}

/// The type of a schema, or what its keywords imply. OpenAPI 3.1 may have several types.
fn type_of(schema: &Node) -> Option<&str> {
    let named = match schema.get("type") {
        Some(Node::List(types)) => {
            let names = types.iter().filter_map(Node::text);
            let mut others = names.clone().filter(|name| *name != "null");
            others.next().or_else(|| names.clone().next())
        }
        Some(node) => node.text(),
        None => None,
    };
    let has = |name| schema.get(name).is_some();
    named.or_else(|| match () {
        () if has("properties") || has("required") => Some("object"),
        () if has("items") => Some("array"),
        () if has("format") || has("pattern") || has("minLength") => Some("string"),
        () if has("minimum") || has("maximum") => Some("number"),
        () => None,
    })
}

/// A bound of a length, which a sample follows up to its own bound.
fn length(schema: &Node, name: &str) -> Option<usize> {
    let number = schema.number_of(name)?;
    Some((number.max(0.0) as usize).min(LONGEST))
}

/// A text of the format. Patterns are not looked at.
fn text(schema: &Node) -> String {
    let format = match schema.text_of("format").unwrap_or_default() {
        "date-time" => "2026-01-01T00:00:00Z",
        "date" => "2026-01-01",
        "time" => "00:00:00Z",
        "duration" => "P1D",
        "uuid" => "00000000-0000-4000-8000-000000000000",
        "email" | "idn-email" => "user@example.com",
        "uri" | "url" | "iri" | "uri-reference" => "https://example.com/",
        "hostname" | "idn-hostname" => "example.com",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "byte" => "AA==",
        _ => "",
    };
    if !format.is_empty() {
        return format.to_owned();
    }
    let least = length(schema, "minLength").unwrap_or(0);
    let most = length(schema, "maxLength").unwrap_or(LONGEST);
    let text: String = "text".chars().take(most).collect();
    format!("{text:a<least$}")
}

/// 1, or the number that is next to it within the bounds.
fn number(schema: &Node) -> Number {
    let is_integer = schema.text_of("type") != Some("number");
    let step = schema.number_of("multipleOf").filter(|step| *step > 0.0);
    let unit = step.unwrap_or(1.0);
    let (least, most) = (
        bound(schema, "minimum", "exclusiveMinimum"),
        bound(schema, "maximum", "exclusiveMaximum"),
    );
    let mut value = unit;
    if let Some((least, is_exclusive)) = least {
        let above = (least / unit).ceil() * unit;
        let above = if is_exclusive && above <= least {
            above + unit
        } else {
            above
        };
        value = value.max(above);
    }
    if let Some((most, is_exclusive)) = most {
        let below = (most / unit).floor() * unit;
        let below = if is_exclusive && below >= most {
            below - unit
        } else {
            below
        };
        value = value.min(below);
    }
    // Between two bounds there may be only a fraction.
    if let (false, None, Some((least, _)), Some((most, _))) = (is_integer, step, least, most)
        && (value < least || value > most)
    {
        value = (least + most) / 2.0;
    }
    match value.fract() == 0.0 && value.abs() < 1e15 {
        true => Number::from(value as i64),
        false => Number::from_f64(value).unwrap_or_else(|| Number::from(1)),
    }
}

/// A bound and whether it is itself excluded: in OpenAPI 3.0 by a boolean, in 3.1 by a number of its own.
fn bound(schema: &Node, name: &str, exclusive: &str) -> Option<(f64, bool)> {
    match schema.number_of(exclusive) {
        Some(number) => Some((number, true)),
        None => Some((schema.number_of(name)?, schema.is_true(exclusive))),
    }
}

#[cfg(test)]
mod tests {
    use prony_testkit::table::rows;

    use super::*;

    fn sample(schema: &str, components: &str) -> Result<String, OpenApiError> {
        let text =
            format!(r##"{{"openapi": "3.0.0", "components": {{"schemas": {{{components}}}}}}}"##);
        let document = Document::read(&text)?;
        let schema: Node = serde_json::from_str(schema)?;
        let value = Sampler::new(&document).schema(&schema, 0)?;
        Ok(value.map_or("nothing".into(), |value| {
            serde_json::to_string(&value).expect("JSON")
        }))
    }

    #[test]
    fn values_are_allowed_by_their_schemas() {
        for [schema, expected] in rows(
            r##"
            {} | {}
            {"type": "string"} | "text"
            {"type": "string", "maxLength": 2} | "te"
            {"type": "string", "minLength": 6} | "textaa"
            {"type": "string", "format": "date"} | "2026-01-01"
            {"type": "string", "enum": ["b", "a"]} | "b"
            {"type": "integer"} | 1
            {"type": "integer", "minimum": 10} | 10
            {"type": "integer", "minimum": 10, "exclusiveMinimum": true} | 11
            {"type": "integer", "exclusiveMinimum": 10, "multipleOf": 4} | 12
            {"type": "integer", "maximum": -5} | -5
            {"type": "integer", "exclusiveMaximum": 1} | 0
            {"type": "number", "minimum": 0.25, "maximum": 0.75} | 0.5
            {"type": "number", "multipleOf": 0.5} | 0.5
            {"type": ["null", "boolean"]} | true
            {"type": "null"} | null
            {"type": "array", "items": {"type": "integer"}} | []
            {"items": {"type": "integer"}, "minItems": 2} | [1,1]
            {"const": 7} | 7
            {"type": "object", "example": {"a": [1]}} | {"a":[1]}
            {"required": ["b", "id"], "properties": {"c": {"type": "string"}, "b": {"type": "boolean"}, "a": {"type": "string", "default": "x"}, "id": {"type": "integer", "readOnly": true}}} | {"b":true,"a":"x"}
            {"allOf": [{"$ref": "#/components/schemas/Base"}, {"type": "object", "required": ["x"], "properties": {"x": {"type": "integer"}}}]} | {"name":"text","x":1}
            {"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/Base"}]} | {"name":"text"}
        "##,
        ) {
            let base =
                r#""Base": {"required": ["name"], "properties": {"name": {"type": "string"}}}"#;
            assert_eq!(sample(schema, base).expect(schema), expected, "{schema}");
        }
    }

    #[test]
    fn schemas_without_an_end_have_a_bound() {
        let tree = r##""Tree": {"required": ["left", "right"], "properties": {
            "left": {"$ref": "#/components/schemas/Tree"},
            "right": {"$ref": "#/components/schemas/Tree"}}}"##;
        let value = sample(r##"{"$ref": "#/components/schemas/Tree"}"##, tree).expect("a value");
        assert!(value.len() < 20 * MOST_VALUES, "{}", value.len());
        let list = r#"{"type": "array", "minItems": 1e18, "items": {"type": "string", "minLength": 1e18}}"#;
        let value = sample(list, "").expect("a value");
        assert!(
            value.len() <= LONGEST * (LONGEST + 3) + 2,
            "{}",
            value.len()
        );
        let own = r##""Own": {"$ref": "#/components/schemas/Own"}"##;
        let error = sample(r##"{"$ref": "#/components/schemas/Own"}"##, own).expect_err("a circle");
        assert!(error.to_string().contains("refers to itself"), "{error}");
    }
}
