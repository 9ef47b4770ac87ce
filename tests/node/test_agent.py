"""The agent on a real node: its reports about pods of a kubelet, with only the rights that the guide lists."""

import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

from cluster import colocation
from cluster.tidemark_process import Component, wait_for
from node.test_node import API, new_node
from support.node import pods
from support.patience import PATIENCE_S as LIMIT_S

PODS, CPU_MILLI, MEMORY_MIB = 20, 4, 6
REPORT_S, AGGREGATE_S = 30, 60
RBAC = "/apis/rbac.authorization.k8s.io/v1"
CONFIGZ = {"apiGroups": [""], "resources": ["nodes/configz"], "verbs": ["get"]}
# docs/guide/install.md, "Rights of an agent".
RIGHTS = [
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": [""], "resources": ["nodes/pods"], "verbs": ["get"]},
    CONFIGZ,
    {"apiGroups": ["slo.koordinator.sh"], "resources": ["nodemetrics", "nodeslos"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["slo.koordinator.sh"], "resources": ["nodemetrics/status"], "verbs": ["patch"]},
    {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]},  # its condition
]


def tearDownModule():
    API.close()


def milli(quantity: str) -> int:
    return int(quantity[:-1]) if quantity.endswith("m") else int(quantity) * 1000


def mebibytes(quantity: str) -> float:
    for unit, size in {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}.items():
        if quantity.endswith(unit):
            return int(quantity[:-2]) * size / (1 << 20)
    return int(quantity) / (1 << 20)


class OnARealNode(unittest.TestCase):
    """An agent on a node with pods. The cases are below and in other files of this directory; tests/long has those that wait for several reports."""

    WORKS = pods.spread(PODS, CPU_MILLI, MEMORY_MIB)
    LATER: list[pods.Work] = []  # started by a case

    @classmethod
    def setUpClass(cls):
        cls.node = cls.enterClassContext(new_node(**cls.node_options()))
        cls.offer_batch()
        cls.pods = cls.node.run(cls.WORKS)
        colocation.install_crds()
        metric = {
            "apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric", "metadata": {"name": cls.node.name},
            "spec": {"metricCollectPolicy": {"reportIntervalSeconds": REPORT_S, "aggregateDurationSeconds": AGGREGATE_S, "nodeAggregatePolicy": {"durations": ["1m0s"]}}},
        }
        colocation.must(API.request("POST", colocation.NODEMETRICS, metric))
        cls.addClassCleanup(API.request, "DELETE", f"{colocation.NODEMETRICS}/{cls.node.name}")
        cls.state = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="tidemark-agent-"))
        cls.kubeconfig = Path(cls.state) / "kubeconfig"
        cls.kubeconfig.write_text(json.dumps(cls.account()))
        cls.kubeconfig.chmod(0o600)
        cls.agent = cls.start()

    @classmethod
    def node_options(cls) -> dict:
        return {}

    @classmethod
    def offer_batch(cls) -> None:
        """A kubelet accepts no pod with batch resources that its Node does not offer; no manager sells them here."""
        if any(work.batch for work in [*cls.WORKS, *cls.LATER]):
            amounts = {"kubernetes.io/batch-cpu": "8000", "kubernetes.io/batch-memory": "8Gi"}
            status = {"status": {"capacity": amounts, "allocatable": amounts}}
            colocation.must(API.request("PATCH", f"/api/v1/nodes/{cls.node.name}/status", status, content="application/strategic-merge-patch+json"))

    @classmethod
    def account(cls) -> dict:
        """A kubeconfig of a service account with only RIGHTS."""
        name, accounts = f"{cls.node.name}-agent", "/api/v1/namespaces/default/serviceaccounts"
        for path, body in {
            accounts: {"metadata": {"name": name}},
            f"{RBAC}/clusterroles": {"metadata": {"name": name}, "rules": RIGHTS},
            f"{RBAC}/clusterrolebindings": {
                "metadata": {"name": name}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
                "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
            },
        }.items():
            colocation.must(API.request("POST", path, body))
            cls.addClassCleanup(API.request, "DELETE", f"{path}/{name}")
        token = API.post(f"{accounts}/{name}/token", {"spec": {"expirationSeconds": 3600}}).get("status.token")
        return {
            "apiVersion": "v1", "kind": "Config", "current-context": "agent",
            "clusters": [{"name": "here", "cluster": {"server": os.environ["TIDEMARK_TEST_SERVER"], "certificate-authority": os.environ["TIDEMARK_TEST_CA_FILE"]}}],
            "users": [{"name": "agent", "user": {"token": token}}], "contexts": [{"name": "agent", "context": {"cluster": "here", "user": "agent"}}],
        }

    @classmethod
    def launch(cls) -> Component:
        agent = Component(
            "agent", "--node-name", cls.node.name, "--kubeconfig", str(cls.kubeconfig), "--kubelet-endpoint", cls.node.kubelet, "--kubelet-ca-file",
            os.environ["TIDEMARK_TEST_CA_FILE"], "--kubelet-cgroup-root", f"/{cls.node.cgroup}", "--metrics-addr", "127.0.0.1:0", "--state-dir", f"{cls.state}/learned",
            "--pod-logs", str(cls.node.layout.state / "pod-logs"),
            *cls.machine(), *cls.more_flags(),
        )
        cls.addClassCleanup(agent.stop)
        return agent

    @classmethod
    def start(cls) -> Component:
        agent = cls.launch()
        wait_for(agent.ready, "a ready agent", agent)
        return agent

    @classmethod
    def more_flags(cls) -> list[str]:
        """Deletes the state of the agent."""
        return []

    @classmethod
    def machine(cls) -> list[str]:
        """Flags of the agent and of commands on its machine: this run uses no path of an installed agent."""
        return ["--run-dir", f"{cls.state}/run", "--latch-file", f"{cls.state}/latch"]

    def status(self) -> dict:
        return json.loads(colocation.must(API.get(f"{colocation.NODEMETRICS}/{self.node.name}")).body).get("status", {})

    def next_report(self) -> dict:
        before = self.status().get("updateTime")
        return self.report(lambda status: status.get("updateTime") not in (None, before), "another report")

    def report_with(self, names: set[str]) -> dict:
        return self.report(lambda status: names == {each["name"] for each in status.get("podsMetric", [])}, f"a report of {sorted(names)}")

    def report(self, right, what: str) -> dict:
        found = {}

        def look() -> bool:
            nonlocal found
            found = self.status()
            return right(found)

        try:
            wait_for(look, what, self.agent, LIMIT_S)
        except AssertionError as error:
            raise AssertionError(f"{error}\nthe last report: {json.dumps(found)}")
        return found

    def names(self) -> set[str]:
        return {pod["metadata"]["name"] for pod in self.node.pods()}


class AgentOnARealNode(OnARealNode):
    def test_each_pod_is_reported_with_its_class_and_use(self):
        report = self.report_with(self.names())
        wanted = {pod["metadata"]["name"]: {"Guaranteed": "LSR", "Burstable": "LS", "BestEffort": "BE"}[pod["status"]["qosClass"]] for pod in self.pods}
        shown = {each["name"]: each for each in report["podsMetric"] if each["name"] in wanted}
        self.assertEqual(wanted, {name: each["qos"] for name, each in shown.items()})
        self.assertEqual(list(shown), sorted(shown))
        for name, each in shown.items():
            used = each["podUsage"]["resources"]
            self.assertGreaterEqual(mebibytes(used["memory"]), MEMORY_MIB, name)
            self.assertLess(mebibytes(used["memory"]), MEMORY_MIB * 4, name)
        self.assertGreater(sum(milli(each["podUsage"]["resources"]["cpu"]) for each in shown.values()), 0)

    def test_node_pods_and_system_come_from_one_instant(self):
        """Averages of sums are sums of averages, except for rounding."""
        report = self.report_with(self.names())
        node, system = (report["nodeMetric"][kind]["resources"] for kind in ("nodeUsage", "systemUsage"))
        sum_milli = sum(milli(each["podUsage"]["resources"]["cpu"]) for each in report["podsMetric"])
        self.assertAlmostEqual(milli(node["cpu"]), milli(system["cpu"]) + sum_milli, delta=len(report["podsMetric"]) + 0.05 * milli(node["cpu"]))
        self.assertLessEqual(milli(node["cpu"]), os.cpu_count() * 1000)

    def test_it_misses_no_right_and_reads_everything(self):
        self.report_with(self.names())
        for word in ("(403)", "orbidden", "ERROR"):
            self.assertNotIn(word, self.agent.log)
        metrics = self.agent.metrics()
        self.assertEqual(0, metrics["tidemark_agent_readings_unreadable_total"], self.agent.log[-2000:])
        self.assertEqual(0, metrics["tidemark_agent_reports_failed_total"])
        memory = {line.split(":")[0]: line.split()[1] for line in Path(f"/proc/{self.agent.process.pid}/smaps_rollup").read_text().splitlines()[1:]}
        print(f"agent of {PODS} pods: Rss {memory['Rss']} kB, Private_Dirty {memory['Private_Dirty']} kB", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
