//! Tables with aligned columns. Widths fit the content; the last column is not padded.

use rawko_chart::printable;

use crate::console::{Console, Style};
use crate::failure::Failure;

/// Rows under a heading.
pub(crate) struct Table {
    heading: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

/// A text and its style.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>) -> Cell {
        Cell::painted(text, Style::Plain)
    }

    pub(crate) fn painted(text: impl Into<String>, style: Style) -> Cell {
        Cell { text: printable(&text.into()).replace('\n', " "), style }
    }
}

impl Table {
    pub(crate) fn new(heading: &[&'static str]) -> Table {
        Table { heading: heading.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn add(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn print(&self, console: &mut Console) -> Result<(), Failure> {
        let heading: Vec<Cell> = self.heading.iter().map(|text| Cell::painted(*text, Style::Dim)).collect();
        let widths: Vec<usize> = (0..heading.len())
            .map(|column| {
                let cells = std::iter::once(&heading).chain(&self.rows).filter_map(|row| row.get(column));
                cells.map(|cell| cell.text.chars().count()).max().unwrap_or(0)
            })
            .collect();
        for row in std::iter::once(&heading).chain(&self.rows) {
            let line = line(row, &widths, console);
            console.line(line.trim_end())?;
        }
        Ok(())
    }
}

fn line(row: &[Cell], widths: &[usize], console: &Console) -> String {
    let last = row.len().saturating_sub(1);
    let mut line = String::new();
    for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
        line += &console.paint(cell.style, &cell.text);
        if column < last {
            line += &" ".repeat(width - cell.text.chars().count() + 2);
        }
    }
    line
}
