"""./dev image: the image of the released binary, without a builder and without a registry."""

from driver import release
from driver.console import Failed, say
from driver.paths import ROOT
from support import images

NAME = "tidemark"


def run(arguments: list[str], asked: str | None) -> int:
    version = release.project_version((ROOT / "CMakeLists.txt").read_text())
    (architecture, *more) = release.architectures(asked)
    if more:
        raise Failed("an image is of one architecture: --arch=amd64 or --arch=arm64")
    binary = release.DIST / release.file_name(architecture)
    if not binary.exists():
        raise Failed(f"dist/{binary.name} is missing: ./dev release --arch={architecture} makes it")
    release.check_static(binary)
    name = arguments[0] if arguments else f"{NAME}:{version}"
    archive = release.DIST / f"{binary.name}.image.tar"
    images.write_tidemark(archive, name, binary, architecture)
    say(f"dist/{archive.name}: {archive.stat().st_size / 2**20:.1f} MiB, {name}, sha256 {release.sha256(archive)}")
    return 0
