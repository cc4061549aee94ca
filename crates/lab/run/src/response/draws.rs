//! Tests whether lines are drawn at random for each request: from all lines of the file, uniformly and independently.

use prony_stats::{binomial, goodness_of_fit, independence};
use prony_traffic::expected::{CountedDraws, LineOf};
use prony_traffic::{Mismatch, excerpt};

/// Verification draws [`DRAWS_PER_CONNECTION`] times over each of this many connections.
pub(crate) const CONNECTIONS: usize = 8;
/// See [`CONNECTIONS`].
pub(crate) const DRAWS_PER_CONNECTION: usize = 50;
/// A server that draws correctly fails one test of its verification by chance once in a hundred million times.
const LEVEL: f64 = 1e-8;
/// The same for one load: there may be hundreds in a run.
const LEVEL_UNDER_LOAD: f64 = 1e-9;
/// The least expected count of each line for a test of the counts.
const LEAST_EXPECTED: f64 = 10.0;
/// With more lines, a table of pairs is too sparse to test.
const MOST_PAIRED_LINES: usize = 16;

/// The received lines in order, by their indices.
pub(crate) struct Draws<'a> {
    lines: &'a LineOf,
    /// A sequence per connection; a single one if the server closes connections.
    sequences: Vec<Vec<usize>>,
}

impl<'a> Draws<'a> {
    /// Draws from these lines: a sequence for each connection that stayed open, or else a single one in the order of
    /// the requests.
    pub(crate) fn new(lines: &'a LineOf, sequences: Vec<Vec<usize>>, kept_open: bool) -> Self {
        let sequences = if kept_open {
            sequences
        } else {
            vec![sequences.concat()]
        };
        Self { lines, sequences }
    }

    /// `Err`, with the evidence, if they are not uniform and independent.
    pub(crate) fn check(&self) -> Result<(), Mismatch> {
        let found = self
            .same_on_a_connection()
            .or_else(|| uneven(self.lines, &self.counts(), LEVEL))
            .or_else(|| self.in_turn())
            .or_else(|| self.repeats())
            .or_else(|| self.same_on_all_connections())
            .or_else(|| self.dependent());
        match found {
            None => Ok(()),
            Some(received) => Err(not_drawn(self.lines, received)),
        }
    }

    fn counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.lines.count()];
        for &line in self.sequences.iter().flatten() {
            counts[line] += 1;
        }
        counts
    }

    /// Each draw with the next one on the same connection.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let sequences = self.sequences.iter();
        sequences.flat_map(|draws| draws.windows(2).map(|pair| (pair[0], pair[1])))
    }

    fn same_on_a_connection(&self) -> Option<String> {
        let several_lines = self.counts().iter().filter(|&&count| count > 0).count() > 1;
        let mut long = self.sequences.iter().filter(|draws| draws.len() > 1);
        (several_lines && long.all(|draws| draws.iter().all(|line| *line == draws[0])))
            .then(|| "each connection keeps getting the same line".to_owned())
    }

    /// Whether each line is nearly always followed by the same other line.
    fn in_turn(&self) -> Option<String> {
        let table = self.pair_table();
        let pairs = self.pairs().count() as u64;
        let usual: u64 = table.iter().filter_map(|row| row.iter().max()).sum();
        let repeats = self.repeated();
        (pairs > 0 && usual * 10 >= pairs * 9 && repeats * 2 < pairs && self.pairs_differ(&table))
            .then(|| {
                format!("draws the lines in turn: {usual} of {pairs} followed the line that they usually follow")
            })
    }

    fn pairs_differ(&self, table: &[Vec<u64>]) -> bool {
        independence(table) < LEVEL
    }

    fn pair_table(&self) -> Vec<Vec<u64>> {
        let lines = self.lines.count();
        let mut table = vec![vec![0; lines]; lines];
        for (before, line) in self.pairs() {
            table[before][line] += 1;
        }
        table
    }

    fn repeated(&self) -> u64 {
        self.pairs().filter(|(before, line)| before == line).count() as u64
    }

    /// Whether lines repeat more or less often than chance explains.
    fn repeats(&self) -> Option<String> {
        let (pairs, repeated) = (self.pairs().count() as u64, self.repeated());
        let chance = self.lines.chance_of_two_alike();
        (binomial(repeated, pairs, chance) < LEVEL).then(|| {
            let due = pairs as f64 * chance;
            format!(
                "{repeated} of {pairs} draws repeat the previous one; about {due:.0} are expected"
            )
        })
    }

    /// Whether most draws at the same place of two connections are the same, as with a shared seed. Fewer may come from
    /// processes whose own seeds are close to each other, which is allowed.
    fn same_on_all_connections(&self) -> Option<String> {
        let neighbours = self.sequences.windows(2);
        let places = neighbours.flat_map(|pair| pair[0].iter().zip(&pair[1]));
        let (places, alike) = places.fold((0, 0), |(places, alike), (one, other)| {
            (places + 1, alike + u64::from(one == other))
        });
        let chance = self.lines.chance_of_two_alike();
        (alike * 2 > places && binomial(alike, places, chance) < LEVEL).then(|| {
            let due = places as f64 * chance;
            format!(
                "connections draw alike: {alike} of {places} draws repeat those of the previous connection; \
                 about {due:.0} are expected"
            )
        })
    }

    fn dependent(&self) -> Option<String> {
        let few_lines = self.lines.count() <= MOST_PAIRED_LINES;
        (few_lines && self.pairs_differ(&self.pair_table()))
            .then(|| "the next line depends on the previous one more than chance allows".to_owned())
    }
}

/// Whether some lines came too rarely and others too often.
fn uneven(lines: &LineOf, counts: &[u64], level: f64) -> Option<String> {
    let total: u64 = counts.iter().sum();
    let due = |line: usize| total as f64 * lines.shares()[line];
    let drawn = counts.iter().filter(|&&count| count > 0).count();
    let enough = (0..counts.len()).all(|line| due(line) >= LEAST_EXPECTED);
    if !enough || goodness_of_fit(counts, lines.shares()) >= level {
        return None;
    }
    if drawn < counts.len() {
        let all = counts.len();
        return Some(format!(
            "drew only {drawn} of {all} lines in {total} responses"
        ));
    }
    let off = |&line: &usize| (counts[line] as f64 - due(line)).powi(2) / due(line);
    let most_off = (0..counts.len()).max_by(|one, other| off(one).total_cmp(&off(other)))?;
    Some(format!(
        "drew {} {} times in {total} responses; about {:.0} are expected",
        excerpt(lines.line(most_off), 0),
        counts[most_off],
        due(most_off)
    ))
}

fn not_drawn(lines: &LineOf, received: String) -> Mismatch {
    let expected = format!(
        "a line of {} drawn uniformly and independently for each request",
        lines.file()
    );
    Mismatch { expected, received }
}

/// After a load: `Err` if its responses did not draw the lines uniformly. Their order is unknown under load; verification
/// tests that.
pub(crate) fn judge_counted(draws: &CountedDraws) -> Result<(), Mismatch> {
    let lines = draws.lines();
    match uneven(lines, &draws.counts(), LEVEL_UNDER_LOAD) {
        None => Ok(()),
        Some(received) => Err(not_drawn(lines, received)),
    }
}

#[cfg(test)]
mod tests;
