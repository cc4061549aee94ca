//! The same pages live from the store: `prony serve`.

mod host;
mod live;
mod pages;
mod service;

pub use host::is_served_to_others;
pub use pages::Opener;
pub use service::{Service, ServiceTimes};
