//! The integration tests of this crate, in one program.

mod committed_files;
mod messages;
mod own_requests;
mod project_guide;
mod scripted;
mod values;
mod workload_guide;
