"""The checker of the ledger beside a test, all the time: one look after the other, over the API server and the ResourceManager."""

import json
import os
import subprocess
import threading
from pathlib import Path

SLICE_S = 15


class LookingOn(threading.Thread):
    """`lag_s`: a total that is so late is a mistake."""

    def __init__(self, configuration: Path, vcore_milli: int, lag_s: int):
        super().__init__(daemon=True)
        self._words = [
            os.environ["TIDEMARK_BINARY"], "check", "ledger", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "-o", "json", f"--for={SLICE_S}s", f"--lag={lag_s}s",
            "--hadoop-conf-dir", str(configuration), "--yarn-poll=500ms", f"--millicores-per-vcore={vcore_milli}",
        ]
        self._over = threading.Event()
        self.reports: list[tuple[int, str]] = []

    def run(self) -> None:
        while not self._over.is_set():
            done = subprocess.run(self._words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            self.reports.append((done.returncode, done.stdout or done.stderr))

    def end(self) -> None:
        """After the look that is on."""
        self._over.set()
        self.join()

    def mistakes(self) -> list[str]:
        return [said for code, said in self.reports if code != 0 or not json.loads(said)["clean"]]
