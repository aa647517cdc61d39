//! Formats sizes for people.

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;

/// Formats a size: `12 KiB`, `3 MiB`, `1.5 GiB`.
pub(crate) fn shown(bytes: u64) -> String {
    match bytes {
        0..MIB => format!("{} KiB", bytes.div_ceil(KIB)),
        MIB..GIB => format!("{} MiB", bytes / MIB),
        GIB.. => {
            let tenths = bytes / (GIB / 10);
            format!("{}.{} GiB", tenths / 10, tenths % 10)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_unit_that_fits() {
        let table = [
            (0, "0 KiB"),
            (1, "1 KiB"),
            (4096, "4 KiB"),
            (MIB - 1, "1024 KiB"),
            (MIB, "1 MiB"),
            (700 * MIB, "700 MiB"),
            (GIB, "1.0 GiB"),
            (3 * GIB / 2, "1.5 GiB"),
        ];
        for (bytes, expected) in table {
            assert_eq!(shown(bytes), expected);
        }
    }
}
