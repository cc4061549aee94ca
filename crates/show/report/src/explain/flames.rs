//! Flame graphs inside a page.

use prony_present::page::{Block, Embedded};

/// The flame graphs of one server with one workload, as SVG. Their scripts run only inside their own frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlameGraphs {
    /// Where its CPU time goes.
    pub on_cpu: Option<String>,
    /// Where its threads wait.
    pub off_cpu: Option<String>,
}

/// How a flame graph is used.
pub(super) const HOW_TO: &str = "Flame graphs: a box is a function, as wide as its share of the time, and the functions that it calls are above it. Open \
     one, click a box to zoom in, and type into its field to search for functions by name or pattern. That needs scripts.";

impl FlameGraphs {
    /// The graphs that there are, folded away.
    pub fn blocks(&self, of: &str) -> Vec<Block> {
        let graphs = [
            (&self.on_cpu, "Flame graph of CPU time"),
            (&self.off_cpu, "Flame graph of waiting (off the CPU)"),
        ];
        let drawn = graphs
            .into_iter()
            .filter_map(|(svg, title)| Some((svg.as_deref()?, title)));
        drawn
            .map(|(svg, title)| embedded(&format!("{title}: {of}"), svg))
            .collect()
    }
}

/// How a frame looks, and what lets its reader search: flame graphs use a dialog, which a frame may not open.
const STYLE: &str = include_str!("flames/style.css");
const SEARCH: &str = include_str!("flames/search.js");

/// A flame graph in a frame of its own.
pub(super) fn embedded(title: &str, svg: &str) -> Block {
    let svg = element(svg);
    Block::Embedded(Embedded {
        title: title.to_owned(),
        document: format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
             <title>Flame graph</title>\n<style>\n{STYLE}</style>\n\
             <label>Search <input id=\"find\" type=\"search\" placeholder=\"function or pattern\"></label>\n\
             {svg}\n<script>\n{SEARCH}</script>\n</html>\n"
        ),
    })
}

/// The SVG from its first element on: HTML has no place for an XML declaration or a document type.
fn element(svg: &str) -> &str {
    svg.find("<svg").map_or(svg, |begin| &svg[begin..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_cannot_end_its_own_element_and_loads_nothing() {
        for never in ["</", "fetch(", "import(", "http:", "https:"] {
            assert!(!SEARCH.contains(never) && !STYLE.contains(never), "{never}");
        }
    }

    #[test]
    fn only_graphs_that_there_are_have_a_frame() {
        let graphs = FlameGraphs {
            on_cpu: Some("<?xml version=\"1.0\"?><!DOCTYPE svg><svg id=\"a\"/>".into()),
            off_cpu: None,
        };
        let blocks = graphs.blocks("go");
        let [Block::Embedded(one)] = blocks.as_slice() else {
            panic!("{blocks:?}");
        };
        assert_eq!(one.title, "Flame graph of CPU time: go");
        let inner = "</label>\n<svg id=\"a\"/>\n<script>";
        assert!(one.document.contains(inner), "{}", one.document);
        assert!(!one.document.contains("<?xml"));
        assert!(FlameGraphs::default().blocks("go").is_empty());
    }
}
