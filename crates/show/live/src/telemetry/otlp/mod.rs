//! The body of a push over OTLP/HTTP, and of the response to it.

mod messages;

use std::time::{SystemTime, UNIX_EPOCH};

use prost::Message;

use self::messages::{
    AnyValue, CUMULATIVE, ExportMetricsServiceRequest, ExportMetricsServiceResponse, Gauge,
    HistogramDataPoint, Histograms, InstrumentationScope, KeyValue, NumberDataPoint, OneMetric,
    Resource, ResourceMetrics, ScopeMetrics, Sum,
};
use crate::telemetry::figures::Figures;
use crate::telemetry::load_resource::LoadResource;
use crate::telemetry::metrics::{self, Histogram, Label, Metric, Points};

/// What follows the URL of a receiver.
pub const PATH: &str = "/v1/metrics";
pub const CONTENT_TYPE: &str = "application/x-protobuf";

/// The body of a push: the figures at `now` of a load that has run since `begun`.
pub fn request(
    resource: &LoadResource,
    figures: &Figures,
    begun: SystemTime,
    now: SystemTime,
) -> Vec<u8> {
    let time = Time {
        begun: nanoseconds(begun),
        // The system's clock may be set back.
        now: nanoseconds(now.max(begun)),
    };
    let metrics = metrics::of(figures);
    let metrics = metrics.into_iter().map(|metric| time.metric(metric));
    let scope = InstrumentationScope {
        name: "prony".into(),
        version: resource.version.clone(),
    };
    let attributes = resource.attributes();
    let resource = Resource {
        attributes: attributes.map(|(key, value)| attribute(key, value)).into(),
    };
    let request = ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(resource),
            scope_metrics: vec![ScopeMetrics {
                scope: Some(scope),
                metrics: metrics.collect(),
            }],
        }],
    };
    request.encode_to_vec()
}

/// Why the receiver rejected some of the figures, by the body of its response; `None` if it took them all.
pub fn rejection(response: &[u8]) -> Option<String> {
    let response = ExportMetricsServiceResponse::decode(response).ok()?;
    let partial = response.partial_success?;
    (partial.rejected_data_points > 0).then(|| {
        let count = partial.rejected_data_points;
        format!("it rejected {count} data points: {}", partial.error_message)
    })
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Since when figures count, and when they were taken, in nanoseconds since 1970.
#[derive(Clone, Copy)]
struct Time {
    begun: u64,
    now: u64,
}

impl Time {
    fn metric(self, metric: Metric) -> OneMetric {
        let mut message = OneMetric {
            name: metric.name.into(),
            description: metric.help.into(),
            unit: metric.unit.code.into(),
            ..OneMetric::default()
        };
        match metric.points {
            Points::Gauge(value) => {
                let point = NumberDataPoint {
                    as_double: Some(value),
                    ..self.number(&[])
                };
                message.gauge = Some(Gauge {
                    data_points: vec![point],
                });
            }
            Points::Counters(points) => {
                let points = points.iter().map(|(labels, count)| NumberDataPoint {
                    as_int: Some(i64::try_from(*count).unwrap_or(i64::MAX)),
                    ..self.number(labels)
                });
                message.sum = Some(Sum {
                    data_points: points.collect(),
                    aggregation_temporality: CUMULATIVE,
                    is_monotonic: true,
                });
            }
            Points::Histograms(points) => {
                let points = points.into_iter();
                let points = points.map(|(labels, histogram)| self.histogram(&labels, histogram));
                message.histogram = Some(Histograms {
                    data_points: points.collect(),
                    aggregation_temporality: CUMULATIVE,
                });
            }
        }
        message
    }

    /// A point without its value.
    fn number(self, labels: &[Label]) -> NumberDataPoint {
        NumberDataPoint {
            attributes: attributes(labels),
            start_time_unix_nano: self.begun,
            time_unix_nano: self.now,
            ..NumberDataPoint::default()
        }
    }

    fn histogram(self, labels: &[Label], histogram: Histogram) -> HistogramDataPoint {
        HistogramDataPoint {
            attributes: attributes(labels),
            start_time_unix_nano: self.begun,
            time_unix_nano: self.now,
            count: histogram.count(),
            sum: Some(histogram.sum_s),
            bucket_counts: histogram.counts,
            explicit_bounds: Histogram::bounds().collect(),
        }
    }
}

fn attributes(labels: &[Label]) -> Vec<KeyValue> {
    let labels = labels.iter();
    labels.map(|(key, value)| attribute(key, value)).collect()
}

fn attribute(key: &str, value: &str) -> KeyValue {
    KeyValue {
        key: key.into(),
        value: Some(AnyValue {
            string_value: Some(value.into()),
        }),
    }
}

#[cfg(test)]
mod tests;
