//! The messages of OTLP's metrics, as far as Prony needs them; of a `oneof`, one field is set. Names and numbers are those of `opentelemetry-proto` 1.x.
//!
//! The crate `opentelemetry-proto` would bring OpenTelemetry's SDK with it. Tests read what is written here with its types.

use prost::Message;

/// `AGGREGATION_TEMPORALITY_CUMULATIVE`: points count from the start of the load.
pub(super) const CUMULATIVE: i32 = 2;

#[derive(Clone, PartialEq, Message)]
pub(super) struct ExportMetricsServiceRequest {
    #[prost(message, repeated, tag = "1")]
    pub(super) resource_metrics: Vec<ResourceMetrics>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ExportMetricsServiceResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) partial_success: Option<ExportMetricsPartialSuccess>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ExportMetricsPartialSuccess {
    #[prost(int64, tag = "1")]
    pub(super) rejected_data_points: i64,
    #[prost(string, tag = "2")]
    pub(super) error_message: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ResourceMetrics {
    #[prost(message, optional, tag = "1")]
    pub(super) resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    pub(super) scope_metrics: Vec<ScopeMetrics>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Resource {
    #[prost(message, repeated, tag = "1")]
    pub(super) attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ScopeMetrics {
    #[prost(message, optional, tag = "1")]
    pub(super) scope: Option<InstrumentationScope>,
    #[prost(message, repeated, tag = "2")]
    pub(super) metrics: Vec<OneMetric>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct InstrumentationScope {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) version: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct OneMetric {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) description: String,
    #[prost(string, tag = "3")]
    pub(super) unit: String,
    #[prost(message, optional, tag = "5")]
    pub(super) gauge: Option<Gauge>,
    #[prost(message, optional, tag = "7")]
    pub(super) sum: Option<Sum>,
    #[prost(message, optional, tag = "9")]
    pub(super) histogram: Option<Histograms>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Gauge {
    #[prost(message, repeated, tag = "1")]
    pub(super) data_points: Vec<NumberDataPoint>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Sum {
    #[prost(message, repeated, tag = "1")]
    pub(super) data_points: Vec<NumberDataPoint>,
    #[prost(int32, tag = "2")]
    pub(super) aggregation_temporality: i32,
    #[prost(bool, tag = "3")]
    pub(super) is_monotonic: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Histograms {
    #[prost(message, repeated, tag = "1")]
    pub(super) data_points: Vec<HistogramDataPoint>,
    #[prost(int32, tag = "2")]
    pub(super) aggregation_temporality: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct NumberDataPoint {
    #[prost(message, repeated, tag = "7")]
    pub(super) attributes: Vec<KeyValue>,
    #[prost(fixed64, tag = "2")]
    pub(super) start_time_unix_nano: u64,
    #[prost(fixed64, tag = "3")]
    pub(super) time_unix_nano: u64,
    #[prost(double, optional, tag = "4")]
    pub(super) as_double: Option<f64>,
    #[prost(sfixed64, optional, tag = "6")]
    pub(super) as_int: Option<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct HistogramDataPoint {
    #[prost(message, repeated, tag = "9")]
    pub(super) attributes: Vec<KeyValue>,
    #[prost(fixed64, tag = "2")]
    pub(super) start_time_unix_nano: u64,
    #[prost(fixed64, tag = "3")]
    pub(super) time_unix_nano: u64,
    #[prost(fixed64, tag = "4")]
    pub(super) count: u64,
    #[prost(double, optional, tag = "5")]
    pub(super) sum: Option<f64>,
    #[prost(fixed64, repeated, tag = "6")]
    pub(super) bucket_counts: Vec<u64>,
    #[prost(double, repeated, tag = "7")]
    pub(super) explicit_bounds: Vec<f64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct KeyValue {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(message, optional, tag = "2")]
    pub(super) value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct AnyValue {
    /// The only kind of value that Prony's attributes have.
    #[prost(string, optional, tag = "1")]
    pub(super) string_value: Option<String>,
}
