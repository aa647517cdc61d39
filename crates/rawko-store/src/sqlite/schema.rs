//! The format of the file: its scripts in order, and the migration of older files.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::fault::fault;
use super::{seals, upgrade};
use crate::StoreError;

/// `rawk`, as the first script writes it.
const APPLICATION_ID: i64 = 0x7261_776b;

/// The upgrade from format `n` to `n + 1`: a script, and a function for the parts that SQL cannot do.
type Upgrade = (&'static str, fn(&Connection) -> rusqlite::Result<()>);

const UPGRADES: [Upgrade; 8] = [
    (include_str!("v1.sql"), |_| Ok(())),
    (include_str!("v2.sql"), |_| Ok(())),
    (include_str!("v3.sql"), |_| Ok(())),
    (include_str!("v4.sql"), upgrade::add_chains),
    (include_str!("v5.sql"), upgrade::add_ends),
    (include_str!("v6.sql"), |_| Ok(())),
    (include_str!("v7.sql"), seals::add),
    (include_str!("v8.sql"), upgrade::add_counts),
];

/// The format that this version writes.
pub(super) const FORMAT: u32 = UPGRADES.len() as u32;

/// The first format with an owner.
pub(super) const OWNER_SINCE: u32 = 4;

/// Returns the format of a file; fails if it is not a store, or of a newer rawko.
pub(super) fn refuse_foreign(connection: &Connection, place: &Path) -> Result<u32, StoreError> {
    format_of(connection, place, FORMAT)
}

/// Migrates a file to the newest format; an empty file becomes a store.
pub(super) fn migrate(connection: &mut Connection, place: &Path) -> Result<(), StoreError> {
    migrate_by(&UPGRADES, connection, place)
}

/// Fails unless a file can be read without migration.
pub(super) fn check(connection: &Connection, place: &Path) -> Result<(), StoreError> {
    let found = format_of(connection, place, FORMAT)?;
    if found == FORMAT {
        return Ok(());
    }
    let shown = place.display();
    Err(StoreError::Io(match found {
        0 => format!("{shown} is not a store yet"),
        _ => format!("{shown} has format {found}; start a host on it once to upgrade it to {FORMAT}"),
    }))
}

fn migrate_by(upgrades: &[Upgrade], connection: &mut Connection, place: &Path) -> Result<(), StoreError> {
    let known = upgrades.len() as u32;
    if format_of(connection, place, known)? >= known {
        return Ok(());
    }
    // All steps in one transaction: a kill leaves the old format, never one in between that only a host can open.
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(|error| fault(place, &error))?;
    // Checked again under the lock, because another process may have migrated it.
    let format = format_of(&transaction, place, known)?;
    for (number, (script, fill)) in upgrades.iter().enumerate().skip(format as usize) {
        let with_version = format!("{script}\nPRAGMA user_version = {};", number + 1);
        let upgraded = transaction.execute_batch(&with_version).and_then(|()| fill(&transaction));
        upgraded.map_err(|error| fault(place, &error))?;
    }
    transaction.commit().map_err(|error| fault(place, &error))
}

/// Returns the format of a file, 0 for an empty one; fails if it belongs to another program or is too new.
fn format_of(connection: &Connection, place: &Path, known: u32) -> Result<u32, StoreError> {
    let number = |sql: &str| {
        connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map_err(|error| fault(place, &error))
    };
    let found = u32::try_from(number("PRAGMA user_version")?).unwrap_or(u32::MAX);
    let application = number("PRAGMA application_id")?;
    let is_empty = number("SELECT count(*) FROM sqlite_schema")? == 0;
    if application != APPLICATION_ID && !is_empty {
        return Err(StoreError::Damaged(format!("{} is a database but not a rawko store", place.display())));
    }
    if found > known {
        return Err(StoreError::Format { place: place.display().to_string(), found, known });
    }
    Ok(if is_empty { 0 } else { found })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(script: &'static str) -> Upgrade {
        (script, |_| Ok(()))
    }

    fn tables(connection: &Connection) -> Vec<String> {
        let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'later%' ORDER BY name";
        let mut statement = connection.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn every_older_format_is_brought_to_the_newest_script_by_script() {
        let scripts = [UPGRADES[0], plain("CREATE TABLE later_a (x);"), plain("CREATE TABLE later_b (x);")];
        for from in 0..=scripts.len() {
            let mut connection = Connection::open_in_memory().unwrap();
            migrate_by(&scripts[..from], &mut connection, Path::new("test")).unwrap();
            migrate_by(&scripts, &mut connection, Path::new("test")).unwrap();
            assert_eq!(tables(&connection), ["later_a", "later_b"], "from format {from}");
            assert_eq!(format_of(&connection, Path::new("test"), 3), Ok(3));
        }
    }

    #[test]
    fn a_script_that_fails_leaves_the_older_format() {
        let scripts = [UPGRADES[0], plain("CREATE TABLE later_a (x); CREATE TABLE charts (x);")];
        let mut connection = Connection::open_in_memory().unwrap();
        assert!(migrate_by(&scripts, &mut connection, Path::new("test")).is_err());
        assert_eq!(tables(&connection), [] as [&str; 0]);
        assert_eq!(format_of(&connection, Path::new("test"), 3), Ok(0));
    }
}
