"""The agent on a real node whose disk is nearly full: it evicts the task that fills the disk, not the one that would be first for memory. The disks belong to
the agent alone, in memory and in its own mount namespace, and end with it. Only their small size differs from a kubelet's disks."""

import os
import unittest
import unittest.mock
from pathlib import Path

from cluster.tidemark_process import wait_for
from node.evicting import LIMIT_S, Evicting, offline
from node.test_agent import tearDownModule  # noqa: F401
from support.node import pods

DISK_MIB, HELD_MIB = 64, 56
LINE_PERCENT = 20
ON_DISKS = """#!/bin/sh
exec unshare --mount --propagation private sh -c '
  mount -t tmpfs -o size={size}m kubelet "{kubelet}" && mount -t tmpfs -o size={other}m runtime "{runtime}" || exit 1
  echo "{{}}" > "{kubelet}/cpu_manager_state" && mkdir "{kubelet}/pods" && exec "{binary}" "$@"' sh "$@"
"""


class Disks(Evicting):
    WORKS = [pods.Work("web", pods.BURSTABLE, 5, 6), offline("spark", "spark", 6), offline("transcode", "transcode", 6)]

    @classmethod
    def start(cls):
        state = Path(cls.state)
        script, binary = state / "on-disks", os.environ["TIDEMARK_BINARY"]
        for name in ("kubelet", "runtime"):
            (state / name).mkdir(exist_ok=True)
        script.write_text(ON_DISKS.format(size=DISK_MIB, other=2 * DISK_MIB, kubelet=state / "kubelet", runtime=state / "runtime", binary=binary))
        script.chmod(0o700)
        with unittest.mock.patch.dict(os.environ, TIDEMARK_BINARY=str(script)):
            return super().start()

    @classmethod
    def machine(cls) -> list[str]:
        return [*super().machine(), "--kubelet-dir", f"{cls.state}/kubelet", "--runtime-dir", f"{cls.state}/runtime"]

    def volume(self, name: str) -> Path:
        """A pod's emptyDir, as the agent sees it."""
        uid = next(pod["metadata"]["uid"] for pod in self.node.pods() if pod["metadata"]["name"] == name)
        return Path(f"/proc/{self.agent.process.pid}/root{self.state}/kubelet/pods/{uid}/volumes/kubernetes.io~empty-dir/scratch")

    def free(self) -> float:
        return self.agent.metrics().get('tidemark_agent_disk_free_ratio{component="kubelet"}', -1)

    def test_only_the_task_that_fills_the_disk_is_evicted(self):
        """By class, transcode would be first, but it uses no disk space. Online work uses as much, and stays."""
        for name, mebibytes in (("web", HELD_MIB // 2), ("spark", HELD_MIB // 2), ("transcode", 0)):
            self.volume(name).mkdir(parents=True)
            (self.volume(name) / "file").write_bytes(b"x" * (mebibytes << 20))
        uid = next(pod["metadata"]["uid"] for pod in self.node.pods() if pod["metadata"]["name"] == "spark")
        self.say({}, diskFreePercent=LINE_PERCENT)
        spilled = self.volume("spark") / "file"
        wait_for(lambda: "spark" not in self.names(), "the task that fills it on its way", self.agent, LIMIT_S)
        spilled.unlink()  # as a kubelet does when the pod has ended
        self.all_have_ended()
        wait_for(lambda: self.free() > LINE_PERCENT / 100, "free disk space again", self.agent, LIMIT_S)
        self.assertEqual({"web", "transcode"}, self.names(), self.agent.log[-6000:])
        events = wait_for(lambda: self.events("evictPodSuccess", uid), "an event", self.agent, LIMIT_S)
        self.assertIn("TM-EVICT-007", events[0]["message"])


if __name__ == "__main__":
    unittest.main()
