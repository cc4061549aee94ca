//! A document of JSON or YAML, with its members in their order.

use std::fmt;

use percent_encoding::percent_decode_str;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Number;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

impl Node {
    pub(super) fn get(&self, name: &str) -> Option<&Node> {
        let members = self.members();
        members
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value)
    }

    /// The members of a map; none if it is no map.
    pub(super) fn members(&self) -> &[(String, Node)] {
        match self {
            Self::Map(members) => members,
            _ => &[],
        }
    }

    /// The items of a list; none if it is no list.
    pub(super) fn items(&self) -> &[Node] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The members of a member that is a map.
    pub(super) fn members_of(&self, name: &str) -> &[(String, Node)] {
        self.get(name).map_or(&[][..], Self::members)
    }

    /// The items of a member that is a list.
    pub(super) fn items_of(&self, name: &str) -> &[Node] {
        self.get(name).map_or(&[][..], Self::items)
    }

    pub(super) fn text_of(&self, name: &str) -> Option<&str> {
        self.get(name)?.text()
    }

    pub(super) fn is_true(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Self::Bool(true)))
    }

    pub(super) fn number_of(&self, name: &str) -> Option<f64> {
        match self.get(name)? {
            Self::Number(number) => number.as_f64(),
            _ => None,
        }
    }

    /// A scalar as the text of a parameter.
    pub(super) fn scalar(&self) -> Option<String> {
        match self {
            Self::Null => Some("null".into()),
            Self::Bool(value) => Some(value.to_string()),
            Self::Number(number) => Some(number.to_string()),
            Self::Text(text) => Some(text.clone()),
            Self::List(_) | Self::Map(_) => None,
        }
    }

    /// What a JSON pointer in a fragment names: `/components/schemas/Pet`.
    pub(super) fn at(&self, pointer: &str) -> Option<&Node> {
        let pointer = percent_decode_str(pointer).decode_utf8().ok()?;
        if pointer.is_empty() {
            return Some(self);
        }
        pointer
            .strip_prefix('/')?
            .split('/')
            .try_fold(self, |node, step| {
                let step = step.replace("~1", "/").replace("~0", "~");
                match node {
                    Self::List(items) => items.get(step.parse::<usize>().ok()?),
                    node => node.get(&step),
                }
            })
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) => number.serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(items) => serializer.collect_seq(items),
            Self::Map(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (name, value) in members {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Nodes)
    }
}

struct Nodes;

impl<'de> Visitor<'de> for Nodes {
    type Value = Node;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Number::from_f64(value).map_or(Node::Null, Node::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry::<String, Node>()? {
            members.push(member);
        }
        Ok(Node::Map(members))
    }
}
