"""./dev release: one static, stripped binary with checksum and SBOM in dist/."""

import datetime
import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from driver import build, packages, processes
from driver.console import Failed, say
from driver.paths import ROOT, build_folder

DIST = ROOT / "dist"
STRIP = "strip"  # of binutils: llvm-strip 19 refuses the relocations of a static glibc binary
# bfd's map begins with the archive members that were really pulled in, each with the reference that wanted it.
_MEMBER = re.compile(r"^(/\S+\.a)\(\S+\)", re.M)
_OBJECT = re.compile(r"^LOAD (/\S+\.o)$", re.M)


def run() -> int:
    packages.setup()
    build.build("release", ["tidemark"])
    folder = build_folder("release")
    version = project_version((ROOT / "CMakeLists.txt").read_text())
    architecture = processes.capture(["dpkg", "--print-architecture"]).strip()
    name = f"tidemark-{version}-linux-{architecture}"
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    binary = DIST / name
    processes.capture([STRIP, "-o", binary, folder / "tidemark"])
    binary.chmod(0o755)
    check_static(binary)
    reported = processes.capture([binary, "--version"])
    if version not in reported:
        raise Failed(f"{name} --version says `{reported.strip()}`, wanted {version}")

    linked = linked_packages((folder / "link-maps" / "tidemark.map").read_text(errors="replace"))
    sbom = DIST / f"{name}.spdx.json"
    sbom.write_text(json.dumps(spdx(name, version, sha256(binary), linked, commit_time()), indent=2) + "\n")
    sums = "".join(f"{sha256(file)}  {file.name}\n" for file in (binary, sbom))
    (DIST / "SHA256SUMS").write_text(sums)
    say(f"dist/{name}: {binary.stat().st_size / 2**20:.1f} MiB, static, from {len(linked)} packages: {', '.join(sorted(linked))}")
    return 0


def project_version(cmake: str) -> str:
    found = re.search(r"project\(tidemark VERSION ([\d.]+)", cmake)
    if not found:
        raise Failed("CMakeLists.txt names no version in project(tidemark VERSION …)")
    return found[1]


def check_static(binary: Path) -> None:
    """Twice: what the loader thinks, and that the file asks for no interpreter."""
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


def spdx(name: str, version: str, digest: str, linked: dict[str, str], created: str) -> dict:
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
                "referenceLocator": f"pkg:deb/debian/{package.replace('+', '%2B')}@{found.replace('+', '%2B')}",
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
