"""./dev image: the image of the released binary, without a builder and without a registry."""

from pathlib import Path

from release import release
from driver.console import Failed, say
from driver.paths import ROOT
from support import images

NAME = "tidemark"
ALL = "all"


def run(names: list[str], asked: str | None) -> int:
    version = release.project_version((ROOT / "CMakeLists.txt").read_text())
    name = names[0] if names else f"{NAME}:{version}"
    binaries = {architecture: released(architecture, asked) for architecture in release.architectures(asked)}
    helpers = {architecture: helper for architecture in binaries if (helper := release.DIST / release.file_name(architecture, release.HELPER)).exists()}
    if asked == ALL:
        archive = release.DIST / f"{release.file_name(ALL)}.image.tar"
        images.write_tidemark_of_all(archive, name, binaries, helpers)
    else:
        (architecture, binary), = binaries.items()
        archive = release.DIST / f"{binary.name}.image.tar"
        images.write_tidemark(archive, name, binary, architecture, helpers.get(architecture))
    say(f"dist/{archive.name}: {archive.stat().st_size / 2**20:.1f} MiB, {name}, {' and '.join(binaries)}, sha256 {release.sha256(archive)}")
    return 0


def released(architecture: str, asked: str | None) -> Path:
    binary = release.DIST / release.file_name(architecture)
    if not binary.exists():
        raise Failed(f"dist/{binary.name} is missing: ./dev release{f' --arch {asked}' if asked else ''} makes it")
    release.check_static(binary)
    return binary
