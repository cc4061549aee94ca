//! The notation of an SLO: `p99<10ms,errors<0.1%`.

use std::str::FromStr;

use super::{Clause, STATISTICS, Slo};

/// Why a text is not an SLO.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "documented by the messages")]
pub enum SloError {
    #[error("it has no bound; write for instance p99<10ms,errors<0.1%")]
    Empty,
    #[error(
        "`{text}` is not a bound; write a name, < and a value, for instance p99<10ms or errors<0.1%"
    )]
    NoBound { text: String },
    #[error("unknown name `{name}`; use p50, p90, p95, p99, p99.9, mean, max or errors")]
    Name { name: String },
    #[error("`{text}` is not a duration that can bound {name}; write for instance {name}<10ms")]
    Duration { name: String, text: String },
    #[error(
        "`{text}` is not a share of errors; write a percentage from 0% to 100%, for instance errors<0.1%"
    )]
    Percent { text: String },
    #[error("{name} has two bounds; write only one")]
    Twice { name: String },
}

impl FromStr for Slo {
    type Err = SloError;

    /// Reads bounds separated by commas. Without one on errors, a bound of 0.1 % is added.
    fn from_str(text: &str) -> Result<Self, SloError> {
        let mut clauses: Vec<Clause> = Vec::new();
        for part in text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let clause = clause(part)?;
            if clauses.iter().any(|other| other.name() == clause.name()) {
                return Err(SloError::Twice {
                    name: clause.name().into(),
                });
            }
            clauses.push(clause);
        }
        match clauses.is_empty() {
            true => Err(SloError::Empty),
            false => Ok(Slo::new(clauses)),
        }
    }
}

fn clause(text: &str) -> Result<Clause, SloError> {
    let no_bound = || SloError::NoBound { text: text.into() };
    let (name, bound) = text.split_once('<').ok_or_else(no_bound)?;
    let (name, bound) = (name.trim(), bound.trim());
    if bound.starts_with('=') || bound.is_empty() {
        return Err(no_bound());
    }
    if name == "errors" {
        return Ok(Clause::Errors {
            below: share(bound)?,
        });
    }
    let statistic = STATISTICS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|&(_, statistic)| statistic)
        .ok_or_else(|| SloError::Name { name: name.into() })?;
    match humantime::parse_duration(bound) {
        Ok(below) if !below.is_zero() => Ok(Clause::Latency { statistic, below }),
        _ => Err(SloError::Duration {
            name: name.into(),
            text: bound.into(),
        }),
    }
}

fn share(text: &str) -> Result<f64, SloError> {
    match prony_model::parse_percent(text).filter(|share| (0.0..=1.0).contains(share)) {
        Some(share) => Ok(share),
        None => Err(SloError::Percent { text: text.into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_slo_is_read_and_written() {
        for (text, written) in [
            ("p99<10ms,errors<0.1%", "p99<10ms,errors<0.1%"),
            (
                " p99.9 < 1s , mean<500us,",
                "p99.9<1s,mean<500us,errors<0.1%",
            ),
            ("errors<0%", "errors<0%"),
            (
                "p50<1ms,p90<2ms,p95<3ms,max<1500ms,errors<5%",
                "p50<1ms,p90<2ms,p95<3ms,max<1s500ms,errors<5%",
            ),
        ] {
            let slo: Slo = text.parse().unwrap();
            assert_eq!(slo.to_string(), written);
            assert_eq!(written.parse(), Ok(slo));
        }
    }

    #[test]
    fn what_is_not_an_slo_is_rejected_with_a_hint() {
        for (text, hint) in [
            ("", "it has no bound"),
            (" , ", "it has no bound"),
            ("p99", "`p99` is not a bound"),
            ("p99>10ms", "is not a bound; write a name, <"),
            ("p99<=10ms", "is not a bound; write a name, <"),
            ("p99<", "is not a bound"),
            ("p98<10ms", "unknown name `p98`; use p50"),
            ("<10ms", "unknown name ``"),
            ("p99<fast", "write for instance p99<10ms"),
            ("p99<0s", "write for instance p99<10ms"),
            ("p99<10", "write for instance p99<10ms"),
            ("errors<0.1", "errors<0.1%"),
            ("errors<101%", "from 0% to 100%"),
            ("errors<-1%", "from 0% to 100%"),
            ("errors<NaN%", "from 0% to 100%"),
            ("p99<1s,p99<2s", "p99 has two bounds"),
            ("errors<1%,errors<1%", "errors has two bounds"),
        ] {
            let error = text.parse::<Slo>().unwrap_err().to_string();
            assert!(error.contains(hint), "{text}: {error}");
        }
    }
}
