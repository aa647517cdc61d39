//! The page about the file documents every table and column.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use rusqlite::Connection;

const PAGE: &str = include_str!("../../../docs/formats/store.md");

/// Returns the part of the page about a table: from its name in bold to the next.
fn section(table: &str) -> &'static str {
    let (_, rest) =
        PAGE.split_once(&format!("\n**`{table}`**")).unwrap_or_else(|| panic!("no section on {table}"));
    rest.split("\n**`").next().unwrap()
}

#[test]
fn every_table_and_column_is_on_the_page() {
    let connection = Connection::open_in_memory().unwrap();
    let scripts = [
        include_str!("../src/sqlite/v1.sql"),
        include_str!("../src/sqlite/v2.sql"),
        include_str!("../src/sqlite/v3.sql"),
        include_str!("../src/sqlite/v4.sql"),
        include_str!("../src/sqlite/v5.sql"),
        include_str!("../src/sqlite/v6.sql"),
        include_str!("../src/sqlite/v7.sql"),
        include_str!("../src/sqlite/v8.sql"),
    ];
    scripts.iter().for_each(|script| connection.execute_batch(script).unwrap());
    let sql = "SELECT t.name, c.name FROM pragma_table_list t JOIN pragma_table_info(t.name) c
               WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'";
    let mut statement = connection.prepare(sql).unwrap();
    let columns: Vec<(String, String)> =
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect();
    assert!(columns.len() > 60, "{columns:?}");
    for (table, column) in columns {
        assert!(section(&table).contains(&format!("`{column}`")), "{table}.{column}");
    }
}
