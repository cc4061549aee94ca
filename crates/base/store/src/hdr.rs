//! Latencies for the tools of HdrHistogram: percentiles as its plotter reads them, and interval logs.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use prony_model::{IntervalLatencies, LatencyHistogram, Run, TrialRecord};

/// Both formats give latencies in milliseconds; histograms count nanoseconds.
const PER_MILLISECOND: f64 = 1e6;
/// How many lines of percentiles each halving of the distance to 100 % has, as in HdrHistogram's own tools.
const LINES_PER_HALVING: u32 = 5;

/// Writes the percentiles of a histogram (`.hgrm`), in milliseconds, as HdrHistogram's plotter and wrk2 do.
///
/// # Errors
/// If the writer fails.
pub fn write_hgrm(latency: &LatencyHistogram, mut out: impl Write) -> io::Result<()> {
    let histogram = latency.as_hdr();
    let shown = |nanoseconds: f64| nanoseconds / PER_MILLISECOND;
    writeln!(
        out,
        "{:>12} {:>14} {:>10} {:>14}\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    )?;
    let mut total = 0;
    for step in histogram.iter_quantiles(LINES_PER_HALVING) {
        total += step.count_since_last_iteration();
        let (value, quantile) = (
            shown(step.value_iterated_to() as f64),
            step.quantile_iterated_to(),
        );
        write!(out, "{value:>12.3} {quantile:>14.12} {total:>10}")?;
        if quantile < 1.0 {
            writeln!(out, " {:>14.2}", 1.0 / (1.0 - quantile))?;
        } else {
            writeln!(out)?;
        }
    }
    writeln!(
        out,
        "#[Mean    = {:>12.3}, StdDeviation   = {:>12.3}]",
        shown(histogram.mean()),
        shown(histogram.stdev())
    )?;
    writeln!(
        out,
        "#[Max     = {:>12.3}, Total count    = {:>12}]",
        shown(histogram.max() as f64),
        histogram.len()
    )?;
    writeln!(
        out,
        "#[Buckets = {:>12}, SubBuckets     = {:>12}]",
        LatencyHistogram::BUCKETS,
        LatencyHistogram::SUB_BUCKETS
    )
}

/// Writes the measured trials of a run as a log of HdrHistogram's intervals (version 1.3), in the order in which they began.
///
/// Each is an interval of the measured length from the start of its trial, tagged `server/workload`. Values are in
/// nanoseconds, the column of the maximum in milliseconds. Trials without an ok response have no interval.
///
/// # Errors
/// If the writer fails, or a record is damaged.
pub fn export_hlog(run: &Run, trials: &[TrialRecord], mut out: impl Write) -> io::Result<()> {
    let mut intervals = Vec::new();
    for record in trials {
        let Some(measured) = record.measurement() else {
            continue;
        };
        let histogram =
            LatencyHistogram::from_base64(&measured.load.histogram).map_err(io::Error::other)?;
        if histogram.count() > 0 {
            intervals.push(LogInterval {
                began: since_epoch(&record.started_at)?,
                length: Duration::try_from_secs_f64(measured.load.duration_s).unwrap_or_default(),
                tag: Some(tag(record)),
                histogram,
            });
        }
    }
    intervals.sort_by_key(|interval| interval.began);
    let began = SystemTime::UNIX_EPOCH + since_epoch(&run.started_at)?;
    let logged = format!("[Logged by Prony {}, run {}]", run.prony_version, run.id);
    write_log(&mut out, began, &logged, intervals.into_iter().map(Ok))
}

/// Writes the latencies of a load on `target`, interval by interval, as such a log. An interval without a response is in
/// it, with an empty histogram.
///
/// # Errors
/// If the writer fails, or a histogram is damaged.
pub fn write_hlog(
    latencies: &IntervalLatencies,
    target: &str,
    mut out: impl Write,
) -> io::Result<()> {
    let began = latencies.began.duration_since(SystemTime::UNIX_EPOCH);
    let began = began.map_err(io::Error::other)?;
    // One at a time: a histogram takes much more memory than its text.
    let intervals = latencies.intervals.iter().map(|interval| {
        Ok(LogInterval {
            began: began + interval.from,
            length: interval.length,
            tag: None,
            histogram: match interval.histogram.as_str() {
                "" => LatencyHistogram::new(),
                text => LatencyHistogram::from_base64(text).map_err(io::Error::other)?,
            },
        })
    });
    let version = env!("CARGO_PKG_VERSION");
    // A comment is one line.
    let target = target.replace(['\r', '\n'], " ");
    let logged = format!("[Logged by Prony {version}, load of {target}]");
    write_log(&mut out, latencies.began, &logged, intervals)
}

struct LogInterval {
    /// Since the epoch.
    began: Duration,
    length: Duration,
    tag: Option<String>,
    histogram: LatencyHistogram,
}

fn write_log(
    out: &mut impl Write,
    began: SystemTime,
    logged: &str,
    intervals: impl Iterator<Item = io::Result<LogInterval>>,
) -> io::Result<()> {
    let mut serializer = V2DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment("[Histogram log format version 1.3]")
        .add_comment(logged)
        .with_start_time(began)
        .with_max_value_divisor(PER_MILLISECOND)
        .begin_log_with(out, &mut serializer)?;
    for interval in intervals {
        let LogInterval {
            began,
            length,
            tag,
            histogram,
        } = interval?;
        let tag = tag.as_deref().and_then(Tag::new);
        log.write_histogram(histogram.as_hdr(), began, length, tag)
            .map_err(|error| io::Error::other(error.to_string()))?;
    }
    Ok(())
}

/// A tag may have none of the characters that end one.
fn tag(record: &TrialRecord) -> String {
    let tag = format!("{}/{}", record.trial.server, record.trial.workload);
    tag.replace([',', '\r', '\n', ' '], "_")
}

fn since_epoch(time: &str) -> io::Result<Duration> {
    let time = humantime::parse_rfc3339_weak(time).map_err(io::Error::other)?;
    time.duration_since(SystemTime::UNIX_EPOCH)
        .map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{
        IntervalLogHistogram, IntervalLogIterator, LogEntry,
    };
    use prony_model::{IntervalLatency, sample};

    use super::*;

    fn latencies() -> LatencyHistogram {
        let mut histogram = LatencyHistogram::new();
        for milliseconds in 1..=1000u64 {
            histogram.record(milliseconds * 1_000_000);
        }
        histogram
    }

    fn hgrm(latencies: &LatencyHistogram) -> String {
        let mut text = Vec::new();
        write_hgrm(latencies, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn percentiles_rise_to_all_counts_and_end_without_a_reciprocal() {
        let text = hgrm(&latencies());
        let cells = |line: &str| -> Vec<f64> {
            let cells = line.split_whitespace();
            cells.map(|cell| cell.parse().unwrap()).collect()
        };
        let rows = text.lines().skip(2).filter(|line| !line.starts_with('#'));
        let rows: Vec<Vec<f64>> = rows.map(cells).collect();
        assert!(rows.is_sorted_by(|a, b| a[0] <= b[0] && a[1] <= b[1] && a[2] <= b[2]));
        let last = rows.last().unwrap();
        assert_eq!((last.len(), last[1], last[2]), (3, 1.0, 1000.0));
        assert!((last[0] - 1000.0).abs() < 1.0, "{last:?}");
        let median = rows.iter().find(|row| row[1] >= 0.5).unwrap();
        assert!((median[0] - 500.0).abs() < 1.0, "{median:?}");
        assert!(text.contains("Total count    =         1000]"), "{text}");
    }

    #[test]
    fn an_empty_histogram_has_percentiles_too() {
        let text = hgrm(&LatencyHistogram::new());
        assert!(text.contains("Total count    =            0]"), "{text}");
    }

    fn read(log: &[u8]) -> Vec<(IntervalLogHistogram<'_>, Histogram<u64>)> {
        IntervalLogIterator::new(log)
            .filter_map(|entry| match entry.unwrap() {
                LogEntry::Interval(interval) => Some(interval),
                _ => None,
            })
            .map(|interval| {
                let bytes = STANDARD.decode(interval.encoded_histogram()).unwrap();
                let histogram = Deserializer::new().deserialize(&mut bytes.as_slice());
                (interval, histogram.unwrap())
            })
            .collect()
    }

    #[test]
    fn a_log_of_a_load_has_every_interval_and_empty_ones_too() {
        let interval = |from, histogram| IntervalLatency {
            from: Duration::from_secs(from),
            length: Duration::from_secs(1),
            histogram,
        };
        let latencies = IntervalLatencies {
            began: SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_250),
            intervals: vec![
                interval(0, latencies().to_base64()),
                interval(1, String::new()),
            ],
        };
        let mut log = Vec::new();
        write_hlog(&latencies, "http://a/\nb", &mut log).unwrap();
        let intervals = read(&log).into_iter().map(|(interval, latencies)| {
            let start = interval.start_timestamp().as_millis();
            let length = interval.duration().as_secs();
            (start, length, interval.max(), latencies.len())
        });
        let intervals: Vec<_> = intervals.collect();
        // As the log shows it.
        let longest = self::latencies().as_hdr().max() as f64 / PER_MILLISECOND;
        let longest = (longest * 1000.0).round() / 1000.0;
        let expected = [
            (1_700_000_000_250, 1, longest, 1000),
            (1_700_000_001_250, 1, 0.0, 0),
        ];
        assert_eq!(intervals, expected);
        let text = String::from_utf8(log).unwrap();
        assert!(
            text.starts_with("#[Histogram log format version 1.3]\n"),
            "{text}"
        );
        assert!(text.contains(", load of http://a/ b]\n"), "{text}");
    }

    #[test]
    fn a_log_gives_back_every_measured_trial() {
        let run = sample::run("r");
        let trials = [
            sample::failed("bun", "it ended"),
            sample::measured("a server, with a comma", 2),
            sample::measured("go-nethttp", 1),
        ];
        let mut log = Vec::new();
        export_hlog(&run, &trials, &mut log).unwrap();
        let intervals = read(&log).into_iter().map(|(interval, latencies)| {
            (interval.tag().unwrap().as_str().to_owned(), latencies.len())
        });
        let expected = ["a_server__with_a_comma/hello", "go-nethttp/hello"];
        let expected = expected.map(|tag| (tag.to_owned(), 100));
        assert_eq!(intervals.collect::<Vec<_>>(), expected);
    }
}
