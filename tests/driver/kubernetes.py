"""The Kubernetes programs that tests run against: built from the Go module that tests/support/kubernetes pins, kept in a cache
folder outside the tree named by version. A program appears there by rename, so a half-built one is never found."""

import fcntl
import os
import re
import shutil
import tempfile
import time
from pathlib import Path

from driver import processes
from driver.console import Failed, say
from driver.paths import KUBERNETES_VERSION, ROOT, kubernetes_folder

MODULE = ROOT / "tests" / "support" / "kubernetes"
GO_AT_LEAST = (1, 24)
PROGRAMS = ["kube-apiserver", "kubectl"]


def find_go(candidates: list[str | None] | None = None) -> tuple[str | None, str]:
    """A Go that is new enough, or None and the reason with the remedy."""
    if candidates is None:
        candidates = [shutil.which("go"), "/usr/local/go/bin/go"]
    remedy = f"Go {GO_AT_LEAST[0]}.{GO_AT_LEAST[1]} or newer builds kube-apiserver; Debian 12 has none: unpack one from https://go.dev/dl/ into /usr/local/go"
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


def built() -> dict[str, Path]:
    folder = kubernetes_folder()
    return {name: folder / name for name in PROGRAMS if os.access(folder / name, os.X_OK)}


def provide() -> dict[str, Path]:
    """All programs, built when they are not there. Failed with the remedy when that is impossible."""
    programs = built()
    absent = [name for name in PROGRAMS if name not in programs]
    if not absent:
        return programs
    go, reason = find_go()
    if go is None:
        raise Failed(reason)
    folder = kubernetes_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second run waits instead of building the same thing
        for name in absent:
            if name not in built():
                _build(go, name, folder)
    return built()


def _build(go: str, name: str, folder: Path) -> None:
    say(f"building {name} {KUBERNETES_VERSION} with Go, once for this machine (minutes when Go's own cache is cold) …")
    begin = time.monotonic()
    version = "k8s.io/component-base/version"
    major, minor, _ = KUBERNETES_VERSION.split(".")
    flags = f"-s -w -X {version}.gitVersion=v{KUBERNETES_VERSION} -X {version}.gitMajor={major} -X {version}.gitMinor={minor}"
    with tempfile.TemporaryDirectory(dir=folder, prefix=".building-") as scratch:
        program = Path(scratch) / name
        log = folder / f"{name}.build.log"
        done = processes.run_logged(
            [go, "build", "-mod=readonly", "-trimpath", "-ldflags", flags, "-o", program, f"k8s.io/kubernetes/cmd/{name}"],
            log, cwd=MODULE, env={**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": ""},
        )
        if done.code != 0:
            raise Failed(f"go build of {name} failed:\n{log.read_text(errors='replace')[-4000:]}")
        os.rename(program, folder / name)
    log.unlink()
    say(f"built {name}: {time.monotonic() - begin:.0f} s")
