"""NodeSLO and NodeMetric specs that `tidemark manager` writes for each node, on a real API server: equal to Koordinator's in each field."""

import json
import unittest
from pathlib import Path

from cluster import colocation
from cluster.colocation import MERGE, NODEMETRICS, NODESLOS, must
from cluster.manager_case import WithManager
from cluster.tidemark_process import Component, explain, wait_for

GOLDEN = Path(__file__).parents[1] / "golden" / "nodeslo"
EVENTS = "/api/v1/namespaces/koordinator-system/events"
BANDWIDTH = "node.koordinator.sh/network-bandwidth"
CAPACITY = {"cpu": "32", "memory": "128Gi", "pods": "110"}

DEFAULTS = {
    "resourceUsedThresholdWithBE": {
        "enable": False, "cpuSuppressThresholdPercent": 65, "cpuSuppressPolicy": "cpuset", "memoryEvictThresholdPercent": 70,
        "cpuEvictPolicy": "evictByRealLimit",
    },
    "resourceQOSStrategy": {},
    "cpuBurstStrategy": {
        "policy": "none", "cpuBurstPercent": 1000, "cfsQuotaBurstPercent": 300, "cfsQuotaBurstPeriodSeconds": -1, "sharePoolThresholdPercent": 50,
    },
    "systemStrategy": {"totalNetworkBandwidth": "0"},
    "extensions": {"Object": {}},
}
DEFAULT_COLLECT = {
    "aggregateDurationSeconds": 300, "reportIntervalSeconds": 60, "nodeAggregatePolicy": {"durations": ["5m0s", "10m0s", "30m0s"]},
    "nodeMemoryCollectPolicy": "usageWithoutPageCache",
}


class WithNodes(WithManager):
    def setUp(self):
        self.nodes = []

    def make_node(self, name: str, labels=None, annotations=None) -> str:
        self.nodes.append(name)
        colocation.put_node(self.api, name, capacity=CAPACITY, labels=labels, annotations=annotations)
        return name

    def start(self, *more: str) -> Component:
        return self.run_manager("--leader-elect=false", *more)

    def spec(self, node: str, path: str = NODESLOS) -> dict | None:
        answer = self.api.request("GET", f"{path}/{node}")
        return None if answer.status == 404 else must(answer).get("spec", {})

    def collect(self, node: str) -> dict | None:
        spec = self.spec(node, NODEMETRICS)
        return None if spec is None else spec.get("metricCollectPolicy")

    def revision(self, node: str, path: str = NODESLOS) -> str:
        return must(self.api.request("GET", f"{path}/{node}")).get("metadata.resourceVersion")

    def wait_spec(self, component: Component, node: str, wanted: dict | None, path: str = NODESLOS) -> None:
        try:
            wait_for(lambda: self.spec(node, path) == wanted, f"the spec of {node}", component)
        except AssertionError:
            self.assertEqual(wanted, self.spec(node, path))
            raise

    def wait_part(self, component: Component, node: str, part: str, field: str, value) -> None:
        wait_for(
            lambda: (self.spec(node) or {}).get(part, {}).get(field) == value, f"{field} {value!r} on {node}, found {self.spec(node)}", component, 20
        )

    def wait_told(self, component: Component) -> None:
        """Waits until the manager handled all earlier changes: after a new node has its specs, they are settled."""
        last = self.make_node(f"last-{len(self.nodes)}")
        wait_for(lambda: self.spec(last) is not None and self.collect(last) is not None, "the specs of a last node", component)

    def events(self, reason: str) -> list[str]:
        items = must(self.api.request("GET", EVENTS)).get("items", [])
        return [
            event["message"] for event in items
            if event["reason"] == reason and event["type"] == "Warning" and event["involvedObject"]["name"] == colocation.SETTINGS_NAME
        ]


class Golden(WithNodes):
    def setUp(self):
        super().setUp()
        self.recorded = json.loads((GOLDEN / "case.json").read_text())
        self.expected = json.loads((GOLDEN / "expected.json").read_text())
        colocation.put_data(self.api, self.recorded["config"])
        for node in self.recorded["nodes"]:
            self.make_node(node["name"], node["labels"])

    def test_every_node_gets_koordinators_spec(self):
        """Golden vectors: recorded from Koordinator's manager on a real API server."""
        component = self.start("--kube-api-qps=200", "--kube-api-burst=200")
        for name, wanted in self.expected.items():
            self.wait_spec(component, name, wanted)
            self.wait_spec(component, name, {"metricCollectPolicy": DEFAULT_COLLECT}, NODEMETRICS)

    def test_taking_over_from_koordinator_writes_nothing(self):
        """Koordinator's objects as it left them: none gets a new resourceVersion."""
        for name, spec in self.expected.items():
            must(self.api.request("POST", NODESLOS, {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeSLO", "metadata": {"name": name}, "spec": spec}))
            must(self.api.request("POST", NODEMETRICS, {
                "apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric", "metadata": {"name": name}, "spec": {"metricCollectPolicy": DEFAULT_COLLECT},
            }))
        before = {(name, path): self.revision(name, path) for name in self.expected for path in (NODESLOS, NODEMETRICS)}
        component = self.start("--kube-api-qps=200", "--kube-api-burst=200")
        self.wait_told(component)
        self.assertEqual(before, {(name, path): self.revision(name, path) for name, path in before})
        metrics = component.metrics()
        self.assertEqual([], [name for name in metrics if name.startswith("slo_controller_nodeslo_reconcile_count") and "update" in name])


class Settings(WithNodes):
    def test_a_spec_refused_by_the_schema_leaves_the_object_unchanged(self):
        node = self.make_node("refused")
        component = self.start()
        self.wait_spec(component, node, DEFAULTS)
        colocation.put_data(self.api, {"resource-threshold-config": json.dumps({"clusterStrategy": {"cpuSuppressThresholdPercent": 101}})})
        refused = 'tidemark_manager_node_objects_refused_total{component="nodeslo"}'
        wait_for(lambda: component.metrics().get(refused), "a refused object", component)
        self.assertEqual(DEFAULTS, self.spec(node))


class Explained(WithNodes):
    def test_explain_config_names_the_place_of_each_value(self):
        node = self.make_node("explained", {"pool": "a"}, {BANDWIDTH: "99M"})
        colocation.put_data(self.api, {
            "colocation-config": '{"enable":true}',
            "system-config": '{"clusterStrategy":{"watermarkScaleFactor":150}}',
            "cpu-burst-config": '{"nodeStrategies":[{"name":"a","nodeSelector":{"matchLabels":{"pool":"a"}},"cpuBurstPercent":7}]}',
            "resource-qos-config": "{",
        })
        component = self.start()
        self.wait_part(component, node, "cpuBurstStrategy", "cpuBurstPercent", 7)
        shown = json.loads(self.explain(node, "-o", "json"))
        parts = {part["key"]: part for part in shown["parts"]}

        def field(key: str, path: str) -> tuple:
            return next((found["value"], found["origin"]) for found in parts[key]["fields"] if found["path"] == path)

        self.assertEqual((True, "cluster"), field("colocation-config", "enable"))
        self.assertEqual((150, "cluster"), field("system-config", "watermarkScaleFactor"))
        self.assertEqual(("99M", "annotation"), field("system-config", "totalNetworkBandwidth"))
        self.assertEqual((7, "entry"), field("cpu-burst-config", "cpuBurstPercent"))
        self.assertEqual((65, "default"), field("resource-threshold-config", "cpuSuppressThresholdPercent"))
        self.assertTrue(any("resource-qos-config" in note for note in shown["notes"]), shown["notes"])
        self.assertEqual([], shown["nodeSLO"]["differs"])

        text = self.explain(node)
        self.assertIn('nodeStrategies[0] "a"', text)
        self.assertIn("annotation node.koordinator.sh/network-bandwidth", text)
        self.assertIn("NodeSLO matches", text)

    @staticmethod
    def explain(node: str, *more: str) -> str:
        done = explain(node, *more, kind="config")
        if done.returncode != 0:
            raise AssertionError(f"explain config failed: {done.stderr}")
        return done.stdout


class Objects(WithNodes):
    def test_a_foreign_edit_is_repaired_and_foreign_extensions_stay(self):
        node = self.make_node("edited")
        component = self.start()
        self.wait_spec(component, node, DEFAULTS)
        mine = {"Object": {"mine": {"x": [1]}}}
        edit = {"spec": {"resourceUsedThresholdWithBE": {"enable": True, "memoryEvictLowerPercent": 5}, "cpuBurstStrategy": None, "extensions": mine,
                         "hostApplications": [{"name": "x"}]}}
        must(self.api.request("PATCH", f"{NODESLOS}/{node}", edit, content=MERGE))
        self.wait_spec(component, node, {**DEFAULTS, "extensions": mine})
        must(self.api.request("DELETE", f"{NODESLOS}/{node}"))
        self.wait_spec(component, node, DEFAULTS)


if __name__ == "__main__":
    unittest.main()
