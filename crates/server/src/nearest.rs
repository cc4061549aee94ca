//! The nearest known name to one that was misspelt.

/// The name of `known` that `name` was probably meant to be, if any is near enough.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let name = name.to_lowercase();
    known
        .into_iter()
        .map(|candidate| {
            let distance = strsim::damerau_levenshtein(&name, &candidate.to_lowercase());
            (distance, candidate)
        })
        .filter(|(distance, candidate)| near(*distance, &name, candidate))
        .min()
        .map(|(_, candidate)| candidate.to_owned())
}

/// A third of the letters may be wrong, or the one name is a part of the other.
fn near(distance: usize, name: &str, candidate: &str) -> bool {
    let candidate = candidate.to_lowercase();
    let longest = name.chars().count().max(candidate.chars().count());
    let begins = name.len() >= 2 && candidate.starts_with(name);
    let is_part = (name.len() >= 3 && candidate.contains(name))
        || (candidate.len() >= 3 && name.contains(&candidate));
    begins || is_part || distance <= (longest / 3).max(1)
}

/// `; did you mean X?` or nothing, for the end of an error text.
pub(crate) fn offer(nearest: &Option<String>) -> String {
    match nearest {
        Some(name) => format!("; did you mean `{name}`?"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_of_the_finger_is_seen_through_and_a_stranger_is_not() {
        let known = ["go-nethttp", "rust-axum", "bun", "zig-std"];
        assert_eq!(nearest("go-nethtp", known).as_deref(), Some("go-nethttp"));
        assert_eq!(nearest("Bnu", known).as_deref(), Some("bun"));
        assert_eq!(nearest("axum", known).as_deref(), Some("rust-axum"));
        assert_eq!(nearest("zig", known).as_deref(), Some("zig-std"));
        assert_eq!(nearest("erlang-cowboy", known), None);
    }
}
