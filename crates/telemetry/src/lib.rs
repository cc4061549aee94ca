//! The figures of a running load for other tools: OpenMetrics text, and OTLP messages.
//!
//! [`Figures`] take the [`Progress`](prony_load::Progress) of a load. [`scrape`] responds to an HTTP request with them, and
//! [`otlp`] writes the body of one. Nothing here touches a socket or a clock.
#![forbid(unsafe_code)]

mod buckets;
mod figures;
mod load_resource;
mod metrics;
mod openmetrics;
pub mod otlp;
pub mod scrape;

pub use figures::Figures;
pub use load_resource::LoadResource;
pub use openmetrics::{Format, text};
