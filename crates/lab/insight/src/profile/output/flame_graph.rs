//! Flame graphs as SVG: a file of its own, or in an `iframe`.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use inferno::flamegraph::color::{BackgroundColor, Color, PaletteMap};
use inferno::flamegraph::{self, Direction, Options, TextTruncateDirection};
use prony_model::{Frame, FrameKind, Profile};

use super::folded::{annotated, folded_stack, folded_stacks, is_in_samples};
use super::normal::same_in_every_build;
use super::seconds_per_unit;

#[derive(Debug, thiserror::Error)]
pub enum FlameGraphError {
    #[error("the profile has no samples")]
    Empty,
    #[error("the flame graph could not be drawn: {0}")]
    Drawing(#[from] io::Error),
}

/// A flame graph that a browser can search and zoom. Its colours tell the kernel, compiled code and code of a runtime
/// apart. The same profile always gives the same graph.
///
/// # Errors
/// If the profile has no samples.
pub fn flame_graph(
    profile: &Profile,
    title: &str,
    subtitle: &str,
) -> Result<String, FlameGraphError> {
    let stacks = folded_stacks(profile, |frame| annotated(&frame.name, frame.kind));
    let lines = stacks
        .iter()
        .map(|(stack, weight)| format!("{stack} {weight}"));
    let mut palette = palette(profile);
    let mut options = options(title);
    options.subtitle = Some(with_legend(subtitle, profile));
    options.count_name = if is_in_samples(profile) {
        "samples".into()
    } else {
        "µs".into()
    };
    options.palette_map = Some(&mut palette);
    draw(options, lines.collect())
}

/// A flame graph of the second profile, in nanoseconds for each request (or event, as `unit` says), coloured by the
/// change since the first: red for functions that take more, blue for those that take less. Functions that are only in
/// the first have no width; [`functions_changed`](super::functions_changed) lists them too.
///
/// # Errors
/// If the second profile has no samples.
pub fn flame_graph_of_difference(
    before: &Profile,
    after: &Profile,
    title: &str,
    unit: &str,
) -> Result<String, FlameGraphError> {
    let mut stacks: BTreeMap<String, [f64; 2]> = BTreeMap::new();
    for (side, profile) in [before, after].into_iter().enumerate() {
        let name = |frame: &Frame| annotated(&same_in_every_build(&frame.name), frame.kind);
        for stack in &profile.stacks {
            let seconds = seconds_per_unit(profile, stack.weight);
            let weights = stacks
                .entry(folded_stack(profile, stack, &name))
                .or_default();
            weights[side] += seconds * 1e9;
        }
    }
    let lines = stacks.iter().map(|(stack, [before, after])| {
        format!("{stack} {} {}", before.round() as u64, after.round() as u64)
    });
    let lines = lines.collect();
    let per_unit = |profile| seconds_per_unit(profile, profile.total()) * 1e6;
    let mut options = options(title);
    options.count_name = format!("ns per {unit}");
    options.subtitle = Some(format!(
        "{:.2} → {:.2} µs per {unit} · red: more than before, blue: less",
        per_unit(before),
        per_unit(after)
    ));
    draw(options, lines)
}

fn options(title: &str) -> Options<'static> {
    let mut options = Options::default();
    options.title = title.to_owned();
    // Pages may be light or dark; the graph brings its own background.
    options.bgcolors = Some(BackgroundColor::Flat(Color {
        r: 250,
        g: 250,
        b: 250,
    }));
    options.deterministic = true;
    // The widest frames come first, whatever the depth of the deepest stack.
    options.direction = Direction::Inverted;
    options.text_truncate_direction = TextTruncateDirection::Right;
    options
}

fn draw(mut options: Options<'_>, lines: Vec<String>) -> Result<String, FlameGraphError> {
    let has_weight = |line: &String| line.rsplit(' ').next().is_some_and(|last| last != "0");
    if !lines.iter().any(has_weight) {
        return Err(FlameGraphError::Empty);
    }
    let mut svg = Vec::new();
    flamegraph::from_lines(&mut options, lines.iter().map(String::as_str), &mut svg)?;
    Ok(adapted(&String::from_utf8_lossy(&svg)))
}

/// As wide as the page also within HTML, where an `svg` without a width is 300 pixels wide; and the word that starts a
/// search can be read.
fn adapted(svg: &str) -> String {
    svg.replacen(
        "<svg version=\"1.1\"",
        "<svg version=\"1.1\" style=\"display:block;width:100%\"",
        1,
    )
    .replacen("opacity:0.1;", "opacity:0.7;", 1)
}

/// What the colours mean, for the kinds that the profile has.
fn with_legend(subtitle: &str, profile: &Profile) -> String {
    let kinds: BTreeSet<&str> = profile.frames.iter().map(|frame| hue(frame).1).collect();
    let legend: Vec<&str> = kinds.into_iter().collect();
    match subtitle {
        "" => legend.join(", "),
        subtitle => format!("{subtitle} · {}", legend.join(", ")),
    }
}

/// A colour for each function: its kind gives the hue, its name the shade.
fn palette(profile: &Profile) -> PaletteMap {
    let mut palette = PaletteMap::default();
    for frame in &profile.frames {
        let name = annotated(&frame.name, frame.kind);
        palette.insert(name, colour(frame));
    }
    palette.insert("all", GREY);
    palette.insert("", GREY);
    palette
}

const GREY: Color = Color {
    r: 205,
    g: 205,
    b: 205,
};

/// The darkest shade of a kind, by which the text on it is still easy to read, and what the legend calls it.
fn hue(frame: &Frame) -> (Color, &'static str) {
    let colour = |r, g, b| Color { r, g, b };
    match frame.kind {
        _ if frame.name.ends_with("[unknown]") => (GREY, "grey: no name"),
        FrameKind::Kernel => (colour(130, 175, 225), "blue: kernel"),
        FrameKind::Native => (colour(235, 165, 95), "orange: compiled"),
        FrameKind::Runtime => (colour(130, 195, 120), "green: JavaScript, Java, Python, …"),
    }
}

/// Neighbours in a graph seldom have the same shade, and a function always has the same.
fn colour(frame: &Frame) -> Color {
    let (darkest, _) = hue(frame);
    let hash = fnv(&same_in_every_build(&frame.name));
    let lighter = |channel: u8| {
        let room = f64::from(255 - channel) * 0.55;
        let share = f64::from(hash % 101) / 100.0;
        channel + (room * share) as u8
    };
    Color {
        r: lighter(darkest.r),
        g: lighter(darkest.g),
        b: lighter(darkest.b),
    }
}

/// FNV-1a, which is the same everywhere.
fn fnv(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::profile;
    use super::*;

    fn titles(svg: &str) -> Vec<String> {
        let options = roxmltree::ParsingOptions {
            allow_dtd: true,
            ..roxmltree::ParsingOptions::default()
        };
        let document = roxmltree::Document::parse_with_options(svg, options).unwrap();
        let titles = document
            .descendants()
            .filter(|node| node.has_tag_name("title"));
        titles
            .filter_map(|node| node.text().map(str::to_owned))
            .collect()
    }

    #[test]
    fn names_are_escaped_and_the_graph_is_always_the_same() {
        let profile = profile(&[
            (
                &["main", "Vec<u8>::push(&mut self, \"x\")</svg><script>"],
                3.0,
            ),
            (&["main", "k:do_syscall_64"], 1.0),
            (&["main", "j:handle"], 1.0),
        ]);
        let draw = || flame_graph(&profile, "a <b> & c", "1.2 µs per request").unwrap();
        let svg = draw();
        assert_eq!(svg, draw());
        let titles = titles(&svg);
        for title in [
            "Vec<u8>::push(&mut self, \"x\")</svg><script> (3 samples, 60.00%)",
            "do_syscall_64 (1 samples, 20.00%)",
        ] {
            assert!(titles.iter().any(|found| found == title), "{titles:?}");
        }
        assert!(svg.contains("1.2 µs per request · blue: kernel, green: "));
        // What `adapted` replaces is still there to be replaced.
        assert!(svg.contains("width:100%") && svg.contains("opacity:0.7;"));
    }

    #[test]
    fn kinds_have_colours_of_their_own() {
        let profile = profile(&[(&["main", "k:read", "j:f", "x [unknown]"], 1.0)]);
        let colours: Vec<Color> = profile.frames.iter().map(colour).collect();
        let [native, kernel, runtime, unknown] = colours[..] else {
            panic!("{colours:?}");
        };
        assert!(native.r > native.g && native.g > native.b);
        assert!(kernel.b > kernel.r);
        assert!(runtime.g > runtime.r && runtime.g > runtime.b);
        assert!(unknown.r == unknown.g && unknown.g == unknown.b);
    }

    #[test]
    fn differences_are_by_request() {
        let mut before = profile(&[(&["main", "work"], 10.0)]);
        let mut after = profile(&[(&["main", "work"], 10.0), (&["main", "more"], 10.0)]);
        (before.seconds, before.units) = (1.0, 1000.0);
        (after.seconds, after.units) = (2.0, 1000.0);
        let svg = flame_graph_of_difference(&before, &after, "t", "request").unwrap();
        let titles = titles(&svg);
        for title in [
            "work (1,000,000 ns per request, 50.00%; 0.00%)",
            "more (1,000,000 ns per request, 50.00%; +50.00%)",
        ] {
            assert!(titles.iter().any(|found| found == title), "{titles:?}");
        }
        assert!(svg.contains("1000.00 → 2000.00 µs per request"));
    }

    #[test]
    fn nothing_gives_no_graph() {
        let empty = profile(&[]);
        let error = flame_graph(&empty, "", "").unwrap_err();
        assert!(matches!(error, FlameGraphError::Empty));
        let some = profile(&[(&["main"], 1.0)]);
        assert!(flame_graph_of_difference(&some, &empty, "", "request").is_err());
    }
}
