"""Groups without Tidemark, on folders that look like cgroup version 2."""

import tempfile
import unittest
from pathlib import Path

from demo.plain_groups import PlainGroups


class PlainGroupsTest(unittest.TestCase):
    def made(self, controllers: str) -> tuple[PlainGroups, Path]:
        top = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (top / "cgroup.controllers").write_text(controllers)
        (top / "cgroup.subtree_control").write_text("")
        groups = PlainGroups("tidemark-demo-00000000")
        groups.tops, groups.cpu = [top], top
        groups.make("batch", 2)
        return groups, top

    def test_what_the_knobs_need_is_handed_down(self):
        _, top = self.made("cpuset cpu io memory pids")
        self.assertEqual("+cpu +cpuset", (top / "cgroup.subtree_control").read_text())

    def test_and_nothing_that_is_not_there(self):
        _, top = self.made("cpu memory")
        self.assertEqual("+cpu", (top / "cgroup.subtree_control").read_text())


if __name__ == "__main__":
    unittest.main()
