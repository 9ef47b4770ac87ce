"""The layer of an image as a file, written entry by entry: for content that is too large for memory, and for Debian's packages with their modes.
The same content makes the same bytes."""

import io
import os
import re
import subprocess
import tarfile
from pathlib import Path

MERGED = ("bin", "lib", "lib64", "sbin")  # links into /usr on current Debian, while packages still use both names
# Left out of images, as in Debian's own; licences stay.
LEFT_OUT = re.compile(r"usr/share/(doc/(?!.*copyright$)|info/|lintian/|locale/|man/)")


class LayerFile:
    """`with LayerFile(path) as layer:` Names are paths in the image without a leading slash."""

    def __init__(self, path: Path):
        self._tar = tarfile.open(path, "w")
        self._folders: set[str] = set()

    def __enter__(self) -> "LayerFile":
        return self

    def __exit__(self, *_) -> None:
        self._tar.close()

    def add(self, name: str, content: bytes, mode: int = 0o644, gid: int = 0) -> None:
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode, entry.gid = len(content), mode, gid
        self._tar.addfile(entry, io.BytesIO(content))

    def add_file(self, name: str, file: Path, mode: int | None = None, gid: int = 0) -> None:
        """With the file's own mode by default, and always owned by root."""
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode, entry.gid = file.stat().st_size, file.stat().st_mode & 0o7777 if mode is None else mode, gid
        with open(file, "rb") as content:
            self._tar.addfile(entry, content)

    def link(self, name: str, target: str) -> None:
        entry = tarfile.TarInfo(name)
        entry.type, entry.linkname = tarfile.SYMTYPE, target
        self._tar.addfile(entry)

    def add_debian(self, packages: list[Path]) -> None:
        """The files of packages. Their scripts do not run, so users and alternatives are missing."""
        for name in MERGED:
            self.link(name, f"usr/{name}")
        for package in packages:
            self._unpack(package)

    def _unpack(self, package: Path) -> None:
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as child:
            with tarfile.open(fileobj=child.stdout, mode="r|") as files:
                for entry in files:
                    self._take(entry, files)
            child.stdout.read()  # without a reader it would fail
        if child.returncode != 0:
            raise OSError(f"{package} cannot be unpacked: dpkg-deb ended with {child.returncode}")

    def _take(self, entry: tarfile.TarInfo, files: tarfile.TarFile) -> None:
        place = entry.name.removeprefix("./").rstrip("/")
        if place in ("", ".", *MERGED) or LEFT_OUT.match(place):
            return
        if entry.isdir() and merged(place) in self._folders:
            return
        self._folders.add(merged(place))
        if entry.issym():
            entry.linkname = _target(place, entry.linkname)
        elif entry.islnk():
            entry.linkname = merged(entry.linkname.removeprefix("./"))
        entry.name, entry.mtime, entry.uname, entry.gname, entry.pax_headers = merged(place), 0, "", "", {}
        self._tar.addfile(entry, files.extractfile(entry) if entry.isreg() else None)


def merged(place: str) -> str:
    return f"usr/{place}" if place.split("/", 1)[0] in MERGED else place


def _target(place: str, target: str) -> str:
    """The target from the root, for a link that is one directory deeper than in its package."""
    if merged(place) == place or target.startswith("/"):
        return target
    return "/" + merged(os.path.normpath(os.path.join(os.path.dirname(place), target)))
