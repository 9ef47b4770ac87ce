"""./dev release: the three stripped executables for each architecture that is asked for, with checksums and SBOMs in dist/. All are static, except
tidemark-hadoop of this machine's architecture: it loads MIT Kerberos.

That of this machine is built by the preset release. Another one is built here too, by clang and lld against Debian's libraries of that architecture
(release/sysroot.py), and started in qemu's emulation.
"""

import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from driver import build, packages, processes
from driver.console import Failed, WrongUse, say
from driver.paths import ROOT, build_folder
from release import sysroot
from support import images

DIST = ROOT / "dist"
STRIP = "strip"  # of binutils: llvm-strip 19 refuses the relocations of a static glibc binary of amd64
FOREIGN_STRIP = "llvm-strip-19"  # knows every architecture
# bfd's map begins with the archive members that were really pulled in, each with the reference that wanted it.
_MEMBER = re.compile(r"^(/\S+\.a)\(\S+\)", re.M)
_OBJECT = re.compile(r"^LOAD (/\S+\.o)$", re.M)
# lld's names each piece with the file that it is from: `… /usr/lib/x.a(member.o):(.text)`.
_LLD_FILE = re.compile(r"^ *[0-9a-f]+ +[0-9a-f]+ +[0-9a-f]+ +\d+ +(/\S+?\.(?:a|o))(?:\(|:\()", re.M)
# Architecture of a cross build → its emulator. The other direction is untested.
EMULATORS = {"arm64": "qemu-aarch64-static"}
# The shared libraries that tidemark-hadoop loads: glibc, with its loader, and MIT Kerberos. All other libraries are linked in.
HADOOP, HADOOP_NEEDS = "tidemark-hadoop", re.compile(r"lib(?:c|m)\.so\.6|ld-linux-[\w-]+\.so\.\d|libgssapi_krb5\.so\.2|libkrb5\.so\.3")
_NEEDED = re.compile(r"NEEDED.*\[(\S+)\]")
# Kernels of arm64 have pages of 4, 16 or 64 KiB, and start only a program whose parts lie apart by a page.
PAGE_MAX = {"arm64": 0x10000}


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
        raise WrongUse(f"--arch={asked}: wanted {', '.join(sorted(sysroot.TRIPLES))} or all")
    return [asked]


def file_name(architecture: str, program: str = "tidemark") -> str:
    return f"{program}-{project_version((ROOT / 'CMakeLists.txt').read_text())}-linux-{architecture}"


def run(asked: str | None) -> int:
    wanted = architectures(asked)
    foreign = [architecture for architecture in wanted if architecture != this_architecture()]
    if beyond := [architecture for architecture in foreign if architecture not in EMULATORS]:
        raise Failed(f"--arch={beyond[0]} is built on a machine of that architecture only; this one is {this_architecture()}")
    packages.setup()
    if foreign:
        packages.setup([package for package, program in packages.EMULATOR.items() if shutil.which(program) is None])
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    files = [file for architecture in wanted for file in release_one(architecture)]
    sums = "".join(f"{sha256(file)}  {file.name}\n" for file in files)
    (DIST / "SHA256SUMS").write_text(sums)
    return 0


def release_one(architecture: str) -> list[Path]:
    foreign = architecture != this_architecture()
    root = build_foreign(architecture, list(images.PROGRAMS)) if foreign else None
    if root is None:
        build.build("release", list(images.PROGRAMS))
    else:  # the sysroot has no Kerberos
        say(f"{HADOOP} for {architecture} is without Kerberos: build it on a machine of that architecture to have it")
    return [file for program in images.PROGRAMS for file in release_program(program, architecture, root)]


def release_program(program: str, architecture: str, root: Path | None) -> list[Path]:
    """The executable and its SBOM. `root`: the sysroot of another architecture."""
    folder = build_folder(preset_of(architecture))
    version = project_version((ROOT / "CMakeLists.txt").read_text())
    name = file_name(architecture, program)
    binary = DIST / name
    processes.capture([FOREIGN_STRIP if root else STRIP, "-o", binary, folder / program])
    binary.chmod(0o755)
    dynamic = program == HADOOP and root is None
    if dynamic:
        check_needs(processes.capture(["llvm-readelf-19", "--dynamic-table", binary]), name)
    else:
        check_static(binary)
    check_pages(binary, architecture)
    check_version(binary, architecture, version)

    link_map = (folder / "link-maps" / f"{program}.map").read_text(errors="replace")
    linked = foreign_packages(link_map, root) if root else linked_packages(link_map)
    loaded = packages_of(os.path.realpath(library) for library in images.libraries(binary)) if dynamic else {}
    sbom = DIST / f"{name}.spdx.json"
    sbom.write_text(json.dumps(spdx(name, version, sha256(binary), linked, commit_time(), architecture, loaded), indent=2) + "\n")
    kind = f"dynamic, loads {', '.join(sorted(loaded))}" if dynamic else "static"
    say(f"dist/{name}: {binary.stat().st_size / 2**20:.1f} MiB, {kind}, from {len(linked)} packages: {', '.join(sorted(linked))}")
    return [binary, sbom]


def check_needs(table: str, name: str) -> None:
    """It loads only libraries that every machine with Kerberos has."""
    needs = set(_NEEDED.findall(table))
    if "libgssapi_krb5.so.2" not in needs or not all(map(HADOOP_NEEDS.fullmatch, needs)):
        raise Failed(f"{name} loads {', '.join(sorted(needs))}; wanted nothing but glibc and MIT Kerberos")


def build_foreign(architecture: str, targets: list[str]) -> Path:
    """The sysroot that they were linked from."""
    root = sysroot.provide(architecture)
    build.build(preset_of(architecture), targets, settings={"TIDEMARK_SYSROOT": root})
    return root


def preset_of(architecture: str) -> str:
    return "release" if architecture == this_architecture() else f"release-{architecture}"


def check_version(binary: Path, architecture: str, version: str) -> None:
    """It runs, and says whose it is."""
    emulator = [] if architecture == this_architecture() else [EMULATORS[architecture]]
    reported = processes.capture([*emulator, binary, "--version"])
    if version not in reported:
        raise Failed(f"{binary.name} --version says `{reported.strip()}`, wanted {version}")


def check_pages(binary: Path, architecture: str) -> None:
    """It starts on kernels with the largest pages that its architecture has."""
    wanted = PAGE_MAX.get(architecture, 0)
    headers = processes.capture(["llvm-readelf-19", "--wide", "--program-headers", binary])
    found = load_alignments(headers)
    if not found or min(found) < wanted:
        raise Failed(f"{binary.name} has parts that lie apart by {min(found, default=0)} bytes: a kernel with pages of {wanted} bytes does not start it")


def load_alignments(headers: str) -> list[int]:
    return [int(line.split()[-1], 16) for line in headers.splitlines() if line.split()[:1] == ["LOAD"]]


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
    return packages_of(files)


def packages_of(files) -> dict[str, str]:
    """Debian package → version, of the packages that contain the files."""
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


def spdx(name: str, version: str, digest: str, linked: dict[str, str], created: str, architecture: str, loaded: dict[str, str] = {}) -> dict:
    own = {
        "SPDXID": "SPDXRef-tidemark", "name": name.split(f"-{version}")[0], "versionInfo": version, "packageFileName": name,
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
                "referenceLocator": f"pkg:deb/debian/{package.replace('+', '%2B')}@{found.replace('+', '%2B')}?arch={architecture}",
            }],
        }
        for package, found in sorted({**linked, **loaded}.items())
    ]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-tidemark"}]
    relations += [
        {"spdxElementId": "SPDXRef-tidemark", "relationshipType": kind, "relatedSpdxElement": package["SPDXID"]}
        for kind, those in (("STATIC_LINK", linked), ("DYNAMIC_LINK", loaded)) for package in others if package["name"] in those
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
