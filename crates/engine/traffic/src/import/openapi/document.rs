//! An OpenAPI document: its text, its version and its references.

use super::node::Node;
use crate::import::{ImportError, MAX_INPUT_BYTES, refuse};

/// How many references may follow each other.
const MOST_REFERENCES: usize = 32;

/// How deep lists and maps of YAML may be nested; those of JSON are limited by its parser.
const MOST_NESTING: usize = 64;

/// How many values a document of YAML may have: the largest that are published have a few hundred thousand.
const MOST_NODES: usize = 2_000_000;

pub(super) struct Document {
    pub(super) root: Node,
}

impl Document {
    pub(super) fn read(text: &str) -> Result<Self, ImportError> {
        if text.len() > MAX_INPUT_BYTES {
            let most = MAX_INPUT_BYTES >> 20;
            return refuse(format!("the file is longer than {most} MiB"));
        }
        let text = text.trim_start_matches('\u{feff}');
        let root = match text.trim_start().chars().next() {
            None => return refuse("the file is empty"),
            Some('{') => {
                serde_json::from_str(text).map_err(|error| format!("this is not JSON: {error}"))?
            }
            Some(_) => yaml(text)?,
        };
        let document = Self { root };
        document.check_version()?;
        Ok(document)
    }

    fn check_version(&self) -> Result<(), ImportError> {
        let version = |name| self.root.get(name).and_then(Node::scalar);
        if let Some(version) = version("swagger") {
            return refuse(format!(
                "this is Swagger {version}; convert it to OpenAPI 3 first, for instance with swagger2openapi or \
                 editor.swagger.io"
            ));
        }
        match version("openapi") {
            None => refuse("this is not an OpenAPI document: it has no field `openapi`"),
            Some(version) if version == "3" || version.starts_with("3.") => Ok(()),
            Some(version) => refuse(format!(
                "OpenAPI {version} is not supported; Prony reads 3.0 and 3.1"
            )),
        }
    }

    /// What a node is, after its references.
    pub(super) fn resolve<'a>(&'a self, node: &'a Node) -> Result<&'a Node, ImportError> {
        let mut found = node;
        for _ in 0..MOST_REFERENCES {
            let Some(reference) = found.text_of("$ref") else {
                return Ok(found);
            };
            let Some(pointer) = reference.strip_prefix('#') else {
                return refuse(format!(
                    "`$ref: {reference}` is in another file; bundle the document into one file first, for instance \
                     with `redocly bundle`"
                ));
            };
            let target = self.root.at(pointer);
            found = target
                .ok_or_else(|| format!("`$ref: {reference}` names nothing in the document"))?;
        }
        let reference = node.text_of("$ref").unwrap_or_default();
        refuse(format!("`$ref: {reference}` refers to itself"))
    }

    /// A member of a node, after its references.
    pub(super) fn member<'a>(
        &'a self,
        node: &'a Node,
        name: &str,
    ) -> Result<Option<&'a Node>, ImportError> {
        node.get(name)
            .map(|member| self.resolve(member))
            .transpose()
    }
}

fn yaml(text: &str) -> Result<Node, ImportError> {
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
        .map_err(|error| format!("this is not YAML: {error}").into())
}
