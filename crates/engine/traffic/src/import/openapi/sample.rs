//! A value that a schema allows: its example, or a small one.

use std::collections::{HashMap, HashSet};
use std::ptr;

use serde_json::Number;

use super::document::Document;
use super::node::Node;
use super::pattern::Matching;
use crate::import::ImportError;

/// How deep the values of schemas may be nested.
const MOST_NESTING: usize = 16;

/// How many values a sample may have: schemas that name each other may describe very many.
const MOST_VALUES: usize = 2_000;

/// How many schemas may apply to one value.
const MOST_PARTS: usize = 64;

/// How long a list or a text of a sample may be.
const LONGEST: usize = 1_000;

pub(super) struct Sampler<'a> {
    document: &'a Document,
    left: usize,
    /// Whether a value is missing because the sample would be too large.
    is_cut: bool,
    matching: Matching,
}

impl<'a> Sampler<'a> {
    pub(super) fn new(document: &'a Document) -> Self {
        Self {
            document,
            left: MOST_VALUES,
            is_cut: false,
            matching: Matching::default(),
        }
    }

    /// The example of a media type or a parameter, or a value that its schema allows.
    pub(super) fn described(&mut self, node: &'a Node) -> Result<Option<Node>, ImportError> {
        if let Some(example) = node.get("example") {
            return Ok(Some(example.clone()));
        }
        for (_, example) in node.members_of("examples") {
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
        schema: &'a Node,
        depth: usize,
    ) -> Result<Option<Node>, ImportError> {
        let all = self.all_of(&[schema])?;
        self.value(all, depth)
    }

    /// What applies to a value that all of these schemas allow.
    fn all_of(&self, schemas: &[&'a Node]) -> Result<AllOf<'a>, ImportError> {
        let mut all = AllOf::default();
        schemas
            .iter()
            .try_for_each(|schema| self.add(schema, &mut all))?;
        Ok(all)
    }

    fn add(&self, schema: &'a Node, all: &mut AllOf<'a>) -> Result<(), ImportError> {
        all.reference = schema.text_of("$ref");
        self.add_part(schema, all)
    }

    /// Adds a schema behind those in its `allOf`.
    fn add_part(&self, schema: &'a Node, all: &mut AllOf<'a>) -> Result<(), ImportError> {
        let schema = self.document.resolve(schema)?;
        let is_known = all.seen.iter().any(|part| ptr::eq(*part, schema));
        if is_known || all.seen.len() == MOST_PARTS {
            return Ok(());
        }
        all.seen.push(schema);
        for part in schema.items_of("allOf") {
            self.add_part(part, all)?;
        }
        all.parts.push(schema);
        let choices = ["anyOf", "oneOf"].map(|name| schema.items_of(name));
        let choices = choices.into_iter();
        all.choices
            .extend(choices.filter(|choices| !choices.is_empty()));
        Ok(())
    }

    fn value(&mut self, mut all: AllOf<'a>, depth: usize) -> Result<Option<Node>, ImportError> {
        if depth >= MOST_NESTING || self.left == 0 {
            self.is_cut = true;
            return Ok(None);
        }
        self.left -= 1;
        if let Some(value) = all.given() {
            return Ok(Some(value.clone()));
        }
        if let Some((name, subtype)) = self.subtype(&all) {
            self.add_part(subtype, &mut all)?;
            all.reference = Some(name);
        }
        match all.choices.pop() {
            Some(choices) => self.first_choice(choices, &all, depth),
            None => self.of_type(&all, depth),
        }
    }

    /// The first choice whose value is not cut, or else the first one that has a value.
    fn first_choice(
        &mut self,
        choices: &'a [Node],
        all: &AllOf<'a>,
        depth: usize,
    ) -> Result<Option<Node>, ImportError> {
        let (mut found, mut may_be_null) = (None, false);
        for choice in choices {
            if self.document.resolve(choice)?.text_of("type") == Some("null") {
                may_be_null = true;
                continue;
            }
            let mut with = all.clone();
            self.add(choice, &mut with)?;
            let was_cut = std::mem::take(&mut self.is_cut);
            let value = self.value(with, depth + 1)?;
            let is_whole = value.is_some() && !self.is_cut;
            self.is_cut |= was_cut;
            if is_whole {
                return Ok(value);
            }
            found = found.or(value);
        }
        match found {
            None if may_be_null => Ok(Some(Node::Null)),
            found => Ok(found),
        }
    }

    /// A schema that a discriminator of a base schema names, or that has the base in its `allOf`, with its name.
    fn subtype(&self, all: &AllOf<'a>) -> Option<(&'a str, &'a Node)> {
        let reference = all.reference?;
        let base = *all.parts.last()?;
        let discriminator = base.get("discriminator")?;
        let has_choices = base.get("oneOf").or(base.get("anyOf")).is_some();
        let schemas = self.document.root.at("/components/schemas")?.members();
        let mapped = discriminator.members_of("mapping");
        let mapped = mapped.iter().filter_map(|(_, target)| target.text());
        let names_base = |part: &Node| part.text_of("$ref") == Some(reference);
        let extends = |schema: &Node| schema.items_of("allOf").iter().any(names_base);
        let name = mapped.map(last_segment).next().or_else(|| {
            let mut schemas = schemas.iter();
            schemas.find_map(|(name, schema)| extends(schema).then_some(name.as_str()))
        });
        let name = name.filter(|name| !has_choices && *name != last_segment(reference))?;
        let (_, schema) = schemas.iter().find(|(known, _)| known == name)?;
        Some((name, schema))
    }

    fn of_type(&mut self, all: &AllOf<'a>, depth: usize) -> Result<Option<Node>, ImportError> {
        Ok(match all.type_name() {
            "object" => Some(self.object(all, depth)?),
            "array" => self.list(all, depth)?,
            "string" => Some(Node::Text(self.text(all))),
            "integer" | "number" => Some(Node::Number(number(all))),
            "boolean" => Some(Node::Bool(true)),
            _ => Some(Node::Null),
        })
    }

    /// The required properties, those with an example, and as many more as there must be.
    fn object(&mut self, all: &AllOf<'a>, depth: usize) -> Result<Node, ImportError> {
        let mut members = Members::default();
        let required: HashSet<&str> = all.names("required").collect();
        let discriminator = all.discriminator();
        let mut optional = Vec::new();
        for (name, schemas) in all.properties() {
            let property = self.all_of(&schemas)?;
            let example = all.examples().find_map(|example| example.get(name));
            let named = discriminator.filter(|(of, _)| *of == name && !property.has_given());
            let value = if property.is_true("readOnly") {
                // The server sets it.
                None
            } else if let Some(example) = example {
                Some(example.clone())
            } else if let Some((_, value)) = named {
                Some(Node::Text(value.to_owned()))
            } else if required.contains(name) || property.has_given() {
                self.value(property, depth + 1)?
            } else {
                optional.push((name, property));
                continue;
            };
            members.add(name, value);
        }
        for (name, value) in all.examples().flat_map(Node::members) {
            members.add(name, Some(value.clone()));
        }
        if let Some((name, value)) = discriminator {
            members.add(name, Some(Node::Text(value.to_owned())));
        }
        for name in all.names("required") {
            if !members.has(name) {
                let value = self.additional(all, depth)?;
                members.add(name, value);
            }
        }
        let least = all.largest("minProperties").unwrap_or(0);
        for (name, property) in optional {
            if members.all.len() < least || all.depends(&members, name) {
                let value = self.value(property, depth + 1)?;
                members.add(name, value);
            }
        }
        for number in members.all.len()..least {
            let value = self.additional(all, depth)?;
            members.add(&format!("key{}", number + 1), value);
        }
        Ok(Node::Map(members.all))
    }

    /// The value of a property that has no schema of its own.
    fn additional(&mut self, all: &AllOf<'a>, depth: usize) -> Result<Option<Node>, ImportError> {
        let described = |name| all.find(name).filter(|it| !it.members().is_empty());
        let schema = described("additionalProperties").or_else(|| {
            let (_, schema) = all.find("patternProperties")?.members().first()?;
            Some(schema)
        });
        match schema {
            Some(schema) => self.schema(schema, depth + 1),
            None => Ok(Some(Node::Text("text".into()))),
        }
    }

    fn list(&mut self, all: &AllOf<'a>, depth: usize) -> Result<Option<Node>, ImportError> {
        let mut items = Vec::new();
        for item in all.find("prefixItems").map_or(&[][..], Node::items) {
            items.extend(self.schema(item, depth + 1)?);
        }
        if let Some(item) = all.find("contains") {
            let count = all.largest("minContains").unwrap_or(1);
            let item = self.schema(item, depth + 1)?;
            items.extend(item.iter().cycle().take(count).cloned());
        }
        let least = all.largest("minItems").unwrap_or(0);
        if items.len() < least {
            let schemas = all.parts.iter().filter_map(|part| part.get("items"));
            let schema = self.all_of(&schemas.collect::<Vec<_>>())?;
            let are_unique = all.is_true("uniqueItems");
            let choices = schema.find("enum").map_or(&[][..], Node::items);
            let Some(item) = self.value(schema, depth + 1)? else {
                return Ok(None);
            };
            let count = (least - items.len()).min(self.left);
            self.left -= count;
            items.extend((0..count).map(|number| match choices.get(number) {
                _ if !are_unique => item.clone(),
                Some(choice) => choice.clone(),
                None => other(&item, number),
            }));
        }
        Ok(Some(Node::List(items)))
    }

    /// A text of the format, or one that matches the pattern.
    fn text(&mut self, all: &AllOf<'a>) -> String {
        if let Some(format) = all.last(format) {
            return format.to_owned();
        }
        let least = all.largest("minLength").unwrap_or(0);
        let most = all.lengths("maxLength").min().unwrap_or(LONGEST);
        let pattern = all.find("pattern").and_then(Node::text);
        if let Some(text) = pattern.and_then(|pattern| self.matching.text(pattern, least, most)) {
            return text;
        }
        let text: String = "text".chars().take(most).collect();
        format!("{text:a<least$}")
    }
}

/// The schemas that a value must meet: one, and those in its `allOf` before it.
#[derive(Clone, Default)]
struct AllOf<'a> {
    parts: Vec<&'a Node>,
    /// Those of `oneOf` and `anyOf`, of which one is added.
    choices: Vec<&'a [Node]>,
    /// The `$ref` that led here.
    reference: Option<&'a str>,
    seen: Vec<&'a Node>,
}

impl<'a> AllOf<'a> {
    /// What the last schema that has it says: what comes after `allOf` counts most.
    fn last<T>(&self, says: impl Fn(&'a Node) -> Option<T>) -> Option<T> {
        self.parts.iter().rev().find_map(|&part| says(part))
    }

    /// A keyword of the last schema that has it.
    fn find(&self, name: &str) -> Option<&'a Node> {
        self.last(|part| part.get(name))
    }

    fn is_true(&self, name: &str) -> bool {
        self.parts.iter().any(|part| part.is_true(name))
    }

    /// These bounds of a length, each at most the longest one of a sample.
    fn lengths(&self, name: &str) -> impl Iterator<Item = usize> {
        let bounds = self
            .parts
            .iter()
            .filter_map(move |part| part.number_of(name));
        bounds.map(|bound| (bound.max(0.0) as usize).min(LONGEST))
    }

    fn largest(&self, name: &str) -> Option<usize> {
        self.lengths(name).max()
    }

    fn names(&self, keyword: &str) -> impl Iterator<Item = &'a str> {
        let lists = self.parts.iter().filter_map(move |part| part.get(keyword));
        lists.flat_map(Node::items).filter_map(Node::text)
    }

    /// The schemas of each property, in their order.
    fn properties(&self) -> Vec<(&'a str, Vec<&'a Node>)> {
        let mut all: Vec<(&str, Vec<&Node>)> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        let properties = self.parts.iter().filter_map(|part| part.get("properties"));
        for (name, schema) in properties.flat_map(Node::members) {
            let place = *places.entry(name).or_insert(all.len());
            match all.get_mut(place) {
                Some((_, schemas)) => schemas.push(schema),
                None => all.push((name, vec![schema])),
            }
        }
        all
    }

    /// Objects that the schemas name, which each are a part of the value.
    fn examples(&self) -> impl Iterator<Item = &'a Node> {
        let given = self.parts.iter().rev().filter_map(|part| given(part));
        given.filter(|value| matches!(value, Node::Map(_)))
    }

    fn has_given(&self) -> bool {
        self.parts
            .iter()
            .any(|part| given(part).is_some() || part.get("enum").is_some())
    }

    /// The value that the schemas name.
    fn given(&self) -> Option<&'a Node> {
        let is_whole = |value: &&Node| self.parts.len() == 1 || !matches!(value, Node::Map(_));
        self.last(|part| given(part).filter(is_whole))
            .or_else(|| self.listed())
    }

    /// The first value that all lists of values have.
    fn listed(&self) -> Option<&'a Node> {
        let lists = self.parts.iter().filter_map(|part| part.get("enum"));
        let mut values = lists.clone().next()?.items().iter();
        values.find(|value| lists.clone().all(|list| list.items().contains(value)))
    }

    /// The type of the value, or what the keywords imply.
    fn type_name(&self) -> &'a str {
        let found = self.last(named_type).or_else(|| self.last(implied_type));
        found.unwrap_or("object")
    }

    /// The property that names the schema, and the name.
    fn discriminator(&self) -> Option<(&'a str, &'a str)> {
        let reference = last_segment(self.reference?);
        let mut all = self
            .parts
            .iter()
            .filter_map(|part| part.get("discriminator"));
        let named = |of: &'a Node, name| Some((of.text_of("propertyName")?, name));
        let mut mapped = all.clone().filter_map(|of| {
            let is_it = |target: &Node| target.text().map(last_segment) == Some(reference);
            let mut mapping = of.members_of("mapping").iter();
            let (name, _) = mapping.find(|(_, target)| is_it(target))?;
            named(of, name.as_str())
        });
        mapped.next().or_else(|| named(all.next_back()?, reference))
    }

    /// Whether a property must be there because another one is.
    fn depends(&self, members: &Members, name: &str) -> bool {
        let names = |list: &Node| list.items().iter().any(|it| it.text() == Some(name));
        let rules = self.find("dependentRequired").map(Node::members);
        let mut rules = rules.into_iter().flatten();
        rules.any(|(other, list)| members.has(other) && names(list))
    }
}

/// The members of an object so far.
#[derive(Default)]
struct Members {
    all: Vec<(String, Node)>,
    /// Their names, and those of members that are left out.
    names: HashSet<String>,
}

impl Members {
    fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Adds a member, or leaves it out, if neither is done yet.
    fn add(&mut self, name: &str, value: Option<Node>) {
        if self.names.insert(name.to_owned()) {
            self.all.extend(value.map(|value| (name.to_owned(), value)));
        }
    }
}

/// What a reference names: `Pet` of `#/components/schemas/Pet`.
fn last_segment(reference: &str) -> &str {
    reference.rsplit('/').next().unwrap_or(reference)
}

/// A value that differs from the others of a list.
fn other(item: &Node, number: usize) -> Node {
    match item {
        Node::Number(value) if number > 0 => {
            let other = value.as_i64().and_then(|it| it.checked_add(number as i64));
            other.map_or_else(|| item.clone(), |other| Node::Number(other.into()))
        }
        Node::Text(text) if number > 0 => Node::Text(format!("{text}{number}")),
        item => item.clone(),
    }
}

/// The value that a schema names, but for a list of them.
fn given(schema: &Node) -> Option<&Node> {
    schema
        .get("example")
        .or_else(|| schema.items_of("examples").first())
        .or_else(|| schema.get("default"))
        .or_else(|| schema.get("const"))
}

/// The type of a schema. OpenAPI 3.1 may have several.
fn named_type(schema: &Node) -> Option<&str> {
    match schema.get("type")? {
        Node::List(types) => {
            let names = types.iter().filter_map(Node::text);
            let mut others = names.clone().filter(|name| *name != "null");
            others.next().or_else(|| names.clone().next())
        }
        node => node.text(),
    }
}

/// The type that keywords imply.
fn implied_type(schema: &Node) -> Option<&'static str> {
    let mut types = [
        (
            "object",
            "properties required additionalProperties minProperties",
        ),
        ("array", "items prefixItems minItems contains"),
        ("string", "format pattern minLength maxLength"),
        (
            "number",
            "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf",
        ),
    ]
    .into_iter();
    let has_any = |keywords: &str| keywords.split(' ').any(|name| schema.get(name).is_some());
    types.find_map(|(name, keywords)| has_any(keywords).then_some(name))
}

/// A text of the format of a schema.
fn format(schema: &Node) -> Option<&'static str> {
    Some(match schema.text_of("format")? {
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
        _ => return None,
    })
}

/// 1, or the number that is next to it within the bounds.
fn number(all: &AllOf<'_>) -> Number {
    let is_integer = all.type_name() != "number";
    let step = all.last(|part| part.number_of("multipleOf"));
    let step = step.filter(|step| *step > 0.0);
    let unit = step.unwrap_or(1.0);
    let bounds = |name, exclusive| {
        let parts = all.parts.iter();
        parts.flat_map(move |part| bounds(part, name, exclusive))
    };
    let least =
        bounds("minimum", "exclusiveMinimum").max_by(|one, other| one.0.total_cmp(&other.0));
    let most = bounds("maximum", "exclusiveMaximum").max_by(|one, other| other.0.total_cmp(&one.0));
    let mut value = unit;
    if let Some((least, is_exclusive)) = least {
        let above = (least / unit).ceil() * unit;
        let is_excluded = is_exclusive && above <= least;
        value = value.max(if is_excluded { above + unit } else { above });
    }
    if let Some((most, is_exclusive)) = most {
        let below = (most / unit).floor() * unit;
        let is_excluded = is_exclusive && below >= most;
        value = value.min(if is_excluded { below - unit } else { below });
    }
    // Between two bounds there may be only a fraction.
    if let (false, None, Some((least, _)), Some((most, _))) = (is_integer, step, least, most)
        && (value < least || value > most)
    {
        value = f64::midpoint(least, most);
    }
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return Number::from(value as i64);
    }
    Number::from_f64(value).unwrap_or_else(|| Number::from(1))
}

/// Up to two bounds and whether they are themselves excluded: in OpenAPI 3.0 by a boolean, in 3.1 by a number of its own.
fn bounds(schema: &Node, name: &str, exclusive: &str) -> impl Iterator<Item = (f64, bool)> {
    let is_excluded = schema.is_true(exclusive);
    let bound = schema.number_of(name).map(|bound| (bound, is_excluded));
    let excluded = schema.number_of(exclusive).map(|bound| (bound, true));
    bound.into_iter().chain(excluded)
}

#[cfg(test)]
mod tests {
    use prony_testkit::table::rows;

    use super::*;

    fn sample(schema: &str, components: &str) -> Result<String, ImportError> {
        let text =
            format!(r##"{{"openapi": "3.0.0", "components": {{"schemas": {{{components}}}}}}}"##);
        let document = Document::read(&text)?;
        let schema: Node = serde_json::from_str(schema).expect("a schema");
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
            {"required": ["z"]} | {"z":"text"}
            {"type": "object", "minProperties": 2, "properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "boolean"}} | {"a":1,"key2":true}
            {"properties": {"a": {"const": 1}, "b": {"type": "boolean"}, "c": {"type": "boolean"}}, "dependentRequired": {"a": ["b"]}} | {"a":1,"b":true}
            {"allOf": [{"$ref": "#/components/schemas/Loose"}], "required": ["name"]} | {"name":"text"}
            {"allOf": [{"$ref": "#/components/schemas/Loose"}, {"required": ["name"]}]} | {"name":"text"}
            {"allOf": [{"type": "integer", "minimum": 3}, {"maximum": 8, "minimum": 5}]} | 5
            {"allOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]} | "b"
            {"oneOf": [{"$ref": "#/components/schemas/Loose"}], "required": ["name"]} | {"name":"text"}
            {"type": "string", "pattern": "^[A-Z]{3}$"} | "AAA"
            {"type": "string", "pattern": "^\\\\d{4}-(?:x|y)_?$"} | "0000-x"
            {"type": "string", "pattern": "^[a-z]+$", "minLength": 10, "maxLength": 12} | "aaaaaaaaaa"
            {"type": "array", "uniqueItems": true, "minItems": 2, "items": {"enum": ["x", "y"]}} | ["x","y"]
            {"type": "array", "uniqueItems": true, "minItems": 2, "items": {"type": "integer"}} | [1,2]
            {"type": "array", "uniqueItems": true, "minItems": 2, "items": {"const": 9223372036854775807}} | [9223372036854775807,9223372036854775807]
            {"prefixItems": [{"type": "integer"}, {"type": "boolean"}], "minItems": 3} | [1,true,{}]
            {"type": "array", "contains": {"const": 7}} | [7]
            {"exclusiveMaximum": 4, "minimum": 3, "maximum": 4} | 3
            {"allOf": [{"$ref": "#/components/schemas/Base"}, {"type": "object", "required": ["x"], "properties": {"x": {"type": "integer"}}}]} | {"name":"text","x":1}
            {"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/Base"}]} | {"name":"text"}
        "##,
        ) {
            let base = r#""Base": {"required": ["name"], "properties": {"name": {"type": "string"}}},
                    "Loose": {"type": "object", "properties": {"name": {"type": "string"}}}"#;
            assert_eq!(sample(schema, base).expect(schema), expected, "{schema}");
        }
    }

    #[test]
    fn a_discriminator_names_the_schema() {
        let pets = r##""Pet": {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}},
                "discriminator": {"propertyName": "kind", "mapping": {"wow": "#/components/schemas/Dog"}}},
            "Dog": {"allOf": [{"$ref": "#/components/schemas/Pet"}, {"required": ["legs"], "properties": {"legs": {"type": "integer"}}}]},
            "Cat": {"allOf": [{"$ref": "#/components/schemas/Pet"}]},
            "Car": {"type": "object", "discriminator": {"propertyName": "type"}},
            "Van": {"allOf": [{"$ref": "#/components/schemas/Car"}]},
            "Red": {"type": "object", "properties": {"kind": {"enum": ["RED"]}}}"##;
        for [schema, expected] in rows(
            r##"
            {"$ref": "#/components/schemas/Dog"} | {"kind":"wow","legs":1}
            {"$ref": "#/components/schemas/Cat"} | {"kind":"Cat"}
            {"$ref": "#/components/schemas/Pet"} | {"kind":"wow","legs":1}
            {"$ref": "#/components/schemas/Car"} | {"type":"Van"}
            {"oneOf": [{"$ref": "#/components/schemas/Red"}], "discriminator": {"propertyName": "kind"}} | {"kind":"RED"}
            {"oneOf": [{"$ref": "#/components/schemas/Cat"}], "discriminator": {"propertyName": "kind", "mapping": {"miau": "Cat"}}} | {"kind":"miau"}
        "##,
        ) {
            assert_eq!(sample(schema, pets).expect(schema), expected, "{schema}");
        }
    }

    #[test]
    fn a_choice_that_ends_is_taken() {
        let tree = r##""Tree": {"oneOf": [
            {"type": "object", "required": ["next"], "properties": {"next": {"$ref": "#/components/schemas/Tree"}}},
            {"type": "object", "required": ["leaf"], "properties": {"leaf": {"type": "boolean"}}}]}"##;
        let value = sample(r##"{"$ref": "#/components/schemas/Tree"}"##, tree).expect("a value");
        assert!(value.contains(r#"{"leaf":true}"#), "{value}");
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
