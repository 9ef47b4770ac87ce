"""Images made by hand, as a docker-archive with one layer: no builder, no registry. `docker load`, `podman load`, `skopeo copy docker-archive:…` and
`ctr --namespace k8s.io images import` accept it. Images of several architectures under one name are an OCI archive, for `skopeo copy --all oci-archive:…`
and `ctr … images import`. The same content makes the same bytes."""

import glob
import hashlib
import io
import json
import os
import re
import subprocess
import tarfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

ZONES = Path("/usr/share/zoneinfo")  # of tzdata: calendars name time zones
ZONES_LEFT_OUT = ("right", "posix")  # duplicates with and without leap seconds
MADE = "1970-01-01T00:00:00Z"


@dataclass
class Layer:
    files: dict[str, bytes] = field(default_factory=dict)  # by path in the image; all are executable
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
_OCI = "application/vnd.oci.image"


def write(archive: Path, name: str, layer: Layer, config: dict, made_by: str, architecture: str = HERE) -> None:
    _write(archive, name, io.BytesIO(_tar(layer.files, layer.links)), config, made_by, architecture)


def write_from(archive: Path, name: str, layer: Path, config: dict, made_by: str, architecture: str = HERE) -> None:
    """The same for a layer in a file (image_layer.py), which may be too large for memory."""
    with open(layer, "rb") as packed:
        _write(archive, name, packed, config, made_by, architecture)


def _write(archive: Path, name: str, layer: BinaryIO, config: dict, made_by: str, architecture: str) -> None:
    whole = _configuration(hashlib.file_digest(layer, "sha256").hexdigest(), config, made_by, architecture)
    size = layer.seek(0, os.SEEK_END)
    layer.seek(0)
    digest = f"{hashlib.sha256(whole).hexdigest()}.json"
    manifest = json.dumps([{"Config": digest, "RepoTags": [name], "Layers": ["layer.tar"]}]).encode()
    with tarfile.open(archive, "w") as out:
        _add(out, digest, io.BytesIO(whole), len(whole))
        _add(out, "layer.tar", layer, size)
        _add(out, "manifest.json", io.BytesIO(manifest), len(manifest))


def write_of_all(archive: Path, name: str, layers: dict[str, Layer], config: dict, made_by: str) -> None:
    """One name for the images of several architectures: each client finds its own in the index."""
    blobs: dict[str, bytes] = {}

    def blob(kind: str, content: bytes) -> dict:
        digest = hashlib.sha256(content).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = content
        return {"mediaType": f"{_OCI}.{kind}", "digest": f"sha256:{digest}", "size": len(content)}

    def index(entries: list[dict]) -> bytes:
        return json.dumps({"schemaVersion": 2, "mediaType": f"{_OCI}.index.v1+json", "manifests": entries}).encode()

    images = []
    for architecture, layer in layers.items():
        packed = _tar(layer.files, layer.links)
        manifest = {
            "schemaVersion": 2, "mediaType": f"{_OCI}.manifest.v1+json",
            "config": blob("config.v1+json", _configuration(hashlib.sha256(packed).hexdigest(), config, made_by, architecture)), "layers": [blob("layer.v1.tar", packed)],
        }
        images.append({**blob("manifest.v1+json", json.dumps(manifest).encode()), "platform": {"architecture": architecture, "os": "linux"}})
    # containerd reads the whole name, others the tag.
    names = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name.rpartition(":")[2]}
    top = index([{**blob("index.v1+json", index(images)), "annotations": names}])
    archive.write_bytes(_tar({"oci-layout": b'{"imageLayoutVersion": "1.0.0"}', "index.json": top, **blobs}, {}))


def _configuration(layer_sha256: str, config: dict, made_by: str, architecture: str) -> bytes:
    return json.dumps({
        "architecture": architecture, "os": "linux", "created": MADE, "config": config,
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer_sha256}"]},
        "history": [{"created": MADE, "created_by": made_by}],
    }).encode()


LIBPQ = "/usr/lib/*/libpq.so.5"
PROGRAMS = ("tidemark", "tidemark-agent", "tidemark-hadoop")
TIDEMARK = {"User": "65532:65532", "Entrypoint": ["/tidemark"], "Cmd": ["manager"], "WorkingDir": "/"}


def write_tidemark(archive: Path, name: str, programs: dict[str, Path], architecture: str = HERE) -> None:
    """`programs`: the file of each name in PROGRAMS."""
    write(archive, name, tidemark_layer(programs), TIDEMARK, "./dev image", architecture)


def write_tidemark_of_all(archive: Path, name: str, programs: dict[str, dict[str, Path]]) -> None:
    """`programs`: by architecture."""
    layers = {architecture: tidemark_layer(files) for architecture, files in programs.items()}
    write_of_all(archive, name, layers, TIDEMARK, "./dev image")


def tidemark_layer(programs: dict[str, Path]) -> Layer:
    """The content of deploy/image/Dockerfile: the executables, the time zones, and the libraries of a dynamic executable. It also gets libpq if this machine has
    it: the gateway loads it with --postgres."""
    layer = Layer({name: file.read_bytes() for name, file in programs.items()})
    layer.add_tree(ZONES, ZONES_LEFT_OUT)
    needed = {each for file in programs.values() for each in libraries(file)}
    if needed:
        needed |= {each for library in glob.glob(LIBPQ) for each in (library, *libraries(library))}
    for library in needed:
        layer.files[library.lstrip("/")] = Path(library).read_bytes()
    layer.files = dict(sorted(layer.files.items()))
    return layer


def libraries(binary: Path | str) -> list[str]:
    """Paths of the loader and of its libraries, as it will look for them; none for a static binary."""
    shown = subprocess.run(["ldd", str(binary)], stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
    return re.findall(r"^\s(?:\S+ => )?(/\S+) \(0x[0-9a-f]+\)$", shown, re.M)


def _tar(files: dict[str, bytes], links: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files.items():
            _add(archive, name, io.BytesIO(content), len(content))
        for name, target in links.items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
    return out.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: BinaryIO, size: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o755
    archive.addfile(entry, content)
