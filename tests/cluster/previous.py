"""A cluster with everything that a manager leaves on it: created, exported to files, and restored.

tests/golden/previous has what the previous version left, recorded with `record` below by its binary; tests/golden/replay has the decisions of this policy. Times move by the time since the recording, as if it had ended now,
whatever the date. This includes times that are numbers (the days of a profile, the slots of counts).
"""

import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from cluster import colocation, history
from cluster.colocation import MERGE, NODEMETRICS, NODESLOS, SETTINGS, must
from cluster.tidemark_process import Component, wait_for
from driver.cluster import Fixture

GOLDEN = Path(__file__).parents[1] / "golden" / "previous"
DECISIONS = GOLDEN.parent / "replay"
COMMIT = re.findall(r"commit `([0-9a-f]+)`", (GOLDEN / "README.md").read_text())[0]
LEASES = "/apis/coordination.k8s.io/v1/namespaces/koordinator-system/leases"
RECOMMENDATIONS = "/apis/analysis.koordinator.sh/v1alpha1/namespaces/default/recommendations"
PODS = "/api/v1/namespaces/default/pods"
CAPACITY = {"cpu": "32", "memory": "128Gi", "pods": "110"}
POOLS = {
    "previous-plain": {}, "previous-web": {"pool": "web"}, "previous-night": {"pool": "night"}, "previous-idle": {"pool": "idle"},
    "previous-off": {}, "previous-seen": {}, "previous-spike": {"pool": "spike"},
    "previous-shared": {"pool": "shared"}, "previous-draining": {"pool": "shared"}, "previous-oversold": {"pool": "oversold"},
}
NODES = tuple(POOLS)
SELLS = ("previous-plain", "previous-web", "previous-night")
WORKS = (*SELLS, "previous-spike", "previous-shared", "previous-draining", "previous-oversold")
# What YARN's containers hold, in milli-cores, as its operator reports it; together with the pods more than the last node can offer.
YARN = {"previous-shared": 2000, "previous-draining": 1000, "previous-oversold": 16000}
BOOK, OFFER, OVERSOLD = "tidemark.io/yarn-book", "tidemark.io/yarn-offer", "tidemark.io/oversold"
VICTIMS = ("greedy", "greedy", "greedy", "other")  # the job of each pod that is evicted from pool `spike`
ORDERS = (
    ("off", "node", "previous-off", "--now", "--reason=a disk is changed", "--yes"),
    ("observe", "node", "previous-seen", "--reason=only looked at", "--yes"),
    ("off", "pool", "idle", "--now", "--reason=not yet", "--yes"),
    ("off", "node", "previous-draining", "--drain=5h", "--reason=a long drain", "--yes"),
    ("override", "pool", "web", "--cpu=50", "--for=5h", "--reason=a fire drill", "--yes"),
)
BY = "--by=ann@ops"
RECLAIM = (65, 60)  # an edit, so that an older revision exists
MAP_GONE = {"kube-root-ca.crt"}  # created by the cluster
RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
# Differences that `replay` finds in the recorded journals, by node and field. The window of a calendar begins again as it ends,
# each midnight: since policy 8 this does not change the line.
OTHERWISE = {("previous-web", "offer.line.changesAt")}
# The API server sets these anew on each created object.
GIVEN = ("resourceVersion", "managedFields", "uid", "creationTimestamp", "generation", "selfLink")


def otherwise(report: dict) -> set[tuple[str, str]]:
    """The differences that `replay -o json` reports, by node and field."""
    return {(each["node"], change["field"]) for each in report["differences"] for change in each["changes"]}


def tidemark_config() -> dict:
    def pool(name: str, **more) -> dict:
        return {"name": name, "nodeSelector": {"matchLabels": {"pool": name}}, **more}

    return {
        "schema": 1, "mode": "enforce", "rollout": {"pace": "at-once"},
        "classes": [{"name": "transcode", "order": 1}, {"name": "spark", "order": 2}],
        "calendars": [{"name": "always", "zone": "UTC", "lead": "0s", "entries": [{"name": "all-day", "cron": "0 0 * * *", "for": "24h", "cpu": 70}]}],
        "pools": [
            pool("web", calendar="always", business="search"),
            pool("night", profile="tidemark", motion={"deadBandPermille": 10, "slewPermillePerMinute": 1000, "hold": "10m"}, warmUp="0s"),
            pool("idle"),
            pool("shared", ledger={"mode": "strict", "classAware": True}, drain={"yarn": "end"}),
            pool("oversold", arbitrate={"enabled": True, "overAfter": "1s"}),
            pool("spike", evictions={"perJobHour": 3, "perPoolHour": 50, "breaker": {"atLeast": len(VICTIMS), "ratePercent": 10, "coolDown": "6h"}}),
        ],
        "profiles": {"learn": True, "sampleEvery": "1s", "storeEvery": "1s", "recommendations": {"publish": True, "knownHours": 1, "marginPercent": 0, "every": "1s"}},
    }


def report(api, node: str, at_s: float = 0) -> None:
    used, none = {"resources": {"cpu": "4", "memory": "8Gi"}}, {"resources": {"cpu": "2", "memory": "4Gi"}}
    pods = [{"name": f"web-{node}", "namespace": "default", "priority": "koord-prod", "qos": "LS", "podUsage": none}]
    colocation.put_metric(api, node, {"nodeMetric": {"nodeUsage": used, "systemUsage": none}, "podsMetric": pods}, at_s)


def put_online_pod(api, node: str) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-7d9c6b5f4", "uid": "00000000-0000-0000-0000-000000000001", "controller": True}
    requests = {"cpu": "3", "memory": "6Gi"}
    must(api.request("POST", PODS, {
        "metadata": {"name": f"web-{node}", "labels": {"pod-template-hash": "7d9c6b5f4", "koordinator.sh/qosClass": "LS"}, "ownerReferences": [owner]},
        "spec": {"nodeName": node, "containers": [{"name": "main", "image": "none", "resources": {"requests": requests}}]},
    }))
    started = {"phase": "Running", "startTime": colocation.time_stamp(7200)}
    must(api.request("PATCH", f"{PODS}/web-{node}/status", {"status": started}, content=MERGE))


def put_inputs(api) -> None:
    """Nodes, their tasks, and settings: everything that no manager writes."""
    colocation.put_settings(api, {"enable": True, "cpuReclaimThresholdPercent": RECLAIM[0]})
    colocation.put_data(api, {"resource-threshold-config": json.dumps({"clusterStrategy": {"enable": True, "cpuSuppressThresholdPercent": 66}})})
    must(api.request("POST", SETTINGS, {"metadata": {"name": colocation.TIDEMARK_CONFIG}, "data": {"config.yaml": json.dumps(tidemark_config())}}))
    for node, labels in POOLS.items():
        colocation.put_node(api, node, capacity=CAPACITY, labels=labels)
        put_online_pod(api, node)
        report(api, node)
    for node in WORKS:
        requests = {"kubernetes.io/batch-cpu": "3000", "kubernetes.io/batch-memory": "4Gi"}
        colocation.put_pod(api, node, {"name": f"batch-{node}", "prio": "koord-batch", "qos": "BE", "requests": requests, "phase": "Running"})


def drain_of(annotations: dict) -> str | None:
    """When the work of YARN beyond its offer ends. The version of the recording had an annotation of its own for it."""
    return json.loads(annotations.get("tidemark.io/yarn-drain", "{}")).get("by") or json.loads(annotations.get(OFFER, "{}")).get("drainBy")


def put_books(api) -> bool:
    """Plays YARN's operator: what containers hold, and that its ResourceManager acts on the current offer. Returns whether it did before."""
    confirmed = True
    for node, milli in YARN.items():
        annotations = must(api.request("GET", f"/api/v1/nodes/{node}")).get("metadata.annotations") or {}
        offer = json.loads(annotations.get(OFFER, "{}"))
        book = {
            "schema": 1, "generation": offer.get("generation", 0), "sold": [{"class": "spark", "resources": {"kubernetes.io/batch-cpu": str(milli), "kubernetes.io/batch-memory": "2Gi"}}],
            "confirmed": offer.get("resources", {"kubernetes.io/batch-cpu": "0", "kubernetes.io/batch-memory": "0"}),
        }
        if annotations.get(BOOK) != (text := json.dumps(book)):
            must(api.request("PATCH", f"/api/v1/nodes/{node}", {"metadata": {"annotations": {BOOK: text}}}, content=MERGE))
            confirmed = False
        confirmed = confirmed and bool(offer)
    return confirmed


def run(binary: str, journal: Path, *more: str, leads: bool = True) -> Component:
    component = Component(
        "manager", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "--metrics-addr=127.0.0.1:0", "--kube-api-qps=200", "--kube-api-burst=200",
        "--journal-dir", str(journal), *more, binary=binary,
    )
    try:
        wait_for(component.ready, "a ready manager", component)
        if leads:
            wait_for(lambda: component.metrics().get("tidemark_leader") == 1, "this manager to lead", component)
    except AssertionError:
        component.kill()
        raise
    return component


def leave_everything(api, binary: str, component: Component) -> None:
    """Returns when the manager has left everything that a manager leaves."""
    def has(node: str) -> bool:
        return bool(colocation.offered(api, node).get("kubernetes.io/batch-cpu"))

    def offered() -> bool:
        for node in NODES:
            report(api, node)  # a node of the safe profile waits for a report that this process saw
        return all(has(node) for node in NODES)

    wait_for(offered, "offers on every node", component)
    wait_for(lambda: put_books(api), "offers to YARN", component)
    colocation.put_settings(api, {"enable": True, "cpuReclaimThresholdPercent": RECLAIM[1]})
    for words in ORDERS:
        done = subprocess.run(
            [binary, *words, BY, "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"]], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
        )
        if done.returncode != 0:
            raise AssertionError(f"{words} ended with {done.returncode}: {done.stderr}")

    def learned() -> bool:
        for node in NODES:
            report(api, node)
        return records("profiles") >= 1 and bool(api.request("GET", RECOMMENDATIONS).get("items"))

    def records(kind: str) -> float:
        return component.metrics().get(f'tidemark_history_records{{component="{kind}"}}', 0)

    wait_for(learned, "the history to be stored", component)
    wait_for(lambda: not has("previous-off") and not has("previous-idle"), "the orders to be obeyed", component)
    for i, job in enumerate(VICTIMS):
        requests = {"kubernetes.io/batch-cpu": "1000", "kubernetes.io/batch-memory": "1Gi"}
        colocation.put_pod(api, "previous-spike", {"name": f"victim-{i}", "prio": "koord-batch", "qos": "BE", "requests": requests, "phase": "Running"})
        must(api.request("PATCH", f"{PODS}/victim-{i}", {"metadata": {"labels": {"tidemark.io/job": job, "tidemark.io/class": "spark"}}}, content=MERGE))
    for i in range(len(VICTIMS)):
        must(api.request("PATCH", f"{PODS}/victim-{i}/status", {"status": {"phase": "Failed", "reason": "Evicted"}}, content=MERGE))
    wait_for(lambda: component.metrics().get('tidemark_pool_breaker_phase{pool="spike"}') == 1, "a stopped pool", component)
    for i in range(len(VICTIMS)):
        api.request("DELETE", f"{PODS}/victim-{i}", gracePeriodSeconds=0)
    wait_for(lambda: colocation.offered(api, "previous-spike").get("kubernetes.io/batch-cpu") == "3k", "an offer equal to what is sold", component)
    def shared() -> bool:
        confirmed = put_books(api)
        words = {node: must(api.request("GET", f"/api/v1/nodes/{node}")).get("metadata.annotations") or {} for node in YARN}
        return confirmed and drain_of(words["previous-draining"]) and OVERSOLD in words["previous-oversold"]

    wait_for(shared, "a drain of YARN's work, and the oversold mark", component)
    wait_for(lambda: "greedy" in str(must(api.request("GET", f"{SETTINGS}/{colocation.BUDGETS}")).get("data", {})), "the counts stored", component)
    wait_settled(component)


def specs(api, nodes: tuple[str, ...]) -> dict[str, dict]:
    """The NodeSLOs, without the modes, classes and ends of raised lines (extensions…agent, …lines), which earlier versions did not write."""
    found = {node: must(api.request("GET", f"{NODESLOS}/{node}"))["spec"] for node in nodes}
    for spec in found.values():
        ours = spec["extensions"]["Object"].get("tidemark", {})
        ours.pop("agent", None)
        ours.pop("lines", None)
        if set(ours) == {"schema"}:
            del spec["extensions"]["Object"]["tidemark"]
    return found


def learn_an_hour(api, components: list[Component]) -> None:
    """Waits until the hour of the clock is over, so that all managers know the least offer of that hour."""
    begun = None
    while True:
        now = datetime.datetime.now(datetime.timezone.utc)
        begun = begun or now
        for node in NODES:
            report(api, node)
        for component in components:
            if component.process.poll() is not None:
                raise AssertionError(f"a manager ended:\n{component.log[-3000:]}")
        if now.hour != begun.hour and now.second >= 20:  # some passes into the next hour
            return
        time.sleep(2)


def wait_settled(component: Component) -> None:
    def quiet() -> bool:
        shown = component.metrics()
        return not any(value for name, value in shown.items() if name.startswith("tidemark_work_queue_depth")) and shown.get("tidemark_settings_nodes_unconfirmed") == 0

    wait_for(quiet, "nothing left to do", component)


# ---- as files

def everything(api) -> dict[str, list[dict]]:
    """Objects by the path of their collection, without the fields that the API server sets on each new object."""
    found = {}
    for path, ours in (
        ("/api/v1/nodes", lambda name: name in NODES), (NODEMETRICS, lambda name: name in NODES), (NODESLOS, lambda name: name in NODES),
        (PODS, lambda name: name.endswith(NODES)), (SETTINGS, lambda name: name not in MAP_GONE), (LEASES, lambda name: True), (RECOMMENDATIONS, lambda name: True),
    ):
        found[path] = [each for each in api.request("GET", path).get("items", []) if ours(each["metadata"]["name"])]
        for each in found[path]:
            for key in GIVEN:
                each["metadata"].pop(key, None)
    return found


def moved(value, by: datetime.timedelta):
    """Moves every time in it later by this amount, each in its own form."""
    def later(match: re.Match) -> str:
        digits = match[1] or ""
        then = datetime.datetime.strptime(match[0][: 19], "%Y-%m-%dT%H:%M:%S") + by
        return then.strftime("%Y-%m-%dT%H:%M:%S") + digits + "Z"

    if isinstance(value, str):
        return RFC3339.sub(later, value)
    if isinstance(value, list):
        return [moved(each, by) for each in value]
    if isinstance(value, dict):
        return {key: moved(each, by) for key, each in value.items()}
    return value


PROFILE_DAYS = 7  # a profile keeps a day in the row (day number modulo this)


def moved_profile(text: str, by: datetime.timedelta) -> str:
    """The record of a profile with its days moved later by whole weeks: the last day of a six-day-old recording is six days ago."""
    body = history.opened(text)
    at = history.content_at(body)
    weeks = int(by / datetime.timedelta(days=PROFILE_DAYS))  # rounded toward 0: a clock ahead during the recording removes no week
    last_day = int.from_bytes(body[at : at + 8], "little") + weeks * PROFILE_DAYS
    return history.sealed(body[:at] + last_day.to_bytes(8, "little") + body[at + 8 :])


def moved_counts(text: str, by: datetime.timedelta) -> str:
    """counts.json with its slots moved later; slot numbers count from the epoch."""
    counts, passed = json.loads(text), int(by.total_seconds())
    for key, length in (("classes", counts["slotSeconds"]), ("jobs", counts["slotSeconds"]), ("minutes", 60)):
        for series in counts.get(key, []):
            series["slots"] = [[slot + passed // length, *ended] for slot, *ended in series["slots"]]
    return json.dumps(counts)


def moved_map(each: dict, by: datetime.timedelta) -> dict:
    """A ConfigMap with its times moved, also those that are numbers."""
    name, data = each["metadata"]["name"], each.get("data", {})
    if name.startswith("tidemark-history-profiles-"):
        return {**each, "data": {key: moved_profile(text, by) for key, text in data.items()}}
    if name == colocation.BUDGETS and "counts.json" in data:
        return {**each, "data": {**data, "counts.json": moved_counts(data["counts.json"], by)}}
    return each


def recorded(now: datetime.datetime | None = None) -> tuple[dict[str, list[dict]], str]:
    """The recording as if it had ended `now`, and when it did end."""
    written = json.loads((GOLDEN / COMMIT / "objects.json").read_text())
    end = datetime.datetime.strptime(written["recorded"], "%Y-%m-%dT%H:%M:%SZ")
    now = now or datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
    by = datetime.timedelta(seconds=int((now - end).total_seconds()))
    objects = moved(written["objects"], by)
    objects[SETTINGS] = [moved_map(each, by) for each in objects[SETTINGS]]
    return objects, written["recorded"]


def names(objects: dict[str, list[dict]]) -> tuple[str, ...]:
    """The nodes of a recording."""
    return tuple(each["metadata"]["name"] for each in objects["/api/v1/nodes"])


def put_back(api, objects: dict[str, list[dict]]) -> None:
    must(api.request("POST", "/api/v1/namespaces", {"metadata": {"name": "koordinator-system"}}), 201, 409)
    uids = {}
    for path, each_of in objects.items():
        for each in each_of:
            name, status = each["metadata"]["name"], each.get("status")
            for owner in each["metadata"].get("ownerReferences", []):
                owner["uid"] = uids.get(owner["name"], owner["uid"])
            if path == PODS:  # set by admission
                each["spec"] = {key: each["spec"][key] for key in ("nodeName", "containers", "priority", "priorityClassName") if key in each["spec"]}
                for container in each["spec"]["containers"]:
                    container.pop("volumeMounts", None)
            made = must(api.request("POST", path, {key: part for key, part in each.items() if key != "status"}))
            uids[name] = made["metadata.uid"]
            if status is not None and path in ("/api/v1/nodes", NODEMETRICS, PODS, RECOMMENDATIONS):
                must(api.request("PATCH", f"{path}/{name}/status", {"status": status}, content=MERGE))


def take_away(api) -> None:
    colocation.delete(api, *NODES)
    for path in (SETTINGS, LEASES, RECOMMENDATIONS):
        for each in api.request("GET", path).get("items", []):
            if each["metadata"]["name"] not in MAP_GONE:
                api.request("DELETE", f"{path}/{each['metadata']['name']}")


def begin(api) -> None:
    colocation.install_crds()
    take_away(api)
    put_inputs(api)


def emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def keep_segments(journal: Path) -> None:
    for beside in (each for each in journal.iterdir() if each.suffix != ".tmj"):
        beside.unlink()  # the lock and an audit


def record(binary: str, commit: str) -> None:
    """Writes tests/golden/previous/COMMIT anew. It is fastest if started in the last minutes of an hour: the least offers of an hour
    are learned when it ends, and the next leader keeps them."""
    api = colocation.client()
    folder = emptied(GOLDEN / commit)
    begin(api)
    component = run(binary, folder / "journal")
    other = None
    try:
        leave_everything(api, binary, component)
        with tempfile.TemporaryDirectory() as unread:
            other = run(binary, Path(unread), leads=False)
            learn_an_hour(api, [component, other])
            component.stop()
            wait_for(lambda: other.metrics().get('tidemark_history_records{component="least"}', 0) >= 1, "the least offers to be stored", other)
            wait_settled(other)
            other.stop()
    finally:
        component.stop()
        if other is not None:
            other.stop()
    keep_segments(folder / "journal")
    written = {"recorded": colocation.time_stamp(), "objects": everything(api)}
    (folder / "objects.json").write_text(json.dumps(written, indent=1, sort_keys=True) + "\n")
    take_away(api)


def record_decisions(binary: str) -> None:
    """Writes tests/golden/replay anew: a manager's decisions on the same cluster, without waiting for the hour."""
    api = colocation.client()
    begin(api)
    with tempfile.TemporaryDirectory() as made:
        journal = Path(made) / "journal"
        component = run(binary, journal)
        try:
            leave_everything(api, binary, component)
        finally:
            component.stop()
        for old in DECISIONS.glob("*.tmj"):
            old.unlink()
        for segment in journal.glob("*.tmj"):
            shutil.copy(segment, DECISIONS)
    take_away(api)


def main(binary: str, what: str) -> None:
    """On its own cluster, or on the cluster of the environment."""
    with ExitStack() as put_away:
        if "TIDEMARK_TEST_KUBECONFIG" not in os.environ:
            fixture = Fixture()
            put_away.callback(fixture.stop)
            os.environ.update(fixture.start())
        if what == "decisions":
            record_decisions(binary)
        else:
            record(binary, what)


if __name__ == "__main__":
    main(*sys.argv[1:])
