//! The options of an entry, without placeholders.

use std::time::Duration;

use prony_hurl::ast::{Count, CountOption, DurationOption, EntryOption, FlagOption, OptionValue};
use prony_hurl::evaluate::{Environment, Failure, Scope, Variables};

use crate::redirect::MOST_REDIRECTS;

/// How to run an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryOptions {
    pub(crate) is_skipped: bool,
    /// How often to send it.
    pub(crate) repeat: u64,
    /// How often to send it again if its response is not as expected; `None` for any number.
    pub(crate) retry: Option<u64>,
    pub(crate) retry_interval: Duration,
    pub(crate) delay: Duration,
    pub(crate) timeout: Option<Duration>,
    pub(crate) coerces_json_path: bool,
    pub(crate) is_compressed: bool,
    /// Whether `.` and `..` stay in the path.
    pub(crate) keeps_dots: bool,
    pub(crate) follows_redirects: bool,
    pub(crate) most_redirects: u64,
}

impl Default for EntryOptions {
    fn default() -> Self {
        Self {
            is_skipped: false,
            repeat: 1,
            retry: Some(0),
            retry_interval: Duration::from_secs(1),
            delay: Duration::ZERO,
            timeout: None,
            coerces_json_path: true,
            is_compressed: false,
            keeps_dots: false,
            follows_redirects: false,
            most_redirects: 50,
        }
    }
}

impl EntryOptions {
    /// Those of an entry. Sets the variables that they define, in their order.
    ///
    /// # Errors
    ///
    /// If a variable is not defined or has another type.
    pub(crate) fn evaluate(
        options: &[EntryOption],
        variables: &mut Variables,
        environment: &mut dyn Environment,
    ) -> Result<Self, Failure> {
        let mut evaluated = Self::default();
        for option in options {
            evaluated.take(&option.value, variables, environment)?;
        }
        Ok(evaluated)
    }

    fn take(
        &mut self,
        option: &OptionValue,
        variables: &mut Variables,
        environment: &mut dyn Environment,
    ) -> Result<(), Failure> {
        let mut scope = Scope::new(variables, environment);
        match option {
            OptionValue::Flag(FlagOption::Skip, setting) => {
                self.is_skipped = scope.flag(setting)?;
            }
            OptionValue::Flag(FlagOption::Compressed, setting) => {
                self.is_compressed = scope.flag(setting)?;
            }
            OptionValue::Flag(FlagOption::NoJsonPathCoercion, setting) => {
                self.coerces_json_path = !scope.flag(setting)?;
            }
            OptionValue::Flag(FlagOption::PathAsIs, setting) => {
                self.keeps_dots = scope.flag(setting)?;
            }
            OptionValue::Flag(FlagOption::FollowLocation, setting) => {
                self.follows_redirects = scope.flag(setting)?;
            }
            // There is only one server to trust.
            OptionValue::Flag(FlagOption::FollowLocationTrusted, setting) => {
                self.follows_redirects |= scope.flag(setting)?;
            }
            // Those of the connection are known before; the others do not change a load. Each must be a flag.
            OptionValue::Flag(_, setting) => {
                scope.flag(setting)?;
            }
            OptionValue::Count(CountOption::MaxRedirects, setting) => {
                let most = finite(scope.count(setting)?).unwrap_or(u64::MAX);
                self.most_redirects = most.min(MOST_REDIRECTS);
            }
            OptionValue::Count(CountOption::Repeat, setting) => {
                self.repeat = finite(scope.count(setting)?).unwrap_or(u64::MAX);
            }
            OptionValue::Count(CountOption::Retry, setting) => {
                self.retry = finite(scope.count(setting)?);
            }
            OptionValue::Duration(DurationOption::Delay, setting) => {
                self.delay = scope.duration(setting)?;
            }
            OptionValue::Duration(DurationOption::RetryInterval, setting) => {
                self.retry_interval = scope.duration(setting)?;
            }
            OptionValue::Duration(DurationOption::MaxTime, setting) => {
                let timeout = scope.duration(setting)?;
                // As for curl, zero is no limit.
                self.timeout = (!timeout.is_zero()).then_some(timeout);
            }
            OptionValue::Variable(definition) => {
                let value = scope.definition(definition)?;
                variables.set(definition.name.as_str(), value);
            }
            // The others concern the request, or are not supported.
            _ => {}
        }
        Ok(())
    }
}

fn finite(count: Count) -> Option<u64> {
    match count {
        Count::Finite(count) => Some(count),
        Count::Infinite => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::UserEnvironment;

    #[test]
    fn every_flag_must_be_true_or_false() {
        for name in ["verbose", "insecure", "skip", "path-as-is", "compressed"] {
            let text = format!("GET http://h\n[Options]\nvariable: x=1\n{name}: {{{{x}}}}\n");
            let file = prony_hurl::parse(&text).expect("a file");
            let options = &file.entries[0].request.options;
            let mut environment = UserEnvironment::new(None, 0);
            let evaluated =
                EntryOptions::evaluate(options, &mut Variables::default(), &mut environment);
            assert!(evaluated.is_err(), "{name}");
        }
    }
}
