"""`tidemark doctor node` on a real node: before an agent runs there and beside one, with and without the right to query the kubelet."""

import json
import os
import subprocess
import unittest
from pathlib import Path

from cluster import colocation
from cluster.tidemark_process import wait_for
from node.test_agent import API, CONFIGZ, RBAC, RIGHTS, OnARealNode
from node.test_agent import tearDownModule  # noqa: F401
from support.node import cgroups, pods
from support.node.settings import EVICTS_NEVER
from support.patience import PATIENCE_S as LIMIT_S

NODESLOS = "/apis/slo.koordinator.sh/v1alpha1/nodeslos"
STRATEGIES = ("cpuSuppress: ", "batchLimits: ", "cpuPriority: ", "classWeights: ", "eviction: ")


class Doctor(OnARealNode):
    WORKS = [pods.Work("online", pods.BURSTABLE, 5, 6), pods.Work("plain", pods.BEST_EFFORT, 5, 6)]

    @classmethod
    def node_options(cls) -> dict:
        return {"evicts": {**EVICTS_NEVER, "nodefs.available": "1%"}}

    def setUp(self):
        self.ours: set[int] = set()  # processes that may have run kernel trials

    def doctor(self, *words: str, code: int | None = None) -> str:
        command = subprocess.Popen(
            [
                os.environ["TIDEMARK_BINARY"], "doctor", "node", *self.machine(), "--kubeconfig", str(self.kubeconfig), "--node-name", self.node.name,
                "--kubelet-endpoint", self.node.kubelet, "--kubelet-ca-file", os.environ["TIDEMARK_TEST_CA_FILE"], "--kubelet-cgroup-root", f"/{self.node.cgroup}", *words,
            ],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        self.addCleanup(command.wait)
        self.addCleanup(command.kill)
        self.ours.add(command.pid)
        output, errors = command.communicate(timeout=LIMIT_S)
        self.assertIn(command.returncode, (0, 1) if code is None else (code,), output + errors)
        return output

    def shown(self, *words: str, code: int | None = None) -> dict:
        return json.loads(self.doctor("-o", "json", *words, code=code))

    def of(self, shown: dict, what: str) -> dict:
        return next(each for each in shown["findings"] if each["what"] == what)

    def grant(self, rules: list[dict]) -> None:
        path = f"{RBAC}/clusterroles/{self.node.name}-agent"
        colocation.must(API.request("PATCH", path, {"rules": rules}, content="application/merge-patch+json"))

    def test_the_agent_and_the_kubelet_are_queried(self):
        self.addCleanup(self.grant, RIGHTS)
        self.grant([each for each in RIGHTS if each != CONFIGZ])
        refused = wait_for(lambda: self.of(self.shown(), "kubelet")["severity"] == "warn" and self.shown(), "a kubelet that refuses", self.agent, LIMIT_S)
        self.assertIn("nodes/configz", self.of(refused, "kubelet")["found"], refused)
        self.grant(RIGHTS)
        told = wait_for(lambda: self.of(found := self.shown(), "kubelet")["severity"] == "ok" and found, "a kubelet that tells its configuration", self.agent, LIMIT_S)
        self.assertEqual("agent", told["kernelTriedBy"])
        self.assertTrue(told["agentRuns"])
        without_effect = "CPUBurst, RdtResctrl, NodeTopologyReport, CPUSetAllocator"
        self.assertEqual([f"feature gates on, without effect with Tidemark's agent: {without_effect}"], told["notes"])
        self.assertEqual("cgroupfs", self.of(told, "cgroupDriver")["found"])
        self.assertEqual("ok", self.of(told, "cgroupDriver")["severity"], "the kubelet says so too")
        self.assertEqual("none", self.of(told, "otherAgent")["found"])
        self.assertIn("cpuManagerPolicy none", self.of(told, "cpuManager")["found"])
        self.assertEqual("as intended", self.of(told, "files")["found"])
        self.see_trials(told)
        self.assertEqual("not enforced (restore): the kernel goes by what each process has", self.of(told, "oomOrder")["found"], "no setting enforces it")
        self.assertIn("/plain", self.of(told, "requests")["found"], "it is held with offline work")
        measures = self.of(told, "measures")["found"]
        self.assertIn("run queue" + ("" if Path("/proc/self/schedstat").exists() else ": not here"), measures)
        self.assertRegex(measures, r"cpi: (not here: .|the machine provides it)")
        self.assertEqual("ok", self.of(told, "measures")["severity"], "nothing needs them")
        wait_for(lambda: (says := self.condition()) and all(each in self.of(self.shown(), "inForce")["found"] for each in says), "what the condition says", self.agent, LIMIT_S)

    def see_trials(self, shown: dict) -> None:
        """On a working kernel no trial has another result; on a busy machine a trial may have none."""
        said = "; ".join(each["found"] for each in shown["findings"] if each["what"] == "kernelFiles")
        self.assertNotIn("TM-KNOB-004", said, "without effect")
        self.assertIn("effective: ", said)
        for each in ("cpu.shares", "cpu.cfs_quota_us", "cpuset.cpus", "memory.limit_in_bytes"):
            self.assertIn(each, said)
        message = wait_for(lambda: "; kernel files " in (text := self.message()) and text, "the results of trials in the condition", self.agent, LIMIT_S)
        self.assertIn("; kernel files effective: ", message)
        self.assertNotIn("no effect: ", message)

    def message(self) -> str:
        conditions = API.get(f"/api/v1/nodes/{self.node.name}").get("status.conditions", [])
        return next((each["message"] for each in conditions if each["type"] == "TidemarkIsolation"), "")

    def condition(self) -> list[str]:
        """The strategies of the condition without their files, which follow a minute later."""
        return [each.split(" (")[0] for each in self.message().split("; ") if each.startswith(STRATEGIES)]

    def test_our_line_beside_the_kubelets(self):
        """The fixture's kubelet evicts if all but 1 MiB is used: 100 % is above that, 70 % (the default) is not."""
        spec = {"resourceUsedThresholdWithBE": {"enable": True, "cpuSuppressPolicy": "cfsQuota", "cpuSuppressThresholdPercent": 95, "memoryEvictThresholdPercent": 100}}
        slo = {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeSLO", "metadata": {"name": self.node.name}, "spec": spec}
        colocation.must(API.request("POST", NODESLOS, slo))
        self.addCleanup(API.request, "DELETE", f"{NODESLOS}/{self.node.name}")
        over = wait_for(lambda: self.of_line("bad"), "a threshold above the kubelet's", self.agent, LIMIT_S)
        self.assertEqual("bad", over["severity"])
        self.assertIn("memoryEvictThresholdPercent", self.of(over, "memoryLine")["fix"])
        self.assertIn("bad   memory line", self.doctor(code=1))
        spec["resourceUsedThresholdWithBE"]["memoryEvictThresholdPercent"] = 70
        colocation.must(API.request("PATCH", f"{NODESLOS}/{self.node.name}", {"spec": spec}, content="application/merge-patch+json"))
        under = wait_for(lambda: self.of_line("ok"), "a threshold below the kubelet's", self.agent, LIMIT_S)
        self.assertEqual("nodeslo", under["settings"])

    def test_a_kubelet_that_evicts_for_a_disk_without_our_threshold(self):
        """Off by default: reported with the number that comes before the kubelet's; with that number all is well."""
        alone = self.of(self.shown(), "diskLine")
        self.assertEqual("warn", alone["severity"], alone)
        self.assertIn("only the kubelet evicts from", alone["found"])
        self.assertIn("set diskFreePercent (evictions.node of tidemark-config) to 6 or more", alone["fix"])
        self.assertEqual("ok", self.of(self.shown(), "inodesLine")["severity"], "the kubelet has no such threshold either")
        word = {"schema": 1, "agent": {"modes": {"default": "observe"}, "evict": {"diskFreePercent": 6}}}
        spec = {"resourceUsedThresholdWithBE": {"enable": True}, "extensions": {"Object": {"tidemark": word}}}
        colocation.must(API.request("POST", NODESLOS, {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeSLO", "metadata": {"name": self.node.name}, "spec": spec}))
        self.addCleanup(API.request, "DELETE", f"{NODESLOS}/{self.node.name}")
        before = wait_for(lambda: (found := self.of(self.shown(), "diskLine"))["severity"] == "ok" and found, "a threshold before the kubelet's", self.agent, LIMIT_S)
        self.assertIn("offline work is evicted from", before["found"])

    def test_memory_protection_of_a_class_without_kernel_support(self):
        """The cgroups of this machine are v1, without memory.low; `DoctorNode` has the cases without effect on v2."""
        self.assertEqual("ok", self.of(self.shown(), "memoryProtection")["severity"], "no class requests any")
        spec = {"extensions": {"Object": {"tidemark": {"schema": 1, "agent": {"classes": [{"name": "spark", "order": 1, "memoryLowPercent": 25}]}}}}}
        slo = {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeSLO", "metadata": {"name": self.node.name}, "spec": spec}
        colocation.must(API.request("POST", NODESLOS, slo))
        self.addCleanup(API.request, "DELETE", f"{NODESLOS}/{self.node.name}")
        said = wait_for(lambda: (found := self.of(self.shown(), "memoryProtection"))["severity"] == "warn" and found, "memoryLowPercent without effect", self.agent, LIMIT_S)
        self.assertIn("has no effect: memory.low: the kernel of this node has no such file", said["found"])
        self.assertIn("cgroup v2", said["fix"])

    def of_line(self, severity: str) -> dict | None:
        shown = self.shown()
        line = next((each for each in shown["findings"] if each["what"] == "memoryLine"), None)
        return shown if line and line["severity"] == severity else None

    def test_without_an_agent_the_command_runs_the_trials_and_leaves_nothing(self):
        beside = self.shown()
        self.ours.add(self.agent.process.pid)
        self.agent.stop()
        try:
            alone = self.shown()
        finally:
            type(self).agent = self.start()
        self.assertEqual("command", alone["kernelTriedBy"])
        self.assertFalse(alone["agentRuns"])
        self.assertIn("unknown", self.of(alone, "otherAgent")["found"])
        self.assertEqual(self.of(beside, "cpuPriority")["found"], self.of(alone, "cpuPriority")["found"], "the same kernel")
        # By process id: agents beside this test may run trials at this moment.
        left = [str(each) for pid in self.ours for hierarchy in cgroups.hierarchies() for each in hierarchy.glob(f"tidemark-probe-{pid}-*")]
        self.assertEqual([], left)


if __name__ == "__main__":
    unittest.main()
