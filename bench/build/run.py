"""./dev bench build: what a build of the preset dev and the unit tests cost. The compiler cache is off, except for test_tier1.

  product_cpu      CPU of a build from nothing of what ./dev up runs (the default target); product_wall is its time with a job a processor
  tests_cpu        CPU of the unit tests' build after it
  objects          files that are compiled for both
  policy_edit      an edit of policy/evict/victims.cc: build of its test program, and all of its tests
  header_edit      an edit of model/resources.h: build of the product and of the unit tests
  test_tier1       ./dev test with nothing changed and a warm compiler cache
"""

import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path

from bench.harness import figure
from driver import build
from driver.paths import ROOT

EDITED, HEADER = ROOT / "policy" / "evict" / "victims.cc", ROOT / "model" / "resources.h"
TEST_PROGRAM = "policy_evict_test"
EDITS = 3


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="tidemark-bench-build-") as folder:
        environment = {**build.environment(), "CCACHE_DISABLE": "1"}
        _run(["cmake", "--preset", "dev", "-B", folder], environment)
        cpu, wall = _ninja(folder, environment, "all")
        figure("build.product_cpu", "s", [cpu])
        figure("build.product_wall", "s", [wall])
        figure("build.tests_cpu", "s", [_ninja(folder, environment, "unit-tests")[0]])
        figure("build.objects", "files", [len(list(Path(folder).rglob("*.o")))])
        test = next(Path(folder).rglob(TEST_PROGRAM))
        figure("build.policy_edit", "s", [_edit(EDITED, lambda: (_ninja(folder, environment, TEST_PROGRAM), _run([test], environment))) for _ in range(EDITS)])
        figure("build.header_edit", "s", [_edit(HEADER, lambda: _ninja(folder, environment, "all", "unit-tests"))])
    _run([ROOT / "dev", "test"], os.environ)
    figure("build.test_tier1", "s", [_timed(lambda: _run([ROOT / "dev", "test"], os.environ))])


def _ninja(folder: str, environment: dict, *targets: str) -> tuple[float, float]:
    """CPU and wall seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall = _timed(lambda: _run(["ninja", "-C", folder, *targets], environment))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def _edit(file: Path, action) -> float:
    """Seconds of `action` after a comment was added to the file. The file gets its content back."""
    content = file.read_bytes()
    try:
        file.write_bytes(content + f"// {time.time_ns()}\n".encode())
        return _timed(action)
    finally:
        file.write_bytes(content)


def _timed(action) -> float:
    begin = time.monotonic()
    action()
    return time.monotonic() - begin


def _run(command: list, environment: dict) -> None:
    subprocess.run(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)


if __name__ == "__main__":
    main()
