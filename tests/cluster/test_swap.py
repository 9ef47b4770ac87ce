"""Koordinator's manager → ours → Koordinator's, on a loaded cluster: no number moves, and nothing of ours is left.

The golden vectors were recorded from Koordinator's manager: what it leaves on the nodes, and what it would write again. The test
plays its part from that record; our manager is real.
"""

import json
import os
import subprocess
import threading
import unittest

from cluster import colocation
from cluster.colocation import MERGE, NODEMETRICS, NODESLOS, ORIGIN, SETTINGS, must
from cluster.manager_case import LEASES, WithManager
from cluster.test_manager import GOLDEN, amounts
from cluster.test_manager_nodeslo import DEFAULT_COLLECT, DEFAULTS
from cluster.test_manager_nodeslo import GOLDEN as NODESLO_GOLDEN
from cluster.test_manager_zones import NODE, TOPOLOGIES, ZONES, WithTopology
from cluster.tidemark_process import Component, wait_for
from cluster.webhook_case import BATCH, HOOKS, MUTATING, NAMESPACE, PODS, PROFILES, SECRET, SPEC, VALIDATING, kubectl, pod

NORMALIZATION = "node.koordinator.sh/cpu-normalization-ratio"
EXTENDED = "kubernetes.io/"
OURS = {"tidemark.io/capacity-epoch", "tidemark.io/config-hash"}
FLAGS = ("--leader-election-namespace=koordinator-system", "--kube-api-qps=200", "--kube-api-burst=200")
WITH_WEBHOOKS = (*FLAGS, "--webhooks=on", "--webhook-addr=127.0.0.1:0", "--webhook-host=127.0.0.1")
# Of the formulas' worked example, with its thresholds: the golden vectors have no topologies.
ZONED, ZONED_STRATEGY = "swap-zoned", '{"cpuReclaimThresholdPercent":60,"memoryReclaimThresholdPercent":65}'
# Contract 11.1: as Koordinator's manager registers it, and as it keeps it in an annotation as template of its registrations.
PEERS_HOOK = {
    "name": "mpod-create.koordinator.sh", "clientConfig": {"service": {"name": "koordinator-webhook-service", "namespace": "koordinator-system", "path": "/mutate-pod"}},
    "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
    "failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"], "namespaceSelector": {"matchLabels": {"pods-of": "the-peer"}},
}
LEASE = {"metadata": {"name": "koordinator-manager"}, "spec": {"holderIdentity": "koord-manager-0", "leaseDurationSeconds": 120, "leaseTransitions": 3}}


class Watched:
    """All states of the nodes, or other objects, as any reader of the API server sees them."""

    def __init__(self, version: str, path: str = "/api/v1/nodes"):
        self._api = colocation.client()
        self._watch = self._api.watch(path, resourceVersion=version, allowWatchBookmarks="false")
        self.seen: list[dict] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            while event := self._watch.event():
                if event["type"] in ("ADDED", "MODIFIED", "DELETED"):
                    self.seen.append(event)
        except (OSError, ValueError, AttributeError):
            pass  # closed; http.client fails on its own close

    def close(self) -> None:
        self._watch.close()
        self._thread.join(10)
        self._api.close()


def numbers(node: dict) -> dict:
    """What schedulers, quotas and the YARN operator read."""
    status, origin = node["status"], node["metadata"].get("annotations", {}).get(ORIGIN)
    extended = {
        side: amounts({name: amount for name, amount in status.get(side, {}).items() if name.startswith(EXTENDED)}) for side in ("capacity", "allocatable")
    }
    return {**extended, "origin": amounts(json.loads(origin)["resources"]) if origin else None}


def plain(node: dict) -> dict:
    """The whole node, or other object, except its writers, times and revision."""
    kept = json.loads(json.dumps(node))
    for key in ("resourceVersion", "managedFields", "generation"):
        kept["metadata"].pop(key, None)
    for key in ("labels", "annotations"):
        if not kept["metadata"].get(key):
            kept["metadata"].pop(key, None)
    return kept


def put_ours(api) -> None:
    """A tidemark-config that enforces, in one pool of all nodes."""
    config = {"schema": 1, "mode": "enforce", "rollout": {"pace": "at-once"}, "pools": [{"name": "all", "nodeSelector": {}}], "classes": [{"name": "spark", "order": 1}]}
    must(api.request("POST", SETTINGS, {"metadata": {"name": colocation.TIDEMARK_CONFIG}, "data": {"config.yaml": json.dumps(config)}}))


def words_of_ours(api, nodes: list[str]) -> set[str]:
    """The nodes whose NodeSLO has our own key."""
    listed = must(api.request("GET", NODESLOS))["items"]
    return {each["metadata"]["name"] for each in listed if "tidemark" in each["spec"].get("extensions", {}).get("Object", {})} & set(nodes)


def batch_of_zones(topology: dict) -> list[dict]:
    return [{each["name"]: each for each in zone["resources"] if each["name"].startswith(EXTENDED)} for zone in topology["zones"]]


class Specs:
    """NodeSLOs and the specs of NodeMetrics, as Koordinator leaves them."""

    def write_specs(self, node: str, nodeslo: dict) -> None:
        must(self.api.request("POST", NODESLOS, {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeSLO", "metadata": {"name": node}, "spec": nodeslo}))
        must(self.api.request("POST", NODEMETRICS, {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric", "metadata": {"name": node}}), 201, 409)
        must(self.api.request("PATCH", f"{NODEMETRICS}/{node}", {"spec": {"metricCollectPolicy": DEFAULT_COLLECT}}, content=MERGE))

    def specs(self) -> dict[str, dict]:
        """All of them with their revision: an object without a write is unchanged."""
        return {f"{path} {each['metadata']['name']}": each for path in (NODESLOS, NODEMETRICS)
                for each in must(self.api.request("GET", path))["items"] if each["metadata"]["name"] in self.nodes}

    def hand_over(self) -> None:
        must(self.api.request("PATCH", f"{LEASES}/koordinator-manager", {"spec": {"holderIdentity": ""}}, content=MERGE))


class Visited(Specs, WithTopology):
    """What our manager may have written, and its run and its cleanup."""

    def read_topology(self) -> dict:
        return must(self.api.request("GET", f"{TOPOLOGIES}/{ZONED}")).json

    def read(self) -> tuple[dict[str, dict], str]:
        listed = must(self.api.request("GET", "/api/v1/nodes"))
        return {each["metadata"]["name"]: each for each in listed["items"] if each["metadata"]["name"] in self.nodes}, listed["metadata.resourceVersion"]

    def everything(self) -> set[str]:
        """Names of the existing objects of the kinds that a manager writes."""
        found = set()
        hooks = (f"{HOOKS}/{kind}webhookconfigurations" for kind in ("mutating", "validating"))
        for path in (SETTINGS, LEASES, "/api/v1/namespaces/koordinator-system/secrets", *hooks):
            found |= {f"{path.rsplit('/', 1)[1]}/{each['metadata']['name']}" for each in must(self.api.request("GET", path)).get("items", [])}
        return found

    def tidemark(self, *words: str) -> str:
        words = (*words, "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"])
        done = subprocess.run([os.environ["TIDEMARK_BINARY"], *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        self.assertEqual(0, done.returncode, done.stderr + done.stdout)
        return done.stdout

    def clean_up(self) -> None:
        self.tidemark("uninstall", "--keep-shared", "--yes")

    def come_and_go(self, *flags: str, meanwhile=lambda component: None) -> None:
        """Our manager takes the lease that Koordinator's manager released, settles every node, and stops."""
        component = self.start_manager(*(flags or FLAGS))
        # With webhooks it is ready when it has certificates, which the leader creates.
        wait_for(component.ready if not flags else lambda: "caches filled" in component.log, "a manager ready to lead", component)
        self.assertEqual(0, component.metrics()["tidemark_leader"], "Koordinator's manager has the lease")
        before, _ = self.read()
        self.assertTrue(all(not OURS & set(node["metadata"].get("annotations", {})) for node in before.values()), "written without the lease")
        self.hand_over()
        kept = {name for name, wanted in self.expected.items() if wanted.get("allocatable")}

        def settled() -> bool:
            nodes, _ = self.read()
            carried = {name for name, node in nodes.items() if OURS <= set(node["metadata"].get("annotations", {}))}
            return kept <= carried and component.metrics()['tidemark_work_queue_depth{component="overcommit"}'] == 0

        wait_for(settled, "every node to be taken over", component)
        meanwhile(component)
        self.assertEqual(0, component.stop())

    def prepare_pods(self) -> None:
        for name in ("koord-prod", "koord-batch"):
            body = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": 9000 if name == "koord-prod" else 5000}
            must(self.api.request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", body), 201, 409)
        must(self.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}}), 201, 409)
        for path in (MUTATING, VALIDATING, SECRET, f"{PODS}/swapped", f"{PROFILES}/swapped"):
            self.addCleanup(self.api.request, "DELETE", path, gracePeriodSeconds=0)
        profile = {"apiVersion": "config.koordinator.sh/v1alpha1", "kind": "ClusterColocationProfile", "metadata": {"name": "swapped"}, "spec": BATCH}
        must(self.api.request("POST", PROFILES, profile))

    def register_as_the_peer(self) -> None:
        self.prepare_pods()
        must(self.api.request("POST", MUTATING.rsplit("/", 1)[0], {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": MUTATING.rsplit("/", 1)[1], "annotations": {"template": json.dumps([PEERS_HOOK])}}, "webhooks": [PEERS_HOOK],
        }))

    def make_a_pod(self, component: Component) -> None:
        """By our webhooks: a batch pod as Koordinator's would make it (contract 11.2)."""
        labels = {"app": "spark"}

        def asked() -> bool:
            return "by" in must(self.api.request("POST", PODS, pod("probe", labels=labels), dryRun="All")).get("metadata.labels", {})

        wait_for(asked, "our webhooks in use", component)
        done = kubectl("create", "-f", "-", "-o", "json", given=pod("swapped", labels=labels, requests={"cpu": "1500m", "memory": "2Gi"}))
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("tidemark.io/profiles", json.loads(done.stdout)["metadata"]["annotations"], "the guide's commands must remove it")


class Swap(Visited):
    def setUp(self):
        recorded = json.loads((GOLDEN / "cases.json").read_text())
        self.expected = json.loads((GOLDEN / "expected.json").read_text())
        self.nodes = [case["node"] for case in recorded["cases"]]
        colocation.put_settings(self.api, recorded["colocation-config"])
        for case in recorded["cases"]:
            colocation.put_case(self.api, case)
            self.write_as_the_peer(case["node"])
        self.node(ZONED, annotations={"node.koordinator.sh/colocation-strategy": ZONED_STRATEGY})
        self.expected[ZONED] = {"allocatable": {**NODE, "kubernetes.io/mid-cpu": "0", "kubernetes.io/mid-memory": "0"}, "origin": NODE}
        self.write_as_the_peer(ZONED)
        self.topology(ZONED, info=None)
        self.write_zones_as_the_peer()
        for node in self.nodes:
            self.write_specs(node, DEFAULTS)
        # Left by other tests.
        self.api.request("DELETE", f"{LEASES}/koordinator-manager")
        self.api.request("DELETE", f"{SETTINGS}/tidemark-config-revisions")
        must(self.api.request("POST", LEASES, LEASE))

    def write_as_the_peer(self, name: str) -> None:
        wanted = self.expected[name]
        if wanted.get("allocatable") is not None:
            status = {"capacity": wanted["allocatable"], "allocatable": wanted["allocatable"]}
            must(self.api.request("PATCH", f"/api/v1/nodes/{name}/status", {"status": status}, content=MERGE))
        if wanted.get("origin") is not None:
            # Contract 5.7: if normalization is disabled the ratio says so.
            annotations = {ORIGIN: json.dumps({"resources": wanted["origin"]}, separators=(",", ":")), NORMALIZATION: "1.00"}
            must(self.api.request("PATCH", f"/api/v1/nodes/{name}/status", {"metadata": {"annotations": annotations}}, content=MERGE))

    def write_zones_as_the_peer(self) -> None:
        zones = self.read_topology()["zones"]
        for zone, (cpu, memory) in zip(zones, ZONES, strict=True):
            batch = {"kubernetes.io/batch-cpu": cpu, "kubernetes.io/batch-memory": str(memory)}
            kept = [each for each in zone["resources"] if each["name"] not in batch]
            zone["resources"] = [*kept, *({"name": name, "capacity": amount, "allocatable": amount, "available": amount} for name, amount in batch.items())]
        must(self.api.request("PATCH", f"{TOPOLOGIES}/{ZONED}", {"zones": zones}, content=MERGE))

    def test_koordinator_ours_koordinator_moves_no_number_and_leaves_nothing(self):
        before, version = self.read()
        self.register_as_the_peer()
        there, specs, topology = self.everything(), self.specs(), self.read_topology()
        self.assertEqual(2 * len(self.nodes), len(specs))
        wanted = {name: numbers(node) for name, node in before.items()}
        self.assertEqual({name: amounts(entry.get("allocatable")) or {} for name, entry in self.expected.items()}, {name: one["allocatable"] for name, one in wanted.items()})
        watched, zones = Watched(version), Watched(version, TOPOLOGIES)
        self.addCleanup(watched.close)
        self.addCleanup(zones.close)

        self.come_and_go(*WITH_WEBHOOKS, meanwhile=self.make_a_pod)
        after, _ = self.read()
        for name, node in after.items():
            shown = set(node["metadata"].get("annotations", {})) - set(before[name]["metadata"].get("annotations", {}))
            self.assertLessEqual(shown, OURS, name)
        # The lease is free for Koordinator, and keeps its count of leaders.
        lease = must(self.api.request("GET", f"{LEASES}/koordinator-manager"))
        self.assertEqual("", lease.get("spec.holderIdentity", ""))
        hooks = {"secrets/koordinator-webhook-certs", f"validatingwebhookconfigurations/{VALIDATING.rsplit('/', 1)[1]}"}  # named by Koordinator
        self.assertEqual(there | hooks | {"configmaps/tidemark-config-revisions"}, self.everything())
        self.assertEqual([PEERS_HOOK], json.loads(must(self.api.request("GET", MUTATING))["metadata.annotations"]["template"]), "the template of Koordinator's registration")

        self.clean_up()
        clean, _ = self.read()
        self.assertEqual({name: plain(node) for name, node in before.items()}, {name: plain(node) for name, node in clean.items()})
        self.assertEqual(there | hooks, self.everything())
        self.assertEqual(specs, self.specs(), "no manager had a reason to write them")
        self.assertEqual(plain(topology), plain(self.read_topology()))
        made = must(self.api.request("GET", f"{PODS}/swapped")).json
        self.assertEqual({SPEC}, set(made["metadata"]["annotations"]))
        self.assertEqual({"kubernetes.io/batch-cpu": "1500", "kubernetes.io/batch-memory": "2Gi"}, made["spec"]["containers"][0]["resources"]["requests"])

        # Koordinator is back: its inputs are unchanged, so it writes the same.
        for name in self.expected:
            self.write_as_the_peer(name)
        self.write_zones_as_the_peer()
        again, _ = self.read()
        self.assertEqual({name: plain(node) for name, node in before.items()}, {name: plain(node) for name, node in again.items()})

        watched.close()
        self.assertGreater(len(watched.seen), len([name for name in self.expected if self.expected[name].get("allocatable")]))
        for event in watched.seen:
            name = event["object"]["metadata"]["name"]
            self.assertEqual(("MODIFIED", wanted[name]), (event["type"], numbers(event["object"])), f"a number of {name} moved")
        zones.close()
        for event in zones.seen:
            self.assertEqual(batch_of_zones(topology), batch_of_zones(event["object"]), "a number of a zone moved")

    def test_a_tidemark_config_leaves_nothing_either(self):
        """With our settings in force every NodeSLO has a part for the node's agent, whether an agent runs or not."""
        node = f"/api/v1/nodes/{self.nodes[0]}"
        theirs, ours = ({"key": key, "effect": "NoSchedule"} for key in ("maintenance", "tidemark.io/oversold"))
        must(self.api.request("PATCH", node, {"spec": {"taints": [theirs]}}, content=MERGE))
        before, _ = self.read()
        there, specs = self.everything(), self.specs()
        put_ours(self.api)
        self.come_and_go(meanwhile=lambda component: wait_for(lambda: words_of_ours(self.api, self.nodes) == set(self.nodes), "our part in every NodeSLO", component))
        must(self.api.request("PATCH", node, {"spec": {"taints": [theirs, ours]}}, content=MERGE))
        self.clean_up()
        clean, _ = self.read()
        self.assertEqual({name: plain(node) for name, node in before.items()}, {name: plain(node) for name, node in clean.items()})
        self.assertEqual({name: plain(each) for name, each in specs.items()}, {name: plain(each) for name, each in self.specs().items()})
        self.assertEqual(there, self.everything())

    def test_off_and_on_leave_no_trace_either(self):
        before, _ = self.read()
        there = self.everything()
        self.hand_over()
        component = self.run_manager(*FLAGS)
        node = next(name for name, wanted in self.expected.items() if wanted.get("allocatable"))
        for words in (("off", "node", node, "--now"), ("on", "node", node), ("off", "cluster", "--now", "--yes"), ("on", "cluster", "--yes")):
            self.tidemark(*words, "--reason=test")

        def back() -> bool:
            nodes, _ = self.read()
            return all(numbers(nodes[name]) == numbers(before[name]) for name in self.nodes)

        wait_for(back, "the earlier numbers", component)
        component.stop()
        self.clean_up()
        clean, _ = self.read()
        self.assertEqual({name: plain(node) for name, node in before.items()}, {name: plain(node) for name, node in clean.items()})
        self.assertEqual(there, self.everything())

    def test_our_second_run_resumes_without_cleanup(self):
        """Without a cleanup between: it continues from what our manager left."""
        self.come_and_go()
        first, _ = self.read()
        component = self.run_manager(*FLAGS)
        kept = [name for name, wanted in self.expected.items() if wanted.get("allocatable")]
        epoch = {name: first[name]["metadata"]["annotations"]["tidemark.io/capacity-epoch"] for name in kept}

        def next_epoch() -> bool:
            nodes, _ = self.read()
            return all(int(nodes[name]["metadata"]["annotations"]["tidemark.io/capacity-epoch"]) == int(epoch[name]) + 1 for name in kept)

        wait_for(next_epoch, "the next epoch on every node", component)
        second, _ = self.read()
        self.assertEqual({name: numbers(node) for name, node in first.items()}, {name: numbers(node) for name, node in second.items()})


class Gone(Visited):
    """`tidemark uninstall` where no Koordinator stays."""

    def setUp(self):
        for path in (f"{LEASES}/koordinator-manager", f"{SETTINGS}/tidemark-config-revisions"):
            self.api.request("DELETE", path)  # left by other tests
        self.node(ZONED, annotations={"node.koordinator.sh/colocation-strategy": ZONED_STRATEGY})
        self.topology(ZONED, info=None)

    def test_uninstall_leaves_the_cluster_as_before(self):
        self.prepare_pods()
        before, _ = self.read()
        there, topology = self.everything(), self.read_topology()
        colocation.put_settings(self.api, {"enable": True})
        put_ours(self.api)
        component = self.run_manager(*WITH_WEBHOOKS)
        self.wait_batch(ZONED, NODE["kubernetes.io/batch-cpu"], component)
        self.wait_zones(ZONED, ZONES, component)
        wait_for(lambda: words_of_ours(self.api, self.nodes), "our part in the NodeSLO", component)
        self.make_a_pod(component)
        self.assertIsNotNone(self.annotation(ZONED, NORMALIZATION))
        self.assertLess(there, self.everything())
        self.tidemark("off", "cluster", "--now", "--yes", "--reason=test")
        self.assertEqual(0, component.stop())

        told = self.tidemark("uninstall", "--yes")
        for kind in ("Node", "NodeResourceTopology", "Pod", "NodeSLO", "NodeMetric", "MutatingWebhookConfiguration", "Secret", "Lease", "ConfigMap"):
            self.assertRegex(told, rf"(?m)^cleaned (\d+) of \1 {kind}$")
        clean, _ = self.read()
        self.assertEqual({name: plain(node) for name, node in before.items()}, {name: plain(node) for name, node in clean.items()})
        self.assertEqual(plain(topology), plain(self.read_topology()))
        self.assertEqual((there, {}), (self.everything(), self.specs()))
        self.assertEqual({SPEC}, set(must(self.api.request("GET", f"{PODS}/swapped")).json["metadata"]["annotations"]))
        self.assertIn("nothing of Tidemark is in the cluster\n", self.tidemark("uninstall", "--yes"))


class SwapOfNodeSlos(Specs, WithManager):
    """With settings in every key, on the nodes of the recorded Koordinator NodeSLOs."""

    def test_taking_over_writes_none(self):
        recorded, expected = (json.loads((NODESLO_GOLDEN / name).read_text()) for name in ("case.json", "expected.json"))
        colocation.put_data(self.api, recorded["config"])
        self.nodes = [*expected, "last"]
        for node in recorded["nodes"]:
            colocation.put_node(self.api, node["name"], capacity={"cpu": "32", "memory": "128Gi", "pods": "110"}, labels=node["labels"])
            self.write_specs(node["name"], expected[node["name"]])
        self.api.request("DELETE", f"{LEASES}/koordinator-manager")
        must(self.api.request("POST", LEASES, LEASE))
        before = self.specs()
        component = self.run_manager(*FLAGS)
        self.hand_over()
        wait_for(lambda: component.metrics().get("tidemark_leader") == 1, "this manager to lead", component)
        # It has handled everything it knew when a new node has its specs.
        colocation.put_node(self.api, "last", capacity={"cpu": "32", "memory": "128Gi", "pods": "110"})
        wait_for(lambda: len(self.specs()) == len(before) + 2, "the specs of a last node", component)
        component.stop()
        self.assertEqual(before, {name: each for name, each in self.specs().items() if name in before})

    def test_the_manager_removes_its_own_part(self):
        """As in the guide: undo to a revision before the first tidemark-config. Deleting the ConfigMap does not do it."""
        self.nodes = ["undone"]
        colocation.put_node(self.api, "undone", capacity={"cpu": "32", "memory": "128Gi", "pods": "110"})
        self.write_specs("undone", DEFAULTS)
        colocation.put_settings(self.api, {"enable": True})
        before = self.specs()
        component = self.run_manager("--leader-elect=false")
        wait_for(lambda: self.api.request("GET", f"{SETTINGS}/tidemark-config-revisions").status == 200, "a first revision", component)
        put_ours(self.api)
        wait_for(lambda: words_of_ours(self.api, self.nodes), "the part for the agent", component)
        done = subprocess.run(
            [os.environ["TIDEMARK_BINARY"], "undo", "config", "--to=1", "--yes", "--wait=1m", "--reason=test", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"]],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=90)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        wait_for(lambda: not words_of_ours(self.api, self.nodes), "the part to go", component)
        component.stop()
        self.assertEqual({name: plain(each) for name, each in before.items()}, {name: plain(each) for name, each in self.specs().items()})


if __name__ == "__main__":
    unittest.main()
