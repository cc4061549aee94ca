//! What is written here, as the official types of OpenTelemetry read it.

use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1 as collector;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use opentelemetry_proto::tonic::metrics::v1::{AggregationTemporality, ResourceMetrics};
use prony_model::{Outcome, Protocol};
use prost::Message;

use super::*;
use crate::telemetry::figures::tests::figures;

fn sent() -> ResourceMetrics {
    let resource = LoadResource {
        instance: "6".into(),
        version: "1.2.3".into(),
        url: "http://h/".into(),
        protocol: Protocol::H2c,
    };
    let begun = UNIX_EPOCH + Duration::from_secs(100);
    let body = request(&resource, &figures(), begun, begun + Duration::from_secs(5));
    let sent = collector::ExportMetricsServiceRequest::decode(body.as_slice()).unwrap();
    assert_eq!(sent.resource_metrics.len(), 1);
    sent.resource_metrics.into_iter().next().unwrap()
}

/// The unit and the data of a metric.
fn metric(name: &str) -> (String, Data) {
    let mut metrics = sent().scope_metrics.remove(0).metrics.into_iter();
    let metric = metrics.find(|metric| metric.name == name).unwrap();
    (metric.unit, metric.data.unwrap())
}

fn has(attributes: &[KeyValue], expected: &[(&str, &str)]) -> bool {
    expected.iter().all(|(key, text)| {
        let text = any_value::Value::StringValue((*text).into());
        attributes.iter().any(|pair| {
            let value = pair.value.as_ref().and_then(|value| value.value.as_ref());
            pair.key == *key && value == Some(&text)
        })
    })
}

#[test]
fn the_resource_tells_which_load_it_is() {
    let sent = sent();
    let expected = [
        ("service.name", "prony"),
        ("service.version", "1.2.3"),
        ("service.instance.id", "6"),
        ("url.full", "http://h/"),
        ("prony.protocol", "h2c"),
    ];
    assert!(has(&sent.resource.unwrap().attributes, &expected));
    let scope = sent.scope_metrics[0].scope.as_ref().unwrap();
    assert_eq!([&scope.name, &scope.version], ["prony", "1.2.3"]);
}

#[test]
fn counters_are_cumulative_sums_since_the_start() {
    let (unit, Data::Sum(sum)) = metric("prony.requests") else {
        panic!("it is a sum")
    };
    assert_eq!(unit, "{request}");
    assert!(sum.is_monotonic);
    let temporality = sum.aggregation_temporality();
    assert_eq!(temporality, AggregationTemporality::Cumulative);
    assert_eq!(sum.data_points.len(), 2 * Outcome::ALL.len());
    for (phase, outcome, count) in [
        ("warmup", "ok", 7),
        ("measured", "ok", 1000),
        ("measured", "refused", 2),
    ] {
        let is_meant = [("phase", phase), ("outcome", outcome)];
        let mut points = sum.data_points.iter();
        let point = points.find(|point| has(&point.attributes, &is_meant));
        let point = point.unwrap();
        assert_eq!(point.value, Some(Value::AsInt(count)), "{phase} {outcome}");
        let times = [point.start_time_unix_nano, point.time_unix_nano];
        assert_eq!(times, [100_000_000_000, 105_000_000_000]);
    }
}

#[test]
fn histograms_have_explicit_buckets() {
    for (name, sum_s, first_above_s) in [
        ("prony.latency", 1.0, 0.001),
        ("prony.schedule.lag", 0.02, 0.000_02),
    ] {
        let (unit, Data::Histogram(histogram)) = metric(name) else {
            panic!("{name} is a histogram")
        };
        assert_eq!(unit, "s");
        let temporality = histogram.aggregation_temporality();
        assert_eq!(temporality, AggregationTemporality::Cumulative);
        let mut points = histogram.data_points.iter();
        let measured = points.find(|point| has(&point.attributes, &[("phase", "measured")]));
        let point = measured.unwrap();
        assert_eq!((point.count, point.sum), (1000, Some(sum_s)));
        assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
        let bounds = point.explicit_bounds.iter();
        let bucket = bounds.filter(|bound| **bound < first_above_s).count();
        assert_eq!(point.bucket_counts[bucket], 1000);
        assert_eq!(point.bucket_counts.iter().sum::<u64>(), 1000);
    }
}

#[test]
fn gauges_have_one_point() {
    for (name, expected) in [("prony.generator.busy", 0.25), ("prony.measuring", 1.0)] {
        let (_, Data::Gauge(gauge)) = metric(name) else {
            panic!("{name} is a gauge")
        };
        let values: Vec<_> = gauge.data_points.iter().map(|point| point.value).collect();
        assert_eq!(values, [Some(Value::AsDouble(expected))], "{name}");
    }
}

#[test]
fn a_partial_rejection_is_told() {
    let response = |rejected_data_points| {
        let partial = collector::ExportMetricsPartialSuccess {
            rejected_data_points,
            error_message: "too old".into(),
        };
        let response = collector::ExportMetricsServiceResponse {
            partial_success: Some(partial),
        };
        response.encode_to_vec()
    };
    let told = rejection(&response(3)).unwrap();
    assert_eq!(told, "it rejected 3 data points: too old");
    for accepted in [&response(0)[..], b"", b"{}"] {
        assert_eq!(rejection(accepted), None);
    }
}
