//! (Room being built.)
#![forbid(unsafe_code)]
