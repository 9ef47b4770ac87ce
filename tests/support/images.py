"""Images made by hand, as a docker-archive with one layer: no builder, no registry. `docker load`, `podman load`, `skopeo copy docker-archive:…` and
`ctr --namespace k8s.io images import` take it. The same content makes the same bytes."""

import hashlib
import io
import json
import os
import re
import subprocess
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

ZONES = Path("/usr/share/zoneinfo")  # of tzdata: calendars name time zones
ZONES_LEFT_OUT = ("right", "posix")  # the same once more, with leap seconds and without
MADE = "1970-01-01T00:00:00Z"


@dataclass
class Layer:
    files: dict[str, bytes] = field(default_factory=dict)  # by their place in the image; all may be executed
    links: dict[str, str] = field(default_factory=dict)

    def add_tree(self, folder: Path, leave_out: tuple[str, ...] = ()) -> None:
        for path in sorted(folder.rglob("*")):
            if path.relative_to(folder).parts[0] in leave_out:
                continue
            place = str(path).lstrip("/")
            if path.is_symlink():
                self.links[place] = os.readlink(path)
            elif path.is_file():
                self.files[place] = path.read_bytes()


HERE = "amd64" if os.uname().machine == "x86_64" else "arm64"


def write(archive: Path, name: str, layer: Layer, config: dict, made_by: str, architecture: str = HERE) -> None:
    packed = _tar(layer.files, layer.links)
    whole = json.dumps({
        "architecture": architecture, "os": "linux", "created": MADE, "config": config,
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(packed).hexdigest()}"]},
        "history": [{"created": MADE, "created_by": made_by}],
    }).encode()
    digest = f"{hashlib.sha256(whole).hexdigest()}.json"
    manifest = json.dumps([{"Config": digest, "RepoTags": [name], "Layers": ["layer.tar"]}]).encode()
    archive.write_bytes(_tar({digest: whole, "layer.tar": packed, "manifest.json": manifest}, {}))


def write_tidemark(archive: Path, name: str, binary: Path, architecture: str = HERE) -> None:
    """What deploy/image/Dockerfile makes: the binary, the time zones, and nothing else; of a dynamic binary its libraries too."""
    layer = Layer({"tidemark": binary.read_bytes()})
    layer.add_tree(ZONES, ZONES_LEFT_OUT)
    for library in libraries(binary):
        layer.files[library.lstrip("/")] = Path(library).read_bytes()
    write(archive, name, layer, {"User": "65532:65532", "Entrypoint": ["/tidemark"], "Cmd": ["manager"], "WorkingDir": "/"}, "./dev image", architecture)


def libraries(binary: Path) -> list[str]:
    """Paths of the loader and of what it loads, as it is going to look for them; none of a static binary."""
    told = subprocess.run(["ldd", str(binary)], stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
    return re.findall(r"^\s(?:\S+ => )?(/\S+) \(0x[0-9a-f]+\)$", told, re.M)


def _tar(files: dict[str, bytes], links: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755
            archive.addfile(entry, io.BytesIO(content))
        for name, target in links.items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    return out.getvalue()
