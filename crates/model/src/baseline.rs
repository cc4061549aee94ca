//! Which server the others are compared with.

use crate::CEILING;

/// The server that the others' ratios are taken to in a measure: the one that was chosen for the
/// run, else the ceiling, else the first of `servers`; of these the first that was `measured` there.
pub fn baseline<'a>(
    chosen: Option<&'a str>,
    servers: impl IntoIterator<Item = &'a str>,
    measured: impl Fn(&str) -> bool,
) -> Option<&'a str> {
    let preferred = chosen.into_iter().chain([CEILING]);
    preferred.chain(servers).find(|server| measured(server))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_chosen_one_or_the_ceiling_or_the_first_of_those_that_were_measured() {
        let servers = ["bun", "go", "ceiling"];
        let of = |chosen, measured: &[&str]| {
            let measured: Vec<String> = measured.iter().map(|&one| one.to_owned()).collect();
            baseline(chosen, servers, move |one| {
                measured.iter().any(|id| id == one)
            })
        };
        assert_eq!(of(Some("go"), &servers), Some("go"));
        assert_eq!(of(Some("go"), &["bun", "ceiling"]), Some("ceiling"));
        assert_eq!(of(None, &servers), Some("ceiling"));
        assert_eq!(of(None, &["go", "bun"]), Some("bun"));
        assert_eq!(of(Some("go"), &[]), None);
    }
}
