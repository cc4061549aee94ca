//! What is written here, as the official types of OpenTelemetry read it.

use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1 as collector;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use opentelemetry_proto::tonic::metrics::v1::{AggregationTemporality, Metric};
use prony_model::{Outcome, Protocol};
use prost::Message;

use super::*;
use crate::figures::tests::progress;

fn sent() -> collector::ExportMetricsServiceRequest {
    let mut figures = Figures::new(true, true);
    figures.take(&progress(false, 7, 0));
    figures.take(&progress(true, 1000, 2));
    let source = Source {
        instance: "6".into(),
        version: "1.2.3".into(),
        url: "http://h/".into(),
        protocol: Protocol::H2c,
    };
    let begun = UNIX_EPOCH + Duration::from_secs(100);
    let body = request(&source, &figures, begun, begun + Duration::from_secs(5));
    collector::ExportMetricsServiceRequest::decode(body.as_slice()).unwrap()
}

fn metric(name: &str) -> Metric {
    let sent = sent();
    let mut metrics = sent.resource_metrics[0].scope_metrics[0].metrics.iter();
    metrics.find(|metric| metric.name == name).unwrap().clone()
}

fn pairs(attributes: &[KeyValue]) -> Vec<(String, String)> {
    let pairs = attributes.iter().map(|pair| {
        let value = pair.value.clone().unwrap().value.unwrap();
        match value {
            any_value::Value::StringValue(text) => (pair.key.clone(), text),
            other => panic!("{other:?}"),
        }
    });
    pairs.collect()
}

fn has(attributes: &[KeyValue], expected: &[(&str, &str)]) -> bool {
    let pairs = pairs(attributes);
    expected
        .iter()
        .all(|(key, value)| pairs.contains(&((*key).into(), (*value).into())))
}

#[test]
fn the_resource_tells_which_load_it_is() {
    let sent = sent();
    let [of_resource] = sent.resource_metrics.as_slice() else {
        panic!("{sent:?}")
    };
    let expected = [
        ("service.name", "prony"),
        ("service.version", "1.2.3"),
        ("service.instance.id", "6"),
        ("url.full", "http://h/"),
        ("prony.protocol", "h2c"),
    ];
    assert!(has(
        &of_resource.resource.as_ref().unwrap().attributes,
        &expected
    ));
    let scope = of_resource.scope_metrics[0].scope.as_ref().unwrap();
    assert_eq!(
        (scope.name.as_str(), scope.version.as_str()),
        ("prony", "1.2.3")
    );
}

#[test]
fn counters_are_cumulative_sums_since_the_start() {
    let metric = metric("prony.requests");
    assert_eq!(metric.unit, "{request}");
    let Some(Data::Sum(sum)) = metric.data else {
        panic!("{metric:?}")
    };
    assert!(sum.is_monotonic);
    assert_eq!(
        sum.aggregation_temporality(),
        AggregationTemporality::Cumulative
    );
    assert_eq!(sum.data_points.len(), 2 * Outcome::ALL.len());
    let value = |phase, outcome| {
        let is_meant = [("phase", phase), ("outcome", outcome)];
        let mut points = sum.data_points.iter();
        let point = points
            .find(|point| has(&point.attributes, &is_meant))
            .unwrap();
        assert_eq!(point.start_time_unix_nano, 100_000_000_000);
        assert_eq!(point.time_unix_nano, 105_000_000_000);
        point.value.unwrap()
    };
    assert_eq!(value("warmup", "ok"), Value::AsInt(7));
    assert_eq!(value("measured", "ok"), Value::AsInt(1000));
    assert_eq!(value("measured", "refused"), Value::AsInt(2));
}

#[test]
fn histograms_have_explicit_buckets() {
    for (name, sum_s, first_above_ns) in [
        ("prony.latency", 1.0, 1_000_000.0),
        ("prony.schedule.lag", 0.02, 20_000.0),
    ] {
        let metric = metric(name);
        assert_eq!(metric.unit, "s");
        let Some(Data::Histogram(histogram)) = metric.data else {
            panic!("{metric:?}")
        };
        assert_eq!(
            histogram.aggregation_temporality(),
            AggregationTemporality::Cumulative
        );
        let mut points = histogram.data_points.iter();
        let measured = points.find(|point| has(&point.attributes, &[("phase", "measured")]));
        let point = measured.unwrap();
        assert_eq!((point.count, point.sum), (1000, Some(sum_s)));
        assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
        let bounds = point.explicit_bounds.iter();
        let bucket = bounds
            .filter(|bound| **bound < first_above_ns / 1e9)
            .count();
        assert_eq!(point.bucket_counts[bucket], 1000);
        assert_eq!(point.bucket_counts.iter().sum::<u64>(), 1000);
    }
}

#[test]
fn gauges_have_one_point() {
    for (name, expected) in [("prony.generator.busy", 0.25), ("prony.measuring", 1.0)] {
        let metric = metric(name);
        let Some(Data::Gauge(gauge)) = metric.data else {
            panic!("{metric:?}")
        };
        assert_eq!(gauge.data_points.len(), 1);
        assert_eq!(gauge.data_points[0].value, Some(Value::AsDouble(expected)));
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
    assert_eq!(
        rejection(&response(3)).unwrap(),
        "it rejected 3 data points: too old"
    );
    assert_eq!(rejection(&response(0)), None);
    assert_eq!(rejection(b""), None);
    assert_eq!(rejection(b"{}"), None);
}
