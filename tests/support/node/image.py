"""The image of every container of the test node, including sandboxes: busybox and work.c, in a docker-archive made by hand."""

import subprocess
from pathlib import Path

from support import images

NAME = "tidemark.test/work:1"
BUSYBOX = Path("/bin/busybox")  # from busybox-static
APPLETS = ("sh", "cat", "dd", "echo", "head", "kill", "ls", "sleep", "wc")
COMPILER = "clang-19"


def make(archive: Path, scratch: Path) -> None:
    work = scratch / "work"
    subprocess.run(
        [COMPILER, "-O1", "-static", "-o", work, Path(__file__).with_name("work.c")], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    )
    layer = images.Layer({"bin/work": work.read_bytes(), "bin/busybox": BUSYBOX.read_bytes()}, {f"bin/{name}": "busybox" for name in APPLETS})
    images.write(archive, NAME, layer, {"Entrypoint": ["/bin/work"], "Env": ["PATH=/bin"], "WorkingDir": "/"}, "tests/support/node/image.py")
