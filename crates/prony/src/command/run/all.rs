//! `prony run --all`: every suite, one after the other.

use std::error::Error;
use std::process::ExitCode;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use prony_suite::Suite;

use super::{Arguments, Choice, Chosen, Ground, Session};
use crate::exit::{self, FAILURE, INTERRUPTED, Outcome, Usage, usage};
use crate::view::suites_table::{self, Line};

/// What came of a suite: how it ended, and the exit code for it.
struct End {
    run: Option<(String, Duration)>,
    outcome: String,
    code: u8,
}

/// A suite's id, and what is to be run of it or why nothing is.
type Intent<'a> = (String, Result<Box<Chosen<'a>>, End>);

impl End {
    fn without_a_run(outcome: impl Into<String>, code: u8) -> Self {
        Self {
            run: None,
            outcome: outcome.into(),
            code,
        }
    }
}

/// Runs every suite, each with its report, and shows what came of each. What goes wrong in one does
/// not stop the others.
pub fn run(ground: &Ground<'_>, arguments: &Arguments) -> Outcome {
    let suites = choose(ground, arguments)?;
    let session = Session::open(ground, arguments)?;
    let count = suites.len();
    let (mut lines, mut worst) = (Vec::with_capacity(count), 0);
    for (index, (suite, choice)) in suites.into_iter().enumerate() {
        let end = match choice {
            Err(end) => end,
            Ok(_) if session.interrupt.load(Relaxed) => {
                End::without_a_run("not started", INTERRUPTED)
            }
            Ok(chosen) => {
                errln!("suite {} of {count}: {suite}", index + 1);
                one(&session, ground, *chosen, arguments)
            }
        };
        worst = worst.max(end.code);
        lines.push(Line {
            suite,
            run: end.run,
            outcome: end.outcome,
        });
    }
    out!("\n{}", suites_table::text(&lines));
    Ok(ExitCode::from(worst))
}

/// What is to be run of each suite. All are read before the first is run: what is wrong is told now
/// and not after an hour.
fn choose<'a>(
    ground: &'a Ground<'_>,
    arguments: &Arguments,
) -> Result<Vec<Intent<'a>>, Box<dyn Error>> {
    let mut suites = Vec::new();
    let mut something = false;
    for id in Suite::ids(&ground.layout.suites())? {
        let choice = match ground.choose(&id, arguments) {
            Ok(Choice::Chosen(chosen)) => Ok(chosen),
            Ok(Choice::Nothing(why)) => Err(End::without_a_run(format!("left out: {why}"), 0)),
            Err(error) if error.is::<Usage>() => return Err(error),
            Err(error) => Err(failed(error.as_ref())),
        };
        something |= !matches!(&choice, Err(End { code: 0, .. }));
        suites.push((id, choice));
    }
    match something {
        true => Ok(suites),
        false => Err(usage("the command line leaves nothing of any suite")),
    }
}

fn one(session: &Session, ground: &Ground<'_>, chosen: Chosen<'_>, arguments: &Arguments) -> End {
    match session.measure(ground, chosen, arguments) {
        Ok(done) => End {
            run: Some((done.run, done.took)),
            outcome: done.outcome,
            code: done.code,
        },
        Err(error) => failed(error.as_ref()),
    }
}

fn failed(error: &(dyn Error + 'static)) -> End {
    exit::failure(error);
    let text = error.to_string();
    let first_line = text.lines().next().unwrap_or("");
    End::without_a_run(format!("failed: {first_line}"), FAILURE)
}
