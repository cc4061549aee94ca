//! Hurl files as data for other hosts. They have the secrets that requests need.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use prony_hurl::ast::{
    BodyValue, FilenameParam, HurlFile, MultipartParam, PredicateValue, Template, Test,
};
use prony_hurl::parse;
use serde::ser::Error;
use serde::{Deserialize, Serialize, Serializer};

use crate::base64::Base64;
use crate::constants::{Constants, put_into};
use crate::environment::NamedFiles;
use crate::error::ScenarioError;
use crate::prepare::HurlScenario;
use crate::secrets::Secrets;
use crate::sources::Sources;

/// What a scenario is prepared from: the text of its file, and all that this needs.
#[derive(Serialize, Deserialize)]
pub(crate) struct HurlText<'a> {
    file: Cow<'a, str>,
    text: Cow<'a, str>,
    secrets: Cow<'a, Secrets>,
    sources: Sources,
}

impl TryFrom<HurlText<'_>> for HurlScenario {
    type Error = ScenarioError;

    fn try_from(from: HurlText<'_>) -> Result<Self, ScenarioError> {
        let secrets = from.secrets.into_owned();
        Self::hiding(secrets, &from.file, &from.text, from.sources)
    }
}

impl Serialize for HurlScenario {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut sources = self.sources.clone();
        sources.begin_with_flow(self.sources.flows_begun());
        if let Some(files) = &self.sources.files {
            let named = self.named_files(files).map_err(|what| {
                S::Error::custom(format_args!("{what} cannot be sent to other hosts"))
            })?;
            sources.files = Some(NamedFiles::Sent(Arc::new(named)));
        }
        let text = HurlText {
            file: Cow::Borrowed(&self.file),
            text: Cow::Borrowed(&self.text),
            secrets: Cow::Borrowed(&self.secrets),
            sources,
        };
        text.serialize(to)
    }
}

impl HurlScenario {
    /// What the files have that the file names.
    fn named_files(&self, files: &NamedFiles) -> Result<BTreeMap<String, Base64>, &'static str> {
        let parsed = parse(&self.text).map_err(|_| "a text that is not a Hurl file")?;
        let constants = Constants::of(&parsed, &self.sources.variables, self.sources.changing());
        let mut named = BTreeMap::new();
        for mut template in names(&parsed).into_iter().cloned() {
            put_into(&mut template, |placeholder| constants.text(placeholder));
            let name = template
                .literal()
                .ok_or("a Hurl file that names a file by a value that differs from flow to flow")?;
            let content = files.read(name);
            let content =
                content.map_err(|_| "a Hurl file that names a file that cannot be read")?;
            named.insert(name.to_owned(), Base64(content));
        }
        Ok(named)
    }
}

/// The names of all files in a Hurl file.
fn names(file: &HurlFile) -> Vec<&Template> {
    let mut names = Vec::new();
    for entry in &file.entries {
        let parts = entry.request.multipart.iter();
        names.extend(parts.filter_map(|part| match part {
            MultipartParam::File(FilenameParam { file, .. }) => Some(file),
            MultipartParam::Value(_) => None,
        }));
        let response = entry.response.iter();
        let bodies = response.clone().filter_map(|it| it.body.as_ref());
        let bodies = entry.request.body.iter().chain(bodies);
        names.extend(bodies.filter_map(|body| match &body.value {
            BodyValue::File(name) => Some(name),
            _ => None,
        }));
        let asserts = response.flat_map(|it| &it.asserts);
        names.extend(asserts.filter_map(|it| match &it.predicate.test {
            Test::Compares(_, PredicateValue::File(name)) => Some(name),
            _ => None,
        }));
    }
    names
}
