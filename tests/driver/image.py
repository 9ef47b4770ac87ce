"""./dev image: the image of the released binary, without a builder and without a registry."""

from driver import processes, release
from driver.console import Failed, say
from driver.paths import ROOT
from support import images

NAME = "tidemark"


def run(arguments: list[str]) -> int:
    version = release.project_version((ROOT / "CMakeLists.txt").read_text())
    architecture = processes.capture(["dpkg", "--print-architecture"]).strip()
    binary = release.DIST / f"tidemark-{version}-linux-{architecture}"
    if not binary.exists():
        raise Failed(f"dist/{binary.name} is missing: ./dev release makes it")
    release.check_static(binary)
    name = arguments[0] if arguments else f"{NAME}:{version}"
    archive = release.DIST / f"{binary.name}.image.tar"
    images.write_tidemark(archive, name, binary)
    say(f"dist/{archive.name}: {archive.stat().st_size / 2**20:.1f} MiB, {name}, sha256 {release.sha256(archive)}")
    return 0
