"""Programs that tests run and that Debian does not have: built from a Go module that pins their versions, kept in a cache folder
outside the tree named by version. A program appears there by rename, so a half-built one is never found."""

import fcntl
import os
import re
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from driver import processes
from driver.console import Failed, say

GO_AT_LEAST = (1, 24)


def find_go(candidates: list[str | None] | None = None) -> tuple[str | None, str]:
    """A Go that is new enough, or None and the reason with the remedy."""
    if candidates is None:
        candidates = [shutil.which("go"), "/usr/local/go/bin/go"]
    remedy = (
        f"Go {GO_AT_LEAST[0]}.{GO_AT_LEAST[1]} or newer builds kube-apiserver, the kubelet and helm; Debian 12 has none: "
        "unpack one from https://go.dev/dl/ into /usr/local/go"
    )
    found = []
    for go in dict.fromkeys(filter(None, candidates)):
        if not os.access(go, os.X_OK):
            continue
        text = processes.capture([go, "version"], env={**os.environ, "GOTOOLCHAIN": "local"})
        match = re.search(r"go(\d+)\.(\d+)", text)
        if match and (int(match[1]), int(match[2])) >= GO_AT_LEAST:
            return go, ""
        found.append(f"{go} is {text.split()[2] if len(text.split()) > 2 else text.strip()}")
    return None, f"{'; '.join(found) or 'no Go found'}. {remedy}"


@dataclass(frozen=True)
class GoProgram:
    name: str
    package: str
    version: str
    module: Path  # the folder of the go.mod that pins it
    folder: Path  # where it is kept
    variables: tuple[str, ...] = ()  # PACKAGE.NAME=VALUE, set by the linker

    @property
    def path(self) -> Path:
        return self.folder / self.name

    def there(self) -> bool:
        return os.access(self.path, os.X_OK)


def provide(programs: list[GoProgram]) -> dict[str, Path]:
    """All of them, built when they are not there. Failed with the remedy when that is impossible."""
    for program in programs:
        if not program.there():
            _provide(program)
    return {program.name: program.path for program in programs}


def _provide(program: GoProgram) -> None:
    go, reason = find_go()
    if go is None:
        raise Failed(reason)
    program.folder.mkdir(parents=True, exist_ok=True)
    with open(program.folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second run waits instead of building the same thing
        if not program.there():
            _build(go, program)


def _build(go: str, program: GoProgram) -> None:
    say(f"building {program.name} {program.version} with Go, once for this machine (minutes when Go's own cache is cold) …")
    begin = time.monotonic()
    flags = " ".join(["-s -w", *(f"-X {variable}" for variable in program.variables)])
    with tempfile.TemporaryDirectory(dir=program.folder, prefix=".building-") as scratch:
        made = Path(scratch) / program.name
        log = program.folder / f"{program.name}.build.log"
        done = processes.run_logged(
            [go, "build", "-mod=readonly", "-trimpath", "-ldflags", flags, "-o", made, program.package],
            log, cwd=program.module, env={**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": ""},
        )
        if done.code != 0:
            raise Failed(f"go build of {program.name} failed:\n{log.read_text(errors='replace')[-4000:]}")
        os.rename(made, program.path)
    log.unlink()
    say(f"built {program.name}: {time.monotonic() - begin:.0f} s")
