//! Scenarios as data for other hosts. They have the secrets that requests need.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use prony_hurl::ast::{
    BodyValue, FilenameParam, HurlFile, MultipartParam, PredicateValue, Template, Test,
};
use prony_hurl::parse;
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::base64::Base64;
use crate::constants::{Constants, put_into};
use crate::environment::NamedFiles;
use crate::request_template::RequestTemplate;
use crate::scenario::{Origin, Scenario};
use crate::secrets::Secrets;
use crate::sources::Sources;
use crate::url::HttpUrl;

/// What a scenario is prepared from.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Carried<'a> {
    /// The text of its file, and all that this needs.
    Hurl {
        file: Cow<'a, str>,
        text: Cow<'a, str>,
        secrets: Cow<'a, Secrets>,
        sources: Sources,
    },
    Template {
        template: Arc<RequestTemplate>,
        server: HttpUrl,
        sources: Cow<'a, Sources>,
    },
}

impl<'de> Deserialize<'de> for Scenario {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Carried::deserialize(from)? {
            Carried::Hurl {
                file,
                text,
                secrets,
                sources,
            } => {
                let secrets = secrets.into_owned();
                Self::hiding(secrets, &file, &text, sources).map_err(D::Error::custom)
            }
            Carried::Template {
                template,
                server,
                sources,
            } => Self::of_template(template, server, &sources).map_err(D::Error::custom),
        }
    }
}

impl Serialize for Scenario {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let carried = match &self.origin {
            Origin::Hurl { file, text } => Carried::Hurl {
                sources: self.carried_sources(text).map_err(|what| {
                    S::Error::custom(format_args!("{what} cannot be sent to other hosts"))
                })?,
                file: Cow::Borrowed(file),
                text: Cow::Borrowed(text),
                secrets: Cow::Borrowed(&self.secrets),
            },
            Origin::Template(template) => Carried::Template {
                template: Arc::clone(template),
                server: self.server.url.clone(),
                sources: Cow::Borrowed(&self.sources),
            },
        };
        carried.serialize(to)
    }
}

impl Scenario {
    /// The sources, which go on where they are, with the content of the files that a Hurl file names.
    fn carried_sources(&self, text: &str) -> Result<Sources, &'static str> {
        let mut sources = self.sources.clone();
        sources.begin_with_flow(self.sources.flows_begun());
        if let Some(files) = &self.sources.files {
            let named = self.named_files(text, files)?;
            sources.files = Some(NamedFiles::Sent(Arc::new(named)));
        }
        Ok(sources)
    }

    /// What the files have that the file names.
    fn named_files(
        &self,
        text: &str,
        files: &NamedFiles,
    ) -> Result<BTreeMap<String, Base64>, &'static str> {
        let parsed = parse(text).map_err(|_| "a text that is not a Hurl file")?;
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
