"""How totals of nodes were changed: compares each change in a ResourceManager's log with the audit of YARN's operator."""

import json
import re
import unittest
from datetime import datetime
from pathlib import Path

from cluster.tidemark_process import Component

# CapacityScheduler's line; the number in milliseconds is the time that an excess may continue.
CHANGED = re.compile(r"Update resource on node: \S+ from: <memory:-?\d+, vCores:-?\d+>, to: <memory:(-?\d+), vCores:(-?\d+)> in (-?\d+) ms")
CHANGED_AT = re.compile(rf"^(\S+ \S+) .*{CHANGED.pattern}$", re.M)  # in local time
KILL_NEVER_MS = 2**31 - 1
DONE = ("done", "unknown")  # the answer of the call was lost


class Doors:
    """The changes for one NodeManager, from now on. `flags` are for the operator, which starts after this."""

    def __init__(self, rm, folder: Path):
        self._rm, self._before, self._audit = rm, len(rm.said()), folder / "audit.jsonl"
        self.flags = [f"--audit-file={self._audit}"]

    def changes(self) -> list[tuple[int, int]]:
        """MiB and cores."""
        return [(int(memory), int(vcores)) for memory, vcores, _ in CHANGED.findall(self._rm.said()[self._before :])]

    def audit(self) -> list[dict]:
        """The operator's updates."""
        lines = [json.loads(line) for line in self._audit.read_text().splitlines()]
        return [each for each in lines if each["verb"] == "updateNodeResource"]

    def graces(self) -> list[tuple[float, float]]:
        """When the ResourceManager got the order to end what exceeds a total, and after how many seconds."""
        found = CHANGED_AT.findall(self._rm.said()[self._before :])
        return [(datetime.strptime(at, "%Y-%m-%d %H:%M:%S,%f").timestamp(), int(ms) / 1000) for at, _, _, ms in found if 0 < int(ms) < KILL_NEVER_MS]

    def by_others(self) -> list[tuple[int, int]]:
        """Changes from the first one that does not match the operator's audit; call it after the operator ended. A repeated total is in the audit only."""
        shown = iter([(each["new"]["memoryMiB"], each["new"]["vcores"]) for each in self.audit() if each["outcome"] in DONE])
        return [change for change in self.changes() if change not in shown]

    def assert_operators_alone(self, test: unittest.TestCase, operator: Component) -> None:
        """Stops the operator."""
        test.assertEqual(0, operator.metrics()["tidemark_yarn_operator_set_again_total"], operator.log[-3000:])
        test.assertEqual(0, operator.stop())
        test.assertTrue(self.changes(), "no total changed: this proves nothing")
        test.assertEqual([], self.by_others())
