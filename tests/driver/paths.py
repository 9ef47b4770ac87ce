"""Where things lie. Nothing else in the driver builds a path from scratch."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
PYTHON_PATH = f"{ROOT}/tests:{ROOT}"  # the second for the package `bench`
LOGS = BUILD / "test-logs"
WORLD = BUILD / "test-world"  # what tests of real parts find: written by ./dev test, read by one_test.py
KUBERNETES_VERSION = "1.34.2"


def build_folder(preset: str) -> Path:
    """The folder that CMakePresets.json gives to a preset."""
    return BUILD if preset == "dev" else ROOT / f"build-{preset}"


def cache_folder() -> Path:
    """Outside the tree, so that a fresh clone starts with it. Losing it costs time, never a result."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "tidemark"


def kubernetes_folder() -> Path:
    return cache_folder() / f"kubernetes-{KUBERNETES_VERSION}"
