"""Pods for the test node: of a QoS class of Kubernetes, with containers that use a given amount of CPU and memory."""

from dataclasses import dataclass, field

from support.node import image

GUARANTEED, BURSTABLE, BEST_EFFORT = "Guaranteed", "Burstable", "BestEffort"


@dataclass(frozen=True)
class Work:
    name: str
    qos: str
    cpu_milli: int  # use of each container, and its request if the class has one
    memory_mib: int
    containers: int = 1
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    user: int = 0  # uid of the processes
    container: str = ""  # name of its one container; the default is c0, c1 and so on
    batch: dict[str, int] = field(default_factory=dict)  # batch-cpu in milli-cores and batch-memory in bytes, request and limit of each container


def spread(count: int, cpu_milli: int, memory_mib: int, containers: int = 1) -> list[Work]:
    """This many pods, cycling through the classes."""
    classes = (GUARANTEED, BURSTABLE, BEST_EFFORT)
    return [Work(f"work-{i}", classes[i % 3], cpu_milli, memory_mib, containers) for i in range(count)]


def manifest(work: Work, node: str, namespace: str) -> dict:
    return {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": work.name, "namespace": namespace, "labels": work.labels, "annotations": work.annotations},
        "spec": {
            "nodeName": node, "hostNetwork": True, "enableServiceLinks": False, "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 1,
            "dnsPolicy": "Default", "restartPolicy": "Always", "tolerations": [{"operator": "Exists"}],
            "containers": [
                {
                    "name": work.container or f"c{i}", "image": image.NAME, "imagePullPolicy": "Never",
                    "args": [str(work.cpu_milli), str(work.memory_mib)], "resources": resources(work), "securityContext": {"runAsUser": work.user},
                }
                for i in range(work.containers)
            ],
        },
    }


def resources(work: Work) -> dict:
    """Limits are above the use: throttling and out-of-memory are for tests that request them."""
    cpu, memory = work.cpu_milli or 1, work.memory_mib + 8
    asked, roomy = {"cpu": f"{cpu * 2}m", "memory": f"{memory}Mi"}, {"cpu": f"{cpu * 8}m", "memory": f"{memory * 4}Mi"}
    if work.qos == GUARANTEED:
        return {"requests": asked, "limits": asked}
    batch = {f"kubernetes.io/{name}": str(amount) for name, amount in work.batch.items()}
    if work.qos == BURSTABLE:
        return {"requests": asked, "limits": roomy}
    return {"requests": batch, "limits": batch} if batch else {}
