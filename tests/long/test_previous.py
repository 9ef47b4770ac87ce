"""Our previous version → this one → the previous one, on a loaded cluster: no number moves, and neither loses the other's
orders and history. The previous version is built from this repository's history."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from cluster import previous
from cluster.colocation import must
from cluster.manager_case import WithManager
from cluster.test_previous import EPOCH
from cluster.test_swap import numbers
from cluster.tidemark_process import wait_for
from driver import build

ROOT = Path(__file__).resolve().parents[2]
COMMIT = previous.COMMIT
BUILD_S = 7000


def git(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run(["git", "-C", str(ROOT), *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)


def build_previous(case: type[unittest.TestCase]) -> str:
    if git("cat-file", "-e", f"{COMMIT}^{{commit}}").returncode != 0:
        raise unittest.SkipTest(f"the history here does not reach back to {COMMIT}: a shallow clone, or no git")
    tree = Path(tempfile.mkdtemp(prefix="tidemark-previous-"))
    case.addClassCleanup(shutil.rmtree, tree, True)
    packed = subprocess.run(["git", "-C", str(ROOT), "archive", COMMIT], stdin=subprocess.DEVNULL, capture_output=True, timeout=600, check=True)
    subprocess.run(["tar", "-x", "-C", str(tree)], input=packed.stdout, timeout=600, check=True)
    environment = {**build.environment(), "CCACHE_BASEDIR": str(tree)}  # unchanged sources are not compiled again
    for command in (["cmake", "--preset", "dev", "-B", "build"], ["nice", "-n19", "ninja", "-C", "build", "tidemark"]):
        done = subprocess.run(command, cwd=tree, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=BUILD_S)
        if done.returncode != 0:
            raise AssertionError(f"{COMMIT} does not build: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return str(tree / "build" / "tidemark")


class ThereAndBack(WithManager):
    @classmethod
    def setUpClass(cls):
        cls.older = build_previous(cls)
        super().setUpClass()

    def setUp(self):
        previous.take_away(self.api)
        self.addCleanup(previous.take_away, self.api)
        self.journal = Path(tempfile.mkdtemp(prefix="tidemark-journal-"))
        self.addCleanup(shutil.rmtree, self.journal, True)
        previous.put_inputs(self.api)

    def nodes_now(self) -> dict[str, dict]:
        listed = must(self.api.request("GET", "/api/v1/nodes"))["items"]
        return {each["metadata"]["name"]: each for each in listed if each["metadata"]["name"] in previous.NODES}

    def standing(self) -> dict:
        return {"numbers": {name: numbers(node) for name, node in self.nodes_now().items()}, "specs": previous.specs(self.api, previous.NODES)}

    def lead(self, binary: str):
        """Waits until it has written every node that sells, and has nothing left to do."""
        before = {name: int(node["metadata"]["annotations"][EPOCH]) for name, node in self.nodes_now().items() if name in previous.SELLS}
        for node in previous.NODES:
            previous.report(self.api, node)
        component = previous.run(binary, self.journal)
        self.addCleanup(component.stop)
        wait_for(
            lambda: all(int(self.nodes_now()[name]["metadata"]["annotations"][EPOCH]) > epoch for name, epoch in before.items()), "the next epoch", component, 120
        )
        previous.wait_settled(component)
        return component

    def test_old_new_old(self):
        first = previous.run(self.older, self.journal)
        self.addCleanup(first.stop)
        previous.leave_everything(self.api, self.older, first)
        self.assertEqual(0, first.stop())
        wanted = self.standing()
        for binary in (os.environ["TIDEMARK_BINARY"], self.older, os.environ["TIDEMARK_BINARY"]):
            component = self.lead(binary)
            self.assertEqual(wanted, self.standing(), f"by {binary}")
            wanted_metrics = {
                "tidemark_manager_state_good": 1, "tidemark_manager_config_good": 1, "tidemark_settings_revision": 2,
                'tidemark_override_cpu_percent{pool="web"}': 50, 'tidemark_history_records{component="profiles"}': 1,
                'tidemark_history_refused_total{component="profiles"}': 0, 'tidemark_pool_breaker_phase{pool="spike"}': 1,
            }
            wait_for(lambda: wanted_metrics.items() <= component.metrics().items(), f"{wanted_metrics} by {binary}", component)
            self.assertEqual([], re.findall(r"^\S+ ERROR .*", component.log, re.M), binary)
            self.assertEqual(0, component.stop())
        # The newer version reads the journal that both have written.
        done = subprocess.run(
            [os.environ["TIDEMARK_BINARY"], "replay", "--journal-dir", str(self.journal), "-o", "json"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
        )
        report = json.loads(done.stdout)
        self.assertEqual((1, 0, previous.OTHERWISE), (done.returncode, report["unreadable"], previous.otherwise(report)), done.stdout)


if __name__ == "__main__":
    unittest.main()
