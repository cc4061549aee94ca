//! Pages of everything that a store holds: runs, servers with their history, comparisons, machines.
//!
//! [`build`] writes them into a folder, [`Service`] shows them live from the store. A page is the same in both; only what follows a
//! run in progress, and the comparison of any two runs, need the server.
//! [`HttpServer`] serves anything: also the metrics of a load.
#![forbid(unsafe_code)]

mod build;
mod catalog;
mod digest;
mod error;
mod folder;
mod machine;
mod page;
mod page_address;
mod serve;

pub use build::{Built, Progress, build};
pub use catalog::LeftOut;
pub use error::SiteError;
pub use folder::SiteFolder;
pub use serve::{
    HttpLimits, HttpServer, Opener, Reply, Service, ServiceTimes, is_served_to_others,
};
