//! The same pages live from the store: `prony serve`.

mod host;
mod http_server;
mod live;
mod pages;
mod service;

pub use host::is_served_to_others;
pub use http_server::{HttpLimits, HttpServer, Reply};
pub use pages::Opener;
pub use service::{Service, ServiceTimes};
