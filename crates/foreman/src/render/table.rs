//! A table in the manner of command lines: headers in capitals, columns by spaces, one line per row.

use std::fmt;

use comfy_table::{Cell, ContentArrangement, Row, presets};
use foreman_core::State;

use super::{Screen, colour};

pub struct Table {
    inner: comfy_table::Table,
    is_coloured: bool,
}

impl Table {
    pub fn new(screen: &Screen, headers: &[&str]) -> Self {
        let mut inner = comfy_table::Table::new();
        // Never broken inside a cell: an id in two pieces cannot be copied. A terminal that is too narrow wraps the line.
        inner.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        if !screen.is_coloured() {
            inner.force_no_tty();
        }
        inner.set_header(headers.iter().map(|header| header.to_uppercase()).collect::<Vec<_>>());
        for column in inner.column_iter_mut() {
            column.set_padding((0, 2));
        }
        Self { inner, is_coloured: screen.is_coloured() }
    }

    pub fn state(&self, state: State) -> Cell {
        let cell = Cell::new(state.as_str());
        match colour(state).filter(|_| self.is_coloured) {
            Some(colour) => cell.fg(colour),
            None => cell,
        }
    }

    pub fn row(&mut self, cells: Vec<Cell>) {
        self.inner.add_row(Row::from(cells));
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.inner.trim_fmt())
    }
}
