#!/bin/sh
# Installs rawko @VERSION@ from the unpacked archive: install.sh [--prefix DIR] [--uninstall]
set -eu
prefix=${HOME:?set HOME or pass --prefix}/.local
uninstall=no
while [ $# -gt 0 ]; do
    case $1 in
        --prefix)
            [ $# -ge 2 ] || { echo "install.sh: --prefix needs a folder" >&2; exit 2; }
            prefix=$2; shift 2 ;;
        --uninstall) uninstall=yes; shift ;;
        -h|--help)
            echo "Usage: install.sh [--prefix DIR] [--uninstall]"
            echo "Copies rawko to DIR/bin [default: ~/.local]. Example: sudo ./install.sh --prefix /usr/local"
            exit 0 ;;
        *) echo "install.sh: unknown argument $1; see --help" >&2; exit 2 ;;
    esac
done
if [ "$uninstall" = yes ]; then
    rm -f "$prefix/bin/rawko"
    rm -rf "$prefix/share/doc/rawko"
    echo "removed $prefix/bin/rawko"
    exit 0
fi
here=$(cd "$(dirname "$0")" && pwd)
system=$(uname -s)-$(uname -m)
if [ "$system" != "Linux-@ARCH@" ]; then
    echo "install.sh: this archive is for Linux-@ARCH@, and this machine is $system" >&2
    exit 1
fi
if ! "$here/bin/rawko" --version >/dev/null; then
    echo "install.sh: rawko does not start here; it requires glibc @GLIBC@ or newer" >&2
    exit 1
fi
mkdir -p "$prefix/bin" "$prefix/share/doc/rawko"
# A rename replaces a binary that is running; a copy onto it would fail.
cp "$here/bin/rawko" "$prefix/bin/.rawko.$$"
chmod 755 "$prefix/bin/.rawko.$$"
mv -f "$prefix/bin/.rawko.$$" "$prefix/bin/rawko"
for name in LICENSE-APACHE LICENSE-MIT THIRD-PARTY.txt README.md CHANGELOG.md; do
    cp "$here/$name" "$prefix/share/doc/rawko/"
done
echo "installed $("$prefix/bin/rawko" --version) as $prefix/bin/rawko"
case ":$PATH:" in
    *":$prefix/bin:"*) echo "next: rawko demo" ;;
    *) echo "next: add $prefix/bin to PATH, then: rawko demo" ;;
esac
