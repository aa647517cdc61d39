#!/usr/bin/env python3
"""Writes every package of rawko around one binary: tarball (with a Dockerfile), npm package, wheel, Debian
package, Homebrew formula, SBOM and checksums. `cargo xtask dist` builds the binary and calls this.

Separate from xtask, because Python's standard library has the archive formats, and the tests package the binary they
have already built. The same inputs give the same bytes: entries are sorted and carry SOURCE_DATE_EPOCH.
"""

import argparse
import base64
import gzip
import hashlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

import notices
import sbom

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "1577836800"))
# The licence texts of other people's crates.
NOTICES = "THIRD-PARTY.txt"
SUMMARY = "The statechart runtime for AI agents"
# ELF machine number: names of the architecture for files, Node, Debian and Homebrew.
MACHINES = {62: ("x86_64", "x64", "amd64", "x86_64"), 183: ("aarch64", "arm64", "arm64", "arm64")}


class Payload:
    """The binary to package, and what its headers require of a machine."""

    def __init__(self, path, strip):
        self.data = stripped(path) if strip else path.read_bytes()
        if self.data[:4] != b"\x7fELF":
            sys.exit(f"{path} is not a Linux program")
        machine = int.from_bytes(self.data[18:20], "little")
        if machine not in MACHINES:
            sys.exit(f"{path} is for ELF machine {machine}; known are {sorted(MACHINES)}")
        self.arch, self.node_arch, self.debian_arch, self.brew_arch = MACHINES[machine]
        needed = {int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)\0", self.data)}
        if not needed:
            sys.exit(f"{path} does not use glibc; its packages would claim that it does")
        self.glibc_minor = max(needed | {17})


def stripped(path):
    """Returns the binary without symbols and debug information."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "rawko"
        subprocess.run(["strip", "-o", copy, path], check=True)
        return copy.read_bytes()


def template(name, values):
    """Returns the text of packaging/NAME with each @KEY@ replaced."""
    text = (HERE / name).read_text()
    for key, value in values.items():
        text = text.replace(f"@{key}@", str(value))
    left = re.findall(r"@[A-Z_]+@", text)
    if left:
        sys.exit(f"packaging/{name}: no value for {left}")
    return text.encode()


def tar(entries, level):
    """Returns a gzipped tar of (name, bytes, mode), with the folders that the names imply."""
    raw = io.BytesIO()
    with gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=level, mtime=EPOCH) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
            folders = set()
            for name, data, mode in sorted(entries):
                parents = [str(parent) for parent in pathlib.PurePosixPath(name).parents if str(parent) != "."]
                for folder in reversed(parents):
                    if folder not in folders:
                        folders.add(folder)
                        archive.addfile(tar_entry("./" + folder if name.startswith("./") else folder, 0o755, None))
                archive.addfile(tar_entry(name, mode, data), io.BytesIO(data))
    return raw.getvalue()


def tar_entry(name, mode, data):
    entry = tarfile.TarInfo(name)
    entry.mode, entry.mtime = mode, EPOCH
    entry.uname = entry.gname = "root"
    if data is None:
        entry.type = tarfile.DIRTYPE
    else:
        entry.size = len(data)
    return entry


def metadata():
    """Returns the crates of the published binary on Linux, as cargo resolves them."""
    command = ["metadata", "--format-version", "1", "--locked", "--features", "full"]
    command += ["--filter-platform", f"{os.uname().machine}-unknown-linux-gnu"]
    command += ["--manifest-path", ROOT / "crates/rawko/Cargo.toml"]
    return subprocess.run([os.environ.get("CARGO", "cargo"), *command], check=True, stdout=subprocess.PIPE).stdout


def documents(values):
    """Returns the files that accompany the binary everywhere."""
    own = [(name, (ROOT / name).read_bytes(), 0o644) for name in ("LICENSE-APACHE", "LICENSE-MIT", "README.md")]
    return [*own, (NOTICES, values[NOTICES], 0o644)]


def tarball(payload, values, level):
    folder = f"rawko-{values['VERSION']}-linux-{payload.arch}"
    entries = [("bin/rawko", payload.data, 0o755), ("install.sh", template("install.sh", values), 0o755)]
    entries += documents(values) + [("CHANGELOG.md", (ROOT / "CHANGELOG.md").read_bytes(), 0o644)]
    entries += [(f"docker/{name}", template(name, values), 0o644) for name in ("Dockerfile", "compose.yaml")]
    entries.append(("docker/state/README", b"The state directory of rawko.\n", 0o644))
    return f"{folder}.tar.gz", tar([(f"{folder}/{name}", data, mode) for name, data, mode in entries], level)


def npm(payload, values, level):
    entries = [("bin/rawko", payload.data, 0o755), ("package.json", template("npm.json", values), 0o644)]
    entries += documents(values)
    return f"rawko-{values['VERSION']}.tgz", tar([(f"package/{n}", data, mode) for n, data, mode in entries], level)


def wheel(payload, values, level):
    version = values["VERSION"]
    tag = f"py3-none-manylinux_2_{payload.glibc_minor}_{payload.arch}"
    info = f"rawko-{version}.dist-info"
    about = template("wheel.txt", values) + b"\n" + (ROOT / "README.md").read_bytes()
    kind = f"Wheel-Version: 1.0\nGenerator: rawko\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    entries = [(f"rawko-{version}.data/scripts/rawko", payload.data, 0o755)]
    entries += [(f"{info}/METADATA", about, 0o644), (f"{info}/WHEEL", kind, 0o644)]
    entries += [(f"{info}/licenses/{n}", data, mode) for n, data, mode in documents(values) if n != "README.md"]
    record = "".join(f"{name},sha256={url_hash(data)},{len(data)}\n" for name, data, _ in entries)
    entries.append((f"{info}/RECORD", (record + f"{info}/RECORD,,\n").encode(), 0o644))
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name, data, mode in entries:
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data, compresslevel=level)
    return f"rawko-{version}-{tag}.whl", raw.getvalue()


def url_hash(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def debian(payload, values, level):
    """An `ar` archive of three members: format version, control files, installed files."""
    changes = gzip.compress((ROOT / "CHANGELOG.md").read_bytes(), mtime=EPOCH)
    files = [
        ("./usr/bin/rawko", payload.data, 0o755),
        ("./usr/share/doc/rawko/copyright", template("copyright", values), 0o644),
        ("./usr/share/doc/rawko/changelog.gz", changes, 0o644),
        (f"./usr/share/doc/rawko/{NOTICES}", values[NOTICES], 0o644),
    ]
    size = sum(len(data) for _, data, _ in files) // 1024 + 1
    control = template("control", values | {"INSTALLED_KB": size})
    sums = "".join(f"{hashlib.md5(data).hexdigest()}  {name[2:]}\n" for name, data, _ in sorted(files))
    control = tar([("./control", control, 0o644), ("./md5sums", sums.encode(), 0o644)], level)
    members = [("debian-binary", b"2.0\n"), ("control.tar.gz", control), ("data.tar.gz", tar(files, level))]
    return f"rawko_{values['VERSION']}_{payload.debian_arch}.deb", b"!<arch>\n" + b"".join(
        f"{name:<16}{EPOCH:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)
        for name, data in members
    )


def arguments():
    example = "example: build.py --binary target/release/rawko --out dist"
    reader = argparse.ArgumentParser(description="Package a rawko binary", epilog=example)
    reader.add_argument("--binary", type=pathlib.Path, required=True, help="the program to package")
    reader.add_argument("--out", type=pathlib.Path, required=True, help="folder for the packages (replaced)")
    reader.add_argument("--metadata", type=pathlib.Path, help="output of `cargo metadata` [default: run it]")
    reader.add_argument("--url", help="address that serves the tarball, for the Homebrew formula [default: OUT as file://]")
    reader.add_argument("--level", type=int, default=9, help="compression, 1 to 9 [default: 9]")
    reader.add_argument("--no-strip", action="store_true", help="keep symbols")
    reader.add_argument("--most-mb", type=float, help="refuse a larger binary, in MB after stripping")
    return reader.parse_args()


def main():
    asked = arguments()
    bill = sbom.Bill(asked.metadata.read_bytes() if asked.metadata else metadata())
    payload = Payload(asked.binary, not asked.no_strip)
    size = len(payload.data) / 1e6
    if asked.most_mb and size > asked.most_mb:
        sys.exit(f"the binary has {size:.1f} MB; the limit is {asked.most_mb:g} MB")
    values = {
        "VERSION": bill.version, "SUMMARY": SUMMARY, "ARCH": payload.arch, "NODE_ARCH": payload.node_arch,
        "DEBIAN_ARCH": payload.debian_arch, "BREW_ARCH": payload.brew_arch, "GLIBC": f"2.{payload.glibc_minor}",
        NOTICES: notices.document(bill, ROOT),
    }
    out = asked.out.resolve()
    marker = out / "SHA256SUMS"
    if out.exists() and any(out.iterdir()) and not marker.exists():
        sys.exit(f"{out} holds other files; choose an empty folder")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    files = dict(kind(payload, values, asked.level) for kind in (tarball, npm, wheel, debian))
    archive = next(name for name in files if name.endswith(".tar.gz"))
    address = (asked.url or out.as_uri()).rstrip("/") + "/" + archive
    digest = hashlib.sha256(files[archive]).hexdigest()
    files["rawko.rb"] = template("rawko.rb", values | {"URL": address, "SHA256": digest})
    files[f"rawko-{bill.version}.cdx.json"] = bill.document(payload.data, EPOCH)
    for name, data in sorted(files.items()):
        (out / name).write_bytes(data)
        print(f"{len(data) / 1e6:8.2f} MB  {name}")
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items()))
    marker.write_text(sums)
    print(f"{size:8.2f} MB  the binary, in {out}")


if __name__ == "__main__":
    main()
