//! Which subject the others are compared with.

use crate::CEILING;

/// The subject that the others' ratios are taken to in a measure: the one that was chosen for the
/// run, else the ceiling, else the first of `subjects`; of these the first that was `measured` there.
pub fn baseline<'a>(
    chosen: Option<&'a str>,
    subjects: impl IntoIterator<Item = &'a str>,
    measured: impl Fn(&str) -> bool,
) -> Option<&'a str> {
    let preferred = chosen.into_iter().chain([CEILING]);
    preferred.chain(subjects).find(|subject| measured(subject))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_chosen_one_or_the_ceiling_or_the_first_of_those_that_were_measured() {
        let subjects = ["bun", "go", "ceiling"];
        let of = |chosen, measured: &[&str]| {
            let measured: Vec<String> = measured.iter().map(|&one| one.to_owned()).collect();
            baseline(chosen, subjects, move |one| {
                measured.iter().any(|id| id == one)
            })
        };
        assert_eq!(of(Some("go"), &subjects), Some("go"));
        assert_eq!(of(Some("go"), &["bun", "ceiling"]), Some("ceiling"));
        assert_eq!(of(None, &subjects), Some("ceiling"));
        assert_eq!(of(None, &["go", "bun"]), Some("bun"));
        assert_eq!(of(Some("go"), &[]), None);
    }
}
