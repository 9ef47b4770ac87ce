"""`tidemark up` on this machine for a test: own cgroups, kubectl and `tidemark local` as clients, and no residue afterwards."""

import fnmatch
import json
import os
import re
import secrets
import subprocess
import tempfile
import unittest
from pathlib import Path

from cluster.tidemark_process import Component, wait_for
from support.patience import PATIENCE_S

CGROUPS = Path("/sys/fs/cgroup")


def batch_job(name: str, command: list[str], memory: str) -> dict:
    """As `tidemark local run` makes it, but without a CPU request: other tests may keep the CPUs busy, so that none is sold."""
    amounts = {"kubernetes.io/batch-memory": memory}
    container = {"name": "main", "image": "local", "command": command, "resources": {"requests": amounts, "limits": amounts}}
    template = {
        "metadata": {"labels": {"koordinator.sh/qosClass": "BE"}},
        "spec": {"restartPolicy": "Never", "priorityClassName": "koord-batch", "containers": [container]},
    }
    rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    spec = {"backoffLimit": 0, "podFailurePolicy": {"rules": [rule]}, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


class LocalCase(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="tidemark-local-")))
        self.group = f"tidemark-test-{secrets.token_hex(4)}"
        self.arguments = [
            "up", "--data-dir", str(self.folder / "data"), "--listen", "127.0.0.1:0", "--node-name", "here", "--pod-group", f"/{self.group}",
            "--run-dir", str(self.folder / "run"), "--latch-file", str(self.folder / "off"),
        ]
        self.component = None
        self.addCleanup(self.take_down)
        self.start()

    def run_component(self, *arguments: str) -> Component:
        return Component(*arguments)

    def start(self, *more: str):
        self.component = self.run_component(*self.arguments, *more)
        self.kubeconfig = wait_for(lambda: (re.search(r"^kubeconfig +(\S+)$", self.component.log, re.M) or [None, None])[1], "a kubeconfig", self.component)
        wait_for(lambda: self.kubectl("get", "node", "here").returncode == 0, "a node", self.component)

    def take_down(self):
        if self.component.process.poll() is not None:
            self.start()
        try:
            self.kubectl("delete", "jobs", "--all")
            self.kubectl("delete", "pods", "--all", "--grace-period=0", "--force")
            wait_for(lambda: not self.groups("pod*"), "pods' groups gone", self.component)
        finally:
            self.component.stop()

    def kubectl(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess:
        return subprocess.run(
            [os.environ["TIDEMARK_KUBECTL"], "--kubeconfig", self.kubeconfig, *arguments], input=stdin or "", capture_output=True, text=True, timeout=PATIENCE_S
        )

    def apply(self, *objects: dict):
        done = self.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
        self.assertEqual(0, done.returncode, done.stderr)

    def get(self, *arguments: str) -> dict:
        done = self.kubectl("get", *arguments, "-o", "json")
        self.assertEqual(0, done.returncode, done.stderr)
        return json.loads(done.stdout)

    def phases(self) -> dict[str, str]:
        return {each["metadata"]["name"]: each["status"].get("phase", "") for each in self.get("pods")["items"]}

    def groups(self, pattern: str = "*") -> list[Path]:
        """The cgroups below ours, in any hierarchy. Ignores a cgroup that vanishes during the walk, as os.walk does."""
        tops = [CGROUPS / self.group, *CGROUPS.glob(f"*/{self.group}")]
        return [Path(above) / name for top in tops for above, names, _ in os.walk(top) for name in names if fnmatch.fnmatch(name, pattern)]

    def file(self, uid: str, name: str) -> str:
        found = [path / name for path in self.groups(f"pod{uid}") if (path / name).exists()]
        return found[0].read_text().strip() if found else ""

    def local(self, *arguments: str) -> subprocess.CompletedProcess:
        command, *rest = arguments
        data = f"--data-dir={self.folder / 'data'}"
        return subprocess.run(
            [os.environ["TIDEMARK_BINARY"], "local", command, data, *rest], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S
        )

    def tasks(self) -> dict[str, dict]:
        done = self.local("ps", "-a", "-o", "json")
        self.assertEqual(0, done.returncode, done.stderr)
        return {each["name"]: each for each in json.loads(done.stdout)["tasks"]}
