#!/usr/bin/env python3
"""Writes the packages of the SDKs: an npm tarball and a wheel. `cargo xtask dist` calls this after build.py.

Separate from build.py, because these packages hold no binary: they are the same on every machine.
"""

import argparse
import io
import json
import pathlib
import tomllib
import zipfile

from build import ROOT, tar, url_hash

LICENCES = ("LICENSE-APACHE", "LICENSE-MIT")


def licences():
    return [(name, (ROOT / name).read_bytes()) for name in LICENCES]


def npm(folder):
    """What `npm pack` would write: the files that package.json lists, below `package/`."""
    about = json.loads((folder / "package.json").read_text())
    files = [folder / "package.json"]
    for name in about["files"]:
        path = folder / name
        files += sorted(path.rglob("*")) if path.is_dir() else [path]
    entries = [(str(path.relative_to(folder)), path.read_bytes()) for path in files if path.is_file()]
    entries = [(f"package/{name}", data, 0o644) for name, data in entries + licences()]
    return f"{about['name']}-{about['version']}.tgz", tar(entries, 9)


def wheel(folder):
    """A wheel of plain Python, as PEP 427 has it."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    name, version = project["name"].replace("-", "_"), project["version"]
    info = f"{name}-{version}.dist-info"
    source = folder / "src"
    files = [path for path in sorted(source.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    entries = [(str(path.relative_to(source)), path.read_bytes()) for path in files]
    about = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {version}",
        f"Summary: {project['description']}",
        f"License-Expression: {project['license']}",
        f"Requires-Python: {project['requires-python']}",
        "Description-Content-Type: text/markdown",
        *(f"License-File: {licence}" for licence in LICENCES),
        *(f"Requires-Dist: {needed}" for needed in project["dependencies"]),
    ]
    text = "\n".join(about).encode() + b"\n\n" + (folder / project["readme"]).read_bytes()
    kind = b"Wheel-Version: 1.0\nGenerator: rawko\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    entries += [(f"{info}/METADATA", text), (f"{info}/WHEEL", kind)]
    entries += [(f"{info}/licenses/{licence}", data) for licence, data in licences()]
    record = "".join(f"{path},sha256={url_hash(data)},{len(data)}\n" for path, data in entries)
    entries.append((f"{info}/RECORD", (record + f"{info}/RECORD,,\n").encode()))
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in entries:
            entry = zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return f"{name}-{version}-py3-none-any.whl", raw.getvalue()


def main():
    reader = argparse.ArgumentParser(description="Package the SDKs", epilog="example: sdks.py --out dist/sdks")
    reader.add_argument("--out", type=pathlib.Path, required=True, help="folder for the packages")
    out = reader.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for name, data in (npm(ROOT / "sdks/typescript"), wheel(ROOT / "sdks/python")):
        (out / name).write_bytes(data)
        print(f"{len(data) / 1e3:8.1f} kB  {name}")


if __name__ == "__main__":
    main()
