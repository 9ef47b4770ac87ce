"""NUMA zones, CPU normalization and resource amplification on a real API server: the worked examples of contract 5.3, missing
topologies, annotations and plugins, and garbage in every text that is read."""

import json
import unittest

from cluster import colocation
from cluster.colocation import MERGE, must
from cluster.manager_case import WithManager
from cluster.tidemark_process import Component, explain_json, wait_for

JSON_PATCH = "application/json-patch+json"
TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
BATCH_CPU, BATCH_MEMORY = "kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"
CPU_INFO = "node.koordinator.sh/cpu-basic-info"

MODEL_A = json.dumps({"cpuModel": "Model A", "hyperThreadEnabled": True, "turboEnabled": False})


def resources(cpu: str, memory: str) -> dict:
    return {"resources": {"cpu": cpu, "memory": memory}}


# Contract 5.3, worked example A: 32 cores and 128 GiB, of which 31 cores and 124 GiB are allocatable and the annotation reserves 2 cores;
# 60 % and 65 % may be used. P1 runs on NUMA node 0, P2 on both, P3 has no metric; P4 is batch and does not count.
EXAMPLE_A = {
    "nodeMetric": {"nodeUsage": resources("10", "40Gi"), "systemUsage": resources("1500m", "3Gi")},
    "podsMetric": [
        {"namespace": "default", "name": "p1", "priority": "koord-prod", "qos": "LS", "podUsage": resources("3", "12Gi")},
        {"namespace": "default", "name": "p2", "priority": "koord-prod", "qos": "LSE", "podUsage": resources("1", "6Gi")},
        {"namespace": "default", "name": "gone", "priority": "koord-prod", "qos": "LS", "podUsage": resources("400m", "1Gi")},
    ],
    "hostApplicationMetric": [{"name": "host", "priority": "koord-prod", "qos": "LS", "usage": resources("500m", "1Gi")}],
    "prodReclaimableMetric": {"resource": {"resources": {}}},
}
PODS = [
    {"name": "p1", "prio": "koord-prod", "qos": "LS", "phase": "Running", "requests": {"cpu": "8", "memory": "16Gi"}},
    {"name": "p2", "prio": "koord-prod", "qos": "LSE", "phase": "Running", "requests": {"cpu": "4", "memory": "8Gi"}},
    {"name": "p3", "prio": "koord-prod", "qos": "LS", "phase": "Running", "requests": {"cpu": "2", "memory": "4Gi"}},
    {"name": "p4", "prio": "koord-batch", "qos": "BE", "phase": "Running", "requests": {BATCH_CPU: "1000", BATCH_MEMORY: "1Gi"}},
]
PLACES = {"p1": [0], "p2": [0, 1]}

GIB = 2**30
# For each zone of 16 cores and 64 GiB by the same formula, with half of what is shared by all:
#   cpu     16 − 6.4 − max(2.0, 2)/2 − dangling 0.4/2 − P3 2/2 − P2 4/2      = 5.4, minus P1's 3 on zone 0
#   memory  64 GiB − trunc(22.4 GiB) − max(4, 4)/2 − 1/2 − 4/2 − 6/2         GiB, minus P1's 12 on zone 0
ZONE_MEMORY = 64 * GIB - int(64 * GIB * 0.35) - int(7.5 * GIB)
ZONES = [("2400", ZONE_MEMORY - 12 * GIB), ("5400", ZONE_MEMORY)]
NODE = {BATCH_CPU: "7800", BATCH_MEMORY: "60344290509"}


def zone(name: str) -> dict:
    amounts = [{"name": key, "capacity": value, "allocatable": value, "available": value} for key, value in (("cpu", "16"), ("memory", "64Gi"))]
    return {"name": name, "type": "Node", "resources": amounts}


class WithTopology(WithManager):
    def setUp(self):
        colocation.put_settings(self.api, {"enable": True})

    def tearDown(self):
        super().tearDown()
        for node in getattr(self, "nodes", []):
            self.api.request("DELETE", f"{TOPOLOGIES}/{node}")

    def node(self, name: str, *, annotations: dict | None = None, **more) -> str:
        """The node of example A, its pods and its NodeMetric."""
        self.nodes = [*getattr(self, "nodes", []), name]
        colocation.put_node(
            self.api, name, capacity={"cpu": "32", "memory": "128Gi", "pods": "110"},
            allocatable={"cpu": "31", "memory": "124Gi", "pods": "110"},
            annotations={"node.koordinator.sh/reservation": '{"resources":{"cpu":"2"}}', **(annotations or {})}, **more,
        )
        for pod in PODS:
            colocation.put_pod(self.api, name, pod)
            if pod["name"] in PLACES:
                placed = json.dumps({"numaNodeResources": [{"node": place} for place in PLACES[pod["name"]]]})
                patch = {"metadata": {"annotations": {"scheduling.koordinator.sh/resource-status": placed}}}
                must(self.api.request("PATCH", f"/api/v1/namespaces/default/pods/{pod['name']}", patch, content=MERGE))
        colocation.put_metric(self.api, name, EXAMPLE_A)
        return name

    def topology(self, name: str, info: str | None = MODEL_A) -> None:
        must(self.api.request("POST", TOPOLOGIES, {
            "apiVersion": "topology.node.k8s.io/v1alpha1", "kind": "NodeResourceTopology",
            "metadata": {"name": name, "annotations": {} if info is None else {CPU_INFO: info}},
            "topologyPolicies": ["None"], "zones": [zone("node-0"), zone("node-1")],
        }))

    def zones(self, node: str) -> list:
        """Of each zone: batch-cpu and batch-memory if capacity, allocatable and available agree."""
        out = []
        for each in must(self.api.request("GET", f"{TOPOLOGIES}/{node}"))["zones"]:
            found = {entry["name"]: {entry["capacity"], entry["allocatable"], entry["available"]} for entry in each["resources"]}
            out.append(tuple(found.get(name) for name in (BATCH_CPU, BATCH_MEMORY)))
        return out

    def annotation(self, node: str, key: str) -> str | None:
        return must(self.api.request("GET", f"/api/v1/nodes/{node}")).get("metadata.annotations", {}).get(key)

    def wait_equal(self, wanted, question, what: str, component: Component, limit_s: float = 60) -> None:
        found = None

        def same() -> bool:
            nonlocal found
            found = question()
            return found == wanted

        try:
            wait_for(same, what, component, limit_s)
        except AssertionError:
            self.assertEqual(wanted, found, f"{what}\n{component.log[-3000:]}")

    def wait_batch(self, node: str, cpu: str, component: Component, limit_s: float = 60) -> None:
        self.wait_equal(int(cpu), lambda: as_int(colocation.offered(self.api, node).get(BATCH_CPU)), "batch-cpu", component, limit_s)

    def wait_zones(self, node: str, wanted: list, component: Component, limit_s: float = 60) -> None:
        def amounts() -> list:
            return [tuple(None if each is None or len(each) != 1 else as_int(next(iter(each))) for each in pair) for pair in self.zones(node)]

        self.wait_equal([(as_int(cpu), memory) for cpu, memory in wanted], amounts, "zones", component, limit_s)


def as_int(text: str | None) -> int | None:
    if text is None:
        return None
    units = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "k": 10**3, "M": 10**6, "G": 10**9}
    for suffix, scale in units.items():
        if text.endswith(suffix):
            return int(text[: -len(suffix)]) * scale
    return int(text)


class Zones(WithTopology):
    def test_the_worked_example_by_node_and_by_zone(self):
        node = self.node("zones-a")
        self.topology(node)
        component = self.run_manager("--leader-elect=false")
        self.wait_equal(
            NODE, lambda: {key: str(as_int(amount)) for key, amount in colocation.offered(self.api, node).items() if "batch" in key},
            "example A", component,
        )
        self.wait_zones(node, ZONES, component)
        shown = explain_json(node)
        self.assertEqual([2400, 5400], [each["batch-cpu"]["offered"] for each in shown["zones"]["zones"]])

    def test_zones_share_what_the_pools_ledger_leaves_to_the_node(self):
        half = "schema: 1\nmode: enforce\nledger: {kubernetes: {maxPercent: 50}}\n"
        must(self.api.request("POST", colocation.SETTINGS, {"metadata": {"name": colocation.TIDEMARK_CONFIG}, "data": {"config.yaml": half}}))
        node = self.node("zones-follow")
        self.topology(node)
        component = self.run_manager("--leader-elect=false")
        self.wait_batch(node, "3900", component)
        self.wait_equal([["1200"], ["2700"]], lambda: [sorted(cpu or []) for cpu, _ in self.zones(node)], "half of each zone", component)
        self.assertEqual("TM-ZONE-006", explain_json(node)["zones"]["reason"]["id"])

    def test_a_foreign_edit_and_a_recreated_topology_are_repaired(self):
        node = self.node("zones-edit")
        self.topology(node)
        component = self.run_manager("--leader-elect=false")
        self.wait_zones(node, ZONES, component)
        names = [each["name"] for each in must(self.api.request("GET", f"{TOPOLOGIES}/{node}"))["zones"][0]["resources"]]
        edit = [{"op": "replace", "path": f"/zones/0/resources/{names.index(BATCH_CPU)}/available", "value": "2399"}]
        must(self.api.request("PATCH", f"{TOPOLOGIES}/{node}", edit, content=JSON_PATCH))
        self.wait_zones(node, ZONES, component)
        must(self.api.request("DELETE", f"{TOPOLOGIES}/{node}"))
        self.topology(node)
        self.wait_zones(node, ZONES, component)

    def test_zones_without_resources_and_with_odd_names_do_no_harm(self):
        node = self.node("zones-odd")
        self.topology(node)
        component = self.run_manager("--leader-elect=false")
        self.wait_zones(node, ZONES, component)
        odd = [{"op": "replace", "path": "/zones", "value": [{"name": "node-0", "type": "Node"}, zone("a zone")]}]
        must(self.api.request("PATCH", f"{TOPOLOGIES}/{node}", odd, content=JSON_PATCH))
        # Zone 0 lists nothing and gets nothing. Zone 1 is as before, whatever its name.
        self.wait_equal("5400", lambda: next(iter(self.zones_or_none(node, 1) or [None])), "zone 1", component)
        empty = [{"op": "replace", "path": "/zones", "value": []}]
        must(self.api.request("PATCH", f"{TOPOLOGIES}/{node}", empty, content=JSON_PATCH))
        self.topology_is_left(node, component)

    def zones_or_none(self, node: str, place: int):
        resources = must(self.api.request("GET", f"{TOPOLOGIES}/{node}"))["zones"][place].get("resources", [])
        return [each["available"] for each in resources if each["name"] == BATCH_CPU]

    def topology_is_left(self, node: str, component: Component) -> None:
        """Without zones nothing is invented, and the node keeps its offer."""
        before = must(self.api.request("GET", f"{TOPOLOGIES}/{node}"))["metadata.resourceVersion"]
        busy = json.loads(json.dumps(EXAMPLE_A))
        busy["nodeMetric"]["systemUsage"]["resources"]["cpu"] = "3500m"
        colocation.put_metric(self.api, node, busy)
        self.wait_batch(node, "5800", component)
        self.assertEqual(before, must(self.api.request("GET", f"{TOPOLOGIES}/{node}"))["metadata.resourceVersion"])


if __name__ == "__main__":
    unittest.main()
