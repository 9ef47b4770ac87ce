"""A manager on the real API server that has something to export for each of its metrics: shared by tests of monitoring."""

import json
import os
import tempfile

from cluster import chart, colocation
from cluster.colocation import MERGE, SETTINGS, SETTINGS_NAME
from cluster.manager_case import WithManager
from cluster.test_manager import CAPACITY, STATUS
from cluster.tidemark_process import Component, wait_for

TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"


class Monitored(WithManager):
    def order(self, verb: str, node: str, *how: str) -> None:
        chart.must(chart.run([
            os.environ["TIDEMARK_BINARY"], verb, "node", node, *how, "--reason=test", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"],
        ]))

    def is_edit_denied(self) -> bool:
        edit = {"data": {"colocation-config": '{"enable": true, "degradeTimeMinutes": 0}'}}
        return self.api.request("PATCH", f"{SETTINGS}/{SETTINGS_NAME}", edit, content=MERGE, dryRun="All").status != 200

    def run_monitored_manager(self) -> Component:
        chart.ensure_namespace(self.api)
        self.nodes = ["monitored"]
        colocation.put_node(self.api, "monitored", capacity=CAPACITY, labels={"zone": "a", "tier": "b"})
        colocation.put_metric(self.api, "monitored", STATUS)
        resources = [{"name": key, "capacity": amount, "allocatable": amount, "available": amount} for key, amount in (("cpu", "32"), ("memory", "128Gi"))]
        body = {
            "apiVersion": "topology.node.k8s.io/v1alpha1", "kind": "NodeResourceTopology", "metadata": {"name": "monitored"}, "topologyPolicies": ["None"],
            "zones": [{"name": "node-0", "type": "Node", "resources": resources}],
        }
        colocation.must(self.api.request("POST", TOPOLOGIES, body))
        self.addCleanup(self.api.request, "DELETE", f"{TOPOLOGIES}/monitored")
        self.addCleanup(chart.delete_webhooks, self.api)
        colocation.put_settings(self.api, {"enable": True})
        calendar = {"name": "nights", "zone": "UTC", "entries": [{"name": "long-ago", "from": "2020-01-01T00:00", "to": "2020-01-02T00:00", "cpu": 60}]}
        overlap = [
            {"name": "of-zone", "nodeSelector": {"matchLabels": {"zone": "a"}}, "business": "video"},
            {"name": "of-tier", "nodeSelector": {"matchLabels": {"tier": "b"}}},
        ]
        ours = {"schema": 1, "mode": "enforce", "rollout": {"pace": "at-once"}, "calendar": "nights", "calendars": [calendar], "pools": overlap}
        colocation.must(self.api.request("POST", SETTINGS, {"metadata": {"name": colocation.TIDEMARK_CONFIG}, "data": {"config.yaml": json.dumps(ours)}}))
        # Refused by the schema of NodeSLO; later an edit that the webhook refuses, since the ConfigMap has its label.
        colocation.put_data(self.api, {"resource-threshold-config": json.dumps({"clusterStrategy": {"cpuSuppressThresholdPercent": 101}})})
        label = {"metadata": {"labels": {"koordinator.sh/configmap-type": "slo-controller-config"}}}
        self.api.request("PATCH", f"{SETTINGS}/{SETTINGS_NAME}", label, content=MERGE)
        self.nodes = ["monitored", "monitored-off", "monitored-draining", "monitored-observed", "monitored-fought-for"]
        for name in self.nodes[1:]:
            colocation.put_node(self.api, name, capacity=CAPACITY)
            colocation.put_metric(self.api, name, STATUS)
        journal = f"--journal-dir={self.enterContext(tempfile.TemporaryDirectory())}"
        component = self.run_manager("--leader-election-namespace=koordinator-system", journal, "--stream-url=http://127.0.0.1:1/", "--webhooks=on", "--webhook-addr=127.0.0.1:0", "--webhook-host=127.0.0.1")
        wait_for(self.is_edit_denied, "a refused edit", component)

        self.order("off", "monitored-off", "--now")
        self.order("observe", "monitored-observed")
        sold = {"name": "sold", "prio": "koord-batch", "qos": "BE", "phase": "Running", "requests": {"kubernetes.io/batch-cpu": "1000", "kubernetes.io/batch-memory": "1Gi"}}
        colocation.put_pod(self.api, "monitored-draining", sold)
        colocation.put_pod(self.api, "monitored-draining", {**sold, "name": "done"})
        colocation.must(self.api.request("PATCH", "/api/v1/namespaces/default/pods/done/status", {"status": {"phase": "Succeeded"}}, content=MERGE))
        self.order("off", "monitored-draining", "--drain=1h")
        for _ in range(3):  # another writer repeats the same number until the manager leaves it alone
            wait_for(lambda: colocation.offered(self.api, "monitored-fought-for").get("kubernetes.io/batch-cpu") == "17200", "an offer", component)
            theirs = {"status": {side: {"kubernetes.io/batch-cpu": "1"} for side in ("capacity", "allocatable")}}
            colocation.must(self.api.request("PATCH", "/api/v1/nodes/monitored-fought-for/status", theirs, content=MERGE))
        return component
