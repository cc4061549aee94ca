//! From a byte in a manifest to its line and field.

/// The line, from 1, that holds the byte at `offset`.
pub fn line_of(text: &str, offset: usize) -> usize {
    let before = &text.as_bytes()[..offset.min(text.len())];
    before.iter().filter(|&&byte| byte == b'\n').count() + 1
}

/// The field whose value holds the byte at `offset`: the last `name =` or `[name]` at the start of
/// a line up to there.
pub fn field_of(text: &str, offset: usize) -> Option<String> {
    let line = line_of(text, offset);
    text.lines().take(line).filter_map(field_at_start).last()
}

fn field_at_start(line: &str) -> Option<String> {
    let name = match line.strip_prefix('[') {
        Some(table) => table.split_once(']')?.0,
        None => line.split_once('=')?.0,
    };
    let name = name.trim();
    let is_key = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    (!name.is_empty() && name.chars().all(is_key)).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_of_a_long_list_belongs_to_the_lists_field() {
        let text = "title = \"x\"\nbuild = [\n  [\"a\", \"b=c\"],\n  [\"d\"],\n]\n[env]\n";
        let offset = text.find("\"d\"").unwrap();
        assert_eq!(line_of(text, offset), 4);
        assert_eq!(field_of(text, offset).as_deref(), Some("build"));
        assert_eq!(field_of(text, text.len() - 1).as_deref(), Some("env"));
        assert_eq!(line_of(text, usize::MAX), 7);
    }
}
