//! A recorded request as an entry.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::HarError;
use super::format::{HarEntry, Parameter, PostData};
use crate::import::scenario::{Content, Entry, Options, Part, Status, Text, has_header};
use crate::import::url::Url;

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

/// The request of a recorded entry. `number` is its place in the file.
pub(super) fn entry(recorded: &HarEntry, url: &Url, number: usize) -> Result<Entry, HarError> {
    let request = &recorded.request;
    let wrong = |reason: String| HarError::Entry {
        number,
        url: url.to_string(),
        reason,
    };
    let method = request
        .method
        .to_ascii_uppercase()
        .parse()
        .map_err(|error: crate::import::MethodError| wrong(error.to_string()))?;
    let kept = request.headers.iter().filter(|header| {
        let name = header.name.to_ascii_lowercase();
        !name.starts_with(':') && !OWN.contains(&name.as_str())
    });
    let mut headers: Vec<(Text, Text)> = kept
        .map(|header| (header.name.as_str().into(), header.value.as_str().into()))
        .collect();
    let content = match &request.post_data {
        None => Content::None,
        Some(data) => content(data, &mut headers).map_err(wrong)?,
    };
    let status = recorded.response.as_ref().map(|response| response.status);
    let status = status.and_then(|status| u16::try_from(status).ok());
    Ok(Entry {
        comments: Vec::new(),
        method,
        url: url.to_string().into(),
        headers,
        options: Options::default(),
        basic_auth: None,
        content,
        status: status.map(Status::Exactly),
    })
}

fn content(data: &PostData, headers: &mut Vec<(Text, Text)>) -> Result<Content, String> {
    let is_multipart = data.mime_type.starts_with("multipart/");
    let content = match (&data.text, data.params.as_slice()) {
        (Some(text), _) if !text.is_empty() => Content::Bytes(bytes(text, data)?),
        (_, []) => return Ok(Content::None),
        (_, parameters) if is_multipart => {
            // Its boundary is that of the recorded body.
            headers.retain(|(name, _)| !is_content_type(name));
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

fn is_content_type(name: &Text) -> bool {
    name.literal()
        .is_some_and(|name| name.eq_ignore_ascii_case("content-type"))
}

fn bytes(text: &str, data: &PostData) -> Result<Vec<u8>, String> {
    match data.encoding.as_deref() {
        None | Some("" | "utf-8" | "UTF-8") => Ok(text.as_bytes().to_vec()),
        Some("base64") => STANDARD
            .decode(text)
            .map_err(|error| format!("its body is not base64: {error}")),
        Some(other) => Err(format!(
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
