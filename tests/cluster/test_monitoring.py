"""deploy/monitoring: promtool accepts the rules, and a running manager exports every metric of the rules and the board."""

import json
import os
import re
import subprocess
import tempfile
import unittest
import urllib.request
from pathlib import Path

from cluster import chart, colocation
from cluster.colocation import MERGE, SETTINGS, SETTINGS_NAME
from cluster.manager_case import WithManager
from cluster.test_manager import CAPACITY, STATUS
from cluster.tidemark_process import Component, wait_for

MONITORING = Path(__file__).parents[2] / "deploy" / "monitoring"
GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "reference" / "metrics.md"
METRIC = re.compile(r"\b(?:tidemark|slo_controller)_[a-z0-9_]+")
TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
OF_AGENTS = "tidemark_agent_"  # tested in tests/node/test_daemonset.py
OF_YARN_OPERATORS = "tidemark_yarn_operator_"
SITE = "<configuration><property><name>yarn.resourcemanager.hostname</name><value>127.0.0.1</value></property></configuration>"
UNITS_OF_PEOPLE = {"tidemark_manager_gain_core_hours_total"}  # the gain of co-location is in core-hours

needs_promtool = unittest.skipUnless(os.environ.get("TIDEMARK_PROMTOOL"), "no promtool: ./dev test cluster extracts it from Debian's package")


def promtool(*words: str, given: str = "") -> subprocess.CompletedProcess:
    return subprocess.run([os.environ["TIDEMARK_PROMTOOL"], *words], input=given, capture_output=True, text=True, cwd=MONITORING, timeout=120)


def asked_for() -> set[str]:
    board = json.loads((MONITORING / "dashboard.json").read_text())
    queries = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    queries += [variable["query"]["query"] for variable in board["templating"]["list"] if variable["type"] == "query"]
    rules = re.findall(r"^    expr: \|\n((?:      .*\n)+)", (MONITORING / "alerts.yaml").read_text(), re.M)
    return {name for query in [*queries, *rules] for name in METRIC.findall(query)}


@needs_promtool
class Rules(unittest.TestCase):
    def test_promtool_accepts_the_rules(self):
        done = promtool("check", "rules", "--lint=all", "--lint-fatal", "alerts.yaml")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)

    def test_each_alert_is_silent_in_health_and_fires_in_its_trouble(self):
        done = promtool("test", "rules", "alerts_test.yaml")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)

    def test_every_query_of_the_board_parses(self):
        board = json.loads((MONITORING / "dashboard.json").read_text())
        exprs = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
        rules = [{"record": f"board:{number}", "expr": expr.replace("$__rate_interval", "5m")} for number, expr in enumerate(exprs)]
        done = promtool("check", "rules", "--lint=none", "/dev/stdin", given=json.dumps({"groups": [{"name": "board", "rules": rules}]}))
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertGreater(len(exprs), 20)

    def test_the_board_counts_only_leaders_of_managers(self):
        """A YARN operator also leads, with its own lease, and exports the same two metrics."""
        series = {
            'tidemark_leader{namespace="k",instance="a"}': "1x60",
            'tidemark_leader{namespace="k",instance="b"}': "0x60",
            'tidemark_leader{namespace="k",instance="operator"}': "1x60",
            'tidemark_leader_changes_total{namespace="k",instance="a"}': "1x60",
            'tidemark_leader_changes_total{namespace="k",instance="operator"}': "0+1x60",
            'tidemark_yarn_operator_nodes{namespace="k",instance="operator"}': "3x60",
        }
        panels = {panel["title"]: panel for panel in json.loads((MONITORING / "dashboard.json").read_text())["panels"]}
        wanted = {"Leaders (wanted: 1)": 1, "Changes of leader": 0}
        exprs = {title: panels[title]["targets"][0]["expr"].replace("$__rate_interval", "5m").replace("$namespace", ".+") for title in wanted}
        tests = [{
            "interval": "1m",
            "input_series": [{"series": name, "values": values} for name, values in series.items()],
            "promql_expr_test": [{"expr": exprs[title], "eval_time": "30m", "exp_samples": [{"value": value}]} for title, value in wanted.items()],
        }]
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            json.dump({"tests": tests}, file)
            file.flush()
            done = promtool("test", "rules", file.name)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)

    @chart.needs_helm
    def test_the_chart_ships_the_same_rules_and_the_same_board(self):
        rendered = chart.template({"prometheusRule": {"create": True}, "serviceMonitor": {"create": True}, "dashboard": {"create": True}})
        rule = re.search(r"^kind: PrometheusRule\n.*?^spec:\n(.*?)^---", rendered + "\n---", re.M | re.S)[1]
        done = promtool("check", "rules", "--lint=all", "--lint-fatal", "/dev/stdin", given=re.sub(r"^  ", "", rule, flags=re.M))
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertIn("kind: ServiceMonitor", rendered)
        self.assertNotIn("kind: PodMonitor", rendered)
        agents = chart.template({"serviceMonitor": {"create": True}, "agent": {"enabled": True}}, "--show-only", "templates/monitoring.yaml")
        self.assertIn("kind: PodMonitor", agents)
        operator = {"enabled": True, "hadoopConf": {"yarn-site.xml": SITE}}
        self.assertIn("kind: PodMonitor", chart.template({"serviceMonitor": {"create": True}, "yarnOperator": operator}, "--show-only", "templates/monitoring.yaml"))
        board = re.search(r"^  tidemark-manager.json: \|\n(.*?)^---", rendered + "\n---", re.M | re.S)[1]
        self.assertEqual(json.loads((MONITORING / "dashboard.json").read_text()), json.loads(board))


class AgentMetrics(unittest.TestCase):
    def test_queried_agent_metrics_are_in_the_guide(self):
        """Tidy checks that the guide lists the metrics of the code."""
        listed = set(re.findall(r"^\| `(tidemark_agent_[a-z0-9_]+)", GUIDE.read_text(), re.M))
        asked = {name for name in asked_for() if name.startswith(OF_AGENTS)}
        self.assertEqual(set(), asked - listed)
        self.assertGreater(len(asked), 5)


class Metrics(WithManager):
    def order(self, verb: str, node: str, *how: str) -> None:
        chart.must(chart.run([
            os.environ["TIDEMARK_BINARY"], verb, "node", node, *how, "--reason=test", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"],
        ]))

    def test_queried_metrics_exist(self):
        chart.ensure_namespace(self.api)
        self.nodes = ["monitored"]
        colocation.put_node(self.api, "monitored", capacity=CAPACITY, labels={"zone": "a", "tier": "b"})
        colocation.put_metric(self.api, "monitored", STATUS)
        resources = [{"name": key, "capacity": amount, "allocatable": amount, "available": amount} for key, amount in (("cpu", "32"), ("memory", "128Gi"))]
        body = {
            "apiVersion": "topology.node.k8s.io/v1alpha1", "kind": "NodeResourceTopology", "metadata": {"name": "monitored"}, "topologyPolicies": ["None"],
            "zones": [{"name": "node-0", "type": "Node", "resources": resources}],
        }
        colocation.must(self.api.request("POST", TOPOLOGIES, body))
        self.addCleanup(self.api.request, "DELETE", f"{TOPOLOGIES}/monitored")
        self.addCleanup(chart.delete_webhooks, self.api)
        colocation.put_settings(self.api, {"enable": True})
        calendar = {"name": "nights", "zone": "UTC", "entries": [{"name": "long-ago", "from": "2020-01-01T00:00", "to": "2020-01-02T00:00", "cpu": 60}]}
        overlap = [
            {"name": "of-zone", "nodeSelector": {"matchLabels": {"zone": "a"}}, "business": "video"},
            {"name": "of-tier", "nodeSelector": {"matchLabels": {"tier": "b"}}},
        ]
        ours = {"schema": 1, "mode": "enforce", "rollout": {"pace": "at-once"}, "calendar": "nights", "calendars": [calendar], "pools": overlap}
        colocation.must(self.api.request("POST", SETTINGS, {"metadata": {"name": colocation.TIDEMARK_CONFIG}, "data": {"config.yaml": json.dumps(ours)}}))
        # Refused by the schema of NodeSLO; later an edit that the webhook refuses, since the ConfigMap has its label.
        colocation.put_data(self.api, {"resource-threshold-config": json.dumps({"clusterStrategy": {"cpuSuppressThresholdPercent": 101}})})
        label = {"metadata": {"labels": {"koordinator.sh/configmap-type": "slo-controller-config"}}}
        self.api.request("PATCH", f"{SETTINGS}/{SETTINGS_NAME}", label, content=MERGE)
        self.nodes = ["monitored", "monitored-off", "monitored-draining", "monitored-observed", "monitored-fought-for"]
        for name in self.nodes[1:]:
            colocation.put_node(self.api, name, capacity=CAPACITY)
            colocation.put_metric(self.api, name, STATUS)
        journal = f"--journal-dir={self.enterContext(tempfile.TemporaryDirectory())}"
        component = self.run_manager("--leader-election-namespace=koordinator-system", journal, "--stream-url=http://127.0.0.1:1/", "--webhooks=on", "--webhook-addr=127.0.0.1:0", "--webhook-host=127.0.0.1")

        def denied() -> bool:
            edit = {"data": {"colocation-config": '{"enable": true, "degradeTimeMinutes": 0}'}}
            answer = self.api.request("PATCH", f"{SETTINGS}/{SETTINGS_NAME}", edit, content=MERGE, dryRun="All")
            return answer.status != 200

        wait_for(denied, "a refused edit", component)

        self.order("off", "monitored-off", "--now")
        self.order("observe", "monitored-observed")
        sold = {"name": "sold", "prio": "koord-batch", "qos": "BE", "phase": "Running", "requests": {"kubernetes.io/batch-cpu": "1000", "kubernetes.io/batch-memory": "1Gi"}}
        colocation.put_pod(self.api, "monitored-draining", sold)
        colocation.put_pod(self.api, "monitored-draining", {**sold, "name": "done"})
        colocation.must(self.api.request("PATCH", "/api/v1/namespaces/default/pods/done/status", {"status": {"phase": "Succeeded"}}, content=MERGE))
        self.order("off", "monitored-draining", "--drain=1h")
        for _ in range(3):  # another writer repeats the same number until the manager leaves it alone
            wait_for(lambda: colocation.offered(self.api, "monitored-fought-for").get("kubernetes.io/batch-cpu") == "17200", "an offer", component)
            theirs = {"status": {side: {"kubernetes.io/batch-cpu": "1"} for side in ("capacity", "allocatable")}}
            colocation.must(self.api.request("PATCH", "/api/v1/nodes/monitored-fought-for/status", theirs, content=MERGE))

        def scrape() -> str:
            with urllib.request.urlopen(f"http://{component.metrics_address()}/metrics", timeout=10) as answer:
                return answer.read().decode()

        def missing() -> set[str]:
            there = set(re.findall(r"^([a-z0-9_]+)[{ ]", scrape(), re.M))
            return {name for name in asked_for() if not name.startswith((OF_AGENTS, OF_YARN_OPERATORS))} - there

        try:
            wait_for(lambda: not missing(), "all metrics", component)
        except AssertionError:
            self.assertEqual(set(), missing())
        if os.environ.get("TIDEMARK_PROMTOOL"):
            shown = promtool("check", "metrics", given=scrape()).stderr
            self.assertEqual([], [line for line in shown.splitlines() if line.startswith("tidemark_") and line.split()[0] not in UNITS_OF_PEOPLE])

    def test_queried_yarn_operator_metrics_exist(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "yarn-site.xml").write_text(SITE)
        operator = Component(
            "yarn-operator", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "--hadoop-conf-dir", str(folder), "--leader-elect=false", "--metrics-addr=127.0.0.1:0", "--mode=observe"
        )
        self.addCleanup(operator.stop)
        wait_for(operator.ready, "a ready operator", operator)
        asked = {name for name in asked_for() if name.startswith(OF_YARN_OPERATORS)}
        self.assertGreater(len(asked), 3)
        self.assertEqual(set(), asked - set(operator.metrics()))


if __name__ == "__main__":
    unittest.main()
