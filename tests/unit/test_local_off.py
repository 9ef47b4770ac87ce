"""`tidemark off` and `on` on one machine: nothing is sold, no offline work starts, running offline work has its minimum, and the online task is not
affected; without running offline work every file is as it was."""

import json
import os
import subprocess
import unittest

from cluster.local_case import CGROUPS, LocalCase, batch_job
from cluster.tidemark_process import wait_for
from support.node import cgroups

LEAST_US = 2_000  # for all offline work, in 100 ms: docs/guide/protection.md
ORDERED = ["--yes", "--reason=a look at the machine alone"]


@unittest.skipUnless(os.geteuid() == 0 and cgroups.writable(), "needs root and writable cgroups")
class LocalOff(LocalCase):
    def order(self, *words: str) -> None:
        done = subprocess.run(
            [os.environ["TIDEMARK_BINARY"], *words, *ORDERED, "--kubeconfig", self.kubeconfig], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
        )
        self.assertEqual(0, done.returncode, done.stderr)

    def order_locally(self, verb: str) -> None:
        words = [verb, "--local", "--reason=is it us", "--latch-file", str(self.folder / "off"), "--run-dir", str(self.folder / "run")]
        done = subprocess.run([os.environ["TIDEMARK_BINARY"], *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertEqual(0, done.returncode, done.stderr)

    def of_besteffort(self, name: str) -> str:
        tops = (CGROUPS / self.group, CGROUPS / "cpu" / self.group)
        return next((file.read_text().strip() for top in tops if (file := top / "kubepods/besteffort" / name).exists()), "")

    def quota(self) -> str:
        return self.of_besteffort("cpu.cfs_quota_us") or self.of_besteffort("cpu.max").partition(" ")[0]

    def isolation(self) -> str:
        return next((each["reason"] for each in self.get("node", "here")["status"]["conditions"] if each["type"] == "TidemarkIsolation"), "")

    def sold(self) -> set[str]:
        return {name for name, amount in self.get("node", "here")["status"]["allocatable"].items() if "batch-" in name and amount != "0"}

    def test_no_offline_work_starts_and_the_online_task_is_not_affected(self):
        self.apply({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
            "spec": {"containers": [{"name": "main", "image": "local", "command": ["sleep", "1000"], "resources": {"requests": {"cpu": "100m"}}}]},
        })
        wait_for(lambda: "kubernetes.io/batch-memory" in self.sold(), "an offer", self.component)
        self.apply(batch_job("steady", ["sleep", "1000"], "32Mi"))
        wait_for(lambda: self.tasks()["steady"]["state"] == "Running" and self.phases().get("web") == "Running", "both run", self.component)
        wait_for(lambda: self.isolation() == "Enforcing", "an enforcing agent", self.component)
        idle_before = self.of_besteffort("cpu.idle")
        web = self.get("pod", "web")["status"]["containerStatuses"][0]

        self.order("off", "node", "here", "--now")
        wait_for(lambda: self.isolation() == "Off", "an agent that is off", self.component)
        wait_for(lambda: not self.sold(), "nothing is sold", self.component)
        wait_for(lambda: self.quota() == str(LEAST_US), "the minimum for running offline work", self.component)
        self.assertEqual("Running", self.tasks()["steady"]["state"], "no task is evicted")
        self.assertEqual(0, self.local("run", "--name=filler", "--class=free", "--", "true").returncode)
        self.apply(batch_job("asks", ["true"], "32Mi"))
        for name in ("filler", "asks"):
            wait_for(lambda: "off or drains here" in self.tasks()[name].get("why", ""), f"a reason why {name} waits", self.component)

        self.assertEqual(0, self.local("stop", "steady", "--now", "--wait").returncode)
        wait_for(lambda: self.quota() in ("-1", "max") and self.of_besteffort("cpu.idle") in ("", "0"), "all original values", self.component)
        self.assertEqual({"Waiting"}, {self.tasks()[name]["state"] for name in ("filler", "asks")})

        self.order("on", "node", "here")
        wait_for(lambda: {self.tasks()[name]["state"] for name in ("filler", "asks")} == {"Succeeded"}, "both have run", self.component)
        wait_for(lambda: (self.isolation(), self.of_besteffort("cpu.idle")) == ("Enforcing", idle_before), "in force again", self.component)
        after = self.get("pod", "web")["status"]["containerStatuses"][0]
        self.assertEqual((web["containerID"], 0), (after["containerID"], after["restartCount"]))
        top = json.loads(self.local("top", "--once", "-o", "json").stdout)
        self.assertEqual([], top["evicted"])

    def test_the_latch_on_the_machine_also_stops_offline_work(self):
        wait_for(lambda: self.isolation() == "Enforcing", "an enforcing agent", self.component)
        self.order_locally("off")
        wait_for(lambda: self.isolation() == "OffLocally", "an agent that reports it", self.component)
        self.assertEqual(0, self.local("run", "--name=filler", "--class=free", "--", "true").returncode)
        wait_for(lambda: "off or drains here" in self.tasks()["filler"].get("why", ""), "a reason why it waits", self.component)
        self.order_locally("on")
        wait_for(lambda: self.tasks()["filler"]["state"] == "Succeeded", "it has run", self.component)


if __name__ == "__main__":
    unittest.main()
