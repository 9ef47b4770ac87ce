"""Python packages of tests, as a virtual environment: taken once for this machine and each version of their list, and kept in the cache folder. pip takes them,
from where its own settings say."""

import fcntl
import hashlib
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from driver import processes
from driver.console import Failed, step
from driver.paths import ROOT, cache_folder

DOWNLOAD_S = 1200


@dataclass
class PythonPackages:
    name: str
    requirements: Path

    def folder(self) -> Path:
        """Where they are, or will be. Another list is another folder."""
        return cache_folder() / f"{self.name}-{hashlib.sha256(self.requirements.read_bytes()).hexdigest()[:12]}" / "venv"

    def provide(self) -> Path:
        """The Python that has them. Failed with the remedy if they cannot be had."""
        wanted = self.folder()
        python = wanted / "bin" / "python"
        if python.exists():
            return python
        wanted.parent.mkdir(parents=True, exist_ok=True)
        with open(wanted.parent / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # a second run waits instead of fetching the same packages
            if not python.exists():
                with step(f"taking Python packages for {self.name}, once for this machine"):
                    self._fetch(wanted)
        return python

    def _fetch(self, wanted: Path) -> None:
        """It appears by rename, so a half of it is never found."""
        log = wanted.parent / "pip.log"
        with tempfile.TemporaryDirectory(dir=wanted.parent, prefix=".fetching-") as scratch:
            made = Path(scratch) / "venv"
            for command in ([sys.executable, "-m", "venv", made], [made / "bin" / "python", "-m", "pip", "install", "--quiet", "-r", self.requirements]):
                done = processes.run_logged([str(word) for word in command], log, cwd=scratch, timeout_s=DOWNLOAD_S)
                if done.code != 0:
                    said = log.read_text(errors="replace")[-2000:]
                    raise Failed(f"pip did not install {self.name}: is a registry reachable by its settings, and python3-venv installed?\n{said}")
            os.rename(made, wanted)
        log.unlink()


PYSPARK = PythonPackages("pyspark", ROOT / "tests/support/clients/pyspark.txt")
PYSPARK_4 = PythonPackages("pyspark4", ROOT / "tests/support/clients/pyspark4.txt")
GATEWAY_CLIENTS = PythonPackages("gateway-clients", ROOT / "tests/support/clients/requirements.txt")
SCHEMATHESIS = PythonPackages("schemathesis", ROOT / "tests/support/clients/schemathesis.txt")
