//! What a server costs and what else the machine does, read from `/proc`.

mod noise;
pub mod process_tree;
mod sampler;
mod stat;

pub use noise::NoiseMeter;
pub use process_tree::{ProcessTree, TreeUsage};
pub use sampler::Sampler;
