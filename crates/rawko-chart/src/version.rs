//! Chart versions and version ranges, as far as a registry needs them.

/// Three numbers and an optional pre-release. Missing numbers are 0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChartVersion {
    numbers: [u64; 3],
    /// A release sorts after its pre-releases.
    release: bool,
    pre: String,
}

impl ChartVersion {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (text, _build) = text.split_once('+').unwrap_or((text, ""));
        let (core, pre) = text.split_once('-').map_or((text, None), |(core, pre)| (core, Some(pre)));
        let (numbers, _) = numbers(core)?;
        let fits = |word: &str| {
            !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c))
        };
        if pre.is_some_and(|pre| !fits(pre)) {
            return None;
        }
        Some(Self { numbers, release: pre.is_none(), pre: pre.unwrap_or_default().to_owned() })
    }
}

/// Parses up to three numbers with dots, and returns their count.
fn numbers(text: &str) -> Option<([u64; 3], usize)> {
    let mut out = [0; 3];
    let mut count = 0;
    for part in text.split('.') {
        if count == 3 || part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        out[count] = part.parse().ok()?;
        count += 1;
    }
    Some((out, count))
}

/// A version range: all comparisons must hold.
#[derive(Clone, Debug)]
pub(crate) struct VersionRange {
    bounds: Vec<Bound>,
}

#[derive(Clone, Debug)]
enum Bound {
    AtLeast(ChartVersion),
    Above(ChartVersion),
    AtMost(ChartVersion),
    Below(ChartVersion),
}

impl VersionRange {
    /// Parses ``, `*`, `latest`, `1.2.0`, `1.2`, `1.x`, `^1.2`, `~1.2`, `>=1.2 <3` (also with commas).
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut bounds = Vec::new();
        for part in text.split([' ', ',']).filter(|part| !part.is_empty()) {
            bounds.extend(bounds_of(part)?);
        }
        Some(Self { bounds })
    }

    pub(crate) fn contains(&self, version: &ChartVersion) -> bool {
        self.bounds.iter().all(|bound| match bound {
            Bound::AtLeast(least) => version >= least,
            Bound::Above(low) => version > low,
            Bound::AtMost(most) => version <= most,
            Bound::Below(high) => version < high,
        })
    }
}

fn bounds_of(part: &str) -> Option<Vec<Bound>> {
    if matches!(part, "*" | "x" | "latest") {
        return Some(Vec::new());
    }
    for (sign, bound) in [
        (">=", Bound::AtLeast as fn(ChartVersion) -> Bound),
        ("<=", Bound::AtMost),
        (">", Bound::Above),
        ("<", Bound::Below),
    ] {
        if let Some(rest) = part.strip_prefix(sign) {
            return Some(vec![bound(ChartVersion::parse(rest)?)]);
        }
    }
    if let Some(rest) = part.strip_prefix('^') {
        return between(rest, |numbers, count| {
            numbers.iter().take(count).position(|n| *n > 0).unwrap_or(count - 1)
        });
    }
    if let Some(rest) = part.strip_prefix('~') {
        return between(rest, |_, count| (count - 1).min(1));
    }
    let text = part.strip_prefix('=').unwrap_or(part);
    let short = text.trim_end_matches(".x").trim_end_matches(".*");
    if let Some((_, count @ 1..=2)) = numbers(short) {
        return between(short, |_, _| count - 1);
    }
    let exact = ChartVersion::parse(text)?;
    Some(vec![Bound::AtLeast(exact.clone()), Bound::AtMost(exact)])
}

/// Returns the range from the version to just below the next one at the position that `kept` returns.
fn between(text: &str, kept: impl Fn(&[u64; 3], usize) -> usize) -> Option<Vec<Bound>> {
    let low = ChartVersion::parse(text)?;
    let core = text.split(['-', '+']).next().unwrap_or(text);
    let (numbers, count) = numbers(core)?;
    let place = kept(&numbers, count);
    let mut next = [0; 3];
    next[..place].copy_from_slice(&numbers[..place]);
    next[place] = numbers[place] + 1;
    // Below its first pre-release, or `^1.2` would include `2.0.0-beta`.
    let high = ChartVersion { numbers: next, release: false, pre: String::new() };
    Some(vec![Bound::AtLeast(low), Bound::Below(high)])
}

#[cfg(test)]
mod tests {
    use super::{ChartVersion, VersionRange};

    #[test]
    fn ranges_hold_the_versions_they_say() {
        let table = [
            ("", "1.2.3", true),
            ("latest", "0.1.0", true),
            ("1.2.3", "1.2.3", true),
            ("1.2.3", "1.2.4", false),
            ("1.2", "1.2.9", true),
            ("1.2", "1.3.0", false),
            ("1", "1.9.0", true),
            ("1.x", "2.0.0", false),
            ("^1.2", "1.9.0", true),
            ("^1.2", "1.1.0", false),
            ("^1.2", "2.0.0-beta", false),
            ("^0.2.1", "0.2.9", true),
            ("^0.2.1", "0.3.0", false),
            ("^0.0.3", "0.0.4", false),
            ("~1.2", "1.2.7", true),
            ("~1.2", "1.3.0", false),
            ("~1", "1.7.0", true),
            (">=1.2 <3", "2.9.9", true),
            (">=1.2, <3", "3.0.0", false),
            (">1.2.0", "1.2.0", false),
            ("<=1.2.0", "1.2.0", true),
            ("1.2.0-rc.1", "1.2.0-rc.1", true),
        ];
        for (range, version, expected) in table {
            let (range_parsed, version_parsed) =
                (VersionRange::parse(range).unwrap(), ChartVersion::parse(version).unwrap());
            assert_eq!(range_parsed.contains(&version_parsed), expected, "{range} {version}");
        }
    }

    #[test]
    fn what_is_no_version_is_refused() {
        for text in ["", "one", "1..2", "1.2.3.4", "v1", "1.2.3-"] {
            assert!(ChartVersion::parse(text).is_none(), "{text}");
        }
        for text in ["^", "~x", ">=", "1.a"] {
            assert!(VersionRange::parse(text).is_none(), "{text}");
        }
    }
}
