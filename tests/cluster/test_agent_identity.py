"""The identity of node agents on the real API server: the rights from the chart, and the rules that limit each agent to its own node.

Policies by the node of the token, the roles, and the manager's review of each eviction; none of them limits other accounts."""

import base64
import contextlib
import json
import os
import re
import socket
import ssl
import tempfile
import unittest
import urllib.parse
from pathlib import Path

from cluster import chart, colocation
from cluster.chart import NAMESPACE, RELEASE, find, helm
from cluster.colocation import MERGE, NODEMETRICS, must
from cluster.tidemark_process import Component, wait_for
from contract.client import STRATEGIC, Client, Target

AGENT = "tidemark-agent"
USER = f"system:serviceaccount:{NAMESPACE}:{AGENT}"
VALUES = {"settings": {"create": False}, "manager": {"logFormat": "text"}, "agent": {"enabled": True}}
IDENTITY = ("--show-only", "templates/agent.yaml")  # without the agents
HOOKS = "/apis/admissionregistration.k8s.io/v1"
EVICTIONS = f"{HOOKS}/validatingwebhookconfigurations/tidemark-agent-evictions"
TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ACCOUNTS = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
OWN, OTHER = "agent-own", "agent-other"
BATCH = {"koordinator.sh/qosClass": "BE", "koordinator.sh/priority-class": "koord-batch"}
CAPACITY = {"cpu": "8", "memory": "16Gi"}
CONDITION = {"type": "TidemarkIsolation", "status": "True", "reason": "Enforced", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}
READY = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}
PRESSURE = {**READY, "type": "MemoryPressure", "status": "False"}
OLD_KUBELET = {
    "machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": "6.1.0-18-amd64", "osImage": "Debian 12", "containerRuntimeVersion": "containerd://1.7.2",
    "kubeletVersion": "v1.32.9", "kubeProxyVersion": "", "operatingSystem": "linux", "architecture": "amd64",
}
# More rights than the chart grants, to test the policies alone.
ALL_OF_NODES = [
    {"apiGroups": [group], "resources": resources, "verbs": ["create", "update", "patch", "delete", "deletecollection"]}
    for group, resources in (("", ["nodes", "nodes/status"]), ("slo.koordinator.sh", ["nodemetrics", "nodemetrics/status"]), ("topology.node.k8s.io", ["noderesourcetopologies"]))
]


def metric(name: str) -> dict:
    return {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric", "metadata": {"name": name}, "spec": {}}


def topology(name: str) -> dict:
    return {"apiVersion": "topology.node.k8s.io/v1alpha1", "kind": "NodeResourceTopology", "metadata": {"name": name}, "topologyPolicies": ["None"], "zones": []}


@chart.needs_helm
class WithIdentity(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        colocation.install_crds()
        cls.api = colocation.client()
        cls.addClassCleanup(cls.api.close)
        chart.ensure_namespace(cls.api)
        cls.addClassCleanup(chart.delete_webhooks, cls.api)
        cls.addClassCleanup(helm, "uninstall", RELEASE, "--namespace", NAMESPACE, "--ignore-not-found", "--no-hooks")
        cls.rendered = chart.objects(chart.template(VALUES, "--no-hooks"))
        cls.hook = find(cls.rendered, "ValidatingWebhookConfiguration")["webhooks"][0]
        chart.must(helm("upgrade", "--install", RELEASE, chart.CHART, "--namespace", NAMESPACE, values=VALUES))
        cls.addClassCleanup(colocation.delete, cls.api, OWN, OTHER)
        for name in (OWN, OTHER):
            colocation.put_node(cls.api, name, capacity=CAPACITY, labels={"pool": "a"}, annotations={"note": "b"})
            must(cls.api.request("POST", NODEMETRICS, metric(name)))
            must(cls.api.request("PATCH", f"/api/v1/nodes/{name}/status", {"status": {"conditions": [READY, PRESSURE]}}, content=STRATEGIC))
        cls.agent = cls.bound_to_node(OWN)
        # The API server sees a policy a moment after its creation.
        refused = lambda path: "may not write" in cls.agent.request("PATCH", path, {"status": {}}, content=MERGE).body.decode()
        wait_for(lambda: refused(f"{NODEMETRICS}/{OTHER}/status"), "the policies in force")
        wait_for(lambda: cls.agent.request("PATCH", f"/api/v1/nodes/{OWN}/status", {"metadata": {"labels": {"c": "d"}}}, content=MERGE, dryRun="All").status == 403, "the policies in force")

    @classmethod
    def client_of(cls, account: str, bound: dict | None = None) -> Client:
        spec = {"expirationSeconds": 3600, **({"boundObjectRef": bound} if bound else {})}
        token = must(cls.api.request("POST", f"{ACCOUNTS}/{account}/token", {"spec": spec}))["status.token"]
        made = Client(Target(os.environ["TIDEMARK_TEST_SERVER"], os.environ["TIDEMARK_TEST_CA_FILE"], token))
        cls.addClassCleanup(made.close)
        return made

    @classmethod
    def bound_to_node(cls, name: str) -> Client:
        uid = must(cls.api.request("GET", f"/api/v1/nodes/{name}"))["metadata.uid"]
        return cls.client_of(AGENT, {"kind": "Node", "apiVersion": "v1", "name": name, "uid": uid})

    @classmethod
    def bound_to_pod_on(cls, node: str) -> Client:
        """As a kubelet requests the token of an agent's pod."""
        pods, name = f"/api/v1/namespaces/{NAMESPACE}/pods", f"agent-on-{node}"
        body = {"metadata": {"name": name}, "spec": {"nodeName": node, "serviceAccountName": AGENT, "containers": [{"name": "agent", "image": "none"}]}}
        made = must(cls.api.request("POST", pods, body))
        cls.addClassCleanup(cls.api.request, "DELETE", f"{pods}/{name}", gracePeriodSeconds=0)
        return cls.client_of(AGENT, {"kind": "Pod", "apiVersion": "v1", "name": name, "uid": made["metadata.uid"]})

    def give(self, name: str, rules: list, account: str = AGENT) -> None:
        """Grants rights beside those of the chart, until the end of the test."""
        subject = {"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
        for path, body in ((f"{RBAC}/clusterroles", {"rules": rules}), (f"{RBAC}/clusterrolebindings", {"roleRef": role, "subjects": [subject]})):
            must(self.api.request("POST", path, {"metadata": {"name": name}, **body}))
            self.addCleanup(self.api.request, "DELETE", f"{path}/{name}")

    def held(self, answer, *parts: str) -> None:
        """Asserts that a policy refused it, not a role."""
        text = answer.body.decode()
        self.assertEqual(403, answer.status, text)
        for part in ("ValidatingAdmissionPolicy", *parts):
            self.assertIn(part, text)

    def node(self, name: str = OWN) -> dict:
        return must(self.api.request("GET", f"/api/v1/nodes/{name}")).json


class Rights(WithIdentity):
    def test_requests_without_a_role_are_forbidden(self):
        pods = "/api/v1/namespaces/default/pods"
        for method, path, body in (
            ("DELETE", f"{pods}/any", None), ("DELETE", pods, None), ("PATCH", f"{pods}/any", {}), ("POST", pods, {"metadata": {"name": "a"}}), ("GET", pods, None),
            ("POST", f"{pods}/any/exec", None), ("GET", f"/api/v1/nodes/{OWN}/proxy/pods", None), ("PATCH", f"/api/v1/nodes/{OWN}", {"metadata": {}}),
            ("DELETE", f"/api/v1/nodes/{OWN}", None), ("PATCH", f"{NODEMETRICS}/{OWN}", {"spec": {}}), ("POST", NODEMETRICS, metric("new")), ("DELETE", f"{NODEMETRICS}/{OWN}", None),
            ("PATCH", f"{colocation.NODESLOS}/{OWN}", {"spec": {}}), ("GET", f"/api/v1/namespaces/{NAMESPACE}/secrets", None), ("GET", f"{colocation.SETTINGS}/tidemark-config", None),
            ("POST", f"{ACCOUNTS}/{AGENT}/token", {"spec": {}}),
        ):
            with self.subTest(f"{method} {path}"):
                answer = self.agent.request(method, path, body, content=MERGE if method == "PATCH" else "application/json")
                self.assertEqual(403, answer.status, answer.body)
                self.assertIn(f'User \\"{USER}\\" cannot', answer.body.decode())


class OwnNode(WithIdentity):
    def status(self, client: Client, node: str):
        return client.request("PATCH", f"{NODEMETRICS}/{node}/status", {"status": {"updateTime": colocation.time_stamp()}}, content=MERGE)

    def condition(self, client: Client, node: str):
        return client.request("PATCH", f"/api/v1/nodes/{node}/status", {"status": {"conditions": [CONDITION]}}, content=STRATEGIC)

    def test_token_of_a_node_or_its_pod_writes_objects_of_that_node(self):
        for client in (self.agent, self.bound_to_pod_on(OWN)):
            for write in (self.status, self.condition):
                must(write(client, OWN))
                self.held(write(client, OTHER), f"{AGENT}-own-node", f"the agent of node {OWN} may not write what is of {OTHER}")
        must(self.status(self.bound_to_pod_on(OTHER), OTHER))

    def test_token_without_a_node_writes_nothing(self):
        free = self.client_of(AGENT)
        must(free.request("GET", f"/api/v1/nodes/{OWN}"))  # it is a token of the agent, and may read
        for node in (OWN, OTHER):
            for write in (self.status, self.condition):
                self.held(write(free, node), "bound to no node")

    def test_impersonating_the_agent_gives_no_node(self):
        """An administrator impersonates the user: that has its groups and rights, but not the claim of its token."""
        answer = self.api.request("PATCH", f"{NODEMETRICS}/{OWN}/status", {"status": {}}, content=MERGE, headers={"Impersonate-User": USER})
        self.held(answer, "bound to no node")

    def test_any_granted_right_is_limited_to_the_own_node(self):
        """Also creations and deletions, whose requests carry no object or no name."""
        self.give("agent-all-of-nodes", ALL_OF_NODES)
        wait_for(lambda: self.agent.request("DELETE", f"{TOPOLOGIES}/not-there").status != 403 or b"Policy" in self.agent.request("DELETE", f"{TOPOLOGIES}/{OTHER}").body, "the role in force")
        must(self.api.request("POST", TOPOLOGIES, topology(OTHER)))
        self.addCleanup(self.api.request, "DELETE", f"{TOPOLOGIES}/{OTHER}")
        label = {"metadata": {"labels": {"tidemark.io/state": "off"}}}
        for method, path, body in (
            ("POST", NODEMETRICS, metric("agent-third")), ("POST", NODEMETRICS, {**metric(""), "metadata": {"generateName": f"{OWN}-"}}),
            ("DELETE", f"{NODEMETRICS}/{OTHER}", None), ("DELETE", NODEMETRICS, None), ("PATCH", f"{NODEMETRICS}/{OTHER}", label),
            ("POST", TOPOLOGIES, topology("agent-third")), ("DELETE", f"{TOPOLOGIES}/{OTHER}", None), ("DELETE", TOPOLOGIES, None), ("PATCH", f"{TOPOLOGIES}/{OTHER}", label),
            ("POST", "/api/v1/nodes", {"metadata": {"name": "agent-third"}}), ("DELETE", f"/api/v1/nodes/{OTHER}", None), ("DELETE", "/api/v1/nodes", None),
            ("PATCH", f"/api/v1/nodes/{OTHER}", label),
        ):
            with self.subTest(f"{method} {path}"):
                self.held(self.agent.request(method, path, body, content=MERGE if method == "PATCH" else "application/json"), f"{AGENT}-own-node", f"the agent of node {OWN} may not")
        self.assertEqual(200, self.api.request("GET", f"{TOPOLOGIES}/{OTHER}").status)
        must(self.agent.request("POST", TOPOLOGIES, topology(OWN)))
        must(self.agent.request("PATCH", f"{TOPOLOGIES}/{OWN}", label, content=MERGE))
        must(self.agent.request("DELETE", f"{TOPOLOGIES}/{OWN}"))
        must(self.agent.request("DELETE", f"{NODEMETRICS}/{OWN}"))
        must(self.agent.request("POST", NODEMETRICS, metric(OWN)))

    def test_other_accounts_are_not_limited(self):
        free = "agent-nobody-else"
        must(self.api.request("POST", ACCOUNTS, {"metadata": {"name": free}}))
        self.addCleanup(self.api.request, "DELETE", f"{ACCOUNTS}/{free}")
        self.give(free, ALL_OF_NODES, free)
        other = self.client_of(free)
        wait_for(lambda: self.status(other, OWN).status == 200, "the role in force")
        for client in (self.api, other):
            for node in (OWN, OTHER):
                must(self.status(client, node))
                must(client.request("PATCH", f"/api/v1/nodes/{node}/status", {"metadata": {"annotations": {"e": "f"}}, "status": {"allocatable": {"example.com/a": "1"}, "capacity": {"example.com/a": "1"}}}, content=MERGE))


class NodeCondition(WithIdentity):
    def patch(self, body: dict, content: str = STRATEGIC):
        return self.agent.request("PATCH", f"/api/v1/nodes/{OWN}/status", body, content=content)

    def conditions(self) -> dict[str, dict]:
        return {each["type"]: each for each in self.node()["status"]["conditions"]}

    def test_condition_is_added_changed_and_removed(self):
        before = self.conditions()
        for status in ("True", "False"):
            must(self.patch({"status": {"conditions": [{**CONDITION, "status": status}]}}))
            self.assertEqual(status, self.conditions()["TidemarkIsolation"]["status"])
        must(self.patch({"status": {"conditions": [{"type": "TidemarkIsolation", "$patch": "delete"}]}}))
        self.assertNotIn("TidemarkIsolation", self.conditions())
        self.assertEqual({kind: each for kind, each in before.items() if kind != "TidemarkIsolation"}, self.conditions())

    def test_server_side_apply_of_the_condition_is_accepted(self):
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": OWN}, "status": {"conditions": [CONDITION]}}
        answer = self.agent.request(
            "PATCH", f"/api/v1/nodes/{OWN}/status", json.dumps(body).encode(), content="application/apply-patch+yaml", fieldManager="agent", force="true")
        must(answer)
        self.assertIn("TidemarkIsolation", self.conditions())

    def test_nothing_else_of_the_status_can_change(self):
        before = self.node()
        for status in (
            {"allocatable": {"cpu": "7"}}, {"allocatable": {"kubernetes.io/batch-cpu": "1000"}}, {"capacity": {"cpu": "80"}}, {"capacity": {"kubernetes.io/batch-cpu": "1"}},
            {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}, {"daemonEndpoints": {"kubeletEndpoint": {"Port": 4444}}}, {"nodeInfo": {"kernelVersion": "9"}},
            {"phase": "Running"}, {"images": [{"names": ["a"], "sizeBytes": 1}]}, {"volumesInUse": ["a"]}, {"capacity": None},
        ):
            for conditions in ({}, {"conditions": [*before["status"]["conditions"], CONDITION]}):
                with self.subTest(status=status, conditions=bool(conditions)):
                    self.held(self.patch({"status": {**status, **conditions}}, MERGE), "node-condition", "its condition TidemarkIsolation alone")
        self.assertEqual(before["status"], self.node()["status"])

    def test_no_other_condition_can_change(self):
        before = self.conditions()
        for conditions in (
            [{**READY, "status": "False"}], [{**PRESSURE, "status": "True"}], [{**READY, "type": "TidemarkCoLocation"}], [{"type": "Ready", "$patch": "delete"}],
            [CONDITION, {**READY, "reason": "other"}],
        ):
            with self.subTest(conditions):
                self.held(self.patch({"status": {"conditions": conditions}}), "node-condition", "of its node's conditions")
        for conditions in ([], [CONDITION], [READY, READY], [READY, PRESSURE, PRESSURE], None):
            with self.subTest(merged=conditions):
                self.held(self.patch({"status": {"conditions": conditions}}, MERGE), "node-condition")
        must(self.patch({"status": {"conditions": [PRESSURE, CONDITION, READY]}}, MERGE))  # a different order is no change
        self.assertEqual({kind: each for kind, each in before.items() if kind != "TidemarkIsolation"}, {kind: each for kind, each in self.conditions().items() if kind != "TidemarkIsolation"})

    def test_no_label_and_only_two_annotations_can_change_by_the_status(self):
        """The sub-resource also takes metadata: the manager writes annotations with the numbers, and an agent sends requests to YARN's operator and reports how tasks ended."""
        before = self.node()["metadata"]
        asked = {"tidemark.io/yarn-reclaim": "{}"}
        for metadata in ({"labels": {"tidemark.io/state": "off"}}, {"labels": {"pool": None}}, {"labels": None}, {"finalizers": ["a/b"]}, {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": OTHER, "uid": "u"}]},
                         {"labels": {"pool": "b"}, "annotations": asked}):
            with self.subTest(metadata):
                self.held(self.patch({"metadata": metadata}, MERGE), "node-condition", "no label or other metadata")
        for annotations in ({"note": "c"}, {"x": "y"}, {"note": None}, None, {**asked, "x": "y"}, {"tidemark.io/yarn-reclaim-answer": "{}"}):
            with self.subTest(annotations):
                self.held(self.patch({"metadata": {"annotations": annotations}}, MERGE), "node-condition", "tidemark.io/yarn-reclaim and tidemark.io/ended-tasks alone")
        for annotations in (asked, {"tidemark.io/yarn-reclaim": "{ }"}, {"tidemark.io/ended-tasks": "{}"}, dict.fromkeys((*asked, "tidemark.io/ended-tasks"))):
            must(self.patch({"metadata": {"annotations": annotations}}, MERGE))
        self.assertEqual({**before, "managedFields": 0, "resourceVersion": 0}, {**self.node()["metadata"], "managedFields": 0, "resourceVersion": 0})


class WithManager(WithIdentity):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.pods: list[str] = []
        self.addCleanup(lambda: [self.api.request("DELETE", f"/api/v1/namespaces/{path}", gracePeriodSeconds=0) for path in self.pods])

    def manager(self) -> Component:
        """As the chart's Deployment runs it, with the chart's rights."""
        command = chart.command_here(chart.container(self.rendered), {"--journal-dir": tempfile.mkdtemp(dir=self.folder)})
        component = Component(*command, "--kubeconfig", chart.kubeconfig_of(chart.ACCOUNT, self.folder))
        self.addCleanup(component.stop)
        wait_for(component.ready, "a ready manager", component)
        wait_for(lambda: component.metrics().get("tidemark_webhook_evictions_registered") == 1, "the registration", component)
        # The API server sees it a moment later.
        self.pod("probe", labels={})
        wait_for(lambda: "Online" in self.evict(self.agent, "probe", dryRun="All").body.decode(), "the API server to call the webhook", component)
        return component

    def pod(self, name: str, node: str = OWN, namespace: str = "default", *, labels: dict | None = None, annotations: dict | None = None) -> None:
        meta = {"name": name, "labels": BATCH if labels is None else labels, "annotations": annotations or {}}
        must(self.api.request("POST", f"/api/v1/namespaces/{namespace}/pods", {"metadata": meta, "spec": {"nodeName": node, "containers": [{"name": "main", "image": "none"}]}}))
        self.pods.append(f"{namespace}/pods/{name}")

    def evict(self, client: Client, name: str, namespace: str = "default", *, uid: str | None = None, **more):
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        if uid is None:
            uid = self.api.request("GET", path).get("metadata.uid", "00000000-0000-0000-0000-000000000000")
        options = {"gracePeriodSeconds": 0, **({"preconditions": {"uid": uid}} if uid else {})}
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}, "deleteOptions": options}
        return client.request("POST", f"{path}/eviction", body, **more)

    def there(self, name: str, namespace: str = "default") -> bool:
        return self.api.request("GET", f"/api/v1/namespaces/{namespace}/pods/{name}").status == 200

    def refused(self, answer, status: int, word: str) -> None:
        text = answer.body.decode()
        self.assertEqual(status, answer.status, text)
        self.assertIn(f"[{word}]" if word else "agent-eviction.tidemark.io", text)
        if word:  # agents decide by the cause, which an API server passes on
            self.assertEqual(word, answer["details.causes.0.reason"], text)


class Evictions(WithManager):
    def test_only_offline_work_of_the_own_node_is_evicted(self):
        component = self.manager()
        for client in (self.agent, self.bound_to_pod_on(OWN)):
            for labels in (BATCH, {"koordinator.sh/priority-class": "koord-mid"}, {"koordinator.sh/priority-class": "koord-batch"}):
                self.pod("own", labels=labels)
                must(self.evict(client, "own", dryRun="All"))
                self.assertTrue(self.there("own"))
                must(self.evict(client, "own"))
                self.assertFalse(self.there("own"))
        self.pod("elsewhere", OTHER)
        self.pod("online", labels={"koordinator.sh/qosClass": "LS", "koordinator.sh/priority-class": "koord-prod"})
        self.pod("silent", labels={})
        self.pod("mirror", annotations={"kubernetes.io/config.mirror": "feed"})
        self.pod("control", namespace="kube-system", labels={})
        self.pod("own")
        for name, namespace, status, word in (
            ("elsewhere", "default", 403, "AnotherNode"), ("online", "default", 403, "Online"), ("silent", "default", 403, "Online"), ("mirror", "default", 403, "Mirror"),
            ("control", "kube-system", 403, "Online"),
        ):
            with self.subTest(name):
                self.refused(self.evict(self.agent, name, namespace), status, word)
                self.assertTrue(self.there(name, namespace))
        self.refused(self.evict(self.agent, "own", uid=""), 400, "NoUid")
        self.refused(self.evict(self.agent, "own", uid="00000000-0000-0000-0000-000000000001"), 409, "AnotherPod")
        self.refused(self.evict(self.client_of(AGENT), "own"), 403, "NoNode")
        self.assertEqual(404, self.evict(self.agent, "not-there").status)
        self.assertTrue(self.there("own"))
        denied = component.metrics()['tidemark_webhook_denied_total{component="validate-eviction",reason="AnotherNode"}']
        self.assertEqual(1, denied)
        self.assertIn(f"user={USER}", component.log)

    def limited(self, evictions: dict) -> None:
        """A manager that applies these limits."""
        config = json.dumps({"schema": 1, "mode": "enforce", "rollout": {"pace": "at-once"}, "evictions": evictions})
        self.addCleanup(colocation.delete_settings, self.api)
        must(self.api.request("POST", colocation.SETTINGS, {"metadata": {"name": colocation.TIDEMARK_CONFIG}, "data": {"config.yaml": config}}), 201)
        self.manager()

    def pod_of(self, job: str, name: str) -> None:
        self.pod(name, labels={**BATCH, "tidemark.io/job": job})

    def test_a_job_loses_no_more_than_its_hourly_limit(self):
        self.limited({"perJobHour": 2})
        for i in range(3):
            self.pod_of("sort", f"sort-{i}")
        self.pod_of("other", "other")
        for i in range(2):
            must(self.evict(self.agent, f"sort-{i}"))
        answer = self.evict(self.agent, "sort-2")
        self.refused(answer, 429, "JobBudget")
        self.assertIn("the job default/sort has 2 evictions within the hour, those on their way counted, and 2 are allowed", answer.body.decode())
        self.assertTrue(self.there("sort-2"))
        must(self.evict(self.agent, "other"))  # each job has its own limit
        must(self.evict(self.api, "sort-2"))  # and other accounts are not limited

    def test_concurrent_evictions_stay_within_the_pools_hourly_limit(self):
        """Each pod is of another job, and all come before the leader's next budget step (policy::kBudgetStep)."""
        self.limited({"perPoolHour": 3})
        names = [f"surge-{i}" for i in range(12)]
        for name in names:
            self.pod_of(name, name)
        answers = [self.evict(self.agent, name) for name in names]
        let = [name for name, answer in zip(names, answers) if answer.status == 201]
        self.assertEqual(3, len(let), [answer.body.decode() for answer in answers])
        for answer in answers:
            if answer.status != 201:
                self.refused(answer, 429, "PoolBudget")
                self.assertIn("the pool default has 3 evictions within the hour, those on their way counted, and 3 are allowed", answer.body.decode())
        self.assertEqual([name for name in names if name not in let], [name for name in names if self.there(name)])
        must(self.evict(self.api, next(name for name in names if name not in let)))  # other accounts are not limited

    def test_a_manager_with_too_many_reviews_is_reported_as_busy(self):
        """The agent reads the API server's own text (agent/evict/ending.cc): a webhook answers, but has too much to do."""
        component = self.manager()
        config = must(self.api.request("GET", EVICTIONS))["webhooks"][0]["clientConfig"]
        at = urllib.parse.urlsplit(config["url"])
        context = ssl.create_default_context(cadata=base64.b64decode(config["caBundle"]).decode())
        self.pod("own")
        # Each announces a length, for which memory is reserved, and sends nothing. Sixteen reserve all of it (review_budget.h) for ten seconds.
        with contextlib.ExitStack() as slow:
            for _ in range(16):
                one = slow.enter_context(context.wrap_socket(socket.create_connection((at.hostname, at.port)), server_hostname=at.hostname))
                one.sendall(b"POST /validate-pod HTTP/1.1\r\nHost: webhook\r\nContent-Type: application/json\r\nContent-Length: 8388608\r\n\r\n")
            full = wait_for(lambda: (answer := self.evict(self.agent, "own", dryRun="All")).status == 500 and answer, "a busy manager", component)
        self.assertRegex(full.body.decode(), "failed calling webhook .*: the server has received too many requests and has asked us to try again later")
        wait_for(lambda: self.evict(self.agent, "own").status == 201, "room again", component)
        self.assertFalse(self.there("own"))

    def test_without_a_manager_only_the_agents_evictions_are_refused(self):
        """Before a manager ever ran, and after the last one was killed."""
        free = "agent-nobody-else"
        must(self.api.request("POST", ACCOUNTS, {"metadata": {"name": free}}))
        self.addCleanup(self.api.request, "DELETE", f"{ACCOUNTS}/{free}")
        self.give("agent-drains", [{"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]}], free)
        other = self.client_of(free)
        self.pod("probe-rights")
        wait_for(lambda: self.evict(other, "probe-rights", dryRun="All").status == 201, "the role in force")

        def closed(when: str) -> None:
            for client, name in ((self.api, "online"), (other, "offline")):
                self.pod(name, labels={} if name == "online" else None)
                self.refused(self.evict(self.agent, name), 500, "")
                self.assertTrue(self.there(name), when)
                must(self.evict(client, name))
                self.assertFalse(self.there(name), when)

        # As the chart leaves it: closed, without a CA.
        must(self.api.request("DELETE", EVICTIONS))
        chart.must(helm("upgrade", RELEASE, chart.CHART, "--namespace", NAMESPACE, values=VALUES))
        self.assertEqual(self.hook, must(self.api.request("GET", EVICTIONS))["webhooks"][0])
        self.pod("probe-closed")
        wait_for(lambda: self.evict(self.agent, "probe-closed", dryRun="All").status == 500, "the registration in force")
        closed("before a manager")
        component = self.manager()
        self.pod("offline")
        must(self.evict(self.agent, "offline"))
        self.pod("online", labels={})
        must(self.evict(other, "online"))  # evictions of other accounts are not reviewed
        component.kill()
        closed("after the manager")

    def test_a_changed_registration_is_repaired(self):
        component = self.manager()
        hook = must(self.api.request("GET", EVICTIONS))["webhooks"][0]
        for change in ({"failurePolicy": "Ignore"}, {"matchConditions": None}, {"rules": [{**hook["rules"][0], "resources": ["pods"]}]}):
            with self.subTest(change):
                must(self.api.request("PATCH", EVICTIONS, {"webhooks": [{**hook, **change}]}, content=MERGE))
                wait_for(lambda: must(self.api.request("GET", EVICTIONS))["webhooks"][0] == hook, "the registration to be repaired", component)

    def test_an_upgrade_of_the_release_leaves_the_registration_open(self):
        """The manager sets the CA; it is in no manifest."""
        closed = must(self.api.request("GET", EVICTIONS))["webhooks"]
        ca = must(self.api.request("GET", "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"))["data"]["client-ca-file"]
        trusting = [{**closed[0], "clientConfig": {"service": self.hook["clientConfig"]["service"], "caBundle": base64.b64encode(ca.encode()).decode()}}]
        must(self.api.request("PATCH", EVICTIONS, {"webhooks": trusting}, content=MERGE))
        chart.must(helm("upgrade", RELEASE, chart.CHART, "--namespace", NAMESPACE, values={**VALUES, "replicas": 3}))
        self.assertEqual(trusting, must(self.api.request("GET", EVICTIONS))["webhooks"])


class TheEnd(WithManager):
    def test_the_registration_goes_with_the_release_and_stays_gone(self):
        self.manager()
        chart.must(helm("uninstall", RELEASE, "--namespace", NAMESPACE, "--no-hooks"))  # test_chart tests whether it may
        self.assertEqual(404, self.api.request("GET", EVICTIONS).status)
        for kind in ("validatingadmissionpolicies", "validatingadmissionpolicybindings"):
            left = must(self.api.request("GET", f"{HOOKS}/{kind}"))["items"]
            self.assertEqual([], [each["metadata"]["name"] for each in left if each["metadata"]["name"].startswith(AGENT)])


@chart.needs_helm
class Rendered(unittest.TestCase):
    def test_the_role_matches_the_guide(self):
        page = (chart.ROOT / "docs" / "guide" / "install.md").read_text()
        table = re.search(r"### Rights of an agent\n.*?\n\n(\|.*?)\n\n", page, re.S)[1]
        rows = re.findall(r"^\| `([a-z/]+)` \| ([a-z, ]+) \|", table, re.M)
        listed = {(resource, verb) for resource, verbs in rows for verb in verbs.split(", ")}
        by_source = {}
        for source in ("kubelet", "api-server"):
            role = find(chart.objects(chart.template({**VALUES, "agent": {"enabled": True, "podSource": source}, "console": {"enabled": True, "tlsSecret": "tls"}}, *IDENTITY)), "ClusterRole", AGENT)
            self.assertFalse([rule for rule in role["rules"] if "resourceNames" in rule or "*" in rule["verbs"] + rule["resources"]])
            by_source[source] = {(resource, verb) for rule in role["rules"] for resource in rule["resources"] for verb in rule["verbs"]}
        self.assertEqual(listed, by_source["kubelet"] | by_source["api-server"])
        self.assertEqual({("nodes/pods", "get")}, by_source["kubelet"] - by_source["api-server"])
        self.assertEqual({("pods", "list"), ("pods", "watch")}, by_source["api-server"] - by_source["kubelet"])

    def test_the_chart_closes_the_registration_as_the_manager_would(self):
        found = chart.objects(chart.template(VALUES, "--no-hooks"))
        hook = find(found, "ValidatingWebhookConfiguration")["webhooks"][0]
        self.assertEqual([{"name": "agent", "expression": f'request.userInfo.username == "{USER}"'}], hook["matchConditions"])
        self.assertEqual(("Fail", "/validate-eviction"), (hook["failurePolicy"], hook["clientConfig"]["service"]["path"]))
        flags = chart.container(found)["args"]
        self.assertIn(f"--agent-service-account={USER}", flags)
        self.assertIn("--webhook-evictions-configuration=tidemark-agent-evictions", flags)

    def test_without_agents_no_object_of_them_exists(self):
        text = chart.template({})
        policies = {each["metadata"]["name"] for each in chart.objects(text) if each["kind"] == "ValidatingAdmissionPolicy"}
        self.assertEqual({"tidemark-manager-one-taint", "tidemark-manager-waiting-pods"}, policies)
        self.assertNotIn(AGENT, text)
        self.assertIn("--agent-service-account=", chart.container(chart.objects(text))["args"])

    def test_each_policy_matches_the_agents_user_only(self):
        found = chart.objects(chart.template({**VALUES, "nameOverride": "night"}, *IDENTITY))
        policies = [each for each in found if each["kind"] == "ValidatingAdmissionPolicy"]
        self.assertEqual(2, len(policies))
        for policy in policies:
            condition = [{"name": "agent", "expression": f'request.userInfo.username == "system:serviceaccount:{NAMESPACE}:night-agent"'}]
            self.assertEqual(condition, policy["spec"]["matchConditions"])
            self.assertNotIn("paramKind", policy["spec"])  # a missing parameter would fail for all accounts

    def test_a_cluster_without_admission_policies_is_refused(self):
        done = helm("template", RELEASE, chart.CHART, "--kube-version", "1.29.9", values=VALUES)
        self.assertNotEqual(0, done.returncode)
        self.assertIn("agent.enabled wants Kubernetes 1.30", done.stderr)
        self.assertNotIn("ValidatingAdmissionPolicy", chart.must(helm("template", RELEASE, chart.CHART, "--kube-version", "1.29.9")), "the manager has no policy there either")

    def test_kubelets_before_1_33_need_another_pod_source(self):
        for version, source, accepted in (("1.32.9", "kubelet", False), ("1.32.9", "api-server", True), ("1.33.0", "kubelet", True)):
            done = helm("template", RELEASE, chart.CHART, "--kube-version", version, values={"agent": {"enabled": True, "podSource": source}})
            with self.subTest(version=version, source=source):
                self.assertEqual(accepted, done.returncode == 0, done.stderr)
                if not accepted:
                    self.assertIn("agent.podSource=kubelet wants Kubernetes 1.33 or newer, found v1.32.9", done.stderr)
                    self.assertIn("Set agent.podSource=api-server", done.stderr)

    def test_one_kubelet_before_1_33_is_named(self):
        api = colocation.client()
        self.addCleanup(api.close)
        self.addCleanup(colocation.delete, api, "kubelet-old")
        colocation.put_node(api, "kubelet-old", capacity=CAPACITY)
        must(api.request("PATCH", "/api/v1/nodes/kubelet-old/status", {"status": {"nodeInfo": OLD_KUBELET}}, content=MERGE))
        for values, accepted in (({}, False), ({"nodeSelector": {"stage": "new"}}, True), ({"podSource": "api-server"}, True)):
            done = helm("template", RELEASE, chart.CHART, "--dry-run=server", values={"agent": {"enabled": True, **values}})
            with self.subTest(**values):
                self.assertEqual(accepted, done.returncode == 0, done.stderr)
                if not accepted:
                    self.assertIn("node kubelet-old has v1.32.9", done.stderr)


if __name__ == "__main__":
    unittest.main()
