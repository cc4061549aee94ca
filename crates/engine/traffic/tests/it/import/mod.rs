//! Imports of curl commands and HAR files.

mod curl;
mod hostile;
mod recording;
