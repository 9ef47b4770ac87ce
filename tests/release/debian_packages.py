"""Packages of Debian and all that they want, as on a machine where nothing is installed yet: fetched by apt, kept in the cache folder, installed nowhere."""

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from driver import debian_file, processes
from driver.console import Failed, step
from driver.paths import cache_folder

DOWNLOAD_S = 900


def provide(packages: list[str]) -> list[Path]:
    """Their files, in the order of their names."""
    folder = cache_folder() / "debian-packages"
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / name for name in file_names(packages)]
    with open(folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second run waits instead of fetching the same thing
        absent = [file for file in files if not file.exists()]
        if absent:
            with step(f"fetching {len(absent)} packages of Debian, once for this machine"):
                _download(packages, folder)
        still = [file.name for file in files if not file.exists()]
        if still:
            raise Failed(f"apt-get downloaded not all that {', '.join(packages)} want: {', '.join(still)} are missing")
    return files


def file_names(packages: list[str]) -> list[str]:
    """As apt names them now. Where it does not know all of them, its lists are renewed once."""
    if shutil.which("apt-get") is None:
        raise Failed(f"wanted Debian's packages {', '.join(packages)}, and there is no apt-get to fetch them: this is not Debian")
    try:
        return _listed(packages)
    except subprocess.CalledProcessError:
        debian_file.renew_lists()
    try:
        return _listed(packages)
    except subprocess.CalledProcessError as error:
        raise Failed(f"apt does not know all that {', '.join(packages)} want: {error.stderr}")


def _listed(packages: list[str]) -> list[str]:
    with tempfile.TemporaryDirectory() as nothing:  # of what is fetched already it would not tell
        told = processes.capture(_apt(Path(nothing), "--print-uris", packages))
    return sorted(re.findall(r"^'[^']+' (\S+\.deb) \d+", told, re.M))


def _download(packages: list[str], folder: Path) -> None:
    if processes.run(_apt(folder, "--download-only", packages), timeout_s=DOWNLOAD_S).code != 0:
        debian_file.renew_lists()  # the mirror has none but the newest
        if processes.run(_apt(folder, "--download-only", packages), timeout_s=DOWNLOAD_S).code != 0:
            raise Failed(f"apt-get could not download {', '.join(packages)} with what they want: is a package mirror reachable?")


def _apt(folder: Path, what: str, packages: list[str]) -> list[str]:
    """Nothing that the machine's own apt reads is touched, and no right of root is wanted."""
    (folder / "partial").mkdir(exist_ok=True)
    options = {
        "Dir::State::status": "/dev/null", "Dir::Cache::archives": folder, "Dir::Cache::pkgcache": "", "Dir::Cache::srcpkgcache": "", "Debug::NoLocking": "1",
        "APT::Sandbox::User": "root" if os.geteuid() == 0 else "",
    }
    words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    return ["apt-get", "-qq", "--yes", "--no-install-recommends", *words, what, "install", *packages]
