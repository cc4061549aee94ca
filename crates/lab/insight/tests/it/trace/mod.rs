//! System calls of known programs.

mod known;
