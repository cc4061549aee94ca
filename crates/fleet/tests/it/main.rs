//! The integration tests of this crate, in one program.

mod fleet;
mod rebuilt_plans;
