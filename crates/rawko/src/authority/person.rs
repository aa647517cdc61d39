//! The name that a credential proves: that of the operating system's user. Variables such as USER are only claims.

use std::fs;

/// Returns the name of the user of this process from the user database, or its number.
pub(super) fn user_name() -> String {
    let uid = rustix::process::geteuid().as_raw();
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    name_of(uid, &users).unwrap_or_else(|| format!("user-{uid}"))
}

fn name_of(uid: u32, users: &str) -> Option<String> {
    let entry = |line: &str| {
        let mut fields = line.split(':');
        let (name, _, number) = (fields.next()?, fields.next()?, fields.next()?);
        (number.parse() == Ok(uid) && !name.is_empty()).then(|| name.to_owned())
    };
    users.lines().find_map(entry)
}

#[cfg(test)]
mod tests {
    use super::name_of;

    #[test]
    fn names_of_users() {
        let users =
            "root:x:0:0:root:/root:/bin/sh\n# a comment\nada:x:1000:1000::/homes/ada:/bin/sh\n:x:7:7:::\n";
        for (uid, name) in [(0, Some("root")), (1000, Some("ada")), (7, None), (1001, None)] {
            assert_eq!(name_of(uid, users).as_deref(), name, "{uid}");
        }
    }
}
