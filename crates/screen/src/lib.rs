//! The live screens in a terminal: a load while it runs, and a run as its trials end.
#![forbid(unsafe_code)]
