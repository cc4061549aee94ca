//! Where a server's CPU time and its waiting time go.
//!
//! - [`Profiler`] samples the stacks of a process tree and names their functions.
//! - [`NAMING_ENVIRONMENT`] has the environment variables with which runtimes name what they compile; [`forget`] removes
//!   what they leave behind.
//! - [`folded`], [`flame_graph`] and [`flame_graph_of_difference`] write a profile for other programs and for readers;
//!   [`functions`] and [`functions_changed`] list its functions.

mod assemble;
mod collector;
mod go;
mod module;
mod naming;
mod output;
mod place;
mod process;
mod profiler;
mod runtimes;
mod tally;
mod trampoline;
mod unwind;
mod waits;

pub use output::{
    FlameGraphError, FunctionChange, FunctionShare, flame_graph, flame_graph_of_difference, folded,
    functions, functions_changed,
};
pub use profiler::{Options, Profiler, Profiles};
pub use runtimes::{NAMING_ENVIRONMENT, forget};
