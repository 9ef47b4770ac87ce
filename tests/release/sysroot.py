"""What a build for another architecture links: Debian's own static libraries of that architecture, unpacked into the cache folder and installed nowhere.

apt is asked with a state of its own, so that the machine's packages and its list of architectures stay as they are.
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
import tempfile
from pathlib import Path

from driver import processes
from driver.console import Failed, step
from driver.paths import cache_folder

# Headers and archives of packages.PACKAGES, and what those of the compiler's own lie in.
PACKAGES = [
    "libc6-dev", "libcrypt-dev", "linux-libc-dev", "libgcc-12-dev", "libstdc++-12-dev", "libssl-dev", "libnghttp2-dev", "libyaml-cpp-dev", "libyaml-cpp0.7", "libsqlite3-dev", "libexpat1-dev", "libexpat1", "zlib1g-dev",
    "libgtest-dev",
]
TRIPLES = {"arm64": "aarch64-linux-gnu", "amd64": "x86_64-linux-gnu"}
VERSIONS = "packages.json"
DOWNLOAD_S = 900


def provide(architecture: str) -> Path:
    """Its folder, with VERSIONS in it. Asks the mirror each time what is newest: a release has no old library in it."""
    base = cache_folder() / f"sysroot-{architecture}"
    base.mkdir(parents=True, exist_ok=True)
    with open(base / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        apt = _apt(base / "apt", architecture)
        with step(f"asking for packages of {architecture}"):
            if processes.run([*apt, "update", "-qq"], timeout_s=DOWNLOAD_S).code != 0:
                raise Failed(f"apt-get update for {architecture} failed: is a package mirror reachable, and does it have {architecture}?")
        versions = _versions(base / "apt", architecture)
        wanted = base / hashlib.sha256(json.dumps(versions, sort_keys=True).encode()).hexdigest()[:16]
        if not wanted.exists():
            with step(f"unpacking {len(versions)} packages of {architecture}, once for this machine"):
                _unpack(apt, versions, wanted)
            for old in base.iterdir():
                if old.is_dir() and old not in (wanted, base / "apt"):
                    shutil.rmtree(old)
    return wanted


def _options(folder: Path, architecture: str) -> list[str]:
    for part in ("lists/partial", "cache/archives/partial"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    settings = {
        "APT::Architecture": architecture, "APT::Architectures": architecture, "APT::Sandbox::User": "root", "Dir::State": folder, "Dir::State::lists": folder / "lists",
        "Dir::State::status": folder / "status", "Dir::Cache": folder / "cache",
    }
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


def _apt(folder: Path, architecture: str) -> list[str]:
    if shutil.which("apt-get") is None:
        raise Failed("a release for another architecture links Debian's libraries, and there is no apt-get to fetch them: this is not Debian")
    return ["apt-get", *_options(folder, architecture)]


def _versions(folder: Path, architecture: str) -> dict[str, str]:
    shown = processes.capture(["apt-cache", *_options(folder, architecture), "show", "--no-all-versions", *PACKAGES])
    versions = candidates(shown)
    absent = [package for package in PACKAGES if package not in versions]
    if absent:
        raise Failed(f"the mirror has no {architecture} of: {' '.join(absent)}")
    return versions


def candidates(shown: str) -> dict[str, str]:
    """Package → version, of what `apt-cache show` says."""
    return dict(re.findall(r"^Package: (\S+)\n(?:(?!Version:|Package:).*\n)*Version: (\S+)$", shown, re.M))


def _unpack(apt: list[str], versions: dict[str, str], wanted: Path) -> None:
    """It appears by rename, so a half of one is never found."""
    with tempfile.TemporaryDirectory(dir=wanted.parent, prefix=".unpacking-") as scratch:
        folder = Path(scratch)
        if processes.run([*apt, "download", "-qq", *(f"{name}={version}" for name, version in versions.items())], cwd=folder, timeout_s=DOWNLOAD_S).code != 0:
            raise Failed("apt-get download failed: is a package mirror reachable?")
        root = folder / "root"
        for archive in sorted(folder.glob("*.deb")):
            processes.capture(["dpkg-deb", "-x", archive, root])
            names = processes.capture(["dpkg-deb", "-c", archive])
            package = processes.capture(["dpkg-deb", "-f", archive, "Package"]).strip()
            (root / f"{package}.files").write_text("".join(f"{line.split()[5].removeprefix('.')}\n" for line in names.splitlines() if line.endswith(".a") or line.endswith(".o")))
        (root / VERSIONS).write_text(json.dumps(versions, indent=1, sort_keys=True) + "\n")
        os.rename(root, wanted)


def owners(root: Path) -> dict[str, str]:
    """File → the package that it is of, for archives and start-up objects."""
    return {f"{root}{line}": file.stem for file in root.glob("*.files") for line in file.read_text().splitlines()}


def versions(root: Path) -> dict[str, str]:
    return json.loads((root / VERSIONS).read_text())
