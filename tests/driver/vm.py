"""What the group `vm` wants: an emulator from Debian, and Debian's newest kernel and systemd, taken out of their packages and installed nowhere."""

import platform
import re
import shutil
from pathlib import Path

from driver import debian_file, packages
from driver.console import Failed
from driver.paths import LOGS, cache_folder

KERNEL = "linux-image-cloud-amd64"  # depends on the newest; without drivers for hardware that is not emulated
SYSTEMD = ["systemd", "libsystemd-shared", "libapparmor1", "libip4tc2", "libkmod2", "libseccomp2"]  # with the libraries that a Debian without systemd may lack
MACHINE = "x86_64"


def provide() -> tuple[dict[str, str], str]:
    """The environment of the tests, or why there can be no guest here, with the remedy."""
    if platform.machine() != MACHINE:
        return {}, f"the guest is an {MACHINE}, and so must be the programs that are put into it; this machine is {platform.machine()}"
    try:
        packages.setup([package for package, program in packages.VM.items() if shutil.which(program) is None])
        return {"TIDEMARK_VM_KERNEL": str(_kernel()), "TIDEMARK_VM_SYSTEMD": str(_systemd()), "TIDEMARK_TEST_KEPT_LOGS": str(LOGS / "vm")}, ""
    except Failed as error:
        return {}, str(error)


def _kernel() -> Path:
    package, version = debian_file.known(KERNEL, parse)
    return debian_file.provide(package, version, "boot/vmlinuz-*", cache_folder() / f"vm-kernel-{version}" / "vmlinuz")


def _systemd() -> Path:
    versions = dict(debian_file.known(package, debian_file.version_of) for package in SYSTEMD)
    return debian_file.provide_tree(versions, cache_folder() / f"vm-systemd-{versions['systemd']}" / "root")


def parse(text: str) -> tuple[str, str]:
    """The package of the newest kernel and its version, from what apt says of the one that depends on it."""
    match = re.search(r"^Depends: .*?\b(linux-image-\S+) \(= ([^)]+)\)", text, re.M)
    if not match:
        raise Failed(f"wanted `Depends: linux-image-… (= VERSION)` in the package {KERNEL}, found:\n{text}")
    return match[1], match[2]
