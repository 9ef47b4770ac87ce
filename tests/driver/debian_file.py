"""A file out of a Debian package, or all of some packages: fetched once for this machine, kept in the cache folder by version, and installed nowhere."""

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from driver import processes
from driver.console import Failed, step

DOWNLOAD_S = 600


def known(package: str, parse: Callable[[str], tuple[str, str]]) -> tuple[str, str]:
    """What `parse` makes of what apt says of a package now. Where apt knows nothing of it, its lists are renewed once."""
    if shutil.which("apt-get") is None:
        raise Failed(f"wanted a file of Debian's package {package}, and there is no apt-get to fetch it: this is not Debian")
    try:
        return parse(_shown(package))
    except Failed:
        renew_lists()
        return parse(_shown(package))


def version_of(text: str) -> tuple[str, str]:
    """A package and its version, from what apt says of it."""
    match = re.search(r"^Package: (\S+)\n(?:.*\n)*?Version: (\S+)$", text, re.M)
    if not match:
        raise Failed(f"wanted `Version: …` of a package, found:\n{text}")
    return match[1], match[2]


def provide(package: str, version: str, pattern: str, wanted: Path) -> Path:
    """`wanted`, taken from the one file of the package that `pattern` names where it is not there yet."""
    return _once(f"{package} {version}", wanted, lambda: _fetch(package, version, pattern, wanted))


def provide_tree(packages: dict[str, str], wanted: Path) -> Path:
    """`wanted`, a folder with all that is in these packages (name → version), made where it is not there yet."""
    return _once(" ".join(packages), wanted, lambda: _fetch_tree(packages, wanted))


def _once(what: str, wanted: Path, fetch: Callable[[], None]) -> Path:
    wanted.parent.mkdir(parents=True, exist_ok=True)
    with open(wanted.parent / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second run waits instead of fetching the same thing
        if not wanted.exists():
            with step(f"fetching {what}, once for this machine"):
                fetch()
    return wanted


def renew_lists() -> None:
    if os.geteuid() != 0:
        raise Failed("what apt knows of packages is missing or old, and only root can renew it. Run as root:\n  apt-get update")
    if processes.run(["apt-get", "update", "-qq"], timeout_s=DOWNLOAD_S).code != 0:
        raise Failed("apt-get update failed: is a package mirror reachable?")


def _shown(package: str) -> str:
    try:
        return processes.capture(["apt-cache", "show", "--no-all-versions", package])
    except (OSError, subprocess.CalledProcessError) as error:
        raise Failed(f"apt knows no package {package}: {getattr(error, 'stderr', '') or error}")


def _fetch(package: str, version: str, pattern: str, wanted: Path) -> None:
    """It appears by rename, so a half of one is never found."""
    with tempfile.TemporaryDirectory(dir=wanted.parent, prefix=".fetching-") as scratch:
        found = list(_unpacked({package: version}, Path(scratch)).glob(pattern))
        if len(found) != 1:
            raise Failed(f"wanted one {pattern} in {package} {version}, found {len(found)}")
        os.rename(found[0], wanted)


def _fetch_tree(packages: dict[str, str], wanted: Path) -> None:
    """By rename as well."""
    with tempfile.TemporaryDirectory(dir=wanted.parent, prefix=".fetching-") as scratch:
        os.rename(_unpacked(packages, Path(scratch)), wanted)


def _unpacked(packages: dict[str, str], scratch: Path) -> Path:
    for package, version in packages.items():
        if not _download(package, version, scratch):
            renew_lists()  # the mirror has none but the newest
            if not _download(package, version, scratch):
                raise Failed(f"apt-get download {package}={version} failed: is a package mirror reachable? As root: apt-get update")
    for archive in sorted(scratch.glob("*.deb")):
        _unpack(archive, scratch / "unpacked")
    return scratch / "unpacked"


def _download(package: str, version: str, folder: Path) -> bool:
    # As the present user: apt's own user could not write there.
    return processes.run(["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", f"{package}={version}"], cwd=folder, timeout_s=DOWNLOAD_S).code == 0


def _unpack(archive: Path, folder: Path) -> None:
    try:
        processes.capture(["dpkg-deb", "-x", archive, folder])
    except (OSError, subprocess.SubprocessError) as error:
        raise Failed(f"{archive.name} cannot be unpacked in {archive.parent.parent}: {getattr(error, 'stderr', '') or error}")
