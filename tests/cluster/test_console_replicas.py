"""Two replicas of the console as the chart runs them, without a manager: one is killed in the middle of an off with eviction, and a person goes on at the other."""

import json
import os
import re
import ssl
import unittest
import urllib.error
import urllib.request
from datetime import datetime, timedelta, timezone
from pathlib import Path

from cluster import chart, colocation
from cluster.chart import NAMESPACE
from cluster.chart_roles import PODS, ChartRoles
from cluster.test_manager import CAPACITY
from cluster.tidemark_process import Component, wait_for

CONSOLE = "tidemark-console"
NODE = "replicas-console"
PROGRESS = f"/api/v1/namespaces/{NAMESPACE}/configmaps/tidemark-off"


class Replica:
    """A console behind TLS, and what a browser with this cookie gets from it."""

    def __init__(self, component: Component):
        self.component = component
        self.url = re.search(r"^console +(https://\S+)$", component.log, re.M)[1]

    def ask(self, path: str, cookie: str, body: dict | None = None) -> tuple[dict, str]:
        headers = {"Content-Type": "application/json", "X-Tidemark-Console": "1", "Idempotency-Key": f"{path} {len(cookie)}", "Cookie": cookie}
        request = urllib.request.Request(self.url + path, json.dumps(body).encode() if body else None, headers)
        with urllib.request.urlopen(request, context=ssl._create_unverified_context(), timeout=30) as answer:
            return json.loads(answer.read()), (answer.headers["Set-Cookie"] or "").partition(";")[0]

    def eviction(self, cookie: str) -> dict:
        found = self.ask("api/v1/orders", cookie)[0]["evictions"]
        return found[0] if found else {}


@chart.needs_helm
class ConsoleReplicas(ChartRoles):
    def test_a_person_goes_on_at_the_other_replica(self):
        self.api.request("DELETE", PROGRESS)
        self.addCleanup(self.api.request, "DELETE", PROGRESS)
        self.install({"console": {"enabled": True, "tlsSecret": "console-tls", "hosts": ["console.example"], "logFormat": "text"}})
        self.assertEqual(2, chart.deployment(self.rendered, "console")["spec"]["replicas"])
        self.nodes = [NODE]
        colocation.put_node(self.api, NODE, capacity=CAPACITY)
        amounts = {"kubernetes.io/batch-cpu": "1000", "kubernetes.io/batch-memory": "1Gi"}
        spec = {"nodeName": NODE, "terminationGracePeriodSeconds": 600, "containers": [{"name": "main", "image": "i", "resources": {"requests": amounts, "limits": amounts}}]}
        task = f"{PODS}/replicas-task"
        colocation.must(self.api.request("POST", PODS, {"metadata": {"name": "replicas-task", "labels": {"koordinator.sh/qosClass": "BE"}}, "spec": spec}))
        self.addCleanup(self.api.request, "DELETE", task, {"gracePeriodSeconds": 0})

        pki = Path(os.environ["TIDEMARK_TEST_CA_FILE"]).parent
        served = {"--listen": "127.0.0.1:0", "--tls-cert-file": str(pki / "server.crt"), "--tls-key-file": str(pki / "server.key")}
        _, *flags = chart.command_here(chart.container(self.rendered, "console"), served)
        first, second = (Replica(self.see_console(CONSOLE, *flags)) for _ in range(2))
        cookie = first.ask("api/v1/login", "", {"token": chart.token("operator")})[1]
        self.assertIn("operator", second.ask("api/v1/session", cookie)[0]["user"], "one login is good for both replicas")
        for replica in (first, second):
            wait_for(lambda: self._tasks(replica, cookie) == 1, "the pod at both replicas", replica.component)

        order = {"verb": "off", "scope": "node", "nodes": [NODE], "evict": True, "graceSeconds": 600, "reason": "disk change"}
        first.ask("api/v1/orders", cookie, order)
        wait_for(lambda: self._evicting(first, cookie), "an eviction that has begun", first.component)
        wait_for(lambda: first.eviction(cookie)["counts"] == second.eviction(cookie)["counts"], "the same counts at both replicas", second.component)
        self.assertEqual((1, 1), tuple(second.eviction(cookie)["counts"][each] for each in ("marked", "podsLeft")))

        first.component.kill()
        self.assertEqual("off", self.api.request("GET", f"/api/v1/nodes/{NODE}").json["metadata"]["labels"]["tidemark.io/state"], "the order stays in force")
        left = wait_for(lambda: self._stopped(second.eviction(cookie)), "an eviction that has stopped", second.component)
        self.assertEqual((False, 1), (left["finished"], left["counts"]["podsLeft"]))
        self.api.request("DELETE", task, {"gracePeriodSeconds": 0})  # the kubelet ends it meanwhile
        second.ask("api/v1/orders", cookie, order)
        done = wait_for(lambda: (now := second.eviction(cookie))["finished"] and now, "the end of the eviction", second.component)
        self.assertEqual((1, 0), (done["counts"]["marked"], done["counts"]["podsLeft"]))

    def _stopped(self, eviction: dict) -> dict | None:
        """As the page says it: a running one stores its progress every five seconds."""
        age = datetime.now(timezone.utc) - datetime.fromisoformat(eviction["updated"])
        return eviction if age > timedelta(seconds=20) else None

    def _tasks(self, replica: Replica, cookie: str) -> int:
        found = replica.ask(f"api/v1/nodes?columns=name,tasks&q={NODE}", cookie)[0]["columns"]["tasks"]
        return found[0] if found else 0

    def _evicting(self, replica: Replica, cookie: str) -> bool:
        pod = self.api.request("GET", f"{PODS}/replicas-task").get("metadata.deletionTimestamp", None)
        return bool(pod) and bool(replica.eviction(cookie))


if __name__ == "__main__":
    unittest.main()
