//! What is sent for a request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::failure::{Failure, fail};
use super::scope::Scope;
use super::url;
use crate::ast::{BodyValue, FilenameParam, KeyValue, Multiline, MultipartParam, Request};

const FORM: &str = "application/x-www-form-urlencoded";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    pub method: String,
    pub url: String,
    /// The header fields: those of the file, then `authorization`, `cookie` and `content-type` if sections or the body
    /// need them.
    pub headers: Vec<(String, String)>,
    /// The body. Without one, `[Multipart]` or `[Form]`.
    pub body: Vec<u8>,
}

impl Scope<'_> {
    pub fn request(&mut self, request: &Request) -> Result<Rendered, Failure> {
        let url = self.url(request)?;
        let mut headers = self.pairs(&request.headers)?;
        if let Some(KeyValue { key, value }) = &request.basic_auth {
            let user = format!("{}:{}", self.text(key)?, self.text(value)?);
            headers.push((
                "authorization".into(),
                format!("Basic {}", STANDARD.encode(user)),
            ));
        }
        // As for Hurl, a field of the entry replaces the section.
        let is_field = |(name, _): &(String, String)| name.eq_ignore_ascii_case("cookie");
        if !request.cookies.is_empty() && !headers.iter().any(is_field) {
            let cookies = self.pairs(&request.cookies)?;
            let cookies: Vec<String> = cookies
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            headers.push(("cookie".into(), cookies.join("; ")));
        }
        let (body, content_type) = self.content(request)?;
        let has_content_type = headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if let Some(content_type) = content_type.filter(|_| !has_content_type) {
            headers.push(("content-type".into(), content_type));
        }
        Ok(Rendered {
            method: request.method.clone(),
            url,
            headers,
            body,
        })
    }

    fn url(&mut self, request: &Request) -> Result<String, Failure> {
        let mut text = self.text(&request.url)?;
        if let Err(message) = url::check_scheme(&text) {
            let reason = format!("invalid URL <{text}> ({message})");
            return fail(request.url.position, "Invalid URL", reason);
        }
        if !request.query.is_empty() {
            if !text.ends_with('?') {
                text.push(if text.contains('?') { '&' } else { '?' });
            }
            text.push_str(&self.parameters(&request.query)?);
        }
        Ok(text)
    }

    fn pairs(&mut self, pairs: &[KeyValue]) -> Result<Vec<(String, String)>, Failure> {
        pairs
            .iter()
            .map(|KeyValue { key, value }| Ok((self.text(key)?, self.text(value)?)))
            .collect()
    }

    /// Parameters of a URL or a form. As in Hurl, names are sent as they are.
    fn parameters(&mut self, parameters: &[KeyValue]) -> Result<String, Failure> {
        let pairs = self.pairs(parameters)?;
        let parameters: Vec<String> = pairs
            .iter()
            .map(|(name, value)| format!("{name}={}", url::encoded_parameter(value)))
            .collect();
        Ok(parameters.join("&"))
    }

    /// The body and its type, if the file implies one.
    fn content(&mut self, request: &Request) -> Result<(Vec<u8>, Option<String>), Failure> {
        if let Some(body) = &request.body {
            let content_type = match &body.value {
                // Hurl takes the type of the form and the bytes of the body.
                _ if !request.form.is_empty() => Some(FORM.to_owned()),
                BodyValue::Json(_)
                | BodyValue::Multiline(Multiline::Json(_) | Multiline::GraphQl { .. }) => {
                    Some("application/json".to_owned())
                }
                BodyValue::Xml(_) | BodyValue::Multiline(Multiline::Xml(_)) => {
                    Some("application/xml".to_owned())
                }
                BodyValue::Multiline(Multiline::Text(_) | Multiline::Raw(_))
                | BodyValue::Oneline(_)
                | BodyValue::Bytes(_)
                | BodyValue::File(_) => None,
            };
            return Ok((self.body(body)?, content_type));
        }
        if !request.multipart.is_empty() {
            return self.multipart(&request.multipart);
        }
        if !request.form.is_empty() {
            let body = self.parameters(&request.form)?.into_bytes();
            return Ok((body, Some(FORM.to_owned())));
        }
        Ok((Vec::new(), None))
    }

    /// A body of parts (RFC 7578), between boundaries that are random.
    fn multipart(
        &mut self,
        parts: &[MultipartParam],
    ) -> Result<(Vec<u8>, Option<String>), Failure> {
        let boundary = format!("{:->24}{:032x}", "", self.random());
        let mut body = Vec::new();
        for part in parts {
            body.extend_from_slice(
                format!("--{boundary}\r\ncontent-disposition: form-data; name=").as_bytes(),
            );
            match part {
                MultipartParam::Value(KeyValue { key, value }) => {
                    let (name, value) = (self.text(key)?, self.text(value)?);
                    body.extend_from_slice(format!("{}\r\n\r\n{value}", quoted(&name)).as_bytes());
                }
                MultipartParam::File(part) => self.file_part(part, &mut body)?,
            }
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
        Ok((
            body,
            Some(format!("multipart/form-data; boundary={boundary}")),
        ))
    }

    fn file_part(&mut self, part: &FilenameParam, body: &mut Vec<u8>) -> Result<(), Failure> {
        let (name, file) = (self.text(&part.key)?, self.text(&part.file)?);
        let content_type = match &part.content_type {
            Some(content_type) => self.text(content_type)?,
            None => type_of_file(&file).to_owned(),
        };
        // Without folders (RFC 7578, section 4.2), as curl and browsers send it.
        let file = file.rsplit('/').next().unwrap_or_default();
        let (name, file) = (quoted(&name), quoted(file));
        let head = format!("{name}; filename={file}\r\ncontent-type: {content_type}\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend(self.file(&part.file)?);
        Ok(())
    }
}

/// A name between quotes, with the escapes of the HTML standard.
fn quoted(name: &str) -> String {
    let escaped = name
        .replace('"', "%22")
        .replace('\r', "%0D")
        .replace('\n', "%0A");
    format!("\"{escaped}\"")
}

/// The media type of a file of that name, as in Hurl.
fn type_of_file(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("gif") => "image/gif",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("png") => "image/png",
        Some("svg") => "image/svg+xml",
        Some("txt") => "text/plain",
        Some("htm" | "html") => "text/html",
        Some("pdf") => "application/pdf",
        Some("xml") => "application/xml",
        _ => "application/octet-stream",
    }
}
