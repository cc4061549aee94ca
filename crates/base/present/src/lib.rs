//! How Prony shows things. Every other crate says *what* is shown; this one decides, once, how a number, a table, a chart or a
//! page looks in the terminal, in Markdown and in HTML.
#![forbid(unsafe_code)]

pub mod chart;
mod colours;
pub mod junit;
pub mod load;
pub mod markdown;
pub mod number;
pub mod page;
pub mod table;
pub mod terminal;
pub mod words;
