//! What a tool reports.

use std::collections::BTreeMap;

use prony_model::{LatencyFrom, ReportedLatency};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;

use crate::field::{BytesUnit, CountField, Field, Place, Text, TimeUnit, time};

#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "OutputFields")]
pub struct Output(OutputFields);

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OutputFields {
    format: Format,
    rate_latency_from: Option<LatencyFrom>,
    /// Responses with an expected status.
    ok: Option<CountField>,
    /// Complete responses of any status.
    responses: Option<CountField>,
    /// All requests that ended, errors included.
    requests: Option<CountField>,
    /// The same, per second.
    requests_per_s: Option<CountField>,
    wrong_status: Option<CountField>,
    unfinished: Option<CountField>,
    #[serde(default)]
    errors: BTreeMap<String, CountField>,
    duration: Field<TimeUnit>,
    bytes_read: Option<Field<BytesUnit>>,
    body_bytes: Option<Field<BytesUnit>>,
    #[serde(default)]
    latency: LatencyFields,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Format {
    Text,
    Json,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct LatencyFields {
    #[serde(default, deserialize_with = "nanoseconds")]
    resolution: Option<f64>,
    mean: Option<Field<TimeUnit>>,
    p50: Option<Field<TimeUnit>>,
    p90: Option<Field<TimeUnit>>,
    p99: Option<Field<TimeUnit>>,
    p999: Option<Field<TimeUnit>>,
    max: Option<Field<TimeUnit>>,
}

fn nanoseconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let text = String::deserialize(deserializer)?;
    match time(&text) {
        Some(nanoseconds) => Ok(Some(nanoseconds)),
        None => Err(D::Error::custom(format_args!(
            "`{text}` is not a time; write for instance 1ms"
        ))),
    }
}

impl TryFrom<OutputFields> for Output {
    type Error = String;

    fn try_from(fields: OutputFields) -> Result<Self, String> {
        let (is_json, wants) = match fields.format {
            Format::Text => (false, "`text` a field has a `pattern`"),
            Format::Json => (true, "`json` a field has a `pointer`"),
        };
        if !fields
            .places()
            .all(|place| matches!(place, Place::Pointer { .. }) == is_json)
        {
            return Err(format!("in the output format {wants}"));
        }
        match fields.counted().into_iter().flatten().count() {
            1 => Ok(Self(fields)),
            _ => Err(
                "`[output]` must have exactly one of `ok`, `responses`, `requests` and \
                 `requests_per_s`: what the tool counts"
                    .to_owned(),
            ),
        }
    }
}

impl OutputFields {
    /// What the tool counts: one of these.
    fn counted(&self) -> [&Option<CountField>; 4] {
        [
            &self.ok,
            &self.responses,
            &self.requests,
            &self.requests_per_s,
        ]
    }

    fn places(&self) -> impl Iterator<Item = &Place> {
        let counts = self.counted().into_iter();
        let counts = counts
            .chain([&self.wrong_status, &self.unfinished])
            .flatten();
        let counts = counts.chain(self.errors.values());
        let bytes = [&self.bytes_read, &self.body_bytes].into_iter().flatten();
        let latency = &self.latency;
        let times = [
            &latency.mean,
            &latency.p50,
            &latency.p90,
            &latency.p99,
            &latency.p999,
            &latency.max,
        ];
        let times = times.into_iter().flatten().chain([&self.duration]);
        let counts = counts.map(|count| &count.place);
        let bytes = bytes.map(|bytes| &bytes.place);
        counts.chain(bytes).chain(times.map(|time| &time.place))
    }
}

/// What a tool reported about a load; the rest is absent.
#[derive(Clone, Debug, PartialEq)]
pub struct Reported {
    /// Responses with an expected status, as far as the tool distinguishes them.
    pub ok: u64,
    pub wrong_status: Option<u64>,
    /// Requests in flight when the load ended.
    pub unfinished: Option<u64>,
    /// Errors by the tool's own names.
    pub errors: BTreeMap<String, u64>,
    /// How long the load took by the tool's own clock, in seconds.
    pub duration_s: f64,
    /// Bytes received, heads included.
    pub bytes_read: Option<u64>,
    /// Bytes received, bodies only.
    pub body_bytes: Option<u64>,
    pub latency: ReportedLatency,
}

impl Reported {
    /// Responses with an expected status, per second.
    pub fn rate_per_s(&self) -> f64 {
        if self.duration_s > 0.0 {
            self.ok as f64 / self.duration_s
        } else {
            0.0
        }
    }
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    #[error("its output is not JSON: {0}")]
    Json(String),
    #[error("its output does not report `{0}`")]
    Missing(&'static str),
}

impl Output {
    /// Where the latency of a rate begins; `None` for a tool that cannot generate a rate.
    pub fn rate_latency_from(&self) -> Option<LatencyFrom> {
        self.0.rate_latency_from
    }

    /// Parses the tool's output.
    pub fn read(&self, output: &str) -> Result<Reported, ReadError> {
        let fields = &self.0;
        let json = match fields.format {
            Format::Json => prony_model::from_json(output)
                .map_err(|error| ReadError::Json(error.to_string()))?,
            Format::Text => Value::Null,
        };
        let text = Text { text: output, json };
        let count = |field: &Option<CountField>| field.as_ref()?.read(&text);
        let duration_s = fields.duration.nanoseconds(&text);
        let duration_s = duration_s.ok_or(ReadError::Missing("duration"))? / 1e9;
        let wrong_status = count(&fields.wrong_status).map(whole);
        let unfinished = count(&fields.unfinished).map(whole);
        let errors = fields.errors.iter();
        let errors: BTreeMap<String, u64> = errors
            .filter_map(|(kind, field)| Some((kind.clone(), whole(field.read(&text)?))))
            .collect();
        let wrong = wrong_status.unwrap_or(0);
        let failed = wrong + errors.values().sum::<u64>();
        let [ok, responses, requests, per_s] = fields.counted().map(count);
        let ended = requests.or(per_s.map(|rate| rate * duration_s)).map(whole);
        let ok = ok
            .map(whole)
            .or(responses.map(|all| whole(all).saturating_sub(wrong)))
            .or(ended.map(|all| all.saturating_sub(failed)));
        let bytes = |field: &Option<Field<BytesUnit>>| field.as_ref()?.bytes(&text).map(whole);
        Ok(Reported {
            ok: ok.ok_or(ReadError::Missing("requests"))?,
            wrong_status,
            unfinished,
            errors,
            duration_s,
            bytes_read: bytes(&fields.bytes_read),
            body_bytes: bytes(&fields.body_bytes),
            latency: match ok {
                // Without an expected response, the latency that a tool prints means nothing.
                Some(0) | None => ReportedLatency::default(),
                Some(_) => fields.latency.read(&text),
            },
        })
    }
}

impl LatencyFields {
    fn read(&self, text: &Text<'_>) -> ReportedLatency {
        let read = |field: &Option<Field<TimeUnit>>| field.as_ref()?.nanoseconds(text);
        ReportedLatency {
            from: LatencyFrom::default(),
            resolution_ns: self.resolution,
            mean_ns: read(&self.mean),
            p50_ns: read(&self.p50),
            p90_ns: read(&self.p90),
            p99_ns: read(&self.p99),
            p999_ns: read(&self.p999),
            max_ns: read(&self.max),
        }
    }
}

/// A count parsed as a number; negative values and NaN count as 0.
fn whole(number: f64) -> u64 {
    number.round() as u64
}
