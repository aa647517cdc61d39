//! `cargo xtask sdks`: writes the types and operations of the SDKs from `docs/reference/openapi.json`. A generator of our
//! own, because the document uses little of OpenAPI and the SDKs need no toolchain this way.

mod document;
mod python;
mod typescript;

use std::fs;

use anyhow::{Context, Result};
use serde_json::Value as Json;

use crate::run::root;

const DOCUMENT: &str = "docs/reference/openapi.json";

/// Writes every generated file.
pub(crate) fn main() -> Result<()> {
    for (path, text) in generated()? {
        fs::write(root().join(path), text).with_context(|| format!("cannot write {path}"))?;
    }
    Ok(())
}

/// Returns the generated files: path and text.
fn generated() -> Result<Vec<(&'static str, String)>> {
    let text =
        fs::read_to_string(root().join(DOCUMENT)).with_context(|| format!("cannot read {DOCUMENT}"))?;
    let document: Json = serde_json::from_str(&text)?;
    let api =
        document::read(&document).context("the document uses OpenAPI in a way that is not known here")?;
    Ok(vec![
        ("sdks/python/src/rawko_sdk/types.py", python::types(&api)),
        ("sdks/python/src/rawko_sdk/api.py", python::operations(&api)),
        ("sdks/typescript/src/types.d.ts", typescript::types(&api)),
    ])
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::generated;
    use crate::run::root;

    #[test]
    fn the_types_of_the_sdks_are_those_of_the_api() {
        for (path, text) in generated().unwrap() {
            let there = fs::read_to_string(root().join(path)).unwrap_or_default();
            assert!(there == text, "{path} is out of date: run `cargo xtask sdks`");
        }
    }
}
