//! The pages, made from the store when they are requested.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

use percent_encoding::percent_decode_str;
use prony_model::RunEnd;
use prony_present::page::{Block, Page, Section};
use prony_present::table::Weight;
use prony_store::{RunSummary as Listed, Store, StoreError};

use super::http_server::Reply;
use super::live::{self, ComparisonQuery};
use crate::catalog::{self, Catalog, Compared, LeftOut, REVISIONS, Summarized, WITH_BEFORE};
use crate::digest::{Recorded, RunDigest};
use crate::page::{self, RunLinks};
use crate::page_address::{PageAddress, trail};

/// Opens the store to read it.
pub type Opener = Box<dyn Fn() -> Result<Store, StoreError> + Send>;

pub(super) struct Pages {
    open: Opener,
    catalog: Catalog,
    /// What each run, and the one before it, was like when it was last read.
    stamps: BTreeMap<String, String>,
    looked: Option<Instant>,
    /// Several requests within this time are served from the same look at the store.
    fresh_for: Duration,
}

/// A side of a comparison: the id of a run, and of a server; all of its servers if that is empty.
type SideId<'a> = [&'a str; 2];

impl Pages {
    /// The pages of a store, of which nothing is read yet.
    pub(super) fn new(open: Opener, fresh_for: Duration) -> Self {
        Self {
            fresh_for,
            open,
            catalog: Catalog::default(),
            stamps: BTreeMap::new(),
            looked: None,
        }
    }

    /// The runs that cannot be read.
    pub(super) fn left_out(&self) -> &[LeftOut] {
        &self.catalog.left_out
    }

    /// What the page at this path and query shows.
    pub(super) fn reply(&mut self, path: &str, query: &str) -> Reply {
        if let Err(error) = self.look() {
            return problem(500, "The store cannot be read", &error.to_string());
        }
        let Ok(path) = percent_decode_str(path).decode_utf8() else {
            return not_found();
        };
        let path = path.trim_start_matches('/');
        match path {
            "state" => Reply::text(200, &self.state_of(query)),
            "compare.html" => self.any_two(&ComparisonQuery::of(query)),
            "" | "index.html" => self.page(&PageAddress::Front, &page::front(&self.catalog)),
            _ => match self.find(path) {
                Some(address) => self.found(&address),
                None => not_found(),
            },
        }
    }

    /// Reads what is new in the store.
    pub(super) fn look(&mut self) -> Result<(), StoreError> {
        let is_fresh = |looked: Instant| looked.elapsed() < self.fresh_for;
        if self.looked.is_some_and(is_fresh) {
            return Ok(());
        }
        let store = match (self.open)() {
            // The store of a project without runs yet.
            Err(StoreError::NoRuns(_)) => {
                self.catalog = Catalog::default();
                self.stamps.clear();
                return Ok(());
            }
            store => store?,
        };
        let listed = store.runs()?;
        let is_listed = |id: &str| listed.iter().any(|run| run.id == id);
        self.stamps.retain(|id, _| is_listed(id));
        self.catalog.keep(is_listed);
        // By suite, so that a run and the one before it are read once.
        let mut oldest_first: Vec<&Listed> = listed.iter().rev().collect();
        oldest_first.sort_by(|a, b| a.suite.cmp(&b.suite));
        let mut before: Option<Before> = None;
        for run in oldest_first {
            let previous = before.take().filter(|before| before.suite == run.suite);
            before = Some(self.update(&store, run, previous));
        }
        self.catalog.sort();
        self.list_comparisons();
        self.looked = Some(Instant::now());
        Ok(())
    }

    /// Reads a run if it, or the run before it, is new or has changed.
    fn update(&mut self, store: &Store, run: &Listed, before: Option<Before>) -> Before {
        let own = stamp(run);
        let mark = before.as_ref().map(Before::mark).unwrap_or_default();
        let stamp = format!("{own}-{mark}");
        let here = |recorded| Before {
            id: run.id.clone(),
            suite: run.suite.clone(),
            stamp: own.clone(),
            recorded,
        };
        if self.stamps.get(&run.id) == Some(&stamp) {
            // An unreadable run is not what the next one is compared with.
            return match (self.catalog.run(&run.id), before) {
                (None, Some(before)) => before,
                _ => here(None),
            };
        }
        self.stamps.insert(run.id.clone(), stamp);
        self.catalog.keep(|id| id != run.id);
        let recorded = match catalog::read(store, &run.id) {
            Ok(recorded) => recorded,
            Err(error) => {
                self.catalog.leave_out(&run.id, &error);
                return before.unwrap_or_else(|| here(None));
            }
        };
        let mut digest = catalog::summarize(&recorded).digest;
        let previous = before.and_then(|before| match before.recorded {
            Some(recorded) => Some(recorded),
            None if self.catalog.run(&before.id).is_some() => catalog::read(store, &before.id).ok(),
            None => None,
        });
        digest.change = previous.and_then(|previous| catalog::change(&previous, &recorded));
        self.catalog.runs.push(digest);
        here(Some(recorded))
    }

    fn list_comparisons(&mut self) {
        let runs = self.catalog.runs.iter().rev();
        let comparisons = runs.flat_map(|digest| {
            let run = &digest.run;
            let change = digest.change.as_ref();
            let with_before =
                change.map(|change| Compared::runs(&change.base, run, WITH_BEFORE, change.tally));
            let own = run.compared().zip(digest.own);
            let own = own.map(|(pair, tally)| Compared::servers(run, pair, REVISIONS, tally));
            own.into_iter().chain(with_before)
        });
        self.catalog.comparisons = comparisons.collect();
        self.catalog.limits = vec!["The form above compares any two.".to_owned()];
    }

    /// The page at a path, if there is one.
    fn find(&self, path: &str) -> Option<PageAddress> {
        let runs = || self.catalog.runs.iter().map(|digest| digest.run.id.clone());
        let servers = || {
            let ids = self.catalog.servers().into_keys();
            Vec::from_iter(ids.map(str::to_owned)).into_iter()
        };
        let run_at = |path: &str| runs().find(|id| PageAddress::Run(id.clone()).path() == path);
        let server_at =
            |path: &str| servers().find(|id| PageAddress::Server(id.clone()).path() == path);
        if path.starts_with("runs/") {
            return run_at(path).map(PageAddress::Run);
        }
        if path.starts_with("servers/") {
            return server_at(path).map(PageAddress::Server);
        }
        if path.starts_with("machines/") {
            let machines = self.catalog.machines().into_keys();
            let mut machines = machines.map(PageAddress::Machine);
            return machines.find(|address| address.path() == path);
        }
        let sides = path.strip_prefix("compare/")?.strip_suffix(".html")?;
        let sides = Vec::from_iter(sides.split('~'));
        let run = |slug: &str| run_at(&format!("runs/{slug}.html"));
        let server = |slug: &str| server_at(&format!("servers/{slug}.html"));
        match sides.as_slice() {
            [base, new] => Some(PageAddress::Runs {
                base: run(base)?,
                new: run(new)?,
            }),
            [of, base, new] => Some(PageAddress::Servers {
                run: run(of)?,
                base: server(base)?,
                new: server(new)?,
            }),
            _ => None,
        }
    }

    fn found(&self, address: &PageAddress) -> Reply {
        match address {
            PageAddress::Front | PageAddress::Comparisons => not_found(),
            PageAddress::Run(id) => self.run(id),
            PageAddress::Server(id) => match self.catalog.servers().get(id.as_str()) {
                Some(runs) => self.page(address, &page::server(id, runs)),
                None => not_found(),
            },
            PageAddress::Machine(name) => match self.catalog.machines().get(name) {
                Some(runs) => self.page(address, &page::machine(name, runs)),
                None => not_found(),
            },
            PageAddress::Runs { base, new } => self.compared([base, ""], [new, ""], address),
            PageAddress::Servers { run, base, new } => {
                self.compared([run, base], [run, new], address)
            }
        }
    }

    fn run(&self, id: &str) -> Reply {
        let recorded = match self.read(id) {
            Ok(recorded) => recorded,
            Err(reply) => return reply,
        };
        let Summarized {
            summary, verdict, ..
        } = catalog::summarize(&recorded);
        let address = PageAddress::Run(id.to_owned());
        let digest = self.catalog.run(id);
        let latest = self.catalog.latest();
        let latest = latest
            .iter()
            .find(|it| it.run.suite == recorded.run.suite && it.run.id != id);
        let is_comparable = |latest: &&&RunDigest| {
            let latest = self.read(&latest.run.id);
            latest.is_ok_and(|latest| catalog::compare(&recorded, &latest).is_ok())
        };
        let latest = latest.filter(is_comparable);
        let links = RunLinks {
            change: digest.and_then(|digest| digest.change.as_ref()),
            latest: latest.map(|latest| latest.run.id.as_str()),
        };
        let mut page = page::run(&recorded.run, &summary, verdict.as_ref(), links);
        if recorded.run.end == RunEnd::Open {
            let text = "This page follows the run: it loads again when a trial was recorded.";
            page.intro
                .insert(0, Block::Callout(Weight::Note, text.into()));
        }
        self.page(&address, &page)
    }

    fn any_two(&self, chosen: &ComparisonQuery) -> Reply {
        let here = PageAddress::Comparisons;
        let mut reply = if chosen.is_complete() {
            self.compared(
                [&chosen.base, &chosen.base_server],
                [&chosen.new, &chosen.new_server],
                &here,
            )
        } else {
            self.page(&here, &page::comparisons(&self.catalog))
        };
        reply.body = live::with_form(&reply.body, &self.catalog, chosen);
        reply
    }

    fn compared(&self, base: SideId<'_>, new: SideId<'_>, here: &PageAddress) -> Reply {
        let (base_run, new_run) = match (self.read(base[0]), self.read(new[0])) {
            (Ok(base), Ok(new)) => (base, new),
            (Err(reply), _) | (_, Err(reply)) => return reply,
        };
        let [base, new] = [(&base_run, base[1]), (&new_run, new[1])]
            .map(|(run, id)| catalog::side(run, Some(id).filter(|id| !id.is_empty())));
        match catalog::compare_sides(base, new) {
            Ok(comparison) if comparison.base.server.is_some() => {
                self.page(here, &page::of_servers(&comparison, here))
            }
            Ok(comparison) => self.page(here, &page::of_runs(&comparison, here)),
            Err(error) => problem(422, "There is nothing to compare", &error.to_string()),
        }
    }

    fn read(&self, id: &str) -> Result<Recorded, Reply> {
        let read = (self.open)().and_then(|store| catalog::read(&store, id));
        read.map_err(|error| match error {
            StoreError::UnknownRun { .. } => {
                problem(404, "There is no such run", &error.to_string())
            }
            error => problem(500, "The run cannot be read", &error.to_string()),
        })
    }

    fn page(&self, address: &PageAddress, page: &Page) -> Reply {
        let is_open = match address {
            PageAddress::Run(id) => self.catalog.run(id).is_some_and(|digest| digest.is_open()),
            _ => false,
        };
        Reply::html(
            200,
            live::following(&page.html(), &self.state(address), is_open),
        )
    }

    fn state_of(&self, query: &str) -> String {
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        let page = pairs.find(|(name, _)| name == "page");
        let address = page.and_then(|(_, path)| self.find(path.trim_start_matches('/')));
        self.state(&address.unwrap_or(PageAddress::Front))
    }

    /// What a page is made from: if it changes, the page does.
    fn state(&self, address: &PageAddress) -> String {
        match address {
            PageAddress::Run(id) => self.stamps.get(id).cloned().unwrap_or_default(),
            // A comparison in front of a reader stays as it is.
            PageAddress::Runs { .. } | PageAddress::Servers { .. } => String::new(),
            _ => {
                let trials = self.catalog.runs.iter().map(|digest| digest.trials);
                let open = self.catalog.runs.iter().filter(|digest| digest.is_open());
                format!(
                    "{}-{}-{}-{}",
                    self.catalog.runs.len(),
                    self.catalog.left_out.len(),
                    trials.sum::<usize>(),
                    open.count()
                )
            }
        }
    }
}

/// The run before the next one of its suite.
struct Before {
    id: String,
    suite: String,
    stamp: String,
    /// The run, if it was just read.
    recorded: Option<Recorded>,
}

impl Before {
    /// Differs for another run, and for another state of it. A page's script has it, so it must not have the id.
    fn mark(&self) -> String {
        let mut hasher = DefaultHasher::new();
        (&self.id, &self.stamp).hash(&mut hasher);
        format!("{:x}", hasher.finish())
    }
}

fn stamp(run: &Listed) -> String {
    format!("{}-{}-{}", run.trials, run.end.name(), run.servers)
}

fn not_found() -> Reply {
    problem(
        404,
        "There is no such page",
        "The front page links to every run, server and machine.",
    )
}

/// A page that says what is wrong.
fn problem(status: u16, title: &str, text: &str) -> Reply {
    let page = Page {
        trail: trail(&PageAddress::Comparisons),
        kicker: "Prony".into(),
        title: title.into(),
        sections: vec![Section::of(
            "problem",
            title,
            vec![
                Block::Text(text.into()),
                Block::Links(vec![prony_present::page::Link {
                    text: "The front page".into(),
                    href: "/index.html".into(),
                }]),
            ],
        )],
        ..Page::default()
    };
    Reply::html(status, page.html())
}
