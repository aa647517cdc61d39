//! `cargo xtask dist`: builds the release binary and has `packaging/build.py` write every package around it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::run::{root, run};

const USAGE: &str = "\
cargo xtask dist [--binary FILE] [--out DIR] [--url URL]
  --binary FILE  package this program [default: a release build with all features]
  --out DIR      folder for the packages, replaced [default: target/dist]
  --url URL      address that will serve the tarball, for the Homebrew formula
example: cargo xtask dist --out dist";

/// Size limit of the published binary without symbols, in MB. It guards the size that it has; the goal is 30
/// (`docs/decisions/packages.md`).
const BINARY_MB_MAX: &str = "60";

/// Runs the command: the packages of one binary, with their checksums.
#[expect(clippy::print_stdout, reason = "this is a terminal program")]
pub(crate) fn main(arguments: &[String]) -> Result<()> {
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        println!("{USAGE}");
        return Ok(());
    }
    let options = Options::read(arguments)?;
    let is_release = options.binary.is_none();
    let binary = options.binary.map_or_else(release, Ok)?;
    let script = root().join("packaging/build.py");
    let mut command = vec![text(&script)?, "--binary", text(&binary)?, "--out", text(&options.out)?];
    if let Some(url) = &options.url {
        command.extend(["--url", url]);
    }
    if is_release {
        command.extend(["--most-mb", BINARY_MB_MAX]);
    }
    run("python3", &command, &[])?;
    // The SDKs hold no binary, so they are beside the packages that do.
    let (script, out) = (root().join("packaging/sdks.py"), options.out.join("sdks"));
    run("python3", &[text(&script)?, "--out", text(&out)?], &[])
}

#[derive(Debug, PartialEq)]
struct Options {
    binary: Option<PathBuf>,
    out: PathBuf,
    url: Option<String>,
}

impl Options {
    fn read(arguments: &[String]) -> Result<Self> {
        let mut options = Self { binary: None, out: target().join("dist"), url: None };
        let mut left = arguments.iter();
        while let Some(option) = left.next() {
            let value = left.next().with_context(|| format!("`{option}` needs a value\n{USAGE}"))?;
            match option.as_str() {
                "--binary" => options.binary = Some(std::path::absolute(value)?),
                "--out" => options.out = std::path::absolute(value)?,
                "--url" => options.url = Some(value.clone()),
                other => bail!("unknown option `{other}`\n{USAGE}"),
            }
        }
        Ok(options)
    }
}

/// Builds the binary that is published and returns its path.
fn release() -> Result<PathBuf> {
    run("cargo", &["build", "--release", "--locked", "-p", "rawko", "--features", "full"], &[])?;
    Ok(target().join("release/rawko"))
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))
}

#[cfg(test)]
mod tests {
    use super::Options;

    fn read(arguments: &[&str]) -> anyhow::Result<Options> {
        Options::read(&arguments.iter().map(|argument| (*argument).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read_and_unknown_ones_refused() {
        assert_eq!(read(&[]).unwrap().binary, None);
        let options = read(&["--binary", "/a/rawko", "--out", "/b", "--url", "https://c"]).unwrap();
        assert_eq!(options.binary.unwrap(), std::path::Path::new("/a/rawko"));
        assert_eq!(options.out, std::path::Path::new("/b"));
        assert_eq!(options.url.unwrap(), "https://c");
        assert!(read(&["--out"]).unwrap_err().to_string().starts_with("`--out` needs a value"));
        assert!(read(&["--fast", "x"]).unwrap_err().to_string().starts_with("unknown option `--fast`"));
    }
}
