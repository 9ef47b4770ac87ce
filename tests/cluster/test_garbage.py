"""Garbage in every annotation, label, key and field that the manager reads, on the real API server: the manager stays alive and ready, no
number of another node moves, no number is negative or above the machine, the garbage is reported, and all recovers after it is gone.

The keys are taken from the code: a key that is in no table here fails a test."""

import json
import os
import re
import subprocess
import unittest
from fractions import Fraction
from pathlib import Path

from cluster import colocation
from cluster.colocation import MERGE, NODEMETRICS, NODESLOS, SETTINGS, must
from cluster.test_manager import CAPACITY, WithApi, amounts
from cluster.tidemark_process import Component, wait_for

ROOT = Path(__file__).parents[2]
TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
TOLD = {  # what `explain node` says about an unreadable key
    "node.koordinator.sh/colocation-strategy": "TM-CONFIG-008", "node.koordinator.sh/reservation": "annotation node.koordinator.sh/reservation",
    "node.koordinator.sh/thirdPartyAllocations": "annotation node.koordinator.sh/thirdPartyAllocations", "node.koordinator.sh/cpu-reclaim-ratio": "TM-CONFIG-009",
    "node.koordinator.sh/memory-reclaim-ratio": "TM-CONFIG-009", "node.koordinator.sh/mid-static-cpu-reserved-ratio": "TM-CONFIG-009",
    "node.koordinator.sh/mid-static-memory-reserved-ratio": "TM-CONFIG-009", "tidemark.io/yarn-book": "tidemark.io/yarn-book", "tidemark.io/state": "unreadable mark",
    "tidemark.io/state-detail": "unreadable mark",
}
STATE_KEYS = {"tidemark.io/state", "tidemark.io/state-detail"}
SHARES = 3  # nodes that share the values of a key
FAST = ("--leader-elect=false", "--kube-api-qps=500", "--kube-api-burst=500")
MEMORY_BYTES = 128 << 30
CPU_MILLI = 32000
LARGE = "x" * (200 << 10)
DEEP = "[" * 5000
DEEP_OBJECT = '{"a":' * 5000

# For any text, whatever its meaning.
TEXTS = (
    "", "{", "[]", "7", "null", "true", '"text"', "{}", '{"schema":99}', "NaN", "-1", "1e999", "9" * 400, "-" + "9" * 30, "0x10", " \t\n", "\u0000"[:0] + "\u2028\ufeff",
    '{"resources":{"cpu":1},"resources":{"cpu":"NaN"}}', DEEP, DEEP_OBJECT, LARGE,
)
# For the value of a label, which the API server limits to 63 letters, digits, dots and dashes.
LABELS = ("", "NaN", "0", "9" * 63, "1e308", "0x10", "banana", "0.00000000000001", "a-b", "True")
AMOUNTS = ("-5", "1e30", "9" * 60, "0.0000001", "5", "-9223372036854775808", "9223372036854775807", "1Ei", "999999Ei")
# The right shape with wrong content.
SHAPED = {
    "node.koordinator.sh/colocation-strategy": ['{"enable":"yes"}', '{"cpuReclaimThresholdPercent":-7}', '{"cpuReclaimThresholdPercent":1e30}', '{"degradeTimeMinutes":-1}'],
    "node.koordinator.sh/reservation": ['{"resources":{"cpu":"%s"}}' % each for each in AMOUNTS] + ['{"reservedCPUs":"0-99999999"}', '{"reservedCPUs":"3-1"}'],
    "node.koordinator.sh/originExtendedAllocatable": ['{"resources":{"kubernetes.io/batch-cpu":"%s"}}' % each for each in AMOUNTS],
    "node.koordinator.sh/network-bandwidth": list(AMOUNTS),
    "node.koordinator.sh/thirdPartyAllocations": ['{"allocations":[{"name":"yarn","priority":"koord-batch","resources":{"kubernetes.io/batch-cpu":"%s"}}]}' % each for each in AMOUNTS],
    "node.koordinator.sh/cpu-normalization-ratio": ["-1.00", "1e300", "0", "inf"],
    "node.koordinator.sh/resource-amplification-ratio": ['{"cpu":-1}', '{"cpu":1e300}', '{"cpu":"NaN"}'],
    "tidemark.io/state-detail": ['{"schema":2,"state":"off"}', '{"schema":1,"generation":-1,"state":"on"}'],
    "tidemark.io/yarn-book": ['{"schema":1,"generation":1,"confirmed":{"kubernetes.io/batch-cpu":"%s"}}' % each for each in AMOUNTS],
    "tidemark.io/yarn-offer": ['{"schema":1,"generation":1,"resources":{"kubernetes.io/batch-cpu":"%s"}}' % each for each in AMOUNTS]
    + ['{"schema":1,"generation":1,"resources":{},"upTo":{},%s}' % each for each in ('"reclaim":[{"class":7}]', '"drainBy":"soon"')],
    "tidemark.io/yarn-reclaim": ['{"schema":1,"generation":1,"containers":[7]}'],
    "tidemark.io/ended-tasks": ['{"schema":1,"ends":[{"at":"soon","evicted":1}]}', '{"schema":1,"ends":[{"at":"2026-03-01T02:00:00Z","evicted":1e9}]}'],
    "tidemark.io/yarn-preempted": ['{"schema":1,"ends":[{"at":"soon","evicted":1}]}', '{"schema":1,"ends":[{"at":"2026-03-01T02:00:00Z","evicted":-1}]}'],
    "tidemark.io/yarn-reclaim-answer": ['{"schema":1,"generation":1,"gone":[],"stayed":[],"keepMiB":-1}'],
    "tidemark.io/oversold": ['{"schema":1,"since":7}', '{"schema":2}'],
    "tidemark.io/capacity-epoch": ["-1", "99999999999999999999", "1.5"],
}
NODE_ANNOTATIONS = (*SHAPED, "tidemark.io/config-hash", "tidemark.io/yarn-book-of", "tidemark.io/yarn-book-renewed")
NODE_LABELS = (
    "node.koordinator.sh/cpu-reclaim-ratio", "node.koordinator.sh/memory-reclaim-ratio", "node.koordinator.sh/mid-static-cpu-reserved-ratio",
    "node.koordinator.sh/mid-static-memory-reserved-ratio", "node.koordinator.sh/cpu-normalization-enabled", "tidemark.io/state", "pool",
)
POD_LABELS = ("koordinator.sh/qosClass", "koordinator.sh/priority-class", "koordinator.sh/priority", "tidemark.io/class", "tidemark.io/job")
POD_ANNOTATIONS = ("scheduling.koordinator.sh/resource-status", "node.koordinator.sh/extended-resource-spec", "tidemark.io/profiles")

TOPOLOGY_ANNOTATIONS = ("node.koordinator.sh/cpu-basic-info",)
# For NodeMetric.status, each on its own node: the path of a value, and the values.
USED = {"resources": {"cpu": "2", "memory": "2Gi"}}
METRIC_FIELDS = {
    **{f"{use}.{amount}": (lambda value, use=use, amount=amount: {"nodeMetric": {use: {"resources": {**USED["resources"], amount: value}}}}, AMOUNTS)
       for use in ("nodeUsage", "systemUsage") for amount in ("cpu", "memory")},
    "podUsage.cpu": (lambda value: {"podsMetric": [{"name": "p", "namespace": "default", "priority": "koord-prod", "qos": "LS", "podUsage": {"resources": {"cpu": value}}}]}, AMOUNTS),
    "pod.qos": (lambda value: {"podsMetric": [{"name": "p", "namespace": "default", "priority": "koord-prod", "qos": value, "podUsage": USED}]}, TEXTS),
    "pod.priority": (lambda value: {"podsMetric": [{"name": "p", "namespace": "default", "priority": value, "qos": "LS", "podUsage": USED}]}, TEXTS),
    "pod.name": (lambda value: {"podsMetric": [{"name": value, "namespace": value, "priority": "koord-prod", "qos": "LS", "podUsage": USED}] * 2}, TEXTS),
    "host.usage": (lambda value: {"hostApplicationMetric": [{"name": "h", "priority": "koord-prod", "qos": "LS", "usage": {"resources": {"cpu": value, "memory": value}}}]}, AMOUNTS),
    "reclaimable": (lambda value: {"prodReclaimableMetric": {"resource": {"resources": {"cpu": value, "memory": value}}}}, AMOUNTS),
    "duration": (lambda value: {"nodeMetric": {"nodeUsage": USED, "systemUsage": USED, "aggregatedNodeUsages": [{"duration": value, "usage": {"p95": USED}}]}}, ("-5m", "9" * 30 + "h", "", "x", "0s")),
    "updateTime": (lambda value: {"updateTime": value}, ("9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "yesterday", "2026-13-45T00:00:00Z")),
}
# A text that is no setting at all: "", "null" and "{}" are valid settings, the defaults.
NO_SETTINGS = tuple(text for text in TEXTS if text not in ("", "null", "{}", '{"schema":99}', '{"resources":{"cpu":1},"resources":{"cpu":"NaN"}}', " \t\n"))
SETTINGS_KEYS = {
    "colocation-config": (*NO_SETTINGS, '{"enable":"yes"}', '{"cpuReclaimThresholdPercent":-5}', '{"cpuReclaimThresholdPercent":1e30}', '{"nodeConfigs":7}', '{"degradeTimeMinutes":0}'),
    "cpu-normalization-config": NO_SETTINGS, "resource-amplification-config": NO_SETTINGS, "resource-threshold-config": NO_SETTINGS, "resource-qos-config": NO_SETTINGS,
    "cpu-burst-config": NO_SETTINGS, "system-config": NO_SETTINGS, "host-application-config": NO_SETTINGS,
}
# For our texts: everything without their schema is garbage.
OUR_MAPS = {
    colocation.TIDEMARK_CONFIG: ("config.yaml",), "tidemark-state": ("state.json", "overrides.json"), colocation.BUDGETS: ("state.json", "counts.json", "request.json"),
    colocation.REVISIONS: ("state", "revision-1", "revision-7", "request"), colocation.PROFILES[0]: ("0123456789abcdef",),
    colocation.LEAST_OFFERS[0]: ("0123456789abcdef",),
}
OUR_TEXTS = (*(text for text in TEXTS if text != LARGE), '{"schema":1}', '{"schema":-1}', '{"schema":1e99}', '{"schema":"1"}', "schema: 1", "&a [*a]", "a: &a [1]\nb: *a", LARGE)
# Keys of ours and of Koordinator that no test of this file has to spoil, and why.
NOT_SPOILT = {
    "kubernetes.io/batch-cpu", "kubernetes.io/batch-memory", "kubernetes.io/mid-cpu", "kubernetes.io/mid-memory",  # quantities: the API server validates them
    "koordinator.sh/configmap-type", "pod.koordinator.sh/skip-enhanced-validation", "scheduling.koordinator.sh/reserve-pod",  # webhooks check only their presence
    "config.koordinator.sh/skip-update-resources", "config.koordinator.sh/controller-managed",  # likewise, of profiles
    "tidemark.io/while-off", "tidemark.io/managed-webhooks", "tidemark.io/old-ca-since", "tidemark.io/next-ca-since",  # test_webhooks, test_webhook_certificates
    "slo.koordinator.sh/v1alpha1", "config.koordinator.sh/v1alpha1", "analysis.koordinator.sh/v1alpha1",  # API groups
    "tidemark.io/settings",  # test_second_writer
    "node.koordinator.sh/cpu-topology",  # written by agents for schedulers
    # Of pods, for the agent of their node: agent/tasks/pod_task_test.cc spoils them.
    "koordinator.sh/eviction-enabled", "koordinator.sh/core-sched-group-id", "koordinator.sh/core-sched-policy", "koordinator.sh/eviction-policy",
    "koordinator.sh/eviction-priority", "koordinator.sh/cpuBurst", "koordinator.sh/cpuQOS", "koordinator.sh/memoryQOS", "koordinator.sh/blkioQOS",
    "koordinator.sh/networkQOS", "koordinator.sh/oom-score-adj", "koordinator.sh/oom-score-adj-spec", "node.koordinator.sh/resctrl",
    "tidemark.io/business", "tidemark.io/user", "tidemark.io/infrastructure", "tidemark.io/progress", "tidemark.io/held-bytes",
    "tidemark.io/queued-again", "tidemark.io/queued-again-pods",  # of Jobs of `tidemark up`: cli/local/tasks_test.cc; the other one has uids, and any text may be one
    # Of Leases, for the console: model/annotations_test.cc; the third is the name of the Lease's holder.
    "tidemark.io/yarn-managers", "tidemark.io/queues", "tidemark.io/annotated-by",
    # Of nodes, for the agent: agent/report/node_size_test.cc and agent/protect/node_facts_test.cc.
    "node.koordinator.sh/raw-allocatable", "node.koordinator.sh/system-qos-resource",
}


# For NodeSLO.spec, each on its own node: an object that is replaced repeatedly is left to its second writer.
NODE_SLOS = (
    {"resourceUsedThresholdWithBE": {"enable": False, "cpuSuppressThresholdPercent": -5}}, {"resourceUsedThresholdWithBE": {"cpuSuppressThresholdPercent": 9 * 10**18}},
    {"resourceUsedThresholdWithBE": {"cpuSuppressPolicy": "none of these"}}, {"resourceUsedThresholdWithBE": None}, {"resourceUsedThresholdWithBE": "text"},
    {"resourceQOSStrategy": None}, {"cpuBurstStrategy": {"cpuBurstPercent": -1}}, {"systemStrategy": {"minFreeKbytesFactor": -(2**63)}}, {"systemStrategy": None},
    {"hostApplications": [{"name": "x" * 1000}]}, {"hostApplications": 7},
    *({"extensions": {"Object": {"tidemark": value}}} for value in ("", "{", 7, None, [], {"schema": 99}, {"schema": "1"}, {"evictions": {"perHour": -1}}, {"evictions": 7}, DEEP)),
    {"extensions": None}, {"extensions": 7}, {"extensions": {"tidemark": LARGE}},
)
LEASES = "/apis/coordination.k8s.io/v1/namespaces/koordinator-system/leases"
LEASE = f"{LEASES}/koordinator-manager"
LEASE_SPECS = (
    {}, {"holderIdentity": "", "leaseTransitions": 0}, {"holderIdentity": "gone", "leaseDurationSeconds": 1, "renewTime": "9999-12-31T23:59:59.999999Z"},
    {"holderIdentity": "x" * 20000, "leaseDurationSeconds": 1, "acquireTime": "0001-01-01T00:00:00.000000Z", "renewTime": "0001-01-01T00:00:00.000000Z"},
    {"holderIdentity": "gone", "leaseDurationSeconds": 1, "leaseTransitions": -1, "renewTime": "1969-12-31T23:59:59.000000Z"},
)


def exact(amount: str) -> Fraction:
    """A quantity as Kubernetes writes it."""
    match = re.fullmatch(r"(-?[0-9.]+)(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|e-?[0-9]+)?", amount)
    number, suffix = Fraction(match[1]), match[2] or ""
    if suffix.startswith("e"):
        return number * Fraction(10) ** int(suffix[1:])
    powers = {"": 1, "m": Fraction(1, 1000), **{unit: 1000 ** (i + 1) for i, unit in enumerate("kMGTPE")}, **{f"{unit}i": 1024 ** (i + 1) for i, unit in enumerate("KMGTPE")}}
    return number * powers[suffix]


class Garbage(WithApi):
    def setUp(self):
        colocation.put_settings(self.api, {"enable": True})
        colocation.put_data(self.api, {"resource-threshold-config": json.dumps({"clusterStrategy": {"enable": True}})})
        self.put_config()
        self.used = 2
        self.witness = self.plain("witness")

    def put_config(self) -> None:
        safe = {"name": "safe", "nodeSelector": {"matchLabels": {"pool": "safe"}}, "profile": "tidemark", "motion": {"slewPermillePerMinute": 1000, "deadBandPermille": 0}}
        text = json.dumps({"schema": 1, "mode": "enforce", "rollout": {"pace": "at-once"}, "pools": [safe]})
        must(self.api.request("POST", SETTINGS, {"metadata": {"name": colocation.TIDEMARK_CONFIG}, "data": {"config.yaml": text}}))

    def plain(self, name: str) -> str:
        return self.node(name, status=self.status(self.used))

    @staticmethod
    def status(cores: int) -> dict:
        used = {"resources": {"cpu": str(cores), "memory": f"{cores}Gi"}}
        return {"nodeMetric": {"nodeUsage": used, "systemUsage": used}, "podsMetric": []}

    def left(self) -> dict[str, int]:
        return {"kubernetes.io/batch-cpu": CPU_MILLI * 60 // 100 - self.used * 1000, "kubernetes.io/batch-memory": int(MEMORY_BYTES * 0.65) - (self.used << 30)}

    def batch(self, node: str) -> dict[str, int]:
        return {name: amount for name, amount in amounts(colocation.offered(self.api, node)).items() if "/batch-" in name}

    def wait_good(self, nodes, component: Component) -> None:
        def right() -> bool:
            found = {node: self.batch(node) for node in nodes}
            wanted = self.left()
            return all(abs(found[node].get(name, -99) - amount) <= 1 for node in nodes for name, amount in wanted.items())

        wait_for(right, f"{self.left()} on {nodes}", component)

    def round(self, nodes, component: Component, looked_at=()) -> None:
        """Every node reports a new value, the witness last: after the witness is decided on, all others are too."""
        self.used = 14 - self.used
        for node in (*nodes, self.witness):
            colocation.put_metric(self.api, node, self.status(self.used))
        self.wait_good([self.witness], component)
        wait_for(lambda: component.metrics()['tidemark_work_queue_depth{component="overcommit"}'] == 0, "an empty queue", component)
        self.assertTrue(component.ready(), component.log[-3000:])
        for each in must(self.api.request("GET", "/api/v1/nodes"))["items"]:
            if each["metadata"]["name"] in (*nodes, *looked_at):
                self.within_bounds(each)

    def within_bounds(self, node: dict) -> None:
        for side in ("capacity", "allocatable"):
            found = amounts({name: amount for name, amount in node["status"].get(side, {}).items() if name.startswith("kubernetes.io/")})
            for name, amount in found.items():
                most = CPU_MILLI if name.endswith("-cpu") else MEMORY_BYTES
                self.assertTrue(0 <= amount <= most, f"{node['metadata']['name']}: {side} {name} is {amount} with {node['metadata'].get('annotations', {})!s:.500}")

    def spoil(self, path: str, body: dict) -> bool:
        """False if the API server refuses it."""
        answer = self.api.request("PATCH", path, body, content=MERGE)
        self.assertIn(answer.status, (200, 400, 404, 413, 422, 500), f"{path}: {answer.body[:500]!r}")
        return answer.status == 200

    def look(self, *words: str) -> str:
        """Runs a user command on all this: it may refuse, but never crash."""
        done = subprocess.run(
            [os.environ["TIDEMARK_BINARY"], *words, "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"]], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
        )
        self.assertIn(done.returncode, (0, 1), f"{words}: {done.stderr[-500:]}")
        return done.stdout + done.stderr

    def test_annotations_and_labels_of_nodes(self):
        component = self.run_manager(*FAST)
        keys = [*(("annotations", key) for key in NODE_ANNOTATIONS), *(("labels", key) for key in NODE_LABELS)]
        victims = {f"garbage-{i}-{share}": key for i, key in enumerate(keys) for share in range(SHARES)}
        for node in victims:
            self.plain(node)
        self.wait_good([*victims, self.witness], component)
        taken = 0
        for at in range(0, len(TEXTS) + max(len(each) for each in SHAPED.values()), SHARES):
            for node, (place, key) in victims.items():
                values = [*SHAPED.get(key, []), *TEXTS] if place == "annotations" else LABELS
                value = values[(at + int(node[-1])) % len(values)]
                taken += self.spoil(f"/api/v1/nodes/{node}", {"metadata": {place: {key: value}}})
            self.round(list(victims), component)
        self.assertGreater(taken, 400)
        # With each of them unreadable, user commands still print the rest.
        for node, (place, key) in victims.items():
            self.spoil(f"/api/v1/nodes/{node}", {"metadata": {place: {key: "{" if place == "annotations" else "banana"}}})
        self.round(list(victims), component)
        for node, (place, key) in victims.items():
            if not node.endswith("-0"):
                continue
            shown = self.look("explain", "node", node)
            if key in TOLD:
                self.assertIn(TOLD[key], shown, key)
        self.look("report", "states")
        for node, (place, key) in victims.items():
            if key in STATE_KEYS:  # an unreadable order holds until the next order
                self.look("on", "node", node, "--reason=mended", "--by=ann@ops", "--yes")
            else:
                must(self.api.request("PATCH", f"/api/v1/nodes/{node}", {"metadata": {place: {key: None}}}, content=MERGE))
        self.round(list(victims), component)
        self.wait_good([*victims, self.witness], component)

    def test_reports_topologies_and_pods(self):
        component = self.run_manager(*FAST)
        metrics = {f"report-{i}": field for i, field in enumerate(METRIC_FIELDS)}
        pods = {f"pods-{i}": (place, key) for i, (place, key) in enumerate([*(("labels", key) for key in POD_LABELS), *(("annotations", key) for key in POD_ANNOTATIONS)])}
        for node in (*metrics, *pods, "topology"):
            self.plain(node)
        for node in pods:
            colocation.put_pod(self.api, node, {"name": f"pod-{node}", "prio": "koord-prod", "qos": "LS", "requests": {"cpu": "1", "memory": "1Gi"}, "phase": "Running"})
        zone = {"name": "node-0", "type": "Node", "resources": [{"name": "cpu", "capacity": "32", "allocatable": "32", "available": "32"}]}
        must(self.api.request("POST", TOPOLOGIES, {"apiVersion": "topology.node.k8s.io/v1alpha1", "kind": "NodeResourceTopology", "metadata": {"name": "topology"}, "topologyPolicies": ["None"], "zones": [zone]}))
        self.addCleanup(self.api.request, "DELETE", f"{TOPOLOGIES}/topology")
        self.wait_good([*metrics, "topology", self.witness], component)
        taken = 0
        for at in range(len(TEXTS)):
            for node, field in metrics.items():
                shape, values = METRIC_FIELDS[field]
                status = {**self.status(self.used), "updateTime": colocation.time_stamp(), **shape(values[at % len(values)])}
                taken += self.spoil(f"{NODEMETRICS}/{node}/status", {"status": status})
            for node, (place, key) in pods.items():
                value = LABELS[at % len(LABELS)] if place == "labels" else TEXTS[at]
                taken += self.spoil(f"/api/v1/namespaces/default/pods/pod-{node}", {"metadata": {place: {key: value}}})
            taken += self.spoil(f"{TOPOLOGIES}/topology", {"metadata": {"annotations": {TOPOLOGY_ANNOTATIONS[0]: TEXTS[at]}}})
            self.round([*pods, "topology"], component, looked_at=[*metrics])
        self.assertGreater(taken, 200)
        for node in (*metrics, *pods, "topology"):
            self.look("explain", "node", node)
        for node, (place, key) in pods.items():
            self.spoil(f"/api/v1/namespaces/default/pods/pod-{node}", {"metadata": {place: {key: None}}})
        self.spoil(f"{TOPOLOGIES}/topology", {"metadata": {"annotations": {TOPOLOGY_ANNOTATIONS[0]: None}}})
        for node in metrics:
            self.api.request("DELETE", f"{NODEMETRICS}/{node}")
        self.round([*metrics, "topology"], component)
        self.wait_good([*metrics, "topology", self.witness], component)

    def put_into_ours(self, text: str) -> None:
        for name, keys in OUR_MAPS.items():
            must(self.api.request("PATCH", f"{SETTINGS}/{name}", {"data": {key: text for key in keys}}, content=MERGE))

    def test_every_key_of_every_config_map(self):
        self.addCleanup(self.api.request, "DELETE", f"{SETTINGS}/tidemark-state")
        component = self.run_manager(*FAST)
        self.wait_good([self.witness], component)
        for at, text in enumerate(OUR_TEXTS):
            for name, keys in {colocation.SETTINGS_NAME: SETTINGS_KEYS, **OUR_MAPS}.items():
                data = {key: SETTINGS_KEYS[key][at % len(SETTINGS_KEYS[key])] if name == colocation.SETTINGS_NAME else text for key in keys}
                if text == LARGE or LARGE in data.values():  # one of them is a fifth of the size limit of an object
                    data = dict([next(iter(data.items()))])
                if not self.spoil(f"{SETTINGS}/{name}", {"data": data}):
                    self.api.request("POST", SETTINGS, {"metadata": {"name": name}, "data": data})
            self.round([], component)
        # The last values above were any of these: now a newer version's, then garbage.
        self.put_into_ours('{"schema":99}')
        wait_for(lambda: component.metrics()["tidemark_budgets_held"] == 1, "a newer version's budgets to be kept", component)
        self.put_into_ours("{")
        self.spoil(f"{SETTINGS}/{colocation.SETTINGS_NAME}", {"data": {key: "{" for key in SETTINGS_KEYS}})

        def nothing_good() -> bool:
            metrics = component.metrics()
            return (metrics["tidemark_manager_config_good"], metrics["tidemark_manager_state_good"], metrics["tidemark_budgets_held"]) == (0, 0, 0)

        wait_for(nothing_good, "settings and orders reported as bad", component)
        for name, keys in {colocation.SETTINGS_NAME: SETTINGS_KEYS, **OUR_MAPS}.items():
            for key in (name,) if name == colocation.TIDEMARK_CONFIG else keys:
                if name.startswith("tidemark-history-"):  # read only if in use
                    continue
                if name == colocation.REVISIONS and key == "revision-7" or key == "counts.json":
                    continue
                named = name if name != colocation.SETTINGS_NAME else f"key={key}"
                self.assertTrue([line for line in component.log.splitlines() if named in line and key in line], f"no log line about {key} of {name}")
        for words in (("report", "states"), ("report", "budgets"), ("list", "revisions"), ("preview", "pool", "safe"), ("explain", "node", self.witness), ("explain", "config", self.witness)):
            self.look(*words)
        for name in OUR_MAPS:
            self.api.request("DELETE", f"{SETTINGS}/{name}")
        self.api.request("DELETE", f"{SETTINGS}/{colocation.SETTINGS_NAME}")
        colocation.put_settings(self.api, {"enable": True})
        self.put_config()
        wait_for(lambda: component.metrics()["tidemark_manager_config_good"] == 1 and component.metrics()["tidemark_manager_state_good"] == 1, "good settings", component)
        self.round([], component)
        metrics = component.metrics()
        self.assertEqual((0, 0), (metrics["tidemark_settings_held"], metrics["tidemark_budgets_held"]))


    def test_amounts_of_zones(self):
        component = self.run_manager(*FAST)
        node = self.node("zoned", status=self.status(self.used), labels={"pool": "safe"})

        def seen_to_report() -> bool:  # a node of the safe profile waits for a second time stamp, in seconds
            colocation.put_metric(self.api, node, self.status(self.used))
            return bool(self.batch(node))

        wait_for(seen_to_report, "an offer", component)
        self.addCleanup(self.api.request, "DELETE", f"{TOPOLOGIES}/{node}")
        taken = 0
        for i, value in enumerate((*AMOUNTS, "", "many", "-1", "16")):
            self.api.request("DELETE", f"{TOPOLOGIES}/{node}")
            resources = [{"name": name, "capacity": value, "allocatable": value, "available": value} for name in ("cpu", "memory", *(("kubernetes.io/batch-cpu",) if i % 2 else ()))]
            made = {"apiVersion": "topology.node.k8s.io/v1alpha1", "kind": "NodeResourceTopology", "metadata": {"name": node}, "topologyPolicies": ["None"],
                    "zones": [{"name": "node-0", "type": "Node", "resources": resources}, {"name": "node-1", "type": "Node", "resources": resources[:1]}]}
            answer = self.api.request("POST", TOPOLOGIES, made)
            self.assertIn(answer.status, (201, 400, 422), f"{value}: {answer.body[:500]!r}")
            taken += answer.status == 201
            self.round([node], component)
            wait_for(lambda: self.zones_are_within(node), f"zones within their node, with {value!r}", component)
        self.assertGreater(taken, 5)
        self.wait_good([self.witness], component)

    def zones_are_within(self, node: str) -> bool:
        """The amounts of the zones are neither negative nor, together, above the node's status."""
        found = self.api.request("GET", f"{TOPOLOGIES}/{node}")
        if found.status == 404:
            return True
        carried = self.batch(node)
        sums = dict.fromkeys(carried, 0)
        for zone in found.get("zones", []):
            for each in zone.get("resources", []):
                if each["name"] in sums:
                    for key in ("capacity", "allocatable", "available"):
                        if exact(each[key]) < 0:
                            return False
                    sums[each["name"]] += max(exact(each[key]) for key in ("capacity", "allocatable", "available"))
        return all(amount <= carried[name] for name, amount in sums.items())

    def test_node_slos(self):
        component = self.run_manager(*FAST)
        nodes = [self.plain(f"slo-{i}") for i in range(len(NODE_SLOS))]
        wait_for(lambda: all(self.slo(node) == self.slo(self.witness) != {} for node in nodes), "every NodeSLO", component)
        taken = sum(self.spoil(f"{NODESLOS}/{node}", {"spec": spec}) for node, spec in zip(nodes, NODE_SLOS))
        self.assertGreater(taken, 10)
        self.round(nodes, component)
        # Each is repaired; extensions of others stay.
        wait_for(lambda: all(self.slo(node) == self.slo(self.witness) for node in nodes), "every NodeSLO as it was", component)
        self.wait_good([*nodes, self.witness], component)
        self.look("explain", "config", nodes[0])

    def slo(self, node: str) -> dict:
        spec = self.api.request("GET", f"{NODESLOS}/{node}").get("spec", {})
        return {key: part for key, part in spec.items() if key != "extensions"}

    def test_a_lease_with_garbage(self):
        for spec in LEASE_SPECS:
            self.api.request("DELETE", LEASE)
            answer = self.api.request("POST", LEASES, {"metadata": {"name": "koordinator-manager", "annotations": {"a": LARGE[:1000]}}, "spec": spec})
            self.assertIn(answer.status, (201, 400, 422), f"{spec!s:.300}: {answer.body[:500]!r}")
            component = self.run_manager("--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=300ms")
            wait_for(lambda: component.metrics().get("tidemark_leader") == 1, f"a leader after {spec!s:.100}", component)
            self.assertEqual(0, component.stop())

    def test_history_of_workloads(self):
        data = {f"{i:016x}": text for i, text in enumerate(text for text in OUR_TEXTS if text != LARGE)}
        for name in (*colocation.PROFILES, *colocation.LEAST_OFFERS):
            must(self.api.request("POST", SETTINGS, {"metadata": {"name": name}, "data": data}))
        config = {"schema": 1, "mode": "enforce", "rollout": {"pace": "at-once"}, "profile": "tidemark", "profiles": {"learn": True},
                  "motion": {"slewPermillePerMinute": 1000, "deadBandPermille": 0}}
        must(self.api.request("PATCH", f"{SETTINGS}/{colocation.TIDEMARK_CONFIG}", {"data": {"config.yaml": json.dumps(config)}}, content=MERGE))
        component = self.run_manager(*FAST)
        for kind, maps in (("profiles", colocation.PROFILES), ("least", colocation.LEAST_OFFERS)):
            refused = f'tidemark_history_refused_total{{component="{kind}"}}'
            wait_for(lambda: component.metrics().get(refused, 0) >= len(data) * len(maps), f"every record of {kind} refused", component)
        # Unreadable records disappear with the next write and stop nothing.
        wait_for(lambda: all(not must(self.api.request("GET", f"{SETTINGS}/{name}")).get("data") for name in colocation.PROFILES), "nothing of it left", component)
        self.round([], component)


class Complete(unittest.TestCase):
    def test_no_key_of_the_code_is_missing_here(self):
        literal = re.compile(r'"((?:[a-z0-9-]+\.)*(?:koordinator\.sh|tidemark\.io|kubernetes\.io)/[A-Za-z0-9_.-]+)"')
        found = set()
        for folder in ("model", "kube", "policy", "manager", "cli"):
            for path in (ROOT / folder).rglob("*"):
                if path.suffix in (".h", ".cc") and not re.search(r"_test|_fuzz|_bench|/testing/", str(path)):
                    found |= set(literal.findall(path.read_text()))
        found = {key for key in found if "koordinator.sh/" in key or "tidemark.io/" in key or key.startswith("kubernetes.io/batch") or key.startswith("kubernetes.io/mid")}
        here = {*NODE_ANNOTATIONS, *NODE_LABELS, *POD_LABELS, *POD_ANNOTATIONS, *TOPOLOGY_ANNOTATIONS, *NOT_SPOILT}
        self.assertGreater(len(found), 30)
        self.assertEqual(set(), found - here, "spoil it in a table above, or give the reason in NOT_SPOILT")

    def test_no_key_of_the_settings_is_missing_here(self):
        names = (ROOT / "model" / "names.h").read_text()
        keys = set(re.findall(r'string_view k\w+Key = "([^"]+)"', names))
        self.assertGreater(len(keys), 7)
        self.assertEqual(set(), keys - set(SETTINGS_KEYS) - {key for each in OUR_MAPS.values() for key in each})


if __name__ == "__main__":
    unittest.main()
