"""The effect of `cpuSuppressPolicy: idle`, the default of `tidemark up`, measured in CPU time of each side: offline work gets almost nothing while
online work uses all CPUs, and all of them afterwards."""

import json
import os
import sys
import time
import unittest
from pathlib import Path

from cluster.local_case import CGROUPS, LocalCase, batch_job
from cluster.tidemark_process import wait_for
from demo.plain_groups import cpu_seconds

CORES = os.cpu_count() or 1
SPIN = "while :; do :; done"
OVER_S = 5
# Of the sum of both. The kernel's weight of an idle cgroup is 3, beside 1,024 and more: 1 %, plus what a CPU does between two online processes.
SMALL_SHARE = 0.15
MANY_TIMES = 4  # of its earlier share
IDLE_MAX = 0.1 * CORES  # CPUs


def spinning(processes: int) -> list[str]:
    return ["sh", "-c", f"for i in $(seq {processes}); do ({SPIN}) & done; wait"]


def machine_idle() -> float:
    """CPU seconds without a running process."""
    _, _, _, idle, waits, *_ = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:])
    return (idle + waits) / os.sysconf("SC_CLK_TCK")


class LocalIdle(LocalCase):
    def value(self, name: str, *below: str) -> str:
        tops = (CGROUPS / self.group, CGROUPS / "cpu" / self.group)
        return next((file.read_text().strip() for top in tops if (file := top.joinpath(*below, name)).exists()), "")

    def had(self, below: str) -> float:
        """CPU seconds of a class of pods; independent of how long the test took."""
        tops = [CGROUPS / self.group, CGROUPS / "cpuacct" / self.group]
        return cpu_seconds([top / "kubepods" / below for top in tops if (top / "kubepods" / below).is_dir()])

    def rates(self, over_s: float) -> tuple[float, float]:
        """CPUs used by online and by offline work."""
        before, begun = (self.had("burstable"), self.had("besteffort")), time.monotonic()
        time.sleep(over_s)
        took = time.monotonic() - begun
        online, offline = self.had("burstable") - before[0], self.had("besteffort") - before[1]
        return online / took, offline / took

    def top(self) -> dict:
        done = self.local("top", "--once", "-o", "json")
        self.assertEqual(0, done.returncode, done.stderr)
        return json.loads(done.stdout)

    def test_offline_work_gets_what_online_work_leaves(self):
        wait_for(lambda: self.value("cpu.shares") or self.value("cpu.weight"), "groups", self.component)
        if not self.value("cpu.idle", "kubepods"):
            self.skipTest("this kernel has no cpu.idle")
        names = [f"spin-{i}" for i in range(CORES)]
        wait_for(lambda: "kubernetes.io/batch-memory" in self.get("node", "here")["status"]["allocatable"], "an offer", self.component)
        self.apply(*[batch_job(name, ["sh", "-c", SPIN], "32Mi") for name in names])
        wait_for(lambda: all(self.tasks()[name]["state"] in ("Running", "Limited") for name in names), "offline work", self.component)
        # Two for each CPU: the kernel's balance leaves none without, whatever else runs on this machine.
        web = {"name": "main", "image": "local", "command": spinning(2 * CORES), "resources": {"requests": {"cpu": "500m"}}}
        self.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"terminationGracePeriodSeconds": 1, "containers": [web]}})
        wait_for(lambda: self.phases().get("web") == "Running", "online work", self.component)
        wait_for(lambda: (self.value("cpu.idle"), self.value("cpu.idle", "kubepods", "besteffort")) == ("0", "1"), "only offline work idle", self.component)

        online, beside = self.rates(OVER_S)
        print(f"CPUs: online {online:.2f}, offline beside it {beside:.3f}", file=sys.stderr)
        self.assertGreater(online, 0)
        self.assertLess(beside / (online + beside), SMALL_SHARE)

        limited = lambda: [each for each in self.tasks().values() if each["name"] in names and each["state"] == "Limited"]
        wait_for(lambda: len(limited()) == CORES, "all of it reported as limited", self.component)
        for each in limited():
            self.assertRegex(each["why"], r"waited for processors \d+ % of the time|\d cores are in use, [\d.]+ of them not by offline work")
        rows = {row["name"]: row["why"] for row in self.top()["limited"]}
        self.assertEqual({each["name"]: each["why"] for each in limited()}, rows)

        self.assertEqual(0, self.kubectl("delete", "pod", "web").returncode)
        wait_for(lambda: "web" not in self.phases(), "the end of online work", self.component)

        after = wait_for(lambda: self.takes_all_that_is_left(MANY_TIMES * beside), "all CPUs for offline work", self.component)  # others may keep the machine busy
        print(f"offline once that is gone: {after:.2f}", file=sys.stderr)

    def takes_all_that_is_left(self, more_than: float) -> float | None:
        """Others may run on this machine: then what they leave counts."""
        before = machine_idle()
        offline = self.rates(1)[1]
        idle = machine_idle() - before
        return offline if offline > more_than and idle < IDLE_MAX else None


if __name__ == "__main__":
    unittest.main()
