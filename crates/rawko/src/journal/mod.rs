//! The journal as the terminal shows it. What is shown is `rawko_view::journal`'s business; how it looks is here.

pub(crate) mod text;

pub(crate) use rawko_view::journal::*;
