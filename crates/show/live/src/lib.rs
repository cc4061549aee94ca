//! What is shown while a load or a run goes on: screens in a terminal ([`screen`]), and figures for Prometheus and
//! OpenTelemetry ([`telemetry`]).
#![forbid(unsafe_code)]

pub mod screen;
pub mod telemetry;
