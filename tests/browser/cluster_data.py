"""A cluster for the page: nodes in two pools with agents' reports, offline pods of three classes, and a node that never reported. Written through the API."""

import base64
import http.client
import io
import json
import ssl
import threading
import urllib.error
import urllib.parse
from datetime import datetime, timedelta, timezone
from pathlib import Path

NODES = 240
ONLINE_NODES = 24  # with a pod of an online service
YARN_NODES = ["database-006", "database-012", "database-018", "database-024"]
CONTESTED = "database-024"  # another program sets its total at the ResourceManager
SILENT = "web-017"  # no agent reported yet
DEAD = "web-029"  # its agent ended an hour ago
NEW_KERNEL, NEW_KERNEL_NODES = "6.12.9-amd64", ("web-011", "database-012")  # its memory.low has no effect
OFF = "web-005"  # switched off by its label

SETTINGS = """schema: 1
mode: enforce
profiles: {storeEvery: 1s}
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
  calendar: ramps
"""


def ramps() -> str:
    """A calendar with ramps each night, a freeze tomorrow and a holiday on the Wednesday of this week."""
    today = datetime.now(timezone.utc).date()
    tomorrow = today + timedelta(days=1)
    wednesday = today + timedelta(days=2 - today.weekday())
    return f"""- name: ramps
  zone: UTC
  lead: 1h
  holidays: {{days: [{wednesday}]}}
  entries:
  - {{name: night, cron: "0 20 * * *", for: 10h, cpu: 85, memory: 80, rampUp: 2h, rampDown: 2h}}
  - {{name: sale, kind: freeze, from: {tomorrow}T08:00, to: {tomorrow}T16:00, cpu: 40}}
"""


def settings() -> str:
    return SETTINGS.replace("pools:\n", ramps() + "pools:\n", 1)


connections = threading.local()  # by server


class Api:
    """The API server of a kubeconfig that `tidemark up` wrote."""

    def __init__(self, kubeconfig: Path):
        config = json.loads(kubeconfig.read_text())
        cluster = config["clusters"][0]["cluster"]
        self.server = cluster["server"]
        self.token = config["users"][0]["user"]["token"]
        self.context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())

    def call(self, method: str, path: str, body: dict, content: str = "application/json") -> dict:
        """Over one connection for each thread: a test makes thousands of calls."""
        connection = connections.__dict__.setdefault(self.server, http.client.HTTPSConnection(urllib.parse.urlsplit(self.server).netloc, context=self.context, timeout=30))
        for is_idle in (connection.sock is not None, False):
            try:
                connection.request(method, path, json.dumps(body).encode(), {"content-type": content, "authorization": f"Bearer {self.token}"})
                answer = connection.getresponse()
                data = answer.read()
                break
            except (OSError, http.client.HTTPException) as error:
                connection.close()  # the next request opens it again
                if not is_idle:  # a server may close an idle connection at any time
                    raise OSError(f"{method} {path}: {error}") from error
        if answer.status >= 400:
            raise urllib.error.HTTPError(self.server + path, answer.status, answer.reason, answer.headers, io.BytesIO(data))
        return json.loads(data)

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
    if service(number):
        pods.append({"namespace": "shop", "name": f"{service(number)}-{number}", "qosClass": "LS", "priority": "koord-prod", "podUsage": used(0.6 * online, online)})
    metric = {"nodeUsage": used(online + offline, 30 + online + 2 * offline), "systemUsage": used(0.7, 3)}
    path = "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"
    try:
        api.call("POST", path, {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric", "metadata": {"name": name}})
    except urllib.error.HTTPError as error:
        if error.code != 409:  # the manager makes it too
            raise
    told = now() if name != DEAD else (datetime.now(timezone.utc) - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    api.status(f"{path}/{name}", {"updateTime": told, "nodeMetric": metric, "podsMetric": pods})


def names(count: int = NODES) -> list[str]:
    return [f"database-{i:03}" if i % 6 == 0 else f"web-{i:03}" for i in range(1, count + 1)]


def service(number: int) -> str:
    """The online service that has a pod on the node; "" if none has."""
    if number > ONLINE_NODES:
        return ""
    return "orders" if number % 6 == 0 else "web"


def online(api: Api) -> None:
    """Pods of a Deployment and of a StatefulSet, of one business."""
    api.call("POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
    for number, name in enumerate(names(ONLINE_NODES), 1):
        kind = service(number)
        owner = {"kind": "StatefulSet", "name": "orders"} if kind == "orders" else {"kind": "ReplicaSet", "name": "web-5d9c7b"}
        owner |= {"apiVersion": "apps/v1", "uid": f"00000000-0000-0000-0000-00000000000{1 if kind == 'orders' else 2}", "controller": True}
        labels = {"tidemark.io/business": "shop", **({} if kind == "orders" else {"pod-template-hash": "5d9c7b"})}
        spec = {"nodeName": name, "containers": [{"name": "main", "image": "i", "resources": {"requests": {"cpu": "8", "memory": "16Gi"}}}]}
        api.call("POST", "/api/v1/namespaces/shop/pods", {"metadata": {"name": f"{kind}-{number}", "labels": labels, "ownerReferences": [owner]}, "spec": spec})
        api.status(f"/api/v1/namespaces/shop/pods/{kind}-{number}", {"phase": "Running", "startTime": now()})


def ended(api: Api) -> None:
    """Two evicted pods of one job, each after two hours with four cores, and one that failed."""
    begun, over = (datetime.now(timezone.utc) - timedelta(hours=3)).strftime("%Y-%m-%dT%H:%M:%SZ"), (datetime.now(timezone.utc) - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    amounts = {"kubernetes.io/batch-cpu": "4000", "kubernetes.io/batch-memory": "8Gi"}
    for name in ("night-1", "night-2", "broken-1"):
        labels = {"koordinator.sh/qosClass": "BE", "koordinator.sh/priority-class": "koord-batch", "tidemark.io/class": "training", "tidemark.io/job": name.rsplit("-", 1)[0]}
        spec = {"nodeName": "web-050", "containers": [{"name": "main", "image": "i", "resources": {"requests": amounts, "limits": amounts}}]}
        api.call("POST", "/api/v1/namespaces/jobs/pods", {"metadata": {"name": name, "labels": labels}, "spec": spec})
        target = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "memory of the node", "lastTransitionTime": over}
        conditions = [target] if name.startswith("night") else []
        failed = [{"name": "main", "ready": False, "restartCount": 0, "image": "i", "imageID": "", "state": {"terminated": {"exitCode": 3, "reason": "Error"}}}]
        api.status(f"/api/v1/namespaces/jobs/pods/{name}", {"phase": "Failed", "startTime": begun, "conditions": conditions, "containerStatuses": failed})


def fill(api: Api, count: int = NODES) -> None:
    api.call("POST", "/api/v1/namespaces", {"metadata": {"name": "jobs"}})
    api.call("POST", "/api/v1/namespaces/koordinator-system/configmaps", {"metadata": {"name": "slo-controller-config"}, "data": {"colocation-config": '{"enable":true}'}})
    api.call("POST", "/api/v1/namespaces/koordinator-system/configmaps", {"metadata": {"name": "tidemark-config"}, "data": {"config.yaml": settings()}})
    online(api)  # before the first report of a node: from that one the manager learns the use by hour
    for number, name in enumerate(names(count), 1):
        labels = {"role": name.split("-")[0], **({"tidemark.io/state": "off"} if name == OFF else {})}
        api.call("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": labels}})
        amounts = {"cpu": "32", "memory": "128Gi", "pods": "110"}
        info = {"kernelVersion": NEW_KERNEL if name in NEW_KERNEL_NODES else "6.1.0-18-amd64", "osImage": "Debian GNU/Linux 12", "architecture": "amd64", "containerRuntimeVersion": "containerd://1.6.20", "kubeletVersion": "v1.34.2", "operatingSystem": "linux", "machineID": "", "systemUUID": "", "bootID": "", "kubeProxyVersion": ""}
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
    ended(api)
    platform(api)
    yarn(api)


def platform(api: Api) -> None:
    """Components as the chart installs them, and what agents report of their machines."""
    for name, component in (("tidemark-manager-0", "manager"), ("tidemark-agent-1", "agent"), ("tidemark-agent-2", "agent")):
        labels = {"app.kubernetes.io/name": "tidemark", "app.kubernetes.io/component": component}
        api.call("POST", "/api/v1/namespaces/koordinator-system/pods", {"metadata": {"name": name, "labels": labels}, "spec": {"containers": [{"name": component, "image": "example.org/tidemark:0.1.0"}]}})
        ready = "False" if name == "tidemark-agent-2" else "True"
        api.status(f"/api/v1/namespaces/koordinator-system/pods/{name}", {"phase": "Running", "startTime": now(), "conditions": [{"type": "Ready", "status": ready}]})
    lease = {"holderIdentity": "tidemark-manager-0", "leaseDurationSeconds": 3600, "renewTime": now().replace("Z", ".000000Z"), "acquireTime": now().replace("Z", ".000000Z"), "leaseTransitions": 2}
    api.call("POST", "/apis/coordination.k8s.io/v1/namespaces/koordinator-system/leases", {"metadata": {"name": "koordinator-manager"}, "spec": lease})
    for number, name in enumerate(names()[:40], 1):
        files = "effective: cpu.idle; no effect: memory.low" if name in NEW_KERNEL_NODES else "effective: cpu.idle, memory.low; refused: io.weight"
        message = "cpuSuppress: enforce (1 file)" + (f"; kernel files {files}" if number % 5 == 0 or name in NEW_KERNEL_NODES else "")
        condition = {"type": "TidemarkIsolation", "status": "True", "reason": "Enforcing", "message": message, "lastTransitionTime": now()}
        api.call("PATCH", f"/api/v1/nodes/{name}/status", {"status": {"conditions": [condition]}}, "application/strategic-merge-patch+json")


def yarn(api: Api) -> None:
    """The ledgers of a YARN cluster as its operator writes them. Of the last node but one the ResourceManager is away."""
    amounts = {"kubernetes.io/batch-cpu": "6k", "kubernetes.io/batch-memory": "12Gi"}
    sold = {"kubernetes.io/batch-cpu": "2k", "kubernetes.io/batch-memory": "4Gi"}
    for name in YARN_NODES:
        offer = {"schema": 1, "generation": 4, "resources": amounts, "upTo": amounts, "reclaim": []}
        book = {"schema": 1, "generation": 4, "confirmed": amounts, "sold": [{"class": "spark", "resources": sold}], "waiting": "spark"}
        if name == YARN_NODES[2]:
            book = {"schema": 1, "generation": 3, "confirmed": sold}
        written = {"tidemark.io/yarn-offer": json.dumps(offer), "tidemark.io/yarn-book": json.dumps(book), "tidemark.io/yarn-book-of": f"blue/{name}:45454"}
        api.call("PATCH", f"/api/v1/nodes/{name}", {"metadata": {"annotations": written}}, "application/merge-patch+json")
    about = {"apiVersion": "v1", "kind": "Node", "name": CONTESTED}
    message = "another program set the total of the node at the ResourceManager [TM-YARN-011]"
    event = {"metadata": {"name": f"{CONTESTED}.1"}, "involvedObject": about, "source": {"component": "tidemark-yarn-operator"}, "reportingComponent": "tidemark-yarn-operator"}
    api.call("POST", "/api/v1/namespaces/default/events", event | {"type": "Warning", "reason": "TidemarkYarnSetAgain", "message": message, "firstTimestamp": now(), "lastTimestamp": now(), "count": 3})


def edit(api: Api) -> None:
    """A person changes the settings: the manager takes a further revision."""
    text = settings().replace("for: 8h, cpu: 80", "for: 8h, cpu: 75")
    api.call("PATCH", "/api/v1/namespaces/koordinator-system/configmaps/tidemark-config", {"data": {"config.yaml": text}}, "application/merge-patch+json")
