//! Expected responses: what each workload's response must be, and what is said of one that is not.

mod draws;
mod line;
mod patch;

use std::io;
use std::path::{Path, PathBuf};

use prony_load::{Mismatch, Response, ResponseCheck};

use crate::workload::{ExpectedBody, Workload};
use patch::Patch;
use prony_load::{excerpt, same_bytes};

pub use draws::{CONNECTIONS, CountedDraws, DRAWS_A_CONNECTION, Draws};
pub use line::LineOf;

/// Why an expected response is not to be had.
#[derive(Debug, thiserror::Error)]
pub enum AssetError {
    /// A file that the workload names cannot be read.
    #[error("cannot read {}, which workload `{workload}` needs: {source}", path.display())]
    Read {
        /// The workload's id.
        workload: String,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file of lines has none.
    #[error("{} has no line that workload `{workload}` could ask for", path.display())]
    NoLines {
        /// The workload's id.
        workload: String,
        /// The file.
        path: PathBuf,
    },
}

/// The expected response to a workload's request.
#[derive(Clone, Debug)]
pub struct ExpectedResponse {
    status: u16,
    content_type: String,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    body: RightBody,
}

#[derive(Clone, Debug)]
enum RightBody {
    Exact(Vec<u8>),
    LineOf(LineOf),
    Patch(Patch),
}

impl ExpectedResponse {
    /// The expected response of `workload`, made from the files in the folder `assets`.
    pub fn new(workload: &Workload, assets: &Path) -> Result<Self, AssetError> {
        let expected = &workload.response;
        let headers = expected.headers.iter();
        Ok(Self {
            status: expected.status,
            content_type: expected.content_type.clone(),
            headers: headers
                .map(|(name, value)| (name.to_lowercase(), value.clone()))
                .collect(),
            body: RightBody::new(workload, assets)?,
        })
    }

    /// The lines of which one is to be drawn for each request (see `Draws`), if there are several.
    pub fn drawn_lines(&self) -> Option<&LineOf> {
        match &self.body {
            RightBody::LineOf(lines) if lines.count() > 1 => Some(lines),
            _ => None,
        }
    }

    fn check_status(&self, response: &Response) -> Result<(), Mismatch> {
        if response.status == self.status {
            return Ok(());
        }
        Err(Mismatch {
            expected: format!("status {}", self.status),
            came: format!(
                "status {} with {}",
                response.status,
                excerpt(&response.body, 0)
            ),
        })
    }

    fn check_content_type(&self, response: &Response) -> Result<(), Mismatch> {
        let came = response.header("content-type");
        let media_type = came.and_then(|value| value.split(';').next());
        if media_type.is_some_and(|media| media.trim().eq_ignore_ascii_case(&self.content_type)) {
            return Ok(());
        }
        Err(Mismatch {
            expected: format!("content-type {}", self.content_type),
            came: came.map_or("no content-type".into(), |came| {
                format!("content-type {came}")
            }),
        })
    }

    fn check_headers(&self, response: &Response) -> Result<(), Mismatch> {
        for (name, expected) in &self.headers {
            let came: Vec<_> = response
                .headers
                .iter()
                .filter(|(field, _)| field == name)
                .map(|(_, value)| value.trim_ascii())
                .collect();
            let is_right = |value: &&[u8]| value.eq_ignore_ascii_case(expected.as_bytes());
            if !came.iter().any(is_right) {
                let came = match came.first() {
                    None => format!("no {name}"),
                    Some(value) => format!("{name}: {}", value.escape_ascii()),
                };
                let expected = format!("{name}: {expected}");
                return Err(Mismatch { expected, came });
            }
        }
        Ok(())
    }
}

impl ResponseCheck for ExpectedResponse {
    fn check(&self, response: &Response) -> Result<(), Mismatch> {
        self.check_status(response)?;
        self.check_content_type(response)?;
        self.check_headers(response)?;
        match &self.body {
            RightBody::Exact(body) => same_bytes(body, &response.body),
            RightBody::LineOf(lines) => lines.check(&response.body),
            RightBody::Patch(patch) => patch.check(&response.body),
        }
    }

    fn status(&self) -> Option<u16> {
        Some(self.status)
    }

    fn body(&self) -> Option<&[u8]> {
        match &self.body {
            RightBody::Exact(body) => Some(body),
            RightBody::LineOf(_) | RightBody::Patch(_) => None,
        }
    }

    fn longest_body(&self) -> u64 {
        match &self.body {
            RightBody::Exact(body) => body.len() as u64,
            RightBody::LineOf(lines) => lines.longest(),
            RightBody::Patch(patch) => patch.longest(),
        }
    }
}

impl RightBody {
    fn new(workload: &Workload, assets: &Path) -> Result<Self, AssetError> {
        let read = |name: &str| {
            let path = assets.join(name);
            std::fs::read(&path).map_err(|source| AssetError::Read {
                workload: workload.id.clone(),
                path,
                source,
            })
        };
        Ok(match &workload.response.body {
            ExpectedBody::Text(text) => Self::Exact(text.clone().into_bytes()),
            ExpectedBody::Message(message) => Self::Exact(message.encode()),
            ExpectedBody::Asset(name) => Self::Exact(read(name)?),
            ExpectedBody::DatastarPatchOf(name) => Self::Patch(Patch::of(&read(name)?)),
            ExpectedBody::LineOf(name) => {
                let lines = LineOf::new(name, &read(name)?).ok_or_else(|| AssetError::NoLines {
                    workload: workload.id.clone(),
                    path: assets.join(name),
                })?;
                Self::LineOf(lines)
            }
        })
    }
}

#[cfg(test)]
mod tests;
