//! Prints the journal to the terminal. `rawko_view::journal` selects the content; the layout is here.

pub(crate) mod text;

pub(crate) use rawko_view::journal::*;
