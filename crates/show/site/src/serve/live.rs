//! What a served page has besides: a script that reloads it when the store has something new, and the form for any two runs.

use maud::{Markup, PreEscaped, html};

use crate::catalog::Catalog;

/// How often a page looks for something new, in milliseconds.
const EVERY_MS: u32 = 3_000;

/// The page with the script. `stamp` is what it was made from; a page that follows a run also reloads without scripts.
pub(super) fn following(page: &str, stamp: &str, is_open: bool) -> String {
    // A stamp has only digits, letters, `-`, `.` and `:`.
    let script = format!(
        "<script>(()=>{{const made=\"{stamp}\",state=\"/state?page=\"+encodeURIComponent(location.pathname);\
         setInterval(async()=>{{if(document.hidden)return;try{{const r=await fetch(state,{{cache:\"no-store\"}});\
         if(r.ok&&(await r.text())!==made)location.reload()}}catch(_){{}}}},{EVERY_MS})}})()</script>"
    );
    let page = insert(page, "</body>", &script);
    if is_open {
        insert(
            &page,
            "</head>",
            "<noscript><meta http-equiv=\"refresh\" content=\"10\"></noscript>",
        )
    } else {
        page
    }
}

/// The page with the form in front of its sections.
pub(super) fn with_form(page: &str, catalog: &Catalog, chosen: &ComparisonQuery) -> String {
    let form = form(catalog, chosen).into_string();
    match page
        .find("<main")
        .and_then(|at| Some(at + page[at..].find('>')? + 1))
    {
        Some(at) => format!("{}{form}{}", &page[..at], &page[at..]),
        None => page.to_owned(),
    }
}

fn insert(page: &str, before: &str, what: &str) -> String {
    match page.rfind(before) {
        Some(at) => format!("{}{what}{}", &page[..at], &page[at..]),
        None => page.to_owned(),
    }
}

/// What the form of any two compares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ComparisonQuery {
    /// The older run's id; empty if none is chosen.
    pub(crate) base: String,
    /// Its server; empty for all.
    pub(crate) base_server: String,
    /// The newer run's id.
    pub(crate) new: String,
    pub(crate) new_server: String,
}

impl ComparisonQuery {
    pub(super) fn of(query: &str) -> Self {
        let mut chosen = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let value = value.trim().to_owned();
            match name.as_ref() {
                "base" => chosen.base = value,
                "base-server" => chosen.base_server = value,
                "new" => chosen.new = value,
                "new-server" => chosen.new_server = value,
                _ => {}
            }
        }
        chosen
    }

    /// Whether there is something to compare.
    pub(super) fn is_complete(&self) -> bool {
        !self.base.is_empty() && !self.new.is_empty()
    }
}

fn form(catalog: &Catalog, chosen: &ComparisonQuery) -> Markup {
    let sides = [
        (
            "base",
            "Base run",
            "Base server",
            &chosen.base,
            &chosen.base_server,
        ),
        (
            "new",
            "New run",
            "New server",
            &chosen.new,
            &chosen.new_server,
        ),
    ];
    html! {
        style { (PreEscaped(FORM_STYLE)) }
        section id="any-two" {
            h2 { "Compare any two" }
            p class="lead" { "Two runs, or one server of each. Without a server, each server that both runs have is compared." }
            form method="get" action="/compare.html" class="any-two" {
                @for (name, run, server, chosen_run, chosen_server) in sides {
                    fieldset {
                        label for=(name) { (run) }
                        select id=(name) name=(name) required {
                            option value="" selected[chosen_run.is_empty()] { "choose a run" }
                            @for digest in catalog.runs.iter().rev() {
                                option value=(digest.run.id) selected[digest.run.id == *chosen_run] {
                                    (digest.time()) " · " (digest.run.suite) " · " (digest.run.id)
                                }
                            }
                        }
                        label for={ (name) "-server" } { (server) }
                        input id={ (name) "-server" } name={ (name) "-server" } value=(chosen_server) list="servers"
                            placeholder="all" autocomplete="off";
                    }
                }
                datalist id="servers" { @for id in catalog.servers().keys() { option value=(id) {} } }
                button type="submit" { "Compare" }
            }
        }
    }
}

const FORM_STYLE: &str = ".any-two fieldset{display:flex;flex-wrap:wrap;gap:6px 12px;align-items:center;border:0;margin:0 0 10px;padding:0}\
.any-two label{min-width:7em;color:var(--soft)}\
.any-two select,.any-two input,.any-two button{font:inherit;color:var(--ink);background:var(--card);border:1px solid var(--soft);\
border-radius:6px;padding:5px 9px;max-width:100%;min-width:0}\
.any-two button{cursor:pointer}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_chooses_two_sides() {
        let chosen = ComparisonQuery::of("base=a&new=b%2Fc&new-server=go+x&other=1");
        let ComparisonQuery {
            base,
            base_server,
            new,
            new_server,
            ..
        } = &chosen;
        assert_eq!(
            [base, base_server, new, new_server],
            ["a", "", "b/c", "go x"]
        );
        assert!(chosen.is_complete() && !ComparisonQuery::of("base=a").is_complete());
    }

    #[test]
    fn what_is_added_goes_to_its_place() {
        let page = "<html><head></head><body><main class=\"x\"><p>a</p></main></body></html>";
        let live = following(page, "1-2", true);
        assert!(live.contains("const made=\"1-2\"") && live.contains("</noscript></head>"));
        assert!(live.ends_with("</script></body></html>"));
        assert!(!following(page, "1", false).contains("refresh"));
        let formed = with_form(page, &Catalog::default(), &ComparisonQuery::default());
        assert!(formed.contains("<main class=\"x\"><style>"), "{formed}");
    }
}
