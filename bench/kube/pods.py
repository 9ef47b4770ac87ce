"""The pods that the kube bench lists: python3 pods.py COUNT FILE writes a PodList as a kube-apiserver prints one.

The same bytes on every machine: everything comes from one seed. A pod is about 4 KB, of the kinds that share a co-located
cluster: Deployments with a sidecar, batch jobs that ask for batch-cpu, DaemonSets, StatefulSets with volumes; with managed
fields, conditions and container statuses, in the member order of Go's encoder.
"""

import json
import random
import sys

SEED = 20260101
NODES = 500
NAMESPACES = ["default", "payments", "search", "ads", "feeds", "media", "risk", "warehouse", "spark", "kube-system"]
APPS = ["api", "web", "gateway", "ranker", "indexer", "cart", "billing", "notifier", "profile", "session", "exporter", "executor"]
ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # what Kubernetes makes name suffixes of


def _time(seconds: int) -> str:
    day, rest = divmod(seconds, 86400)
    return f"2026-{1 + day // 28 % 12:02}-{1 + day % 28:02}T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}Z"


class _Pods:
    def __init__(self):
        self.random = random.Random(SEED)

    def below(self, bound: int) -> int:
        return int(self.random.random() * bound)  # random() is the one draw that Python promises never to change

    def pick(self, items):
        return items[self.below(len(items))]

    def suffix(self, length: int) -> str:
        return "".join(self.pick(ALPHABET) for _ in range(length))

    def hexadecimal(self, digits: int) -> str:
        return "".join(self.pick("0123456789abcdef") for _ in range(digits))

    def uid(self) -> str:
        return "-".join(self.hexadecimal(n) for n in (8, 4, 4, 4, 12))

    def container(self, name: str, image: str, resources: dict, env: int, token: str) -> dict:
        variables = [{"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}] if env else []
        variables += [{"name": f"{name.upper().replace('-', '_')}_OPTION_{i}", "value": f"{self.pick(APPS)}.internal:{8000 + self.below(999)}"} for i in range(env)]
        return {
            "name": name, "image": image,
            **({"ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}]} if env else {}),
            **({"env": variables} if env else {}),
            "resources": resources,
            "volumeMounts": [{"name": token, "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}],
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "imagePullPolicy": "IfNotPresent",
        }

    def resources(self, batch: bool) -> dict:
        cpu, memory = 100 * (1 + self.below(80)), 128 * (1 + self.below(64))
        if batch:
            amounts = {"kubernetes.io/batch-cpu": str(cpu), "kubernetes.io/batch-memory": f"{memory}Mi"}
            return {"limits": amounts, "requests": dict(amounts)}
        # The forms that people write, fractions and decimal suffixes included.
        text = self.pick([f"{cpu}m", str(cpu // 1000 + 1), f"{cpu / 1000:.1f}"])
        size = self.pick([f"{memory}Mi", f"{memory}M", f"{1 + memory // 1024}Gi", str(memory * 1048576), "1.5Gi"])
        return {"limits": {"cpu": str(cpu // 1000 + 2), "memory": f"{2 * memory}Mi"}, "requests": {"cpu": text, "memory": size}}

    def status(self, container: dict, started: int, init: bool) -> dict:
        restarts = self.below(40) - 36 if not init else 0
        state = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": _time(started), "finishedAt": _time(started + 4),
                                "containerID": f"containerd://{self.hexadecimal(64)}"}} if init else {"running": {"startedAt": _time(started + 5)}}
        return {
            "name": container["name"], "state": state, "lastState": {}, "ready": True if init else self.below(50) > 0, "restartCount": max(0, restarts),
            "image": container["image"], "imageID": f"registry.internal/{container['name']}@sha256:{self.hexadecimal(64)}",
            "containerID": f"containerd://{self.hexadecimal(64)}", "started": not init,
        }

    def managed_fields(self, labels: dict, containers: list[dict], made: int) -> list[dict]:
        spec = {f"k:{json.dumps({'name': c['name']}, separators=(',', ':'))}": {
            ".": {}, "f:image": {}, "f:name": {}, "f:resources": {},
        } for c in containers}
        condition = {".": {}, "f:status": {}, "f:type": {}}
        return [
            {"manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1", "time": _time(made), "fieldsType": "FieldsV1",
             "fieldsV1": {"f:metadata": {"f:generateName": {}, "f:labels": {".": {}, **{f"f:{key}": {} for key in labels}}},
                          "f:spec": {"f:containers": spec}}},
            {"manager": "kubelet", "operation": "Update", "apiVersion": "v1", "time": _time(made + 9), "fieldsType": "FieldsV1",
             "fieldsV1": {"f:status": {"f:conditions": {'k:{"type":"Ready"}': condition},
                                       "f:containerStatuses": {}, "f:phase": {}, "f:podIP": {}, "f:startTime": {}}},
             "subresource": "status"},
        ]

    def pod(self, index: int) -> dict:
        kind = self.pick(["ReplicaSet"] * 5 + ["Job"] * 3 + ["DaemonSet", "StatefulSet"])
        batch = kind == "Job"
        app, namespace = self.pick(APPS), "spark" if batch else self.pick(NAMESPACES)
        owner = f"{app}-{self.below(40)}" + (f"-{1000 + self.below(99):x}" if kind == "ReplicaSet" else "")
        name = f"{owner}-{index}" if kind == "StatefulSet" else f"{owner}-{self.suffix(5)}{index:x}"
        node, token, made = f"node-{self.below(NODES):03}.zone-{self.below(3)}.internal", f"kube-api-access-{self.suffix(5)}", self.below(300 * 86400)
        labels = {
            "app.kubernetes.io/instance": owner, "app.kubernetes.io/name": app, "app.kubernetes.io/version": f"1.{self.below(30)}.{self.below(9)}",
            **({"koordinator.sh/qosClass": "BE", "koordinator.sh/priority": "5500"} if batch else {"koordinator.sh/qosClass": self.pick(["LS", "LSR"])}),
            "team": self.pick(NAMESPACES), **({"pod-template-hash": f"{self.hexadecimal(10)}"} if kind == "ReplicaSet" else {}),
        }
        annotations = {"kubectl.kubernetes.io/restartedAt": _time(made), "prometheus.io/port": "8080", "prometheus.io/scrape": "true"}
        if self.below(4) == 0:
            annotations["note"] = "näher am Kunden: \"fast\" <path> \\ \u2713"  # escapes and text that is not ASCII, as people write it
        containers = [self.container(app, f"registry.internal/{app}:1.{self.below(30)}", self.resources(batch), 1 + self.below(2), token)]
        if kind in ("ReplicaSet", "StatefulSet") and self.below(3) == 0:
            containers.append(self.container("mesh-proxy", "registry.internal/mesh-proxy:1.24", self.resources(False), 0, token))
        inits = [self.container("prepare", "registry.internal/prepare:2.1", {}, 0, token)] if self.below(8) == 0 else []
        if inits and self.below(4) == 0:
            inits[0]["restartPolicy"] = "Always"
        phase = "Pending" if self.below(40) == 0 else "Succeeded" if batch and self.below(8) == 0 else "Running"
        now = _time(made + 6)
        ready = "True" if phase == "Running" and self.below(30) else "False"
        conditions = [{"type": what, "status": ready if "Ready" in what else "True", "lastProbeTime": None, "lastTransitionTime": now}
                      for what in ("Initialized", "Ready", "ContainersReady", "PodScheduled")]
        address = f"10.{self.below(256)}.{self.below(256)}.{self.below(256)}"
        host = f"192.168.{self.below(256)}.{self.below(256)}"
        return {
            "metadata": {
                "name": name, **({} if kind == "StatefulSet" else {"generateName": f"{owner}-"}), "namespace": namespace, "uid": self.uid(), "resourceVersion": str(100000 + index),
                "creationTimestamp": _time(made), **({"deletionTimestamp": _time(made + 999), "deletionGracePeriodSeconds": 30} if self.below(60) == 0 else {}),
                "labels": dict(sorted(labels.items())), "annotations": annotations,
                "ownerReferences": [{"apiVersion": "batch/v1" if batch else "apps/v1", "kind": kind, "name": owner, "uid": self.uid(), "controller": True, "blockOwnerDeletion": True}],
                "managedFields": self.managed_fields(labels, containers, made),
            },
            "spec": {
                "volumes": [{"name": token, "projected": {"sources": [
                    {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}}], "defaultMode": 420}}],
                **({"initContainers": inits} if inits else {}), "containers": containers, "restartPolicy": "Never" if batch else "Always",
                "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst", "serviceAccountName": "default", "serviceAccount": "default",
                "nodeName": node, **({"hostNetwork": True} if kind == "DaemonSet" else {}), "securityContext": {},
                "schedulerName": "koord-scheduler" if batch else "default-scheduler",
                "tolerations": [{"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300} for what in ("not-ready", "unreachable")],
                "priorityClassName": "koord-batch" if batch else "koord-prod", "priority": 5500 if batch else 9000, "enableServiceLinks": True, "preemptionPolicy": "PreemptLowerPriority",
                **({"overhead": {"cpu": "250m", "memory": "120Mi"}} if self.below(20) == 0 else {}),
            },
            "status": {
                "phase": phase, "conditions": conditions, "hostIP": host, "hostIPs": [{"ip": host}], "podIP": address, "podIPs": [{"ip": address}], "startTime": _time(made + 1),
                **({"initContainerStatuses": [self.status(c, made + 1, True) for c in inits]} if inits else {}),
                "containerStatuses": [self.status(c, made + 1, False) for c in containers], "qosClass": "BestEffort" if batch else "Burstable",
            },
        }


def write(count: int, path: str) -> None:
    pods = _Pods()
    with open(path, "w", encoding="utf-8") as out:
        out.write('{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"200000"},"items":[')
        for index in range(count):
            out.write(("," if index else "") + json.dumps(pods.pod(index), separators=(",", ":"), ensure_ascii=False))
        out.write("]}\n")


def namespaces() -> list[str]:
    return NAMESPACES


if __name__ == "__main__":
    write(int(sys.argv[1]), sys.argv[2])
