//! Pages of everything that a store holds: runs, servers with their history, comparisons, the machine.
#![forbid(unsafe_code)]
