//! A manifest as its file has it.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

/// A list of words, each with its place in the file.
pub type Words = Vec<Spanned<String>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawManifest {
    pub title: Spanned<String>,
    pub program: Spanned<String>,
    pub install: Spanned<String>,
    #[serde(default)]
    pub notes: Option<String>,
    #[serde(default)]
    pub version: Option<RawVersion>,
    pub arguments: RawArguments,
    #[serde(default)]
    pub environment: BTreeMap<String, Spanned<String>>,
    pub output: RawOutput,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawVersion {
    pub arguments: Vec<String>,
    pub pattern: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawArguments {
    #[serde(default)]
    pub before: Words,
    #[serde(default)]
    pub closed: Option<Words>,
    #[serde(default)]
    pub rate: Option<Words>,
    #[serde(default)]
    pub keep: Words,
    #[serde(default)]
    pub close: Option<Words>,
    #[serde(default)]
    pub pipeline: Option<Words>,
    #[serde(default)]
    pub duration: Option<Words>,
    #[serde(default)]
    pub requests: Option<Words>,
    #[serde(default)]
    pub header: Option<Words>,
    #[serde(default)]
    pub method: Option<Words>,
    #[serde(default)]
    pub body: Option<Words>,
    #[serde(default)]
    pub after: Words,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawOutput {
    pub format: Format,
    #[serde(default)]
    pub rate_latency_from: Option<RawRateLatency>,
    #[serde(default)]
    pub ok: Option<Spanned<RawCount>>,
    #[serde(default)]
    pub responses: Option<Spanned<RawCount>>,
    #[serde(default)]
    pub requests: Option<Spanned<RawCount>>,
    #[serde(default)]
    pub requests_per_s: Option<Spanned<RawCount>>,
    #[serde(default)]
    pub wrong_status: Option<Spanned<RawCount>>,
    #[serde(default)]
    pub unfinished: Option<Spanned<RawCount>>,
    pub duration: Spanned<RawTime>,
    #[serde(default)]
    pub bytes_read: Option<Spanned<RawBytes>>,
    #[serde(default)]
    pub body_bytes: Option<Spanned<RawBytes>>,
    #[serde(default)]
    pub errors: BTreeMap<String, Spanned<RawCount>>,
    #[serde(default)]
    pub latency: RawLatency,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    Text,
    Json,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RawRateLatency {
    Schedule,
    Send,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawLatency {
    #[serde(default)]
    pub resolution: Option<Spanned<String>>,
    #[serde(default)]
    pub mean: Option<Spanned<RawTime>>,
    #[serde(default)]
    pub p50: Option<Spanned<RawTime>>,
    #[serde(default)]
    pub p90: Option<Spanned<RawTime>>,
    #[serde(default)]
    pub p99: Option<Spanned<RawTime>>,
    #[serde(default)]
    pub p999: Option<Spanned<RawTime>>,
    #[serde(default)]
    pub max: Option<Spanned<RawTime>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawCount {
    #[serde(default)]
    pub pattern: Option<String>,
    #[serde(default)]
    pub sum: bool,
    #[serde(default)]
    pub pointer: Option<String>,
    #[serde(default)]
    pub keys: Option<String>,
    #[serde(default)]
    pub except: Option<String>,
    #[serde(default)]
    pub otherwise: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawTime {
    #[serde(default)]
    pub pattern: Option<String>,
    #[serde(default)]
    pub pointer: Option<String>,
    pub unit: RawTimeUnit,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RawTimeUnit {
    Ns,
    Us,
    Ms,
    S,
    Written,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawBytes {
    #[serde(default)]
    pub pattern: Option<String>,
    #[serde(default)]
    pub pointer: Option<String>,
    pub unit: RawBytesUnit,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RawBytesUnit {
    Bytes,
    Written,
}
