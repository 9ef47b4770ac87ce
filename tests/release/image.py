"""./dev image: the image of the released binary, without a builder and without a registry."""

from pathlib import Path

from release import binaries
from driver.console import Failed, say
from driver.paths import ROOT
from support import images

NAME = "tidemark"
ALL = "all"


def run(names: list[str], asked: str | None) -> int:
    version = binaries.project_version((ROOT / "CMakeLists.txt").read_text())
    name = names[0] if names else f"{NAME}:{version}"
    programs = {architecture: released(architecture, asked) for architecture in binaries.architectures(asked)}
    if asked == ALL:
        archive = binaries.DIST / f"{binaries.file_name(ALL)}.image.tar"
        images.write_tidemark_of_all(archive, name, programs)
    else:
        (architecture, files), = programs.items()
        archive = binaries.DIST / f"{binaries.file_name(architecture)}.image.tar"
        images.write_tidemark(archive, name, files, architecture)
    say(f"dist/{archive.name}: {archive.stat().st_size / 2**20:.1f} MiB, {name}, {' and '.join(programs)}, sha256 {binaries.sha256(archive)}")
    return 0


def released(architecture: str, asked: str | None) -> dict[str, Path]:
    files = {program: binaries.DIST / binaries.file_name(architecture, program) for program in images.PROGRAMS}
    for file in files.values():
        if not file.exists():
            raise Failed(f"dist/{file.name} is missing: ./dev release{f' --arch {asked}' if asked else ''} makes it")
    return files
