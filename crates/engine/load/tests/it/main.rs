//! The integration tests of this crate, in one program.

mod behaviour;
mod every_wire;
mod exactness;
mod exchange;
mod h2_frames;
mod h2_wire;
mod parts_of;
mod plans;
#[expect(
    dead_code,
    reason = "steps that send nothing are tested without sockets"
)]
mod scenarios;
mod scripted;
mod tls;
