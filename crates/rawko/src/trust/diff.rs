//! A line diff of two texts, for a person who reviews a change. Small texts get a minimal diff; of large ones the common
//! beginning and end are left out.

/// Lines shown around a change.
const CONTEXT: usize = 2;
/// Larger products of line counts are not compared line by line.
const CELLS_MAX: usize = 1_000_000;

/// Returns the changed lines, each after `+` or `-`, with a little context after a space.
pub(super) fn lines(before: &str, after: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
    let (old_rest, new_rest) = (&old[same..], &new[same..]);
    let ending = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let (removed, added) = (&old_rest[..old_rest.len() - ending], &new_rest[..new_rest.len() - ending]);
    let mut all: Vec<String> =
        old[same.saturating_sub(CONTEXT)..same].iter().map(|line| format!(" {line}")).collect();
    all.extend(middle(removed, added));
    let end = &old_rest[old_rest.len() - ending..];
    all.extend(end.iter().take(CONTEXT).map(|line| format!(" {line}")));
    all
}

fn middle(old: &[&str], new: &[&str]) -> Vec<String> {
    let removed = |line: &&str| format!("-{line}");
    let added = |line: &&str| format!("+{line}");
    if old.len().saturating_mul(new.len()) > CELLS_MAX {
        return old.iter().map(removed).chain(new.iter().map(added)).collect();
    }
    // `common[i][j]` is the length of the longest common subsequence of `old[i..]` and `new[j..]`.
    let width = new.len() + 1;
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * width + j] = match old[i] == new[j] {
                true => common[(i + 1) * width + j + 1] + 1,
                false => common[(i + 1) * width + j].max(common[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j, mut all) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            all.push(format!(" {}", old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len()
            || (i < old.len() && common[(i + 1) * width + j] >= common[i * width + j + 1])
        {
            all.push(removed(&old[i]));
            i += 1;
        } else {
            all.push(added(&new[j]));
            j += 1;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::lines;

    #[test]
    fn a_diff_shows_what_changed() {
        for (before, after, expected) in [
            ("a\nb\nc\nd\ne", "a\nb\nX\nd\ne", " a| b|-c|+X| d| e"),
            ("", "a\nb", "+a|+b"),
            ("a\nb", "", "-a|-b"),
            ("a\nb\nc", "b\nc\nd", "-a| b| c|+d"),
            ("1\n2\n3\n4\n5\n6", "1\n2\n3\n4\n5\n7", " 4| 5|-6|+7"),
        ] {
            assert_eq!(lines(before, after).join("|"), expected);
        }
    }
}
