//! What a tool's output tells.

mod field;
mod unit;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

pub(crate) use field::{CountField, Field, Place};
pub(crate) use unit::{BytesUnit, TimeUnit, time};

use field::Text;

/// Where a tool's output tells what.
#[derive(Clone, Debug)]
pub struct Output {
    pub(crate) is_json: bool,
    pub(crate) rate_latency_from: Option<RateLatency>,
    pub(crate) counted: Counted,
    pub(crate) wrong_status: Option<CountField>,
    pub(crate) unfinished: Option<CountField>,
    pub(crate) errors: BTreeMap<String, CountField>,
    pub(crate) duration: Field<TimeUnit>,
    pub(crate) bytes_read: Option<Field<BytesUnit>>,
    pub(crate) body_bytes: Option<Field<BytesUnit>>,
    pub(crate) latency: LatencyFields,
}

/// What a tool counts.
#[derive(Clone, Debug)]
pub(crate) enum Counted {
    /// Responses with an expected status.
    Ok(CountField),
    /// Whole responses, whatever their status.
    Responses(CountField),
    /// All requests that ended, errors included.
    Requests(CountField),
    /// The same, a second.
    RequestsPerS(CountField),
}

#[derive(Clone, Debug)]
pub(crate) struct LatencyFields {
    pub resolution_ns: Option<f64>,
    pub mean: Option<Field<TimeUnit>>,
    pub p50: Option<Field<TimeUnit>>,
    pub p90: Option<Field<TimeUnit>>,
    pub p99: Option<Field<TimeUnit>>,
    pub p999: Option<Field<TimeUnit>>,
    pub max: Option<Field<TimeUnit>>,
}

/// Where the latency of a load of a given rate begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateLatency {
    /// At the scheduled arrival.
    Schedule,
    /// When the request is sent: a server that stalls hides what it did to those that had to wait.
    Send,
}

/// What a tool told of a load. What it did not tell is absent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Told {
    /// Responses with an expected status, as far as the tool tells them apart.
    pub ok: u64,
    /// Whole responses with another status.
    pub wrong_status: Option<u64>,
    /// Requests in flight when the load ended.
    pub unfinished: Option<u64>,
    /// Errors by the tool's own words.
    pub errors: BTreeMap<String, u64>,
    /// How long the load took by the tool's own clock, in seconds.
    pub duration_s: f64,
    /// Bytes received, heads included.
    pub bytes_read: Option<u64>,
    /// Bytes received, bodies alone.
    pub body_bytes: Option<u64>,
    /// Its latency.
    pub latency: Latency,
}

/// The latency that a tool told, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    /// The steps in which it is told, where they are coarse.
    pub resolution_ns: Option<f64>,
    /// The mean.
    pub mean_ns: Option<f64>,
    /// The median.
    pub p50_ns: Option<f64>,
    /// The 90th percentile.
    pub p90_ns: Option<f64>,
    /// The 99th percentile.
    pub p99_ns: Option<f64>,
    /// The 99.9th percentile.
    pub p999_ns: Option<f64>,
    /// The longest.
    pub max_ns: Option<f64>,
}

impl Told {
    /// Responses with an expected status, a second.
    pub fn rate_per_s(&self) -> f64 {
        if self.duration_s > 0.0 {
            self.ok as f64 / self.duration_s
        } else {
            0.0
        }
    }

    /// Everything that went wrong, wrong statuses included.
    pub fn failures(&self) -> u64 {
        self.wrong_status.unwrap_or(0) + self.errors.values().sum::<u64>()
    }
}

/// Why a tool's output could not be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It is no JSON.
    #[error("its output is no JSON: {0}")]
    Json(String),
    /// A figure that must be there is not.
    #[error("its output does not tell `{0}`")]
    Missing(&'static str),
}

impl Output {
    /// Where the latency of a rate begins; `None` for a tool that makes no rates.
    pub fn rate_latency_from(&self) -> Option<RateLatency> {
        self.rate_latency_from
    }

    /// Reads what the tool wrote.
    ///
    /// # Errors
    /// Where the number of requests or the duration is not there.
    pub fn read(&self, output: &str) -> Result<Told, ReadError> {
        let json = match self.is_json {
            true => prony_model::from_json_str(output)
                .map_err(|error| ReadError::Json(error.to_string()))?,
            false => Value::Null,
        };
        let text = Text { text: output, json };
        let count = |field: &Option<CountField>| field.as_ref()?.read(&text);
        let duration_s = self.duration.nanoseconds(&text);
        let duration_s = duration_s.ok_or(ReadError::Missing("duration"))? / 1e9;
        let wrong_status = count(&self.wrong_status).map(whole);
        let unfinished = count(&self.unfinished).map(whole);
        let errors: BTreeMap<String, u64> = self
            .errors
            .iter()
            .filter_map(|(kind, field)| Some((kind.clone(), whole(field.read(&text)?))))
            .collect();
        let failed = wrong_status.unwrap_or(0) + errors.values().sum::<u64>();
        let ok = match &self.counted {
            Counted::Ok(field) => field.read(&text).map(whole),
            Counted::Responses(field) => {
                let responses = field.read(&text).map(whole);
                responses.map(|responses| responses.saturating_sub(wrong_status.unwrap_or(0)))
            }
            Counted::Requests(field) => field
                .read(&text)
                .map(|all| whole(all).saturating_sub(failed)),
            Counted::RequestsPerS(field) => field
                .read(&text)
                .map(|rate| whole(rate * duration_s).saturating_sub(failed)),
        };
        let bytes = |field: &Option<Field<BytesUnit>>| field.as_ref()?.bytes(&text).map(whole);
        Ok(Told {
            ok: ok.ok_or(ReadError::Missing("requests"))?,
            wrong_status,
            unfinished,
            errors,
            duration_s,
            bytes_read: bytes(&self.bytes_read),
            body_bytes: bytes(&self.body_bytes),
            latency: match ok {
                // Without one expected response what a tool writes as its latency is no measurement.
                Some(0) | None => Latency::default(),
                Some(_) => self.latency.read(&text),
            },
        })
    }
}

impl LatencyFields {
    fn read(&self, text: &Text<'_>) -> Latency {
        let read = |field: &Option<Field<TimeUnit>>| field.as_ref()?.nanoseconds(text);
        Latency {
            resolution_ns: self.resolution_ns,
            mean_ns: read(&self.mean),
            p50_ns: read(&self.p50),
            p90_ns: read(&self.p90),
            p99_ns: read(&self.p99),
            p999_ns: read(&self.p999),
            max_ns: read(&self.max),
        }
    }
}

/// A count that was read as a number; what is below zero or no number counts as none.
fn whole(number: f64) -> u64 {
    number.round() as u64
}
