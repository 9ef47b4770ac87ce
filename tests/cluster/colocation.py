"""Nodes, pods, NodeMetrics and settings on a real API server, as in a real cluster."""

import contextlib
import datetime
import json
import os
import subprocess
from pathlib import Path

from contract.client import MERGE, Client, Target

CRDS = Path(__file__).parents[2] / "deploy" / "crds"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NODEMETRICS = "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"
NODESLOS = "/apis/slo.koordinator.sh/v1alpha1/nodeslos"
SETTINGS = "/api/v1/namespaces/koordinator-system/configmaps"
SETTINGS_NAME = "slo-controller-config"
TIDEMARK_CONFIG = "tidemark-config"
REVISIONS = "tidemark-config-revisions"
PROFILES = [f"tidemark-history-profiles-{shard}" for shard in range(8)]
LEAST_OFFERS = [f"tidemark-history-least-{i}" for i in range(8)]
BUDGETS = "tidemark-budgets"
OFF_PROGRESS = "tidemark-off"
CONFIG_HASH = "tidemark.io/config-hash"
ORIGIN = "node.koordinator.sh/originExtendedAllocatable"


def client() -> Client:
    token = Path(os.environ["TIDEMARK_TEST_TOKEN_FILE"]).read_text().strip()
    return Client(Target(os.environ["TIDEMARK_TEST_SERVER"], os.environ["TIDEMARK_TEST_CA_FILE"], token))


def install_crds() -> None:
    """A cluster of the tests has them from its start, unless a test removed one."""
    wanted = {".".join(reversed(file.stem.split("_", 1))) for file in CRDS.glob("*.yaml")}
    with contextlib.closing(client()) as api:
        if wanted <= {each["metadata"]["name"] for each in must(api.request("GET", DEFINITIONS))["items"]}:
            return
    kubectl = [os.environ["TIDEMARK_KUBECTL"], "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"]]
    for arguments in (["apply", "--server-side", "-f", str(CRDS)], ["wait", "--for=condition=Established", "--timeout=60s", "-f", str(CRDS)]):
        subprocess.run([*kubectl, *arguments], stdin=subprocess.DEVNULL, check=True, capture_output=True, timeout=120)


def must(answer, *allowed: int):
    if answer.status not in (allowed or (200, 201)):
        raise AssertionError(f"{answer.request} answered {answer.status}: {answer.body[:2000]!r}")
    return answer


def time_stamp(age_s: float = 0) -> str:
    then = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=age_s)
    return then.strftime("%Y-%m-%dT%H:%M:%SZ")


def put_settings(api: Client, colocation) -> None:
    """`colocation`: the settings, or a text for broken settings."""
    put_data(api, {"colocation-config": colocation if isinstance(colocation, str) else json.dumps(colocation)})


def put_data(api: Client, data: dict) -> None:
    """Sets keys of the settings. None removes a key; other keys stay."""
    put_map(api, SETTINGS_NAME, data)


def put_map(api: Client, name: str, data: dict) -> None:
    """The same for any ConfigMap in the manager's namespace."""
    must(api.request("POST", "/api/v1/namespaces", {"metadata": {"name": "koordinator-system"}}), 201, 409)
    present = {key: text for key, text in data.items() if text is not None}
    made = api.request("POST", SETTINGS, {"metadata": {"name": name}, "data": present})
    if must(made, 201, 409).status == 409:
        must(api.request("PATCH", f"{SETTINGS}/{name}", {"data": data}, content=MERGE))


def delete_settings(api: Client) -> None:
    """Also deletes what a manager and `tidemark off` stored, so that the next manager starts as on a new cluster."""
    for name in (SETTINGS_NAME, TIDEMARK_CONFIG, REVISIONS, BUDGETS, OFF_PROGRESS, *PROFILES, *LEAST_OFFERS):
        api.request("DELETE", f"{SETTINGS}/{name}")


def put_node(api: Client, name: str, *, capacity: dict, allocatable: dict | None = None, labels=None, annotations=None) -> None:
    must(api.request("POST", "/api/v1/nodes", {"metadata": {"name": name, "labels": labels or {}, "annotations": annotations or {}}}))
    status = {"capacity": capacity, "allocatable": allocatable or capacity}
    must(api.request("PATCH", f"/api/v1/nodes/{name}/status", {"status": status}, content=MERGE))


def put_pod(api: Client, node: str, pod: dict) -> None:
    labels = {"koordinator.sh/priority-class": pod["prio"], "koordinator.sh/qosClass": pod["qos"]}
    requests = pod["requests"]
    extended = {name: amount for name, amount in requests.items() if "/" in name}
    body = {
        "metadata": {"name": pod["name"], "labels": {key: value for key, value in labels.items() if value}},
        "spec": {"nodeName": node, "containers": [{"name": "main", "image": "none", "resources": {"requests": requests, "limits": extended}}]},
    }
    if "of" in pod:
        owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": pod["of"], "uid": "00000000-0000-0000-0000-000000000001", "controller": True}
        body["metadata"]["ownerReferences"] = [owner]
    must(api.request("POST", "/api/v1/namespaces/default/pods", body))
    must(api.request("PATCH", f"/api/v1/namespaces/default/pods/{pod['name']}/status", {"status": {"phase": pod["phase"]}}, content=MERGE))


def put_case(api: Client, case: dict) -> None:
    """A node of tests/golden/overcommit with its pods and measurements."""
    name = case["node"]
    put_node(api, name, capacity=case["capacity"], allocatable=case["allocatable"], labels=case["labels"], annotations=case["annotations"])
    for pod in case["pods"]:
        put_pod(api, name, pod)
    if case.get("nodeMetricStatus") is not None:
        put_metric(api, name, case["nodeMetricStatus"], case["metricAgeSeconds"])


def put_metric(api: Client, node: str, status: dict, age_s: float = 0) -> None:
    must(api.request("POST", NODEMETRICS, {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric", "metadata": {"name": node}, "spec": {}}), 201, 409)
    stamp = time_stamp(age_s)
    if must(api.request("GET", f"{NODEMETRICS}/{node}")).get("status.updateTime") == stamp:
        stamp = time_stamp(age_s - 1)  # an agent's next report never has the same second
    status = {**status, "updateTime": stamp}
    must(api.request("PATCH", f"{NODEMETRICS}/{node}/status", {"status": status}, content=MERGE))


def offered(api: Client, node: str) -> dict[str, str]:
    """The extended resources that the node offers now."""
    allocatable = must(api.request("GET", f"/api/v1/nodes/{node}")).get("status.allocatable", {})
    return {name: amount for name, amount in allocatable.items() if name.startswith("kubernetes.io/")}


def origin(api: Client, node: str) -> dict[str, str] | None:
    annotations = must(api.request("GET", f"/api/v1/nodes/{node}")).get("metadata.annotations", {})
    return json.loads(annotations[ORIGIN])["resources"] if ORIGIN in annotations else None


def delete(api: Client, *nodes: str) -> None:
    for node in nodes:
        api.request("DELETE", f"/api/v1/nodes/{node}")
        api.request("DELETE", f"{NODEMETRICS}/{node}")
        api.request("DELETE", f"{NODESLOS}/{node}")
        for pod in api.request("GET", "/api/v1/pods", fieldSelector=f"spec.nodeName={node}").get("items", []):
            meta = pod["metadata"]
            api.request("DELETE", f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}", gracePeriodSeconds=0)
