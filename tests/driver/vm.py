"""What the group `vm` wants: an emulator from Debian, and Debian's newest kernel, taken out of its package and installed nowhere."""

import fcntl
import os
import platform
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from driver import packages, processes
from driver.console import Failed, step
from driver.paths import LOGS, cache_folder

KERNEL = "linux-image-cloud-amd64"  # depends on the newest; without drivers for hardware that nobody emulates
DOWNLOAD_S = 600
MACHINE = "x86_64"


def provide() -> tuple[dict[str, str], str]:
    """The environment of the tests, or why there can be no guest here, with the remedy."""
    if platform.machine() != MACHINE:
        return {}, f"the guest is an {MACHINE}, and so must be the programs that are put into it; this machine is {platform.machine()}"
    try:
        packages.setup([package for package, program in packages.VM.items() if shutil.which(program) is None])
        return {"TIDEMARK_VM_KERNEL": str(_kernel()), "TIDEMARK_TEST_KEPT_LOGS": str(LOGS / "vm")}, ""
    except Failed as error:
        return {}, str(error)


def complete() -> bool:
    """Whether nothing has to be fetched, unless Debian has a newer kernel."""
    return all(shutil.which(program) for program in packages.VM.values()) and any(cache_folder().glob("vm-kernel-*/vmlinuz"))


def _kernel() -> Path:
    try:
        package, version = _newest()
    except Failed:
        _update()
        package, version = _newest()
    folder = cache_folder() / f"vm-kernel-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second run waits instead of fetching the same thing
        if not (folder / "vmlinuz").exists():
            with step(f"fetching {package} {version}, once for this machine"):
                _fetch(package, version, folder)
    return folder / "vmlinuz"


def _newest() -> tuple[str, str]:
    """The package of the newest kernel and its version, as apt knows them now."""
    try:
        text = processes.capture(["apt-cache", "show", "--no-all-versions", KERNEL])
    except (OSError, subprocess.CalledProcessError) as error:
        raise Failed(f"apt knows no package {KERNEL}: {getattr(error, 'stderr', '') or error}")
    return parse(text)


def parse(text: str) -> tuple[str, str]:
    match = re.search(r"^Depends: .*?\b(linux-image-\S+) \(= ([^)]+)\)", text, re.M)
    if not match:
        raise Failed(f"wanted `Depends: linux-image-… (= VERSION)` in the package {KERNEL}, found:\n{text}")
    return match[1], match[2]


def _fetch(package: str, version: str, folder: Path) -> None:
    """The kernel appears by rename, so a half of one is never found."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetching-") as scratch:
        if not _download(package, version, Path(scratch)):
            _update()  # the mirror has none but the newest
            if not _download(package, version, Path(scratch)):
                raise Failed(f"apt-get download {package}={version} failed: is a package mirror reachable? As root: apt-get update")
        unpacked = Path(scratch) / "unpacked"
        for archive in Path(scratch).glob("*.deb"):
            processes.capture(["dpkg-deb", "-x", archive, unpacked])
        found = list(unpacked.glob("boot/vmlinuz-*"))
        if len(found) != 1:
            raise Failed(f"wanted one boot/vmlinuz-… in {package} {version}, found {len(found)}")
        os.rename(found[0], folder / "vmlinuz")


def _download(package: str, version: str, folder: Path) -> bool:
    # As whoever runs this: apt's own user could not write there.
    return processes.run(["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", f"{package}={version}"], cwd=folder, timeout_s=DOWNLOAD_S).code == 0


def _update() -> None:
    if os.geteuid() != 0:
        raise Failed("what apt knows of packages is missing or old, and only root can renew it. Run as root:\n  apt-get update")
    if processes.run(["apt-get", "update", "-qq"], timeout_s=DOWNLOAD_S).code != 0:
        raise Failed("apt-get update failed: is a package mirror reachable?")
