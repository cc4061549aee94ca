//! Where each page is, and the links between pages: relative and to files, so that they work in a subfolder and from `file:`.

use prony_present::page::Link;
use sha2::{Digest, Sha256};

/// A page of the site.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PageAddress {
    Front,
    /// A run, by its id.
    Run(String),
    /// A server, by its id.
    Server(String),
    /// A machine, by its [`hardware`](crate::machine::hardware).
    Machine(String),
    /// The list of comparisons.
    Comparisons,
    /// Two runs, by their ids.
    Runs {
        /// The older one.
        base: String,
        /// The newer one.
        new: String,
    },
    /// Two servers of one run, by their ids.
    Servers {
        /// The run's id.
        run: String,
        /// The older one.
        base: String,
        /// The newer one.
        new: String,
    },
}

/// The longest name of a file, without its ending; two of them and their ending fit in any file system's limit.
const LONGEST: usize = 60;

impl PageAddress {
    /// The comparison of two runs.
    pub(crate) fn runs(base: &str, new: &str) -> Self {
        Self::Runs {
            base: base.to_owned(),
            new: new.to_owned(),
        }
    }

    /// The comparison of two servers of a run.
    pub(crate) fn servers(run: &str, base: &str, new: &str) -> Self {
        Self::Servers {
            run: run.to_owned(),
            base: base.to_owned(),
            new: new.to_owned(),
        }
    }

    /// The path of its file in the site.
    pub(crate) fn path(&self) -> String {
        match self {
            Self::Front => "index.html".to_owned(),
            Self::Run(id) => format!("runs/{}.html", slug(id)),
            Self::Server(id) => format!("servers/{}.html", slug(id)),
            Self::Machine(name) => format!("machines/{}.html", slug(name)),
            Self::Comparisons => "compare.html".to_owned(),
            Self::Runs { base, new } => format!("compare/{}~{}.html", slug(base), slug(new)),
            Self::Servers { run, base, new } => {
                format!("compare/{}~{}~{}.html", slug(run), slug(base), slug(new))
            }
        }
    }

    /// The address of this page, relative to another.
    pub(crate) fn from(&self, other: &PageAddress) -> String {
        let up = match other {
            Self::Front | Self::Comparisons => "",
            _ => "../",
        };
        format!("{up}{}", self.path())
    }

    /// A link to this page from another.
    pub(crate) fn link(&self, text: impl Into<String>, from: &PageAddress) -> Link {
        Link {
            text: text.into(),
            href: self.from(from),
        }
    }
}

/// The pages above one, the topmost first.
pub(crate) fn trail(to: &PageAddress) -> Vec<Link> {
    match to {
        PageAddress::Front => Vec::new(),
        PageAddress::Runs { .. } | PageAddress::Servers { .. } => vec![
            PageAddress::Front.link("All runs", to),
            PageAddress::Comparisons.link("Comparisons", to),
        ],
        _ => vec![PageAddress::Front.link("All runs", to)],
    }
}

/// A name for a file. An id that is a plain, lower-case name stays as it is; any other gets a hash, so that no two ids share a
/// file, not even on a file system that ignores case.
fn slug(id: &str) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    let is_short = id.len() <= LONGEST;
    if is_short && id.chars().all(is_plain) && id.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return id.to_owned();
    }
    let readable = id.chars().map(|c| match c.to_ascii_lowercase() {
        c if is_plain(c) => c,
        _ => '-',
    });
    let readable: String = readable.take(LONGEST - 15).collect();
    let readable = readable.trim_matches(['-', '.']);
    let hash = Sha256::digest(id.as_bytes());
    let hash: String = hash
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    if readable.is_empty() {
        format!("x-{hash}")
    } else {
        format!("{readable}-{hash}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_ids_name_their_files_and_others_get_a_hash() {
        let path = |id: &str| PageAddress::Run(id.into()).path();
        assert_eq!(
            path("20261121-203000-tour"),
            "runs/20261121-203000-tour.html"
        );
        let hostile = " .. ../../etc/passwd a/b a\\b <script> é\n .hidden a~b a%2e a?b#c";
        for id in hostile.split(' ') {
            let path = path(id);
            let name = path.strip_prefix("runs/").unwrap();
            let name = name.strip_suffix(".html").unwrap();
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
            assert!(!name.is_empty() && !name.starts_with('.'), "{id}: {path}");
            assert!(name.chars().all(is_plain), "{id}: {path}");
        }
        assert_ne!(path("Go").to_lowercase(), path("go"));
        assert_ne!(path("a/b"), path("a-b"));
        assert_ne!(path("a/b"), path("a\\b"));
        assert!(path(&"x".repeat(5000)).len() < 80);
    }

    #[test]
    fn two_pairs_never_share_a_page() {
        let pair = |base: &str, new: &str| PageAddress::runs(base, new).path();
        assert_ne!(pair("a~b", "c"), pair("a", "b~c"));
        let servers = PageAddress::servers("a", "b", "c");
        assert_ne!(pair("a", "b"), servers.path());
    }

    #[test]
    fn links_are_relative_to_the_page_that_has_them() {
        let (front, run) = (PageAddress::Front, PageAddress::Run("a".into()));
        assert_eq!(run.from(&front), "runs/a.html");
        assert_eq!(front.from(&run), "../index.html");
        assert_eq!(
            PageAddress::Server("go".into()).from(&run),
            "../servers/go.html"
        );
    }
}
