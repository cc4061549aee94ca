//! A recorded request as an entry.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::format::{HarEntry, Parameter, PostData};
use crate::import::scenario::{Content, Entry, Part, Status, Text, has_header, is_named, method};
use crate::import::url::Url;
use crate::import::{ImportError, refuse};

/// Headers that a client sets for each request or connection.
const OWN: [&str; 9] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
];

pub(super) fn entry(recorded: &HarEntry, url: &Url) -> Result<Entry, ImportError> {
    let request = &recorded.request;
    let method = method(&request.method.to_ascii_uppercase())?;
    let kept = request.headers.iter().filter(|header| {
        let name = header.name.to_ascii_lowercase();
        !name.starts_with(':') && !OWN.contains(&name.as_str())
    });
    let mut headers: Vec<(Text, Text)> = kept
        .map(|header| (header.name.as_str().into(), header.value.as_str().into()))
        .collect();
    let content = match &request.post_data {
        None => Content::None,
        Some(data) => content(data, &mut headers)?,
    };
    let status = recorded.response.as_ref().map(|response| response.status);
    let status = status.and_then(|status| u16::try_from(status).ok());
    Ok(Entry {
        method,
        url: url.to_string().into(),
        headers,
        content,
        status: status.map(Status::Exactly),
        ..Entry::default()
    })
}

fn content(data: &PostData, headers: &mut Vec<(Text, Text)>) -> Result<Content, ImportError> {
    let is_multipart = data.mime_type.starts_with("multipart/");
    let content = match (&data.text, data.params.as_slice()) {
        (Some(text), _) if !text.is_empty() => Content::Bytes(bytes(text, data)?),
        (_, []) => return Ok(Content::None),
        (_, parameters) if is_multipart => {
            // Its boundary is that of the recorded body.
            headers.retain(|(name, _)| !is_named(name, "content-type"));
            return Ok(Content::Multipart(parameters.iter().map(part).collect()));
        }
        (_, parameters) => {
            let mut form = form_urlencoded::Serializer::new(String::new());
            for parameter in parameters {
                form.append_pair(&parameter.name, parameter.value.as_deref().unwrap_or(""));
            }
            Content::Bytes(form.finish().into_bytes())
        }
    };
    if !has_header(headers, "content-type") && !data.mime_type.is_empty() {
        headers.push(("content-type".into(), data.mime_type.as_str().into()));
    }
    Ok(content)
}

fn bytes(text: &str, data: &PostData) -> Result<Vec<u8>, ImportError> {
    match data.encoding.as_deref() {
        None | Some("" | "utf-8" | "UTF-8") => Ok(text.as_bytes().to_vec()),
        Some("base64") => STANDARD
            .decode(text)
            .map_err(|error| format!("its body is not base64: {error}").into()),
        Some(other) => refuse(format!(
            "its body is encoded as `{other}`, but only base64 is supported"
        )),
    }
}

fn part(parameter: &Parameter) -> Part {
    let name = Text::from(parameter.name.as_str());
    match parameter.file_name.as_deref() {
        Some(file) if !file.is_empty() => Part::File(
            name,
            file.into(),
            parameter.content_type.as_deref().map(Text::from),
        ),
        _ => Part::Value(name, parameter.value.as_deref().unwrap_or("").into()),
    }
}
