//! The JSON Schema of objects with a field for each variant of an enum.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};

/// Stands for an object whose fields are named and described like the variants of `K`, each a `V`; any may be absent.
pub struct NamedFields<K, V>(PhantomData<(K, V)>);

impl<K: JsonSchema, V: JsonSchema> JsonSchema for NamedFields<K, V> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("{}By{}", V::schema_name(), K::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let variants = K::json_schema(generator);
        let variants = variants.get("oneOf").and_then(Value::as_array);
        let fields = variants.into_iter().flatten().filter_map(|variant| {
            let mut field = generator.subschema_for::<V>();
            field.insert("description".into(), variant["description"].clone());
            Some((variant["const"].as_str()?.to_owned(), field.to_value()))
        });
        let fields: Map<String, Value> = fields.collect();
        json_schema!({ "type": "object", "properties": fields })
    }
}
