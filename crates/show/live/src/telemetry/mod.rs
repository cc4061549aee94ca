//! The figures of a running load for other tools: OpenMetrics text, and OTLP messages.
//!
//! [`Figures`] take the [`Progress`](prony_load::Progress) of a load. [`text`] writes them for a scrape, and [`otlp`] as the
//! body of a push. Nothing here touches a socket or a clock.

mod buckets;
mod figures;
mod load_resource;
mod metrics;
mod openmetrics;
pub mod otlp;

pub use figures::Figures;
pub use load_resource::LoadResource;
pub use openmetrics::{Format, text};
