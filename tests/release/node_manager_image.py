"""./dev image node-manager: what deploy/node-manager/Dockerfile makes, without a builder and without a registry. Debian's packages come by apt; Hadoop out of
its distribution where that lies beside the recipe, and else of Maven's jars, which have none of its native programs: then containers are those of a
DefaultContainerExecutor."""

import fcntl
import hashlib
import json
import os
import re
import shlex
import shutil
import string
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from driver import maven_jars, packages
from driver.console import Failed, say, step
from driver.paths import ROOT, cache_folder
from release import binaries, debian_packages
from support import image_layer, images
from support.image_layer import LayerFile

WORD = "node-manager"
RECIPE = ROOT / "deploy/node-manager"
NAME = "hadoop-node-manager"
# Of what the recipe's image of Debian has already, what is used here.
BASE = ["base-files", "base-passwd", "bash", "coreutils", "dash", "findutils", "grep", "hostname", "sed", "util-linux"]
HADOOP_GID = 980  # as the recipe makes it
USERS = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
                  f"yarn:x:{HADOOP_GID}:{HADOOP_GID}::/nonexistent:/usr/sbin/nologin\n",
    "etc/group": f"root:x:0:\nnogroup:x:65534:\nhadoop:x:{HADOOP_GID}:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
JARS = "opt/hadoop/share/hadoop/common/lib"  # of Maven all in one folder: start-node-manager looks there first


@dataclass(frozen=True)
class Copy:
    source: str
    target: str  # without the slash before it
    mode: int | None
    gid: int


@dataclass
class Recipe:
    version: str = ""  # of Hadoop
    packages: list[str] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    environment: list[str] = field(default_factory=list)
    entrypoint: list[str] = field(default_factory=list)


def run(names: list[str]) -> int:
    recipe = read((RECIPE / "Dockerfile").read_text())
    name = names[0] if names else f"{NAME}:{recipe.version}"
    distribution = (RECIPE / f"hadoop-{recipe.version}").is_dir()
    if not (distribution or maven_jars.HADOOP.there() or shutil.which("mvn")):
        packages.setup(["maven"])
    binaries.DIST.mkdir(exist_ok=True)
    archive = binaries.DIST / f"{NAME}-{recipe.version}-linux-{images.HERE}.image.tar"
    make(archive, name, recipe, distribution)
    of = "Hadoop's distribution" if distribution else "Maven's jars, for --executor=default of `tidemark generate yarn-site`"
    say(f"dist/{archive.name}: {archive.stat().st_size / 2**20:.1f} MiB, {name}, {images.HERE}, of {of}, sha256 {binaries.sha256(archive)}")
    return 0


def provide(name: str) -> Path:
    """The one of Maven's jars, kept in the cache folder for as long as nothing of it changes."""
    recipe = read((RECIPE / "Dockerfile").read_text())
    code = [Path(__file__), Path(image_layer.__file__), Path(images.__file__)]
    own = [RECIPE / "Dockerfile", *(RECIPE / each.source for each in recipe.copies if not _of_hadoop(each))]
    made_of = [name, str(maven_jars.HADOOP.folder()), *debian_packages.file_names([*BASE, *recipe.packages]), *(file.read_text() for file in [*code, *own])]
    archive = cache_folder() / "node-manager-image" / f"{hashlib.sha256(json.dumps(made_of).encode()).hexdigest()[:12]}.tar"
    archive.parent.mkdir(parents=True, exist_ok=True)
    with open(archive.parent / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second run waits instead of making the same thing
        if not archive.exists():
            for earlier in archive.parent.glob("*.tar"):
                earlier.unlink()
            make(archive, name, recipe, distribution=False)
    return archive


def read(text: str, architecture: str = images.HERE) -> Recipe:
    """The instructions that this recipe has. What else RUN does than install packages is in USERS."""
    recipe, values = Recipe(), {"TARGETARCH": architecture}
    joined = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.M))
    for line in filter(None, joined.splitlines()):
        instruction, _, rest = line.partition(" ")
        rest = string.Template(rest).safe_substitute(values)
        match instruction:
            case "FROM":
                pass  # BASE
            case "ARG":
                name, _, value = rest.partition("=")
                values.setdefault(name, value)
            case "RUN" if found := re.search(r"apt-get install -y --no-install-recommends ([^&]*)", rest):
                recipe.packages += found[1].split()
            case "COPY":
                recipe.copies.append(_copy(rest.split()))
            case "ENV":
                recipe.environment += shlex.split(rest)
            case "ENTRYPOINT":
                recipe.entrypoint = json.loads(rest)
            case _:
                raise Failed(f"deploy/node-manager/Dockerfile: {instruction}: ./dev image does not know what it does")
    recipe.version = values["HADOOP_VERSION"]
    return recipe


def _copy(words: list[str]) -> Copy:
    options = dict(word[2:].split("=", 1) for word in words if word.startswith("--"))
    source, target = (word for word in words if not word.startswith("--"))
    group = options.get("chown", "root:root").partition(":")[2]
    return Copy(source, target.lstrip("/"), int(options["chmod"], 8) if "chmod" in options else None, {"root": 0, "hadoop": HADOOP_GID}[group])


def _of_hadoop(each: Copy) -> bool:
    return each.source.startswith("hadoop-")


def make(archive: Path, name: str, recipe: Recipe, distribution: bool) -> None:
    """It appears by rename, so a half of it is never found."""
    debian = debian_packages.provide([*BASE, *recipe.packages])
    jars = [] if distribution else sorted(maven_jars.HADOOP.provide().glob("*.jar"))
    config = {"Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", *recipe.environment], "Entrypoint": recipe.entrypoint, "WorkingDir": "/"}
    with step(f"making the image {name}"), tempfile.TemporaryDirectory(dir=archive.parent, prefix=".making-") as scratch:
        layer, whole = Path(scratch) / "layer.tar", Path(scratch) / "image.tar"
        with LayerFile(layer) as out:
            out.add_debian(debian)
            for place, text in USERS.items():
                out.add(place, text.encode())
            for each in recipe.copies:
                if distribution or not _of_hadoop(each):
                    _add(out, each)
            for jar in jars:
                out.add_file(f"{JARS}/{jar.name}", jar, 0o644)
        images.write_from(whole, name, layer, config, "./dev image node-manager")
        os.rename(whole, archive)


def _add(out: LayerFile, each: Copy) -> None:
    source = RECIPE / each.source
    if source.is_file():
        out.add_file(each.target, source, each.mode, each.gid)
    elif not source.is_dir():
        raise Failed(f"deploy/node-manager/{each.source} is missing, which the Dockerfile beside it copies")
    for path in sorted(source.rglob("*")):
        place = f"{each.target}/{path.relative_to(source)}"
        if path.is_symlink():
            out.link(place, os.readlink(path))
        elif path.is_file():
            out.add_file(place, path, each.mode, each.gid)
