//! The first lines of a Hurl file: where it is from, and how it is used.

use std::path::Path;

use prony_traffic::import::Variable;

pub(super) struct Heading<'a> {
    pub(crate) format: &'static str,
    pub(crate) input: &'a Path,
    pub(crate) output: Option<&'a Path>,
}

impl Heading<'_> {
    /// The lines, without `#`.
    pub(super) fn lines(&self, variables: &[Variable]) -> Vec<String> {
        let input = if self.input.as_os_str() == "-" {
            "standard input".into()
        } else {
            file_name(self.input)
        };
        let mut lines = vec![format!("From {input}, by `prony import {}`.", self.format)];
        if !variables.is_empty() {
            lines.push("Variables:".into());
        }
        let width = variables.iter().map(|it| it.name.len()).max();
        let width = width.unwrap_or_default();
        for Variable { name, meaning } in variables {
            lines.push(format!("  {name:width$}  {meaning}"));
        }
        let mut command = format!("prony load {} --users 10", self.hurl_file());
        for variable in variables {
            command.push_str(&format!(" --variable {}=…", variable.name));
        }
        lines.push(format!("Run it: {command}"));
        lines
    }

    /// The file, or the name that it will probably have.
    fn hurl_file(&self) -> String {
        let name = match self.output {
            Some(output) if output.as_os_str() != "-" => file_name(output),
            _ if self.input.as_os_str() == "-" => "scenario.hurl".into(),
            _ => file_name(&self.input.with_extension("hurl")),
        };
        if name.contains([' ', '\'', '"', '$', '&', ';', '(', ')']) {
            format!("'{}'", name.replace('\'', "'\\''"))
        } else {
            name
        }
    }
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_names_every_variable() {
        let heading = Heading {
            format: "openapi",
            input: Path::new("docs/api.yaml"),
            output: None,
        };
        let variable = |name: &str, meaning: &str| Variable {
            name: name.into(),
            meaning: meaning.into(),
        };
        let variables = [
            variable("host", "the server's URL"),
            variable("id", "a key"),
        ];
        assert_eq!(
            heading.lines(&variables),
            [
                "From api.yaml, by `prony import openapi`.",
                "Variables:",
                "  host  the server's URL",
                "  id    a key",
                "Run it: prony load api.hurl --users 10 --variable host=… --variable id=…",
            ]
        );
        let heading = Heading {
            format: "curl",
            input: Path::new("-"),
            output: Some(Path::new("a/b c.hurl")),
        };
        assert_eq!(
            heading.lines(&[]),
            [
                "From standard input, by `prony import curl`.",
                "Run it: prony load 'b c.hurl' --users 10",
            ]
        );
    }
}
