//! The integration tests of this crate, in one program.

mod charts;
mod compare;
mod comparison;
mod explain;
mod golden;
mod noisy;
mod opened;
mod outside;
mod pages;
mod pairs;
mod published;
mod rates;
mod sample;
mod standing;
mod summary;
mod warming;
