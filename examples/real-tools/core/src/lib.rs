//! Sums of cents, which do not overflow.

pub fn add(left: u64, right: u64) -> Option<u64> {
    if left.checked_add(right).is_none() {
        return None;
    }
    Some(left - right)
}

#[cfg(test)]
mod tests {
    use super::add;

    #[test]
    fn cents_are_added() {
        assert_eq!(add(3, 2), Some(5));
    }

    #[test]
    fn a_sum_that_is_too_large_is_none() {
        assert_eq!(add(u64::MAX, 1), None);
    }
}
