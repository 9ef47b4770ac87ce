"""A component of ours as a process of a test: started from build/tidemark, its log kept, always stopped."""

import json
import os
import re
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from support.patience import PATIENCE_S

STOP_S = 60


class Component:
    def __init__(self, *arguments: str, binary: str | None = None):
        self._log = tempfile.NamedTemporaryFile(prefix="tidemark-", suffix=".log")
        self.process = subprocess.Popen(
            [binary or os.environ["TIDEMARK_BINARY"], *arguments], stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT
        )

    @property
    def log(self) -> str:
        return Path(self._log.name).read_text(errors="replace")

    def metrics_address(self) -> str:
        return wait_for(lambda: (re.search(r"metrics served .*address=(\S+)", self.log) or [None, None])[1], "a metrics address", self)

    def metrics(self) -> dict[str, float]:
        """Of all pages."""
        try:
            answer = urllib.request.urlopen(f"http://{self.metrics_address()}/all-metrics", timeout=10)
        except urllib.error.HTTPError:  # a version with one page
            answer = urllib.request.urlopen(f"http://{self.metrics_address()}/metrics", timeout=10)
        with answer:
            lines = answer.read().decode().splitlines()
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line and line[0] != "#")}

    def ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://{self.metrics_address()}/readyz", timeout=10) as answer:
                return answer.status == 200
        except OSError:
            return False

    def stop(self) -> int:
        """Sends SIGTERM as an operator would; returns the exit code. A second call only returns it again."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self.process.returncode

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def wait_for(question, what: str, component: Component | None = None, limit_s: float = PATIENCE_S):
    """Polls until the condition is true; a failure names the condition and shows the end of the component's log."""
    deadline = time.monotonic() + limit_s
    while True:
        answer = question()
        if answer:
            return answer
        if component is not None and component.process.poll() is not None:
            raise AssertionError(f"tidemark ended with {component.process.returncode} before {what}:\n{component.log[-3000:]}")
        if time.monotonic() > deadline:
            shown = component.log[-3000:] if component is not None else ""
            raise AssertionError(f"no {what} within {limit_s} s\n{shown}")
        time.sleep(0.05)


def explain(node: str, *arguments: str, kind: str = "node") -> subprocess.CompletedProcess:
    return subprocess.run(
        [os.environ["TIDEMARK_BINARY"], "explain", kind, node, "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], *arguments],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
    )


def explain_json(node: str) -> dict:
    done = explain(node, "-o", "json")
    if done.returncode != 0:
        raise AssertionError(f"explain failed: {done.stderr}")
    return json.loads(done.stdout)
