//! Charts of capacities.

mod golden;
