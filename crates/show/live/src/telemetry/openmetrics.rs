//! The metrics as text: OpenMetrics 1.0, or the older text format of Prometheus.

use std::fmt::{self, Display, Write};

use prony_present::words::Joined;

use crate::telemetry::figures::Figures;
use crate::telemetry::load_resource::LoadResource;
use crate::telemetry::metrics::{self, Histogram, Label, Metric, Points};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    OpenMetrics,
    /// The text format of Prometheus, version 0.0.4.
    Prometheus,
}

impl Format {
    /// The one for a client with this `Accept` field: OpenMetrics, unless it accepts plain text, or HTML as a browser
    /// does, and does not name OpenMetrics.
    pub fn accepted(accept: &str) -> Self {
        let accepts = |name: &str| {
            accept.split(',').any(|range| {
                let media_type = range.split(';').next().unwrap_or_default();
                media_type.trim().eq_ignore_ascii_case(name)
            })
        };
        let accepts_text = accepts("text/plain") || accepts("text/html");
        if accepts_text && !accepts("application/openmetrics-text") {
            Self::Prometheus
        } else {
            Self::OpenMetrics
        }
    }

    pub const fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

pub fn text(resource: &LoadResource, figures: &Figures, format: Format) -> String {
    let mut text = Text {
        format,
        written: String::new(),
    };
    text.target(resource);
    for metric in metrics::of(figures) {
        text.metric(&metric);
    }
    if format == Format::OpenMetrics {
        text.line(format_args!("# EOF"));
    }
    text.written
}

struct Text {
    format: Format,
    written: String,
}

impl Text {
    fn line(&mut self, line: fmt::Arguments<'_>) {
        // Writing to memory cannot fail.
        let _ = writeln!(self.written, "{line}");
    }

    /// What tells this load from others.
    fn target(&mut self, resource: &LoadResource) {
        let (name, kind) = match self.format {
            Format::OpenMetrics => ("target", "info"),
            Format::Prometheus => ("target_info", "gauge"),
        };
        self.line(format_args!("# TYPE {name} {kind}"));
        self.line(format_args!("# HELP {name} The load and its target."));
        let labels = resource
            .attributes()
            .map(|(name, value)| (name.replace('.', "_"), value));
        let labels = in_braces(labels);
        self.line(format_args!("target_info{labels} 1"));
    }

    fn metric(&mut self, metric: &Metric) {
        let name = name_of(metric);
        let (kind, suffix) = match metric.points {
            Points::Counters(_) => ("counter", "_total"),
            Points::Gauge(_) => ("gauge", ""),
            Points::Histograms(_) => ("histogram", ""),
        };
        // The older format describes samples, whose names have the suffix.
        let described = match self.format {
            Format::OpenMetrics => name.clone(),
            Format::Prometheus => format!("{name}{suffix}"),
        };
        self.line(format_args!("# TYPE {described} {kind}"));
        if let (Format::OpenMetrics, Some(unit)) = (self.format, metric.unit.word) {
            self.line(format_args!("# UNIT {described} {unit}"));
        }
        self.line(format_args!("# HELP {described} {}", metric.help));
        match &metric.points {
            Points::Gauge(value) => self.line(format_args!("{name} {value:?}")),
            Points::Counters(points) => {
                for (labels, count) in points {
                    let labels = in_braces(labels.iter().copied());
                    self.line(format_args!("{name}{suffix}{labels} {count}"));
                }
            }
            Points::Histograms(points) => {
                for (labels, histogram) in points {
                    self.histogram(&name, labels, histogram);
                }
            }
        }
    }

    fn histogram(&mut self, name: &str, labels: &[Label], histogram: &Histogram) {
        let bounds = Histogram::bounds().map(|bound| bound.to_string());
        let bounds = bounds.chain(["+Inf".to_owned()]);
        let mut so_far = 0u64;
        for (bound, count) in bounds.zip(&histogram.counts) {
            so_far = so_far.saturating_add(*count);
            let labels = in_braces(labels.iter().copied().chain([("le", bound.as_str())]));
            self.line(format_args!("{name}_bucket{labels} {so_far}"));
        }
        let labels = in_braces(labels.iter().copied());
        self.line(format_args!("{name}_count{labels} {so_far}"));
        self.line(format_args!("{name}_sum{labels} {:?}", histogram.sum_s));
    }
}

/// The name of a metric: that of OpenTelemetry with underscores and the unit.
fn name_of(metric: &Metric) -> String {
    let name = metric.name.replace('.', "_");
    match metric.unit.word {
        Some(unit) => format!("{name}_{unit}"),
        None => name,
    }
}

fn in_braces<'a>(labels: impl IntoIterator<Item = (impl Display, &'a str)>) -> String {
    let escaped = |value: &str| {
        value
            .replace('\\', r"\\")
            .replace('"', r#"\""#)
            .replace('\n', r"\n")
    };
    let labels = labels.into_iter();
    let labels = labels.map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
    format!("{{{}}}", labels.joined(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::figures::tests::figures;
    use prony_model::Protocol;
    use prony_testkit::contains;

    fn resource(url: &str) -> LoadResource {
        LoadResource {
            instance: "6".into(),
            version: "1.2.3".into(),
            url: url.into(),
            protocol: Protocol::Http11,
        }
    }

    fn written(format: Format) -> String {
        text(&resource("http://h/"), &figures(), format)
    }

    fn has(text: &str, line: &str) {
        assert!(text.lines().any(|one| one == line), "no {line} in\n{text}");
    }

    #[test]
    fn openmetrics_has_types_units_help_and_an_end() {
        let text = written(Format::OpenMetrics);
        for line in [
            "# TYPE target info",
            "target_info{service_name=\"prony\",service_version=\"1.2.3\",service_instance_id=\"6\",url_full=\"http://h/\",prony_protocol=\"http/1.1\"} 1",
            "# TYPE prony_requests counter",
            "prony_requests_total{phase=\"warmup\",outcome=\"ok\"} 7",
            "prony_requests_total{phase=\"measured\",outcome=\"ok\"} 1000",
            "prony_requests_total{phase=\"measured\",outcome=\"refused\"} 2",
            "prony_requests_total{phase=\"measured\",outcome=\"timed_out\"} 0",
            "# TYPE prony_received_bytes counter",
            "# UNIT prony_received_bytes bytes",
            "# HELP prony_received_bytes Bytes received.",
            "prony_received_bytes_total{phase=\"measured\"} 100000",
            "prony_sent_bytes_total{phase=\"measured\"} 10000",
            "# TYPE prony_latency_seconds histogram",
            "# UNIT prony_latency_seconds seconds",
            "prony_latency_seconds_bucket{phase=\"measured\",le=\"0.000786431\"} 0",
            "prony_latency_seconds_bucket{phase=\"measured\",le=\"0.001048575\"} 1000",
            "prony_latency_seconds_bucket{phase=\"measured\",le=\"68.719476735\"} 1000",
            "prony_latency_seconds_bucket{phase=\"measured\",le=\"+Inf\"} 1000",
            "prony_latency_seconds_count{phase=\"measured\"} 1000",
            "prony_latency_seconds_sum{phase=\"measured\"} 1.0",
            "prony_schedule_lag_seconds_sum{phase=\"measured\"} 0.02",
            "# UNIT prony_generator_busy_ratio ratio",
            "prony_generator_busy_ratio 0.25",
            "prony_measuring 1.0",
        ] {
            has(&text, line);
        }
        assert!(text.ends_with("\n# EOF\n"), "{text}");
    }

    #[test]
    fn the_older_format_describes_samples_and_has_neither_units_nor_an_end() {
        let text = written(Format::Prometheus);
        has(&text, "# TYPE target_info gauge");
        has(&text, "# TYPE prony_requests_total counter");
        has(&text, "# TYPE prony_latency_seconds histogram");
        assert!(!text.contains("# UNIT") && !text.contains("# EOF"));
        let samples = |text: &str| -> Vec<String> {
            let samples = text.lines().filter(|line| !line.starts_with('#'));
            samples.map(str::to_owned).collect()
        };
        assert_eq!(samples(&text), samples(&written(Format::OpenMetrics)));
    }

    #[test]
    fn every_sample_belongs_to_the_metric_that_was_described_last() {
        let mut described = "";
        let text = written(Format::OpenMetrics);
        for line in text.lines() {
            match line.strip_prefix("# TYPE ") {
                Some(rest) => described = rest.split(' ').next().unwrap(),
                None if line.starts_with('#') => {}
                None => {
                    let suffix = line.strip_prefix(described).unwrap();
                    let suffix = suffix.split(['{', ' ']).next().unwrap();
                    let known = ["", "_total", "_info", "_bucket", "_count", "_sum"];
                    assert!(known.contains(&suffix), "{line}");
                }
            }
        }
    }

    #[test]
    fn a_load_without_due_times_has_no_lag() {
        let figures = Figures::new(false, false);
        let text = text(&resource("http://h/"), &figures, Format::OpenMetrics);
        assert!(!text.contains("lag") && !text.contains("warmup"), "{text}");
    }

    #[test]
    fn labels_are_escaped() {
        let text = text(
            &resource("http://h/\"\\\n"),
            &figures(),
            Format::OpenMetrics,
        );
        contains(&text, r#"url_full="http://h/\"\\\n","#);
    }

    #[test]
    fn the_client_chooses_the_format() {
        let browser = "text/html,application/xml;q=0.9,*/*;q=0.8";
        let prometheus =
            "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        for (accept, format) in [
            ("", Format::OpenMetrics),
            ("*/*", Format::OpenMetrics),
            (prometheus, Format::OpenMetrics),
            ("text/plain", Format::Prometheus),
            (browser, Format::Prometheus),
            (
                "Text/Plain;version=0.0.4;q=0.5, */*;q=0.1",
                Format::Prometheus,
            ),
        ] {
            assert_eq!(Format::accepted(accept), format, "{accept}");
        }
    }
}
