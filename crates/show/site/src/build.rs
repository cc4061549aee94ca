//! The static site: every page, written run by run, so that only a few runs are in memory at a time.

use std::sync::atomic::{AtomicBool, Ordering};

use prony_model::RunEnd;
use prony_present::page::Page;
use prony_store::{RunSummary as Listed, Store};

use crate::catalog::{self, Catalog, Compared, LeftOut, REVISIONS, Summarized, WITH_BEFORE};
use crate::digest::{Recorded, RunChange};
use crate::error::SiteError;
use crate::folder::SiteFolder;
use crate::page::{self, RunLinks};
use crate::page_address::PageAddress;

/// At most this many runs before the latest of a suite are compared with it.
const MOST_WITH_LATEST: usize = 100;
/// Pairs of servers within a run have pages for this many servers, the first of the suite.
const MOST_SERVERS: usize = 16;

/// How far the site is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The runs whose pages are written.
    pub done: usize,
    /// All runs.
    pub of: usize,
    /// The run that comes next.
    pub run: &'a str,
}

/// A finished site.
#[derive(Clone, Debug)]
pub struct Built {
    /// How many runs it shows.
    pub runs: usize,
    /// How many pages it has.
    pub pages: usize,
    /// How many of them are new, or have changed.
    pub changed: usize,
    /// How many pages of an earlier site were removed.
    pub removed: usize,
    /// The runs that could not be read.
    pub left_out: Vec<LeftOut>,
}

/// Writes the site of all runs of a store. A run that cannot be read is left out, and named in the result and on the front page.
///
/// # Errors
/// If the store has no list of runs, a page cannot be written, or the user stopped it. The front page is written last.
pub fn build(
    store: &Store,
    folder: SiteFolder,
    progress: &mut dyn FnMut(Progress<'_>),
    interrupt: &AtomicBool,
) -> Result<Built, SiteError> {
    let listed = store.runs()?;
    let oldest_first = listed.iter().rev();
    let suites = catalog::grouped(oldest_first, |one, other| one.suite == other.suite);
    let mut builder = Builder {
        store,
        folder,
        catalog: Catalog::default(),
        done: 0,
        of: listed.len(),
        progress,
        interrupt,
    };
    for suite in &suites {
        builder.suite(suite)?;
    }
    builder.finish()
}

struct Builder<'a> {
    store: &'a Store,
    folder: SiteFolder,
    catalog: Catalog,
    done: usize,
    of: usize,
    progress: &'a mut dyn FnMut(Progress<'_>),
    interrupt: &'a AtomicBool,
}

impl Builder<'_> {
    /// The runs of a suite, the oldest first.
    fn suite(&mut self, runs: &[&Listed]) -> Result<(), SiteError> {
        // The newest that can be read, for comparisons with the others.
        let mut newest = runs.iter().rev();
        let latest = newest.find_map(|run| catalog::read(self.store, &run.id).ok());
        let complete = runs.iter().rev().find(|run| run.end == RunEnd::Complete);
        let far = runs.len().saturating_sub(MOST_WITH_LATEST + 1);
        let mut previous: Option<Recorded> = None;
        for (i, listed) in runs.iter().enumerate() {
            self.check()?;
            (self.progress)(Progress {
                done: self.done,
                of: self.of,
                run: &listed.id,
            });
            self.done += 1;
            let recorded = match catalog::read(self.store, &listed.id) {
                Ok(recorded) => recorded,
                Err(error) => {
                    self.catalog.leave_out(&listed.id, &error);
                    continue;
                }
            };
            let latest = latest.as_ref().filter(|_| i >= far);
            self.run(&recorded, previous.as_ref(), latest)?;
            if let Some(pair) = recorded.run.compared() {
                self.pair(&recorded, pair, REVISIONS)?;
            } else if complete.is_some_and(|complete| complete.id == listed.id) {
                self.servers(&recorded)?;
            }
            previous = Some(recorded);
        }
        if far > 0 {
            self.catalog.limits.push(format!(
                "The suite {} has {} runs: only the last {MOST_WITH_LATEST} before the latest are compared with it.",
                runs[0].suite,
                runs.len()
            ));
        }
        Ok(())
    }

    fn run(
        &mut self,
        recorded: &Recorded,
        previous: Option<&Recorded>,
        latest: Option<&Recorded>,
    ) -> Result<(), SiteError> {
        let Summarized {
            mut digest,
            summary,
            verdict,
        } = catalog::summarize(recorded);
        let run = &recorded.run;
        if let Some(previous) = previous {
            digest.change = self.runs(previous, recorded, WITH_BEFORE)?;
        }
        let latest = match latest.filter(|latest| latest.run.id != run.id) {
            Some(latest) => {
                let change = self.runs(recorded, latest, "with the latest run")?;
                change.map(|_| latest.run.id.as_str())
            }
            None => None,
        };
        let links = RunLinks {
            change: digest.change.as_ref(),
            latest,
        };
        let page = page::run(run, &summary, verdict.as_ref(), links);
        self.write(&PageAddress::Run(run.id.clone()), &page)?;
        self.catalog.runs.push(digest);
        Ok(())
    }

    /// The page of two runs, if they have something to compare.
    fn runs(
        &mut self,
        base: &Recorded,
        new: &Recorded,
        kind: &'static str,
    ) -> Result<Option<RunChange>, SiteError> {
        let comparison = match catalog::compare(base, new) {
            Ok(comparison) => comparison,
            Err(error) => {
                let line = catalog::why_not(&error);
                // The last two runs are compared for either reason.
                if !self.catalog.incomparable.contains(&line) {
                    self.catalog.incomparable.push(line);
                }
                return Ok(None);
            }
        };
        let compared = Compared::runs(&base.run.id, &new.run, kind, comparison.tally);
        let address = &compared.address;
        self.write(address, &page::of_runs(&comparison, address))?;
        // The last two runs are compared for either reason.
        let comparisons = &mut self.catalog.comparisons;
        comparisons.retain(|other| other.address != compared.address);
        comparisons.push(compared);
        Ok(Some(RunChange::of(&comparison)))
    }

    /// The pages of each pair of servers of a run.
    fn servers(&mut self, recorded: &Recorded) -> Result<(), SiteError> {
        let run = &recorded.run;
        let measured = run.servers.iter().filter(|server| {
            let mut trials = recorded.trials.iter();
            !server.is_ceiling() && trials.any(|record| record.trial.server == server.id)
        });
        let ids: Vec<&str> = measured.map(|server| server.id.as_str()).collect();
        let shown = &ids[..ids.len().min(MOST_SERVERS)];
        if shown.len() < ids.len() {
            self.catalog.limits.push(format!(
                "The run {} has {} servers: only pairs of the first {MOST_SERVERS} have a page.",
                run.id,
                ids.len()
            ));
        }
        for (i, base) in shown.iter().enumerate() {
            for new in &shown[i + 1..] {
                self.check()?;
                self.pair(recorded, [base, new], "servers of a run")?;
            }
        }
        Ok(())
    }

    /// The page of two servers of a run, if they have something to compare.
    fn pair(
        &mut self,
        recorded: &Recorded,
        pair: [&str; 2],
        kind: &'static str,
    ) -> Result<(), SiteError> {
        let [base, new] = pair.map(|id| catalog::side(recorded, Some(id)));
        let comparison = match catalog::compare_sides(base, new) {
            Ok(comparison) => comparison,
            Err(error) => {
                let [base, new] = pair;
                let line = format!("{base} and {new}: {}", catalog::why_not(&error));
                self.catalog.incomparable.push(line);
                return Ok(());
            }
        };
        let compared = Compared::servers(&recorded.run, pair, kind, comparison.tally);
        let address = &compared.address;
        self.write(address, &page::of_servers(&comparison, address))?;
        self.catalog.comparisons.push(compared);
        Ok(())
    }

    fn finish(mut self) -> Result<Built, SiteError> {
        let mut catalog = std::mem::take(&mut self.catalog);
        catalog.sort();
        catalog.limits.push(LIMITS.to_owned());
        catalog.comparisons.reverse();
        for (id, runs) in catalog.servers() {
            self.check()?;
            self.write(
                &PageAddress::Server(id.to_owned()),
                &page::server(id, &runs),
            )?;
        }
        for (name, runs) in catalog.machines() {
            self.check()?;
            let page = page::machine(&name, &runs);
            self.write(&PageAddress::Machine(name), &page)?;
        }
        self.write(&PageAddress::Comparisons, &page::comparisons(&catalog))?;
        self.write(&PageAddress::Front, &page::front(&catalog))?;
        let counts = self.folder.finish()?;
        Ok(Built {
            runs: catalog.runs.len(),
            pages: counts.pages,
            changed: counts.changed,
            removed: counts.removed,
            left_out: catalog.left_out,
        })
    }

    fn write(&mut self, address: &PageAddress, page: &Page) -> Result<(), SiteError> {
        self.folder.write(&address.path(), &page.html())
    }

    fn check(&self) -> Result<(), SiteError> {
        if self.interrupt.load(Ordering::Relaxed) {
            Err(SiteError::Interrupted)
        } else {
            Ok(())
        }
    }
}

const LIMITS: &str = "This is a static site. It has a page for each run against the one before of its suite and against the latest, \
for the two revisions of each run of “prony ab”, and for pairs of servers in the latest complete run of each other suite; “prony serve” \
and “prony compare” compare any two.";
