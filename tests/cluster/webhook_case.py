"""Base of tests of the webhooks of `tidemark manager` on the real API server: managers that serve them, and cleanup of the cluster."""

import base64
import json
import os
import re
import subprocess
import unittest

from cluster import colocation
from cluster.colocation import must
from cluster.tidemark_process import Component, wait_for

NAMESPACE = "webhooks"
PROFILES = "/apis/config.koordinator.sh/v1alpha1/clustercolocationprofiles"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
HOOKS = "/apis/admissionregistration.k8s.io/v1"
MUTATING = f"{HOOKS}/mutatingwebhookconfigurations/koordinator-mutating-webhook-configuration"
VALIDATING = f"{HOOKS}/validatingwebhookconfigurations/koordinator-validating-webhook-configuration"
SECRET = "/api/v1/namespaces/koordinator-system/secrets/koordinator-webhook-certs"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
EVENTS = "/api/v1/namespaces/koordinator-system/events"
QOS = "koordinator.sh/qosClass"
SPEC = "node.koordinator.sh/extended-resource-spec"
TYPE_LABEL = {"koordinator.sh/configmap-type": "slo-controller-config"}
BATCH = {
    "selector": {"matchLabels": {"app": "spark"}}, "qosClass": "BE", "priorityClassName": "koord-batch", "koordinatorPriority": 1000,
    "schedulerName": "koord-scheduler", "labels": {"by": "profile"}, "patch": {"spec": {"terminationGracePeriodSeconds": 5}},
}


def kubectl(*arguments: str, given: dict | None = None) -> subprocess.CompletedProcess:
    return subprocess.run(
        [os.environ["TIDEMARK_KUBECTL"], "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], *arguments],
        input=json.dumps(given) if given is not None else "", capture_output=True, text=True, timeout=60,
    )


def pod(name: str, *, labels: dict | None = None, annotations: dict | None = None, requests: dict | None = None, **spec) -> dict:
    container = {"name": "main", "image": "none", "resources": {"requests": requests or {}, "limits": {}}}
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels or {}, "annotations": annotations or {}},
        "spec": {"containers": [container], **spec},
    }


def settings(labels: dict | None = None, **keys: str) -> dict:
    data = {key.replace("_", "-"): text for key, text in keys.items()}
    return {
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": colocation.SETTINGS_NAME, "namespace": "koordinator-system", "labels": TYPE_LABEL if labels is None else labels},
        "data": data,
    }


def ours(text: str, labels: dict | None = None) -> dict:
    """A tidemark-config."""
    body = settings(labels={"koordinator.sh/configmap-type": "tidemark-config"} if labels is None else labels)
    return body | {"metadata": body["metadata"] | {"name": colocation.TIDEMARK_CONFIG}, "data": {"config.yaml": text}}


class WithWebhooks(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        colocation.install_crds()
        cls.api = colocation.client()
        for namespace in ("koordinator-system", NAMESPACE):
            must(cls.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}}), 201, 409)
        for name, value in (("koord-prod", 9000), ("koord-batch", 5000)):
            body = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
            must(cls.api.request("POST", CLASSES, body), 201, 409)

    @classmethod
    def tearDownClass(cls):
        cls.api.close()

    def setUp(self):
        self.profiles: list[str] = []
        self.components: list[Component] = []
        self.api.request("DELETE", EVENTS)

    def tearDown(self):
        for component in self.components:  # a running manager would recreate what is deleted here
            component.stop()
        for path in (MUTATING, VALIDATING, SECRET, f"{colocation.SETTINGS}/tidemark-state"):
            self.api.request("DELETE", path)
        colocation.delete_settings(self.api)
        self.api.request("DELETE", EVENTS)  # another test must not see the events about settings
        for name in self.profiles:
            self.api.request("DELETE", f"{PROFILES}/{name}")
        for each in self.api.request("GET", PODS).get("items", []):
            self.api.request("DELETE", f"{PODS}/{each['metadata']['name']}", gracePeriodSeconds=0)

    def manager(self, *more: str, wait: bool = True, elect: bool = False, kubeconfig: str = "", host: str = "127.0.0.1") -> Component:
        component = Component(
            "manager", "--kubeconfig", kubeconfig or os.environ["TIDEMARK_TEST_KUBECONFIG"], f"--leader-elect={str(elect).lower()}", "--metrics-addr=127.0.0.1:0",
            "--webhooks=on", "--webhook-addr=127.0.0.1:0", f"--webhook-host={host}", *more,
        )
        self.components.append(component)
        if wait:
            wait_for(component.ready, "a ready manager", component)
            wait_for(lambda: component.metrics().get("tidemark_webhook_registered") == 1, "the registration", component)
            self.wait_in_use(component)
        return component

    def wait_in_use(self, component: Component) -> None:
        """The API server sees a registration a moment after its creation."""
        counter = 'tidemark_webhook_requests_total{component="mutate-pod",reason="allowed"}'

        def asked() -> bool:
            must(self.api.request("POST", PODS, pod("probe"), dryRun="All"))
            return component.metrics().get(counter, 0) > 0

        wait_for(asked, "the API server to call the webhook", component)

    def profile(self, name: str, spec: dict, **metadata) -> None:
        self.profiles.append(name)
        body = {"apiVersion": "config.koordinator.sh/v1alpha1", "kind": "ClusterColocationProfile", "metadata": {"name": name, **metadata}, "spec": spec}
        must(self.api.request("POST", PROFILES, body))

    def wait_profile(self, component: Component, labels: dict, wanted: dict) -> None:
        """The manager sees a profile a moment after its creation."""

        def applied() -> bool:
            made = must(self.api.request("POST", PODS, pod("probe", labels=labels), dryRun="All"))
            return wanted.items() <= made.get("metadata.labels", {}).items()

        wait_for(applied, "the profile in the webhook", component)

    def create(self, body: dict) -> dict:
        done = kubectl("create", "-f", "-", "-o", "json", given=body)
        self.assertEqual(0, done.returncode, done.stderr)
        return json.loads(done.stdout)

    def refused(self, verb: str, body: dict) -> str:
        done = kubectl(verb, "-f", "-", given=body)
        self.assertNotEqual(0, done.returncode, done.stdout)
        return done.stderr

    def port(self, component: Component) -> int:
        return int(re.search(r"webhooks served address=\S+:(\d+)", component.log)[1])

    def bundle(self, path: str) -> str:
        return base64.b64decode(must(self.api.request("GET", path))["webhooks"][0]["clientConfig"]["caBundle"]).decode()
