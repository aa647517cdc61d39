//! Tables with aligned columns. Widths fit the content; the last column is not padded.

use rawko_chart::printable;

use crate::console::{Console, TextStyle};
use crate::failure::CommandFailure;
use crate::live_area::{fitted, width};

/// Rows under a heading.
pub(crate) struct ConsoleTable {
    heading: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

/// A text and its style.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    style: TextStyle,
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>) -> Cell {
        Cell::painted(text, TextStyle::Plain)
    }

    pub(crate) fn painted(text: impl Into<String>, style: TextStyle) -> Cell {
        Cell { text: printable(&text.into()).replace('\n', " "), style }
    }
}

impl ConsoleTable {
    pub(crate) fn new(heading: &[&'static str]) -> ConsoleTable {
        ConsoleTable { heading: heading.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn add(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    /// Cuts a column so that the rows fit, and drops columns from the end if that is not enough.
    pub(crate) fn fitted_to(mut self, columns: usize, flexible: usize) -> ConsoleTable {
        const FLEXIBLE_MIN: usize = 8;
        loop {
            let widths = self.widths();
            let others: usize =
                widths.iter().enumerate().filter(|(at, _)| *at != flexible).map(|(_, width)| width + 2).sum();
            let room = columns.saturating_sub(others);
            if room >= FLEXIBLE_MIN.min(widths.get(flexible).copied().unwrap_or(0))
                || self.heading.len() <= flexible + 2
            {
                for row in &mut self.rows {
                    if let Some(cell) = row.get_mut(flexible) {
                        cell.text = fitted(&cell.text, room.max(FLEXIBLE_MIN));
                    }
                }
                return self;
            }
            self.heading.pop();
            let count = self.heading.len();
            self.rows.iter_mut().for_each(|row| row.truncate(count));
        }
    }

    fn widths(&self) -> Vec<usize> {
        let cell = |column: usize| {
            let cells = self.rows.iter().filter_map(move |row| row.get(column));
            let heading = self.heading.get(column).map_or(0, |text| text.len());
            cells.map(|cell| width(&cell.text)).max().unwrap_or(0).max(heading)
        };
        (0..self.heading.len()).map(cell).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn print(&self, console: &mut Console) -> Result<(), CommandFailure> {
        self.lines(console).iter().try_for_each(|line| console.line(line))
    }

    /// Returns the heading and the rows as lines.
    pub(crate) fn lines(&self, console: &Console) -> Vec<String> {
        let heading: Vec<Cell> =
            self.heading.iter().map(|text| Cell::painted(*text, TextStyle::Dim)).collect();
        let widths = self.widths();
        let rows = std::iter::once(&heading).chain(&self.rows);
        rows.map(|row| line(row, &widths, console).trim_end().to_owned()).collect()
    }
}

fn line(row: &[Cell], widths: &[usize], console: &Console) -> String {
    let last = row.len().saturating_sub(1);
    let mut line = String::new();
    for (column, (cell, wide)) in row.iter().zip(widths).enumerate() {
        line += &console.paint(cell.style, &cell.text);
        if column < last {
            line += &" ".repeat(wide.saturating_sub(width(&cell.text)) + 2);
        }
    }
    line
}
