"""The stored state of an earlier agent for a node with one offline pod, as files: without an API server and a kubelet, the next agent continues with it."""

import json

UID, CONTAINER = "0e1c9f6e-0000-4000-8000-000000000001", "c" * 64
MEMORY_BYTES, SHARES = 64 << 20, 512  # contract 7.8: batch-memory; 1024 shares for each core of batch-cpu
WEIGHT = 1 + (SHARES - 2) * 9999 // 262142  # contract 7.2
FLOOR_US = 2000  # contract 7.3: minimum quota of all offline work
POD = {
    "metadata": {"name": "job", "namespace": "default", "uid": UID, "labels": {"koordinator.sh/qosClass": "BE"}},
    "spec": {
        "nodeName": "n1", "containers": [{
            "name": "main", "image": "x",
            "resources": {each: {"kubernetes.io/batch-cpu": "500", "kubernetes.io/batch-memory": "64Mi"} for each in ("requests", "limits")},
        }],
    },
    "status": {
        "phase": "Running", "qosClass": "BestEffort",
        "containerStatuses": [{"name": "main", "containerID": f"containerd://{CONTAINER}", "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}],
    },
}
KUBECONFIG = {
    "apiVersion": "v1", "kind": "Config", "current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
    "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}], "users": [{"name": "a", "user": {}}],  # nothing listens there
}


def heard(cpus: int = 2, **threshold) -> dict[str, bytes]:
    """For `Vm(files=…)`: /given has the kubeconfig and the content of the agent's --run-dir. `threshold`: more of resourceUsedThresholdWithBE."""
    slo = {
        "metadata": {"name": "n1"}, "spec": {
            "resourceUsedThresholdWithBE": {"enable": True, "cpuSuppressPolicy": "cfsQuota", "cpuSuppressThresholdPercent": 90, "cpuSuppressMinPercent": 80, **threshold},
            "resourceQOSStrategy": {"beClass": {"cpuQOS": {"enable": True, "groupIdentity": -1}}},
        },
    }
    node = {"metadata": {"name": "n1"}, "status": {each: {"cpu": str(cpus), "memory": "500Mi"} for each in ("capacity", "allocatable")}}
    pods = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [POD]}
    shown = {"node.json": node, "nodeslo.json": slo, "pods.json": pods, "kubeconfig": KUBECONFIG}
    return {f"/given/{name}": json.dumps(content).encode() for name, content in shown.items()}
