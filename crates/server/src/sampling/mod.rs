//! What a server costs and what else the machine does, read from `/proc` and `/sys`.

mod cpu_times;
mod energy;
mod frequency;
mod noise;
mod outside;
pub mod process_tree;
pub mod processes;
mod sampler;
mod scheduling;
mod stat;

pub use outside::OutsideMeter;
pub use process_tree::{ProcessTree, TreeUsage};
pub use sampler::{Sampled, Sampler};
