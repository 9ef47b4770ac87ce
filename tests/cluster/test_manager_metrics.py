"""`/all-metrics` on a real API server: parsed as Prometheus does, and with the numbers of the cluster."""

import json
import re
import urllib.request
from pathlib import Path

from cluster import colocation
from cluster.colocation import must
from cluster.manager_case import WithManager
from cluster.tidemark_process import Component, wait_for

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "reference" / "metrics.md"
SAMPLE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (NaN|[+-]?Inf|[-+0-9.eE]+)$')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:\\.|[^"\\])*)"(?:,|$)')
STATUS = {
    "nodeMetric": {
        "nodeUsage": {"resources": {"cpu": "12", "memory": "24Gi"}},
        "systemUsage": {"resources": {"cpu": "2", "memory": "4Gi"}},
    },
    "podsMetric": [
        {"namespace": "default", "name": "spark", "priority": "koord-batch", "qos": "BE", "podUsage": {"resources": {"cpu": "4", "memory": "8Gi"}}},
        {"namespace": "default", "name": "web", "priority": "koord-prod", "qos": "LS", "podUsage": {"resources": {"cpu": "6", "memory": "12Gi"}}},
    ],
    "prodReclaimableMetric": {"resource": {"resources": {}}},
}
SPARK = {
    "name": "spark", "prio": "koord-batch", "qos": "BE", "phase": "Running",
    "requests": {"kubernetes.io/batch-cpu": "5000", "kubernetes.io/batch-memory": "10Gi"},
}
YARN = '{"allocations":[{"name":"hadoop-yarn","priority":"koord-batch","resources":{"kubernetes.io/batch-cpu":"2k","kubernetes.io/batch-memory":"1Gi"}}]}'
GIB = 2**30


def read(component: Component, path: str = "/all-metrics") -> tuple[dict[str, str], dict[tuple, float]]:
    """Types by name, and samples by name and sorted labels. Fails on everything that is not Prometheus text."""
    with urllib.request.urlopen(f"http://{component.metrics_address()}{path}", timeout=10) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4"), answer.headers["Content-Type"]
        text = answer.read().decode()
    assert text.endswith("\n")
    kinds: dict[str, str] = {}
    samples: dict[tuple, float] = {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in kinds, f"{name} has two TYPE lines"
            assert kind in ("counter", "gauge", "histogram"), line
            kinds[name] = kind
            continue
        if line.startswith("# HELP "):
            continue
        match = SAMPLE.match(line)
        assert match, f"no sample: {line!r}"
        labels = LABEL.findall(match[2] or "")
        assert "".join(f'{key}="{value}",' for key, value in labels)[:-1] == (match[2] or ""), f"labels of {line!r}"
        key = (match[1], *sorted(labels))
        assert key not in samples, f"twice: {line!r}"
        samples[key] = float(match[3])
        assert family(match[1], kinds) in kinds, f"no TYPE line before {line!r}"
    return kinds, samples


def family(name: str, kinds: dict[str, str]) -> str:
    if name in kinds:
        return name
    base = re.sub(r"_(bucket|sum|count)$", "", name)
    return base if kinds.get(base) == "histogram" else name


class Metrics(WithManager):
    def setUp(self):
        colocation.put_settings(self.api, {"enable": True})
        self.nodes = ["metered"]
        colocation.put_node(
            self.api, "metered", capacity={"cpu": "32", "memory": "128Gi", "pods": "110"},
            annotations={"node.koordinator.sh/thirdPartyAllocations": YARN},
        )
        colocation.put_pod(self.api, "metered", SPARK)
        colocation.put_metric(self.api, "metered", STATUS)

    def value(self, component: Component, name: str, **labels: str) -> float | None:
        return read(component)[1].get((name, *sorted(labels.items())))

    def test_the_page_matches_the_metrics_and_the_numbers_match_the_cluster(self):
        component = self.run_manager("--leader-elect=false")
        written = {"status": "succeeded", "reason": "updateNodeStatus"}  # the last counter of a write
        wait_for(lambda: self.value(component, "slo_controller_node_resource_reconcile_count", **written), "a write", component)
        kinds, samples = read(component)

        shown = dict(re.findall(r"^\| `((?:tidemark|slo_controller)_[a-z0-9_]+)[^|]*\| (\w+) \|", PAGE.read_text(), re.M))
        self.assertEqual({}, {name: kind for name, kind in kinds.items() if shown.get(name) != kind}, "served, but missing or different in the page")

        def of(name: str, **labels: str) -> float | None:
            return samples.get((f"tidemark_manager_{name}", *sorted(labels.items())))

        # 32 − 12.8 − 2 − web's 6 = 11.2 cores, of which YARN holds 2.
        self.assertEqual(9.2, of("offered_cpu_cores", pool="default"))
        self.assertEqual(9.2, of("offered_real_cpu_cores", pool="default"), "nothing is over-reported")
        self.assertEqual(32, of("capacity_cpu_cores", pool="default"))
        self.assertEqual(20, of("idle_cpu_cores", pool="default"))
        self.assertEqual(104 * GIB, of("idle_memory_bytes", pool="default"))
        self.assertEqual(4, of("used_cpu_cores", pool="default"))
        self.assertEqual(8 * GIB, of("used_memory_bytes", pool="default"))
        self.assertEqual(5, of("sold_cpu_cores", pool="default", side="kubernetes"))
        self.assertEqual(2, of("sold_cpu_cores", pool="default", side="yarn"))
        self.assertEqual(10 * GIB, of("sold_memory_bytes", pool="default", side="kubernetes"))
        self.assertEqual(1, of("nodes", pool="default", reason="TM-NODE-001"))
        self.assertGreaterEqual(of("decision_seconds_count"), 1)
        self.assertEqual(0, of("write_budget_wait_seconds", component="routine"))

        def peer(name: str, **labels: str) -> float | None:
            return samples.get((f"slo_controller_{name}", *sorted(labels.items())))

        self.assertGreaterEqual(peer("node_resource_reconcile_count", **written), 1)
        for plugin in ("BatchResource", "MidResource", "CPUNormalization", "ResourceAmplification"):
            self.assertGreaterEqual(peer("node_resource_run_plugin_status", plugin=plugin, status="succeeded", reason="ResourceCalculate"), 1)
        internal = {"node": "metered", "unit": "integer", "resource": "kubernetes.io/batch-cpu"}
        self.assertEqual(11.2, peer("node_extended_resource_allocatable_internal", **internal))

    def test_each_page_has_its_metrics(self):
        component = self.run_manager("--leader-elect=false")
        wait_for(lambda: self.value(component, "tidemark_manager_offered_cpu_cores", pool="default"), "an offer", component)
        pages = dict(re.findall(r"^\| `((?:tidemark|slo_controller)_[a-z0-9_]+)[^|]*\| \w+ \| (\w*) *\|", PAGE.read_text(), re.M))
        for path, page in (("/metrics", ""), ("/metrics/offline", "offline")):
            kinds, _ = read(component, path)
            self.assertEqual({}, {name: pages.get(name) for name in kinds if pages.get(name) != page}, path)
            self.assertGreater(len(kinds), 10, path)

    def test_real_amounts_are_shown_beside_the_published_ones(self):
        """9.2 cores as above; Kubernetes gets half as much again of CPU."""
        text = json.dumps({"schema": 1, "mode": "enforce", "rollout": {"pace": "at-once"}, "ledger": {"kubernetes": {"overReport": {"cpuPercent": 150}}}})
        must(self.api.request("POST", colocation.SETTINGS, {"metadata": {"name": colocation.TIDEMARK_CONFIG}, "data": {"config.yaml": text}}))
        component = self.run_manager("--leader-elect=false")
        of = lambda what: self.value(component, f"tidemark_manager_{what}", pool="default")
        wait_for(lambda: of("offered_cpu_cores"), "an offer", component)
        self.assertEqual((13.8, 9.2), (of("offered_cpu_cores"), of("offered_real_cpu_cores")))
        self.assertEqual(of("offered_memory_bytes"), of("offered_real_memory_bytes"))

    def test_the_gain_grows_with_use_and_a_refused_node_has_a_reason(self):
        component = self.run_manager("--leader-elect=false")
        wait_for(lambda: self.value(component, "tidemark_manager_offered_cpu_cores", pool="default"), "an offer", component)

        def gain() -> float:
            colocation.put_metric(self.api, "metered", STATUS)
            return self.value(component, "tidemark_manager_gain_core_hours_total", pool="default")

        wait_for(lambda: gain() > 0, "a gain", component)
        colocation.put_metric(self.api, "metered", STATUS, age_s=16 * 60)
        wait_for(lambda: self.value(component, "tidemark_manager_nodes", pool="default", reason="TM-NODE-006") == 1, "a refusal", component)
        self.assertEqual(0, self.value(component, "tidemark_manager_offered_cpu_cores", pool="default"))
        self.assertEqual(0, self.value(component, "tidemark_manager_used_cpu_cores", pool="default"), "a node without an agent uses nothing")
        must(self.api.request("DELETE", "/api/v1/nodes/metered"))
        wait_for(lambda: self.value(component, "tidemark_manager_capacity_cpu_cores", pool="default") == 0, "the node to go", component)

    def test_a_standby_manager_shows_no_pool(self):
        leader = self.run_manager("--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=500ms")
        wait_for(lambda: self.value(leader, "tidemark_leader") == 1, "a leader", leader)
        second = self.run_manager("--leader-elect-lease-duration=4s", "--leader-elect-renew-deadline=3s", "--leader-elect-retry-period=500ms")
        self.assertIsNone(self.value(second, "tidemark_manager_capacity_cpu_cores", pool="default"))
        wait_for(lambda: self.value(leader, "tidemark_manager_capacity_cpu_cores", pool="default") == 32, "the leader's pool", leader)
