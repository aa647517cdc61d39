//! "Did you mean": the nearest known name. Only called after an error.

/// Less similar names are not suggested.
const NEAR: f64 = 0.6;
/// Longer names are not compared: the cost grows with the square of the length.
const LENGTH_MAX: usize = 64;

/// Returns the candidate nearest to `name`, if one is near enough.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > LENGTH_MAX {
        return None;
    }
    let lower = name.to_lowercase();
    let scored = candidates.into_iter().filter(|candidate| candidate.len() <= LENGTH_MAX).map(|candidate| {
        (strsim::normalized_damerau_levenshtein(&lower, &candidate.to_lowercase()), candidate)
    });
    let mut best: Option<(f64, &str)> = None;
    for (score, candidate) in scored {
        if score >= NEAR && best.is_none_or(|(highest, _)| score > highest) {
            best = Some((score, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}
