//! What a request sends, as bytes with values to put in.

use prony_traffic::{Encode, Text};

use super::body::{MultipartPart, PartContent, RequestBody};
use super::prepared::{Preparation, PrepareError};

const OCTETS: &str = "application/octet-stream";

impl RequestBody {
    /// The bytes, and their media type.
    pub(super) fn encode(
        &self,
        preparation: &mut Preparation<'_>,
    ) -> Result<(Text, String), PrepareError> {
        Ok(match self {
            Self::Text(text) => {
                let text = preparation.own_text("body", text, Encode::Unchanged)?;
                (text, "text/plain; charset=utf-8".into())
            }
            Self::Json(json) => (preparation.json(json.text())?, "application/json".into()),
            Self::Form(fields) => {
                let body = preparation.pairs("form field", fields, Encode::Form)?;
                (body, "application/x-www-form-urlencoded".into())
            }
            Self::File(name) => (Text::literal(preparation.file(name)?), OCTETS.into()),
            Self::Multipart(parts) => multipart(parts, preparation)?,
        })
    }
}

fn multipart(
    parts: &[MultipartPart],
    preparation: &mut Preparation<'_>,
) -> Result<(Text, String), PrepareError> {
    let mut contents = Vec::with_capacity(parts.len());
    for part in parts {
        contents.push(match &part.content {
            PartContent::Text(text) => {
                preparation.text(&format!("part `{}`", part.name), text, Encode::Unchanged)?
            }
            PartContent::File(name) => Text::literal(preparation.file(name)?),
        });
    }
    let boundary = boundary(&contents);
    let mut body = Text::default();
    for (part, content) in parts.iter().zip(contents) {
        body.push(format!("--{boundary}\r\n{}\r\n", part.head()).as_bytes());
        body.append(content);
        body.push(b"\r\n");
    }
    body.push(format!("--{boundary}--\r\n").as_bytes());
    Ok((body, format!("multipart/form-data; boundary={boundary}")))
}

/// A line that occurs in no part, unless a value that differs has it. It is the same each time, so that every request
/// has the same length.
fn boundary(contents: &[Text]) -> String {
    let occurs = |boundary: &String| {
        let mut literals = contents.iter().flat_map(Text::literals);
        literals.any(|it| memchr::memmem::find(it, boundary.as_bytes()).is_some())
    };
    let mut number = 0;
    loop {
        let boundary = format!("prony-boundary-{number:08}");
        if !occurs(&boundary) {
            return boundary;
        }
        number += 1;
    }
}

impl MultipartPart {
    /// The header lines of the part, as browsers write them.
    fn head(&self) -> String {
        let mut head = format!(
            "Content-Disposition: form-data; name=\"{}\"",
            quoted(&self.name)
        );
        let file = match &self.content {
            PartContent::Text(_) => None,
            PartContent::File(path) => Some(path.rsplit('/').next().unwrap_or(path)),
        };
        if let Some(filename) = self.filename.as_deref().or(file) {
            head.push_str(&format!("; filename=\"{}\"", quoted(filename)));
        }
        head.push_str("\r\n");
        let media = self.content_type.as_deref().or(file.map(|_| OCTETS));
        if let Some(media) = media {
            head.push_str(&format!("Content-Type: {media}\r\n"));
        }
        head
    }
}

/// A name in quotes, as browsers write it.
fn quoted(name: &str) -> String {
    let name = name.replace('"', "%22");
    name.replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boundary_occurs_in_no_part() {
        let parts = [
            Text::literal("a prony-boundary-00000000 b"),
            Text::default(),
        ];
        assert_eq!(boundary(&parts), "prony-boundary-00000001");
    }

    #[test]
    fn names_cannot_end_their_line() {
        assert_eq!(quoted("a\"\r\nX: y"), "a%22%0D%0AX: y");
    }
}
