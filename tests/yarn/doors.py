"""How totals of nodes were changed: compares each change in a ResourceManager's log with the audit of YARN's operator."""

import json
import re
import unittest
from pathlib import Path

from cluster.tidemark_process import Component

# CapacityScheduler's line; the number in milliseconds is the time that an excess may continue.
CHANGED = re.compile(r"Update resource on node: \S+ from: <memory:-?\d+, vCores:-?\d+>, to: <memory:(-?\d+), vCores:(-?\d+)> in (-?\d+) ms")
DONE = ("done", "unknown")  # the answer of the call was lost


class Doors:
    """The changes for one NodeManager, from now on. `flags` are for the operator, which starts after this."""

    def __init__(self, rm, folder: Path):
        self._rm, self._before, self._audit = rm, len(rm.said()), folder / "audit.jsonl"
        self.flags = [f"--audit-file={self._audit}"]

    def changes(self) -> list[tuple[int, int]]:
        """MiB and cores."""
        return [(int(memory), int(vcores)) for memory, vcores, _ in CHANGED.findall(self._rm.said()[self._before :])]

    def by_others(self) -> list[tuple[int, int]]:
        """Changes from the first one that does not match the operator's audit; call it after the operator ended. A repeated total is in the audit only."""
        lines = [json.loads(line) for line in self._audit.read_text().splitlines()]
        shown = iter([(each["new"]["memoryMiB"], each["new"]["vcores"]) for each in lines if each["verb"] == "updateNodeResource" and each["outcome"] in DONE])
        return [change for change in self.changes() if change not in shown]

    def assert_operators_alone(self, test: unittest.TestCase, operator: Component) -> None:
        """Stops the operator."""
        test.assertEqual(0, operator.metrics()["tidemark_yarn_operator_set_again_total"], operator.log[-3000:])
        test.assertEqual(0, operator.stop())
        test.assertTrue(self.changes(), "no total changed: this proves nothing")
        test.assertEqual([], self.by_others())
