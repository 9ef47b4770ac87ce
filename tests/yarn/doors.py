"""By which door totals of nodes were changed: each change that a ResourceManager tells in its log, held against what YARN's operator says that it did."""

import json
import re
import unittest
from pathlib import Path

from cluster.tidemark_process import Component

# CapacityScheduler's, in milliseconds how long what does not fit any more may go on.
CHANGED = re.compile(r"Update resource on node: \S+ from: <memory:-?\d+, vCores:-?\d+>, to: <memory:(-?\d+), vCores:(-?\d+)> in (-?\d+) ms")
DONE = ("done", "unknown")  # of a call whose answer was lost


class Doors:
    """Of one NodeManager, from now on. `flags` are the operator's, which is begun after this."""

    def __init__(self, rm, folder: Path):
        self._rm, self._before, self._audit = rm, len(rm.said()), folder / "audit.jsonl"
        self.flags = [f"--audit-file={self._audit}"]

    def changes(self) -> list[tuple[int, int]]:
        """MiB and cores."""
        return [(int(memory), int(vcores)) for memory, vcores, _ in CHANGED.findall(self._rm.said()[self._before :])]

    def by_others(self) -> list[tuple[int, int]]:
        """From the first one that is not in the operator's audit where its turn is; once the operator has ended. What it tells and is so already is in the audit alone."""
        lines = [json.loads(line) for line in self._audit.read_text().splitlines()]
        told = iter([(each["new"]["memoryMiB"], each["new"]["vcores"]) for each in lines if each["verb"] == "updateNodeResource" and each["outcome"] in DONE])
        return [change for change in self.changes() if change not in told]

    def assert_operators_alone(self, test: unittest.TestCase, operator: Component) -> None:
        """Ends the operator."""
        test.assertEqual(0, operator.metrics()["tidemark_yarn_operator_set_again_total"], operator.log[-3000:])
        test.assertEqual(0, operator.stop())
        test.assertTrue(self.changes(), "nobody changed anything: this proves nothing")
        test.assertEqual([], self.by_others())
