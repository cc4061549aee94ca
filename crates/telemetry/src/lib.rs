//! What other tools read: OpenMetrics and OTLP while a load runs, HdrHistogram files and traces after it.
#![forbid(unsafe_code)]
