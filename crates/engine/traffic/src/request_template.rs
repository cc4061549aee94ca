//! One request that users send over and over, with values that differ from one to the next.

use http::HeaderValue;
use prony_hurl::evaluate::Scope;
use serde::{Deserialize, Serialize};

use crate::parts::{RequestError, RequestParts};
use crate::text::{Text, TextError};
use crate::turn::ScenarioRequest;
use crate::url::HttpUrl;

/// A request with placeholders.
#[derive(Serialize, Deserialize)]
pub struct RequestTemplate {
    pub method: String,
    /// The path and query.
    pub target: Text,
    /// The header fields, without those that frame the body.
    pub fields: Vec<(String, Text)>,
    pub body: Text,
    /// Whether each user sends the cookies that responses set.
    pub keeps_cookies: bool,
}

/// Why a request with placeholders cannot be sent.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    #[error(transparent)]
    Text(#[from] TextError),
    #[error(transparent)]
    Request(#[from] RequestError),
}

impl RequestTemplate {
    /// Whether every user sends the same request each time, apart from cookies.
    pub(crate) fn is_constant(&self) -> bool {
        let mut texts = self.fields.iter().map(|(_, text)| text);
        !self.target.differs() && !self.body.differs() && !texts.any(Text::differs)
    }

    /// The request with the values of `scope`.
    pub(crate) fn rendered(
        &self,
        server: &HttpUrl,
        scope: &mut Scope<'_>,
    ) -> Result<ScenarioRequest, TemplateError> {
        let mut bytes = |text: &Text| -> Result<Vec<u8>, TextError> {
            let mut bytes = Vec::new();
            text.render(scope, &mut bytes)?;
            Ok(bytes)
        };
        let mut lines = Vec::with_capacity(self.fields.len());
        for (name, text) in &self.fields {
            lines.push(format!(
                "{name}: {}",
                String::from_utf8_lossy(&bytes(text)?)
            ));
        }
        let target = bytes(&self.target)?;
        let parts = RequestParts::new(&self.method, server, &lines, &bytes(&self.body)?)?;
        let mut request = ScenarioRequest::new(parts)?;
        request.set_path(&String::from_utf8_lossy(&target))?;
        Ok(request)
    }

    /// Puts the values of `scope` into a request that has the rest already.
    pub(crate) fn render(
        &self,
        scope: &mut Scope<'_>,
        request: &mut ScenarioRequest,
    ) -> Result<(), TemplateError> {
        let mut bytes = Vec::new();
        let fields = self.fields.iter().enumerate();
        for (at, (_, text)) in fields.filter(|(_, (_, text))| text.differs()) {
            bytes.clear();
            text.render(scope, &mut bytes)?;
            let (name, value) = &mut request.fields_mut()[at];
            *value = HeaderValue::from_str(String::from_utf8_lossy(&bytes).trim())
                .map_err(|_| RequestError::HeaderValue(name.as_str().to_owned()))?;
        }
        if self.target.differs() {
            bytes.clear();
            self.target.render(scope, &mut bytes)?;
            request.set_path(&String::from_utf8_lossy(&bytes))?;
        }
        if self.body.differs() {
            let body = request.body_mut();
            body.clear();
            self.body.render(scope, body)?;
        }
        Ok(())
    }
}
