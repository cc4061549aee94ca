//! The parts of HAR 1.2 that say what was requested.

use serde::{Deserialize, Deserializer};

/// A field that may be missing. Some exporters write null for what they do not know.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[derive(Deserialize)]
pub(super) struct Har {
    pub(super) log: Log,
}

#[derive(Deserialize)]
pub(super) struct Log {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) pages: Vec<Page>,
    pub(super) entries: Vec<HarEntry>,
}

#[derive(Deserialize)]
pub(super) struct Page {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HarEntry {
    pub(super) pageref: Option<String>,
    pub(super) started_date_time: Option<String>,
    /// Milliseconds from the start to the end of the response.
    pub(super) time: Option<f64>,
    pub(super) request: HarRequest,
    pub(super) response: Option<HarResponse>,
    /// What Chrome and Edge say it is.
    #[serde(rename = "_resourceType")]
    pub(super) resource_type: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HarRequest {
    pub(super) method: String,
    pub(super) url: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) headers: Vec<Header>,
    pub(super) post_data: Option<PostData>,
    /// How long the body was, or -1.
    pub(super) body_size: Option<f64>,
}

#[derive(Deserialize)]
pub(super) struct Header {
    pub(super) name: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PostData {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) mime_type: String,
    pub(super) text: Option<String>,
    /// `base64`, which HAR 1.2 has for responses alone.
    #[serde(alias = "_encoding")]
    pub(super) encoding: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) params: Vec<Parameter>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) value: Option<String>,
    pub(super) file_name: Option<String>,
    pub(super) content_type: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct HarResponse {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) status: i64,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) content: HarContent,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HarContent {
    #[serde(default, deserialize_with = "or_default")]
    pub(super) mime_type: String,
}
