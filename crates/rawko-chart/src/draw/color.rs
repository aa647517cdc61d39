//! What a format needs to know about an author's colour: whether black or white is readable on it.

/// Black or white, whichever stands out on `#rrggbb` (relative luminance as the WCAG define it).
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
