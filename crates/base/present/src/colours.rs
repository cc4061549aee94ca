//! The colours of pages and charts, by name.

/// Each colour's name, its value on a light background and on a dark one. Every text colour has a contrast of at least 4.5:1
/// on each background that it is used on.
const COLOURS: [(&str, &str, &str); 22] = [
    ("ground", "#f6f7f9", "#11151a"),
    ("card", "#ffffff", "#191f26"),
    ("ink", "#1c2430", "#e3e8ee"),
    ("soft", "#566170", "#a3aebb"),
    ("line", "#e2e6eb", "#2c353f"),
    ("faint", "#eef1f4", "#222a33"),
    ("accent", "#0f766e", "#3fc2b2"),
    ("accent-soft", "#cfe4e2", "#21423f"),
    ("warn", "#8a5000", "#e9b35c"),
    ("warn-soft", "#fdf0d9", "#3a2e17"),
    ("bad", "#a32a2a", "#f08a84"),
    ("bad-soft", "#fbe5e4", "#3d2122"),
    ("limit", "#a84b05", "#f0a04b"),
    ("grey", "#8793a1", "#74808d"),
    ("span", "#c5d0d8", "#3b4753"),
    ("p90", "#2f8fa3", "#5cb6ce"),
    ("p99", "#c77d0a", "#edb04a"),
    ("p999", "#b93a3a", "#ef7d75"),
    // Servers side by side: told apart with every kind of colour blindness, together with their dashes.
    ("line-1", "#0b4f9c", "#4f9df0"),
    ("line-2", "#d55e00", "#f2994a"),
    ("line-3", "#00916a", "#58dcb4"),
    ("line-4", "#b0489a", "#f0a8e2"),
];

/// The colours as CSS variables: light or dark like the reader's system or as the reader chose, and
/// light in print.
pub(crate) fn variables() -> String {
    let colours =
        |of: fn(&(&str, &str, &str)) -> String| COLOURS.iter().map(of).collect::<String>();
    let light = colours(|(name, light, _)| format!("--{name}:{light};"));
    let dark = colours(|(name, _, dark)| format!("--{name}:{dark};"));
    format!(
        ":root{{color-scheme:light dark;{light}}}\n:root[data-theme=light]{{color-scheme:light}}\n\
         @media screen and (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\n\
         @media screen{{:root[data-theme=dark]{{color-scheme:dark;{dark}}}}}\n"
    )
}

/// A style sheet for a file of its own, without variables: light, and on a dark screen dark.
pub(crate) fn standalone(style: &str) -> String {
    let in_colours = |style: &str, of: fn(&(&str, &'static str, &'static str)) -> &'static str| {
        COLOURS.iter().fold(style.to_owned(), |style, colour| {
            style.replace(&format!("var(--{})", colour.0), of(colour))
        })
    };
    let light = in_colours(style, |colour| colour.1);
    let coloured = style.lines().filter(|rule| rule.contains("var(--"));
    let dark = in_colours(&coloured.collect::<String>(), |colour| colour.2);
    format!("{light}@media screen and (prefers-color-scheme:dark){{{dark}}}\n")
}
