//! The environment of child processes, by allow-list: a variable that is not listed here or named in settings for the
//! program does not reach it, secret or not.

use std::path::{Path, PathBuf};

use crate::egress::Egress;

/// Locale, user and tool chains. Nothing that is a secret, that injects code (`LD_PRELOAD`, `BASH_ENV`, `GIT_CONFIG_*`,
/// `NODE_OPTIONS`), or that points to a service of the host (`SSH_AUTH_SOCK`, `XDG_RUNTIME_DIR`, `DOCKER_HOST`).
const INHERITED: [&str; 38] = [
    "PATH",
    "LANG",
    "LANGUAGE",
    "TZ",
    "USER",
    "LOGNAME",
    "SHELL",
    "COLUMNS",
    "CI",
    "NO_COLOR",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_JOBS",
    "CARGO_INCREMENTAL",
    "CARGO_TERM_COLOR",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "RUST_BACKTRACE",
    "RUSTFLAGS",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "GOMODCACHE",
    "GOTOOLCHAIN",
    "NVM_DIR",
    "VOLTA_HOME",
    "FNM_DIR",
    "BUN_INSTALL",
    "DENO_DIR",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "UV_PYTHON_INSTALL_DIR",
    "JAVA_HOME",
    "SDKMAN_DIR",
    "RBENV_ROOT",
    "GEM_HOME",
    "DOTNET_ROOT",
];

/// Variables of the list above whose value is a directory that programs read.
const DIRECTORIES: [&str; 16] = [
    "RUSTUP_HOME",
    "GOROOT",
    "GOCACHE",
    "GOMODCACHE",
    "NVM_DIR",
    "VOLTA_HOME",
    "FNM_DIR",
    "BUN_INSTALL",
    "DENO_DIR",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "UV_PYTHON_INSTALL_DIR",
    "JAVA_HOME",
    "SDKMAN_DIR",
    "DOTNET_ROOT",
];

/// Returns true for a variable that every program inherits.
pub fn is_inherited(name: &str) -> bool {
    INHERITED.contains(&name) || name.starts_with("LC_")
}

/// Keeps the variables that every program inherits, and replaces those that describe where it runs.
pub(crate) fn inherited<'v>(
    variables: impl IntoIterator<Item = (&'v str, &'v str)>,
    home: &Path,
    temporary: &Path,
) -> Vec<(String, String)> {
    let kept = variables.into_iter().filter(|(name, _)| is_inherited(name));
    let mut kept: Vec<(String, String)> =
        kept.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    kept.extend(places(home, temporary));
    kept.push(("TERM".to_owned(), "dumb".to_owned()));
    kept
}

pub(crate) fn places(home: &Path, temporary: &Path) -> [(String, String); 2] {
    let text = |path: &Path| path.display().to_string();
    [("HOME".to_owned(), text(home)), ("TMPDIR".to_owned(), text(temporary))]
}

/// The directories that the variables name. Of cargo's and Go's not the whole one: they may hold a token, and sources.
pub(crate) fn directories(variables: &[(String, String)]) -> impl Iterator<Item = PathBuf> {
    let value =
        |name: &str| variables.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str());
    let named = DIRECTORIES.into_iter().filter_map(move |name| Some(Path::new(value(name)?)));
    let path = variables.iter().find(|(name, _)| name == "PATH").map_or("", |(_, value)| value.as_str());
    let cargo = value("CARGO_HOME").map(Path::new).into_iter();
    let cargo = cargo.flat_map(|home| ["bin", "registry", "git"].map(|name| home.join(name)));
    let go = value("GOPATH").unwrap_or_default().split(':').map(Path::new);
    let go = go.flat_map(|path| ["bin", "pkg"].map(|name| path.join(name)));
    let named = named.chain(path.split(':').map(Path::new)).map(Path::to_owned);
    named.chain(cargo).chain(go).filter(|path| path.is_absolute())
}

/// Places for what checkers write beside their answer, where the project cannot be written.
pub(crate) fn read_only(temporary: &Path) -> Vec<(String, String)> {
    let below = |name: &str| temporary.join(name).display().to_string();
    [
        ("CARGO_TARGET_DIR", below("cargo-target")),
        ("GOCACHE", below("go-cache")),
        ("GOFLAGS", "-buildvcs=false".to_owned()),
        ("MYPY_CACHE_DIR", below("mypy-cache")),
        ("PYTEST_ADDOPTS", "-p no:cacheprovider".to_owned()),
        ("PYTHONDONTWRITEBYTECODE", "1".to_owned()),
        ("RUFF_CACHE_DIR", below("ruff-cache")),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// Variables that switch the network off in tools that would otherwise try for a minute.
pub(crate) fn offline() -> [(String, String); 2] {
    ["CARGO_NET_OFFLINE", "npm_config_offline"].map(|name| (name.to_owned(), "true".to_owned()))
}

/// Names that do not go through the proxy: servers that the program starts itself. Not those that settings list: they are
/// servers of this machine.
pub(crate) fn direct(egress: &Egress) -> [(String, String); 2] {
    const OWN: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
    let host = |pattern: &str| {
        let pattern = pattern.trim_start_matches('[');
        let is_address = pattern.matches(':').count() > 1;
        let end = if is_address { pattern.find(']') } else { pattern.find(':') };
        pattern[..end.unwrap_or(pattern.len())].to_lowercase()
    };
    let listed: Vec<String> = egress.private.iter().map(|pattern| host(pattern)).collect();
    let own: Vec<&str> = OWN.into_iter().filter(|own| !listed.iter().any(|host| host == own)).collect();
    ["NO_PROXY", "no_proxy"].map(|name| (name.to_owned(), own.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_servers_of_this_machine_go_through_the_proxy() {
        for (private, expected) in [
            (&[][..], "localhost,127.0.0.1,::1"),
            (&["localhost:5432"], "127.0.0.1,::1"),
            (&["127.0.0.1", "[::1]:80"], "localhost"),
            (&["::1", "db.example.com:1"], "localhost,127.0.0.1"),
        ] {
            let private = private.iter().map(|host| (*host).to_owned()).collect();
            let [(_, names), _] = direct(&Egress { private, ..Egress::default() });
            assert_eq!(names, expected);
        }
    }

    #[test]
    fn only_listed_variables_are_inherited() {
        let variables = [
            ("PATH", "/usr/bin"),
            ("LC_ALL", "C"),
            ("CORP_LLM", "secret"),
            ("OPENAI_API_KEY", "secret"),
            ("RAWKO_TOKEN", "secret"),
            ("BASH_ENV", "/x"),
            ("LD_PRELOAD", "/x"),
            ("GIT_CONFIG_COUNT", "1"),
            ("SSH_AUTH_SOCK", "/x"),
            ("HTTPS_PROXY", "http://user:password@proxy"),
            ("HOME", "/people/me"),
            ("TERM", "xterm"),
        ];
        let kept = inherited(variables, Path::new("/h"), Path::new("/t"));
        let kept: Vec<String> = kept.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(kept, ["PATH=/usr/bin", "LC_ALL=C", "HOME=/h", "TMPDIR=/t", "TERM=dumb"]);
    }
}
