//! Expected responses: what workloads declare.

mod declared;
mod draws;
mod schema;
#[cfg(test)]
mod tests;

use prony_traffic::expected::{BodyContent, BodyRules, LineOf, Patch};
use prony_traffic::{Accepted, Expected};

use crate::files::{AssetError, Files};
use crate::request::PreparedRequest;
use crate::workload::Exchange;

pub use declared::{DeclaredResponse, ExpectedBody, ExpectedContent, Status};
pub(crate) use draws::{CONNECTIONS, DRAWS_PER_CONNECTION, Draws, judge_counted};
pub use schema::SchemaSource;

impl Exchange<'_> {
    /// The expected response, with the content of the files that the workload names, to a request without secrets that
    /// accepts no compressed body.
    pub fn expected(self, files: &Files) -> Result<Expected, AssetError> {
        let response = self.response;
        let headers = response.headers.iter();
        let statuses = response.status.as_slice().iter();
        Ok(Expected {
            statuses: statuses.map(|status| status.code()).collect(),
            content_type: response.content_type.clone(),
            headers: headers
                .map(|(name, value)| (name.to_lowercase(), value.clone()))
                .collect(),
            body: match &response.body {
                None => BodyRules::default(),
                Some(body) => body.rules(self.id, files)?,
            },
            accepted: (!self.protocol().is_grpc()).then(Accepted::default),
            ..Expected::default()
        })
    }

    /// The same to this request, which may accept compressed bodies and have secrets.
    pub fn expected_of(
        self,
        request: &PreparedRequest,
        files: &Files,
    ) -> Result<Expected, AssetError> {
        Ok(Expected {
            accepted: request.accepted().cloned(),
            secrets: request.secrets().clone(),
            ..self.expected(files)?
        })
    }
}

impl ExpectedBody {
    fn rules(&self, workload: &str, files: &Files) -> Result<BodyRules, AssetError> {
        let content = self.content.as_ref();
        let content = content.map(|content| content.read(workload, files));
        let schema = self.schema.as_ref();
        let schema = schema.map(|schema| schema.read(workload, files));
        Ok(BodyRules {
            content: content.transpose()?,
            schema: schema.transpose()?,
            ..self.rules.clone()
        })
    }
}

impl ExpectedContent {
    fn read(&self, workload: &str, files: &Files) -> Result<BodyContent, AssetError> {
        let read = |name: &str| files.asset(workload, name);
        Ok(match self {
            Self::Text(text) => BodyContent::Exact(text.clone().into_bytes()),
            Self::Message(message) => BodyContent::Exact(message.encode()),
            Self::Messages(stream) => BodyContent::Messages(stream.expected()),
            Self::Asset(name) => BodyContent::Exact(read(name)?.content),
            Self::DatastarPatchOf(name) => BodyContent::Patch(Patch::of(&read(name)?.content)),
            Self::LineOf(name) => {
                let file = read(name)?;
                let lines = LineOf::new(name, &file.content).ok_or(AssetError::NoLines {
                    workload: workload.to_owned(),
                    path: file.path,
                })?;
                BodyContent::LineOf(lines)
            }
        })
    }
}
