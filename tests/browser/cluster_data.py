"""A cluster for the page: nodes in two pools with agents' reports, offline pods of three classes, and a node that never reported. Written through the API."""

import base64
import json
import ssl
import urllib.error
import urllib.request
from datetime import datetime, timezone
from pathlib import Path

NODES = 240
SILENT = "web-017"  # no agent reported yet
OFF = "web-005"  # switched off by its label

SETTINGS = """schema: 1
mode: enforce
calendars:
- name: nights
  zone: UTC
  entries:
  - {name: night, cron: "0 22 * * *", for: 8h, cpu: 80, memory: 80}
pools:
- name: web
  nodeSelector: {matchLabels: {role: web}}
  calendar: nights
- name: database
  nodeSelector: {matchLabels: {role: database}}
"""


class Api:
    """The API server of a kubeconfig that `tidemark up` wrote."""

    def __init__(self, kubeconfig: Path):
        config = json.loads(kubeconfig.read_text())
        cluster = config["clusters"][0]["cluster"]
        self.server = cluster["server"]
        self.token = config["users"][0]["user"]["token"]
        self.context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())

    def call(self, method: str, path: str, body: dict, content: str = "application/json") -> dict:
        request = urllib.request.Request(self.server + path, json.dumps(body).encode(), {"content-type": content, "authorization": f"Bearer {self.token}"}, method=method)
        with urllib.request.urlopen(request, context=self.context, timeout=30) as answer:
            return json.loads(answer.read())

    def status(self, path: str, status: dict) -> None:
        self.call("PATCH", f"{path}/status", {"status": status}, "application/merge-patch+json")


def used(cores: float, gib: float) -> dict:
    return {"resources": {"cpu": f"{int(cores * 1000)}m", "memory": f"{int(gib * 1024)}Mi"}}


def now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def report(api: Api, name: str, number: int) -> None:
    """What the agent of the node reports: online work by a pattern of the number, and its offline pod."""
    online, offline = 4 + 10 * ((number * 7) % 11) / 11, 2 + 5 * ((number * 3) % 7) / 7
    pods = [{"namespace": "jobs", "name": f"task-{number}", "qosClass": "BE", "priority": "koord-batch", "podUsage": used(offline, 2 * offline)}]
    metric = {"nodeUsage": used(online + offline, 30 + online + 2 * offline), "systemUsage": used(0.7, 3)}
    path = "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"
    try:
        api.call("POST", path, {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric", "metadata": {"name": name}})
    except urllib.error.HTTPError as error:
        if error.code != 409:  # the manager makes it too
            raise
    api.status(f"{path}/{name}", {"updateTime": now(), "nodeMetric": metric, "podsMetric": pods})


def names(count: int = NODES) -> list[str]:
    return [f"database-{i:03}" if i % 6 == 0 else f"web-{i:03}" for i in range(1, count + 1)]


def fill(api: Api, count: int = NODES) -> None:
    api.call("POST", "/api/v1/namespaces", {"metadata": {"name": "jobs"}})
    api.call("POST", "/api/v1/namespaces/koordinator-system/configmaps", {"metadata": {"name": "slo-controller-config"}, "data": {"colocation-config": '{"enable":true}'}})
    api.call("POST", "/api/v1/namespaces/koordinator-system/configmaps", {"metadata": {"name": "tidemark-config"}, "data": {"config.yaml": SETTINGS}})
    for number, name in enumerate(names(count), 1):
        labels = {"role": name.split("-")[0], **({"tidemark.io/state": "off"} if name == OFF else {})}
        api.call("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": labels}})
        amounts = {"cpu": "32", "memory": "128Gi", "pods": "110"}
        info = {"kernelVersion": "6.1.0-18-amd64", "osImage": "Debian GNU/Linux 12", "architecture": "amd64", "containerRuntimeVersion": "containerd://1.6.20", "kubeletVersion": "v1.34.2", "operatingSystem": "linux", "machineID": "", "systemUUID": "", "bootID": "", "kubeProxyVersion": ""}
        ready = [{"type": "Ready", "status": "True", "reason": "KubeletReady", "lastTransitionTime": now()}]
        api.status(f"/api/v1/nodes/{name}", {"capacity": amounts, "allocatable": amounts, "conditions": ready, "nodeInfo": info})
        if name != SILENT:
            report(api, name, number)
    for number, name in enumerate(names(count), 1):
        kind = ("spark", "transcode", "training")[number % 3]
        amounts = {"kubernetes.io/batch-cpu": "4000", "kubernetes.io/batch-memory": "8Gi"}
        waits = number % 20 == 0
        spec = {"containers": [{"name": "main", "image": "i", "resources": {"requests": amounts, "limits": amounts}}]} | ({} if waits else {"nodeName": name})
        api.call("POST", "/api/v1/namespaces/jobs/pods", {"metadata": {"name": f"task-{number}", "labels": {"koordinator.sh/qosClass": "BE", "koordinator.sh/priority-class": "koord-batch", "tidemark.io/class": kind}}, "spec": spec})
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/240 nodes are available: 240 Insufficient kubernetes.io/batch-cpu."}
        api.status(f"/api/v1/namespaces/jobs/pods/task-{number}", {"phase": "Pending", "conditions": [condition]} if waits else {"phase": "Running", "startTime": now()})
