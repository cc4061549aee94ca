//! Scenarios as data for other hosts. They have the secrets that requests need.

use std::collections::BTreeMap;
use std::sync::Arc;

use prony_hurl::ast::{
    BodyValue, FilenameParam, HurlFile, MultipartParam, PredicateValue, Template, Test,
};
use prony_hurl::parse;
use prony_load::{Base64, HttpUrl, NotPortable, Portable, RebuildError};
use serde::{Deserialize, Serialize};

use crate::constants::{Constants, put_into};
use crate::one_request::{OneRequest, RequestTemplate};
use crate::prepare::HurlScenario;
use crate::secrets::Secrets;
use crate::sources::SourcesData;
use crate::text::{PieceData, Text};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HurlData {
    file: String,
    text: String,
    secrets: Secrets,
    sources: SourcesData,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OneRequestData {
    method: String,
    server: String,
    target: Vec<PieceData>,
    fields: Vec<(String, Vec<PieceData>)>,
    body: Vec<PieceData>,
    keeps_cookies: bool,
    sources: SourcesData,
}

impl HurlScenario {
    /// The kind of its [`Portable`].
    pub const KIND: &str = "hurl";

    pub(crate) fn to_portable(&self) -> Result<Portable, NotPortable> {
        let data = HurlData {
            file: self.file.clone(),
            text: self.text.clone(),
            secrets: self.secrets.clone(),
            sources: self.sources.data(self.named_files()?)?,
        };
        Portable::new(Self::KIND, &data)
    }

    /// Rebuilds it.
    ///
    /// # Errors
    ///
    /// If the content is not that of such a scenario.
    pub fn rebuild(portable: &Portable) -> Result<Self, RebuildError> {
        let HurlData {
            file,
            text,
            secrets,
            sources,
        } = portable.read()?;
        let sources = sources.sources();
        let sources = sources.map_err(|error| portable.damaged(format_args!("it {error}")))?;
        Self::hiding(secrets, &file, &text, sources).map_err(|error| portable.damaged(error))
    }

    /// What the files have that the file names; `None` if it may name none.
    fn named_files(&self) -> Result<Option<BTreeMap<String, Base64>>, NotPortable> {
        let Some(files) = &self.sources.files else {
            return Ok(None);
        };
        let parsed =
            parse(&self.text).map_err(|_| NotPortable("a text that is not a Hurl file"))?;
        let constants = Constants::of(&parsed, &self.sources.variables, self.sources.changing());
        let mut named = BTreeMap::new();
        for mut template in names(&parsed).into_iter().cloned() {
            put_into(&mut template, |placeholder| constants.text(placeholder));
            let name = template.literal().ok_or(NotPortable(
                "a Hurl file that names a file by a value that differs from flow to flow",
            ))?;
            let content = files.read(name);
            let content = content
                .map_err(|_| NotPortable("a Hurl file that names a file that cannot be read"))?;
            named.insert(name.to_owned(), Base64(content));
        }
        Ok(Some(named))
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

impl OneRequest {
    /// The kind of its [`Portable`].
    pub const KIND: &str = "request";

    pub(crate) fn to_portable(&self) -> Result<Portable, NotPortable> {
        let RequestTemplate {
            method,
            target,
            fields,
            body,
            keeps_cookies,
        } = &*self.template;
        let fields = fields
            .iter()
            .map(|(name, text)| (name.clone(), text.data()));
        let data = OneRequestData {
            method: method.clone(),
            server: self.server.as_str().to_owned(),
            target: target.data(),
            fields: fields.collect(),
            body: body.data(),
            keeps_cookies: *keeps_cookies,
            sources: self.sources.data(None)?,
        };
        Portable::new(Self::KIND, &data)
    }

    /// Rebuilds it.
    ///
    /// # Errors
    ///
    /// If the content is not that of such a request.
    pub fn rebuild(portable: &Portable) -> Result<Self, RebuildError> {
        let data: OneRequestData = portable.read()?;
        let text = |data| Text::of(data).map_err(|error| portable.damaged(error));
        let fields = data.fields.into_iter();
        let fields = fields.map(|(name, data)| Ok((name, text(data)?)));
        let template = RequestTemplate {
            method: data.method,
            target: text(data.target)?,
            fields: fields.collect::<Result<_, RebuildError>>()?,
            body: text(data.body)?,
            keeps_cookies: data.keeps_cookies,
        };
        let server = data.server.parse::<HttpUrl>();
        let server = server.map_err(|error| portable.damaged(error))?;
        let sources = data.sources.sources();
        let sources = sources.map_err(|error| portable.damaged(format_args!("it {error}")))?;
        Self::new(Arc::new(template), server, &sources).map_err(|error| portable.damaged(error))
    }
}
