//! An OpenAPI document: its text, its version and its references.

use super::OpenApiError;
use super::node::Node;
use crate::import::MAX_INPUT_BYTES;

/// How many references may follow each other.
const MOST_REFERENCES: usize = 32;

/// How deep lists and maps of YAML may be nested; those of JSON are limited by its parser.
const MOST_NESTING: usize = 64;

/// How many values a document of YAML may have: the largest that are published have a few hundred thousand.
const MOST_NODES: usize = 2_000_000;

/// A document of OpenAPI 3.
pub(super) struct Document {
    pub(super) root: Node,
}

impl Document {
    /// Reads JSON or YAML.
    pub(super) fn read(text: &str) -> Result<Self, OpenApiError> {
        if text.len() > MAX_INPUT_BYTES {
            return Err(OpenApiError::TooLong);
        }
        let text = text.trim_start_matches('\u{feff}');
        let root = match text.trim_start().chars().next() {
            None => return Err(OpenApiError::Empty),
            Some('{') => serde_json::from_str(text)?,
            Some(_) => yaml(text)?,
        };
        let document = Self { root };
        document.check_version()?;
        Ok(document)
    }

    fn check_version(&self) -> Result<(), OpenApiError> {
        let version = |name| self.root.get(name).and_then(Node::scalar);
        if let Some(version) = version("swagger") {
            return Err(OpenApiError::Swagger(version));
        }
        match version("openapi") {
            None => Err(OpenApiError::NotOpenApi),
            Some(version) if version == "3" || version.starts_with("3.") => Ok(()),
            Some(version) => Err(OpenApiError::Version(version)),
        }
    }

    /// What a node is, after its references.
    pub(super) fn resolve<'a>(&'a self, node: &'a Node) -> Result<&'a Node, OpenApiError> {
        let mut found = node;
        for _ in 0..MOST_REFERENCES {
            let Some(reference) = found.text_of("$ref") else {
                return Ok(found);
            };
            let pointer = reference
                .strip_prefix('#')
                .ok_or_else(|| OpenApiError::OtherFile(reference.to_owned()))?;
            found = self
                .root
                .at(pointer)
                .ok_or_else(|| OpenApiError::NoTarget(reference.to_owned()))?;
        }
        let reference = node.text_of("$ref").unwrap_or_default();
        Err(OpenApiError::Circle(reference.to_owned()))
    }

    /// A member of a node, after its references.
    pub(super) fn member<'a>(
        &'a self,
        node: &'a Node,
        name: &str,
    ) -> Result<Option<&'a Node>, OpenApiError> {
        node.get(name)
            .map(|member| self.resolve(member))
            .transpose()
    }
}

fn yaml(text: &str) -> Result<Node, OpenApiError> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MOST_NESTING,
            max_nodes: MOST_NODES,
            max_events: 2 * MOST_NODES,
        },
        // As in YAML 1.2: `no` is a text.
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| OpenApiError::Yaml(error.to_string()))
}
