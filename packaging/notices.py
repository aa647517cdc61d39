"""The licence texts of the crates in the binary: most of their licences ask that a copy carries them.

Separate from sbom.py, which names the licences of crates and reads no file of theirs.
"""

import pathlib
import textwrap

NAMES = ("LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE")
HEAD = """Programs and libraries of others in rawko {version}
{line}

The binary contains the Rust standard library (MIT OR Apache-2.0), SQLite (public domain) and these crates. Each text
below is preceded by the crates that carry it.
"""


def texts(folder):
    """Returns the licence texts in the folder of a crate, by REUSE's convention also those in LICENSES/."""
    files = [file for file in folder.iterdir() if file.name.upper().startswith(NAMES)]
    files += [inner for file in files if file.is_dir() for inner in file.iterdir()]
    for file in sorted(files):
        if file.is_file() and file.suffix not in (".rs", ".html"):
            yield "\n".join(line.rstrip() for line in file.read_text(errors="replace").strip().splitlines())


def document(bill, own):
    """Returns the texts, each once, with the crates that carry it. Crates below the folder `own` are left out."""
    found, without = {}, []
    for crate in bill.reached():
        package = bill.packages[crate]
        folder = pathlib.Path(package["manifest_path"]).parent
        if folder.is_relative_to(own):
            continue
        name = f"{package['name']}@{package['version']}"
        carried = list(texts(folder))
        for text in carried:
            found.setdefault(text, []).append(name)
        if not carried:
            without.append(f"{name}: {package.get('license') or 'see its repository'}")
    title = HEAD.format(version=bill.version, line="=" * 50)
    parts = [part(", ".join(names), text) for text, names in found.items()]
    parts.append(part("Without a text in their packages", "\n".join(without)))
    return "\n".join([title, *parts]).encode()


def part(heading, text):
    rule = "-" * 80
    return f"{rule}\n{textwrap.fill(heading, 80)}\n{rule}\n\n{text}\n"
