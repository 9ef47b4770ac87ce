"""The role of the YARN operator in deploy/chart grants exactly what is needed, as test_chart_roles.py tests it for the manager."""

import tempfile
import unittest
from pathlib import Path

from cluster import chart, colocation
from cluster.chart import NAMESPACE, YARN_OPERATOR, find
from cluster.chart_roles import PODS, SECRETS, STATE, WEBHOOK_SECRET, ChartRoles, asked_by, grants_of, spare
from cluster.colocation import MERGE, SETTINGS, TIDEMARK_CONFIG
from cluster.test_manager import CAPACITY
from cluster.tidemark_process import Component, wait_for
from contract.client import Client

LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/koordinator-yarn-operator"
NODE_ID = "yarn.hadoop.apache.org/node-id"
THIRD_PARTY = "node.koordinator.sh/thirdPartyAllocations"
# Nothing listens there.
NO_RESOURCE_MANAGER = "".join(
    f"<property><name>yarn.resourcemanager.{kind}address</name><value>127.0.0.1:1</value></property>" for kind in ("", "admin.")
).join(("<configuration>", "</configuration>"))


@chart.needs_helm
class YarnOperatorsRole(ChartRoles):
    def start_yarn_operator(self) -> Component:
        """As the chart's Deployment does, with the files of its ConfigMap. Two nodes claim one NodeManager, so it has something to report."""
        self.install({"yarnOperator": {"enabled": True, "logFormat": "text", "hadoopConf": {"yarn-site.xml": NO_RESOURCE_MANAGER}}})
        self.addCleanup(self.api.request, "DELETE", LEASE)
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        for name, text in find(self.rendered, "ConfigMap", "yarn-config")["data"].items():
            (folder / name).write_text(text)
        command = chart.command_here(chart.container(self.rendered, "yarn-operator"), {"--hadoop-conf-dir": str(folder)})
        component = Component(*command, "--kubeconfig", chart.kubeconfig_of(YARN_OPERATOR, self.folder))
        self.components = [*getattr(self, "components", []), component]
        self.addCleanup(component.stop)
        wait_for(component.ready, "a ready operator", component)
        wait_for(lambda: component.metrics().get("tidemark_leader") == 1, "the operator to lead", component)
        self.nodes = ["roles-yarn-1", "roles-yarn-2"]
        for name in self.nodes:
            colocation.put_node(self.api, name, capacity=CAPACITY, annotations={NODE_ID: "nm.example:45454"})
        return component

    def mismatches(self) -> list[int]:
        """The count of each event about the first node."""
        uid = self.api.request("GET", "/api/v1/nodes/roles-yarn-1")["metadata.uid"]
        items = colocation.must(self.api.request("GET", "/api/v1/namespaces/default/events")).get("items")
        return [each["count"] for each in items if each["reason"] == "TidemarkYarnMismatch" and each["involvedObject"].get("uid") == uid]

    def as_yarn_operator(self) -> Client:
        own = chart.client_of(YARN_OPERATOR)
        self.addCleanup(own.close)
        return own

    def test_the_yarn_operators_role_grants_exactly_what_is_needed(self):
        component = self.start_yarn_operator()
        wait_for(lambda: self.mismatches() == [1], "an event", component)
        for node_id in ("other.example:45454", "nm.example:45454"):  # the repeated event is counted up
            colocation.must(self.api.request("PATCH", "/api/v1/nodes/roles-yarn-2", {"metadata": {"annotations": {NODE_ID: node_id}}}, content=MERGE))
            wrong = 2 if node_id == "nm.example:45454" else 0
            wait_for(lambda: component.metrics()["tidemark_yarn_operator_mismatched_nodes"] == wrong, f"{wrong} mismatched nodes", component)
        wait_for(lambda: self.mismatches() == [2], "the event to be counted up", component)
        wait_for(lambda: component.metrics()["tidemark_yarn_operator_clusters_away"] == 1, "an unreachable ResourceManager", component)
        self.assertEqual(0, component.stop())
        self.assertEqual("", self.api.request("GET", LEASE).get("spec.holderIdentity", ""))
        own = self.as_yarn_operator()
        # The writes of an operator with a ResourceManager.
        colocation.must(own.request("PATCH", "/api/v1/nodes/roles-yarn-1", {"metadata": {"annotations": {THIRD_PARTY: '{"allocations":[]}'}}}, content=MERGE))
        given = grants_of(self.rendered, YARN_OPERATOR)
        asked, forbidden = asked_by(YARN_OPERATOR, self.since)
        self.assertEqual([], forbidden)
        self.assertEqual([], spare(given, asked))
        for method, path, body in (
            ("PATCH", "/api/v1/nodes/roles-yarn-1/status", {"status": {"capacity": {"kubernetes.io/batch-cpu": "1"}}}), ("DELETE", "/api/v1/nodes/roles-yarn-1", None),
            ("PATCH", f"{PODS}/any", {"metadata": {"labels": {"a": "b"}}}), ("DELETE", f"{PODS}/any", None), ("POST", f"{PODS}/any/eviction", {"metadata": {"name": "any"}}),
            ("GET", SECRETS, None), ("GET", f"{SECRETS}/{WEBHOOK_SECRET}", None), ("GET", SETTINGS, None), ("GET", f"{SETTINGS}/{STATE}", None),
            ("PATCH", f"{SETTINGS}/{TIDEMARK_CONFIG}", {"data": {}}), ("POST", SETTINGS, {"metadata": {"name": "any"}}),
            ("PATCH", LEASE.replace("koordinator-yarn-operator", "koordinator-manager"), {"spec": {"holderIdentity": "me"}}), ("DELETE", LEASE, None),
            ("GET", LEASE.rpartition("/")[0], None), ("GET", colocation.NODEMETRICS, None),
        ):
            with self.subTest(f"{method} {path}"):
                answer = own.request(method, path, body, **({"content": MERGE} if method == "PATCH" else {}))
                self.assertEqual(403, answer.status, answer.body)

    def test_the_yarn_operator_changes_only_its_annotations_of_a_node(self):
        """RBAC cannot restrict fields: a policy limits the right to patch nodes to four annotations."""
        self.start_yarn_operator()
        node = "/api/v1/nodes/roles-yarn-1"
        colocation.must(self.api.request("PATCH", node, {"spec": {"taints": [{"key": "maintenance", "effect": "NoSchedule"}]}, "metadata": {"labels": {"a": "b"}}}, content=MERGE))
        own = self.as_yarn_operator()

        def refusal(body: dict, **query: str) -> str:
            answer = own.request("PATCH", node, body, content=MERGE, **query)
            return answer.get("message") if answer.status == 403 else ""

        wait_for(lambda: refusal({"spec": {"unschedulable": True}}, dryRun="All"), "the policy in force")  # dry run: the next time it would be no change
        for what, body in {
            "no taint": {"spec": {"taints": None}}, "a taint": {"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}}, "cordoned": {"spec": {"unschedulable": True}},
            "a label": {"metadata": {"labels": {"tidemark.io/state": "off"}}}, "no label": {"metadata": {"labels": {"a": None}}}, "a finalizer": {"metadata": {"finalizers": ["a/b"]}},
            "an annotation": {"metadata": {"annotations": {colocation.ORIGIN: "{}"}}}, "no annotation": {"metadata": {"annotations": {NODE_ID: None}}},
            "one of its own, and another": {"metadata": {"annotations": {THIRD_PARTY: "{}", NODE_ID: "a:1"}}},
        }.items():
            with self.subTest(what):
                self.assertIn("the YARN operator may change", refusal(body))
        own_words = {THIRD_PARTY: '{"allocations":[]}', "tidemark.io/yarn-book": "{}", "tidemark.io/yarn-book-of": "a/b:1", "tidemark.io/yarn-book-renewed": "1", "tidemark.io/yarn-reclaim-answer": "{}", "tidemark.io/yarn-preempted": "{}"}
        for annotations in (own_words, dict.fromkeys(own_words)):
            colocation.must(own.request("PATCH", node, {"metadata": {"annotations": annotations}}, content=MERGE))


if __name__ == "__main__":
    unittest.main()
