"""./dev release: a static, stripped binary for each architecture that is asked for, with checksums and SBOMs in dist/.

That of this machine is built by the preset release. Another one is built here too, by clang and lld against Debian's libraries of that architecture
(driver/sysroot.py), and tried with qemu's emulation where that is installed.
"""

import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from driver import build, packages, processes, sysroot
from driver.console import Failed, say
from driver.paths import ROOT, build_folder

DIST = ROOT / "dist"
STRIP = "strip"  # of binutils: llvm-strip 19 refuses the relocations of a static glibc binary of amd64
FOREIGN_STRIP = "llvm-strip-19"  # knows every architecture
# bfd's map begins with the archive members that were really pulled in, each with the reference that wanted it.
_MEMBER = re.compile(r"^(/\S+\.a)\(\S+\)", re.M)
_OBJECT = re.compile(r"^LOAD (/\S+\.o)$", re.M)


# Whose archive was pulled in, of lld's map: `… /usr/lib/x.a(member.o):(.text)`.
_LLD_FILE = re.compile(r"^ *[0-9a-f]+ +[0-9a-f]+ +[0-9a-f]+ +\d+ +(/\S+?\.(?:a|o))(?:\(|:\()", re.M)
EMULATORS = {"arm64": "qemu-aarch64-static"}
EMULATOR_PACKAGE = "qemu-user-static"


def this_architecture() -> str:
    return processes.capture(["dpkg", "--print-architecture"]).strip()


def architectures(asked: str | None) -> list[str]:
    """What `--arch` says: this machine's where it says nothing, first where it says `all`."""
    here = this_architecture()
    if asked is None:
        return [here]
    if asked == "all":
        return sorted(sysroot.TRIPLES, key=lambda each: each != here)
    if asked not in sysroot.TRIPLES:
        raise Failed(f"--arch={asked}: wanted {', '.join(sorted(sysroot.TRIPLES))} or all")
    return [asked]


def file_name(architecture: str) -> str:
    return f"tidemark-{project_version((ROOT / 'CMakeLists.txt').read_text())}-linux-{architecture}"


def run(asked: str | None) -> int:
    wanted = architectures(asked)
    packages.setup()
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    files = [file for architecture in wanted for file in release_one(architecture)]
    sums = "".join(f"{sha256(file)}  {file.name}\n" for file in files)
    (DIST / "SHA256SUMS").write_text(sums)
    return 0


def release_one(architecture: str) -> list[Path]:
    foreign = architecture != this_architecture()
    root = sysroot.provide(architecture) if foreign else None
    preset = f"release-{architecture}" if foreign else "release"
    if foreign and architecture not in EMULATORS:
        raise Failed(f"--arch={architecture} is built on a machine of that architecture only")
    build.build(preset, ["tidemark"], settings={"TIDEMARK_SYSROOT": root} if root else {})
    folder = build_folder(preset)
    name = file_name(architecture)
    binary = DIST / name
    processes.capture([FOREIGN_STRIP if foreign else STRIP, "-o", binary, folder / "tidemark"])
    binary.chmod(0o755)
    check_static(binary)
    check_version(binary, architecture)

    link_map = (folder / "link-maps" / "tidemark.map").read_text(errors="replace")
    linked = foreign_packages(link_map, root) if root else linked_packages(link_map)
    sbom = DIST / f"{name}.spdx.json"
    version = project_version((ROOT / "CMakeLists.txt").read_text())
    sbom.write_text(json.dumps(spdx(name, version, sha256(binary), linked, commit_time(), architecture if foreign else ""), indent=2) + "\n")
    say(f"dist/{name}: {binary.stat().st_size / 2**20:.1f} MiB, static, from {len(linked)} packages: {', '.join(sorted(linked))}")
    return [binary, sbom]


def check_version(binary: Path, architecture: str) -> None:
    """It runs, and says whose it is. Another architecture's runs where somebody installed the emulator."""
    version = binary.name.split("-")[1]
    command = [binary, "--version"]
    if architecture != this_architecture():
        emulator = shutil.which(EMULATORS[architecture])
        if emulator is None:
            say(f"dist/{binary.name} was not started: that takes {EMULATOR_PACKAGE} ({packages.install_line([EMULATOR_PACKAGE])})")
            return
        command.insert(0, emulator)
    reported = processes.capture(command)
    if version not in reported:
        raise Failed(f"{binary.name} --version says `{reported.strip()}`, wanted {version}")


def project_version(cmake: str) -> str:
    found = re.search(r"project\(tidemark VERSION ([\d.]+)", cmake)
    if not found:
        raise Failed("CMakeLists.txt names no version in project(tidemark VERSION …)")
    return found[1]


def check_static(binary: Path) -> None:
    """Twice: what the loader thinks (of another architecture it thinks the same of all), and that the file asks for no interpreter."""
    told = subprocess.run(["ldd", str(binary)], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if "not a dynamic executable" not in told.stdout + told.stderr:
        raise Failed(f"{binary.name} is a dynamic executable:\n{told.stdout}")
    headers = processes.capture(["llvm-readelf-19", "--program-headers", binary])
    if "INTERP" in headers:
        raise Failed(f"{binary.name} asks for a program interpreter: it is not static")


def linked_packages(link_map: str) -> dict[str, str]:
    """Debian package → version of every library and start-up file that is in the binary."""
    files = {os.path.realpath(file) for file in [*_MEMBER.findall(link_map), *_OBJECT.findall(link_map)]}
    files = sorted(file for file in files if not file.startswith(str(ROOT)))
    if not files:
        raise Failed("the link map names no library: was it written by another linker than GNU ld?")
    owners = set()
    for file in files:
        # A merged /usr: dpkg knows some files by their old place.
        for candidate in (file, file.removeprefix("/usr")):
            found = subprocess.run(["dpkg", "-S", candidate], stdin=subprocess.DEVNULL, capture_output=True, text=True)
            if found.returncode == 0:
                owners.add(found.stdout.split(": ")[0].split(",")[0].split(":")[0])
                break
        else:
            raise Failed(f"{file} is linked in and belongs to no Debian package: it cannot be named in the SBOM")
    listed = processes.capture(["dpkg-query", "-W", "-f=${Package} ${Version}\n", *sorted(owners)])
    return dict(line.split(" ", 1) for line in listed.splitlines())


def foreign_packages(link_map: str, root: Path) -> dict[str, str]:
    """The same of what lld linked from a sysroot."""
    files = {file for file in _LLD_FILE.findall(link_map) if file.startswith(f"{root}/")}
    if not files:
        raise Failed("the link map names no library of the sysroot: was it written by another linker than lld?")
    owners = sysroot.owners(root)
    unknown = sorted(file for file in files if os.path.realpath(file) not in owners and file not in owners)
    if unknown:
        raise Failed(f"{unknown[0]} is linked in and belongs to no package: it cannot be named in the SBOM")
    versions = sysroot.versions(root)
    names = {owners.get(file) or owners[os.path.realpath(file)] for file in files}
    return {name: versions[name] for name in sorted(names)}


def spdx(name: str, version: str, digest: str, linked: dict[str, str], created: str, architecture: str = "") -> dict:
    qualifier = f"?arch={architecture}" if architecture else ""
    own = {
        "SPDXID": "SPDXRef-tidemark", "name": "tidemark", "versionInfo": version, "packageFileName": name,
        "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "Apache-2.0",
        "licenseDeclared": "Apache-2.0", "copyrightText": "NOASSERTION",
        "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
    }
    others = [
        {
            "SPDXID": f"SPDXRef-{re.sub(r'[^A-Za-z0-9.-]', '-', package)}", "name": package, "versionInfo": found,
            "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
            "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION", "supplier": "Organization: Debian",
            "externalRefs": [{
                "referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                "referenceLocator": f"pkg:deb/debian/{package.replace('+', '%2B')}@{found.replace('+', '%2B')}{qualifier}",
            }],
        }
        for package, found in sorted(linked.items())
    ]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-tidemark"}]
    relations += [
        {"spdxElementId": "SPDXRef-tidemark", "relationshipType": "STATIC_LINK", "relatedSpdxElement": package["SPDXID"]}
        for package in others
    ]
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
        "documentNamespace": f"https://tidemark.io/spdx/{name}-{digest[:16]}",
        "creationInfo": {"created": created, "creators": ["Tool: tidemark ./dev release"]},
        "packages": [own, *others], "relationships": relations,
    }


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def commit_time() -> str:
    """Of the commit, not of the day: the same source makes the same SBOM."""
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or processes.capture(["git", "log", "-1", "--format=%ct"], cwd=ROOT))
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
