"""The image that every container of the test node runs, sandboxes included: busybox and work.c, in a docker-archive made by hand."""

import hashlib
import io
import json
import os
import subprocess
import tarfile
from pathlib import Path

NAME = "tidemark.test/work:1"
BUSYBOX = Path("/bin/busybox")  # of busybox-static
APPLETS = ("sh", "cat", "dd", "echo", "head", "kill", "ls", "sleep", "wc")
COMPILER = "clang-19"


def make(archive: Path, scratch: Path) -> None:
    work = scratch / "work"
    subprocess.run(
        [COMPILER, "-O1", "-static", "-o", work, Path(__file__).with_name("work.c")], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    )
    layer = _tar([("bin/work", work.read_bytes()), ("bin/busybox", BUSYBOX.read_bytes())], [(f"bin/{name}", "busybox") for name in APPLETS])
    config = json.dumps({
        "architecture": "amd64" if os.uname().machine == "x86_64" else "arm64", "os": "linux",
        "config": {"Entrypoint": ["/bin/work"], "Env": ["PATH=/bin"], "WorkingDir": "/"},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        "history": [{"created": "2026-01-01T00:00:00Z", "created_by": "tests/support/node/image.py"}],
    }).encode()
    name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = json.dumps([{"Config": name, "RepoTags": [NAME], "Layers": ["layer.tar"]}]).encode()
    archive.write_bytes(_tar([(name, config), ("layer.tar", layer), ("manifest.json", manifest)], []))


def _tar(files: list[tuple[str, bytes]], links: list[tuple[str, str]]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755
            archive.addfile(entry, io.BytesIO(content))
        for name, target in links:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    return out.getvalue()
