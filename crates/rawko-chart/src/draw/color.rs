//! An author's colour in a spelling that every format supports, and a readable text colour.

/// Normalises to a colour that every format supports: `#rgb`, `#rrggbb` or a plain name; anything else is ignored.
pub(crate) fn color(text: &str) -> Option<String> {
    let text = text.trim();
    if let Some(hex) = text.strip_prefix('#') {
        let full = match hex.len() {
            3 => hex.chars().flat_map(|c| [c, c]).collect::<String>(),
            6 => hex.to_owned(),
            _ => return None,
        };
        return full
            .chars()
            .all(|c| c.is_ascii_hexdigit())
            .then(|| format!("#{}", full.to_ascii_lowercase()));
    }
    named_color(&text.to_ascii_lowercase()).map(str::to_owned)
}

/// Common colour names; the tools disagree about the longer lists, so each is converted to its number.
fn named_color(name: &str) -> Option<&'static str> {
    const NAMES: &[(&str, &str)] = &[
        ("black", "#000000"),
        ("blue", "#0000ff"),
        ("brown", "#a52a2a"),
        ("coral", "#ff7f50"),
        ("crimson", "#dc143c"),
        ("cyan", "#00ffff"),
        ("gold", "#ffd700"),
        ("gray", "#808080"),
        ("green", "#008000"),
        ("grey", "#808080"),
        ("indigo", "#4b0082"),
        ("lightblue", "#add8e6"),
        ("lightgray", "#d3d3d3"),
        ("lightgreen", "#90ee90"),
        ("lightgrey", "#d3d3d3"),
        ("lime", "#00ff00"),
        ("magenta", "#ff00ff"),
        ("maroon", "#800000"),
        ("navy", "#000080"),
        ("olive", "#808000"),
        ("orange", "#ffa500"),
        ("orchid", "#da70d6"),
        ("pink", "#ffc0cb"),
        ("plum", "#dda0dd"),
        ("purple", "#800080"),
        ("red", "#ff0000"),
        ("salmon", "#fa8072"),
        ("silver", "#c0c0c0"),
        ("skyblue", "#87ceeb"),
        ("steelblue", "#4682b4"),
        ("tan", "#d2b48c"),
        ("teal", "#008080"),
        ("tomato", "#ff6347"),
        ("turquoise", "#40e0d0"),
        ("violet", "#ee82ee"),
        ("white", "#ffffff"),
        ("yellow", "#ffff00"),
    ];
    NAMES.iter().find(|(n, _)| *n == name).map(|(_, hex)| *hex)
}

/// Returns black or white, whichever has more contrast on `#rrggbb` (relative luminance as defined by WCAG).
pub(crate) fn readable_on(color: &str) -> &'static str {
    if luminance(color) > 0.3 { "#000000" } else { "#ffffff" }
}

fn luminance(color: &str) -> f64 {
    let channel = |at: usize| {
        let part = color.get(at..at + 2).and_then(|h| u8::from_str_radix(h, 16).ok()).unwrap_or(0);
        let share = f64::from(part) / 255.0;
        if share <= 0.040_45 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
}
