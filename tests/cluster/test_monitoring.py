"""deploy/monitoring: promtool accepts the rules, and running programs export every metric of the rules and the boards. test_boards.py queries the boards."""

import json
import os
import re
import subprocess
import tempfile
import unittest
import urllib.request
from pathlib import Path

from cluster import chart
from cluster.monitored_case import Monitored
from cluster.tidemark_process import Component, wait_for
from support.prometheus import BOARDS, MONITORING, PAGES, panels, with_choices

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "reference" / "metrics.md"
METRIC = re.compile(r"(?<![:\w])(?:tidemark|slo_controller)_[a-z0-9_]+(?![:\w])")
OF_AGENTS = ("tidemark_agent_", "tidemark_online_", "tidemark_offline_")  # tests/node/test_daemonset.py and test_boards.py read them from agents
OF_YARN_OPERATORS = "tidemark_yarn_operator_"
OF_PAGES = ("tidemark_console_", "tidemark_gateway_")
SITE = "<configuration><property><name>yarn.resourcemanager.hostname</name><value>127.0.0.1</value></property></configuration>"
CONSOLE = {"console": {"enabled": True, "tlsSecret": "console-tls"}}
UNITS_OF_PEOPLE = {"tidemark_manager_gain_core_hours_total"}  # the gain of co-location is in core-hours

needs_promtool = unittest.skipUnless(os.environ.get("TIDEMARK_PROMTOOL"), "no promtool: ./dev test cluster extracts it from Debian's package")


def promtool(*words: str, given: str = "") -> subprocess.CompletedProcess:
    return subprocess.run([os.environ["TIDEMARK_PROMTOOL"], *words], input=given, capture_output=True, text=True, cwd=MONITORING, timeout=120)


def board_queries() -> list[str]:
    return [query for file in BOARDS.glob("*.json") for queries in panels(file.stem).values() for query in queries]


def asked_for() -> set[str]:
    variables = [variable["query"]["query"] for file in BOARDS.glob("*.json") for variable in json.loads(file.read_text())["templating"]["list"] if variable["type"] == "query"]
    rules = [rule for name in ("alerts", "rules") for rule in re.findall(r"^    expr: \|\n((?:      .*\n)+)", (MONITORING / f"{name}.yaml").read_text(), re.M)]
    return {name for query in [*board_queries(), *variables, *rules] for name in METRIC.findall(query)}


@needs_promtool
class Rules(unittest.TestCase):
    def test_promtool_accepts_the_rules(self):
        done = promtool("check", "rules", "--lint=all", "--lint-fatal", "alerts.yaml", "rules.yaml")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)

    def test_each_alert_is_silent_in_health_and_fires_in_its_trouble(self):
        done = promtool("test", "rules", "alerts_test.yaml")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)

    def test_recorded_series_have_the_values_of_their_inputs(self):
        done = promtool("test", "rules", "rules_test.yaml")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)

    def test_every_query_of_the_boards_parses(self):
        rules = [{"record": f"board:{number}", "expr": with_choices(expr)} for number, expr in enumerate(board_queries())]
        done = promtool("check", "rules", "--lint=none", "/dev/stdin", given=json.dumps({"groups": [{"name": "board", "rules": rules}]}))
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertGreater(len(rules), 60)

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
        wanted = {"Leaders (wanted: 1)": 1, "Changes of leader": 0}
        exprs = {title: panels("manager")[title][0].replace("$__rate_interval", "5m").replace("$namespace", ".+") for title in wanted}
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
    def test_the_chart_ships_the_same_rules_and_boards(self):
        rendered = chart.template({"prometheusRule": {"create": True}, "dashboard": {"create": True}}, "--show-only", "templates/monitoring.yaml")
        specs = self.specs(rendered)
        self.assertEqual(2, len(specs))
        for spec in specs:
            done = promtool("check", "rules", "--lint=all", "--lint-fatal", "/dev/stdin", given=spec)
            self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        boards = dict(re.findall(r"^  tidemark-(\w+).json: \|\n(.*?)(?=^  tidemark-|^---|\Z)", rendered, re.M | re.S))
        self.assertEqual({file.stem: json.loads(file.read_text()) for file in BOARDS.glob("*.json")}, {name: json.loads(text) for name, text in boards.items()})

    @chart.needs_helm
    def test_the_chart_ships_alerts_of_the_console_only_with_a_console(self):
        alerts = re.findall(r"^  - alert: (\w+)$", (MONITORING / "alerts.yaml").read_text(), re.M)
        of_console = {name for name in alerts if name.startswith("TidemarkConsole")}
        self.assertEqual(2, len(of_console))
        for console, wanted in ((CONSOLE, set(alerts)), ({}, set(alerts) - of_console)):
            rendered = chart.template({"prometheusRule": {"create": True}, **console}, "--show-only", "templates/monitoring.yaml")
            self.assertEqual(wanted, set(re.findall(r"alert: (\w+)$", self.specs(rendered)[0], re.M)))

    def specs(self, rendered: str) -> list[str]:
        return [re.sub(r"^  ", "", spec, flags=re.M) for spec in re.findall(r"^kind: PrometheusRule\n.*?^spec:\n(.*?)(?=^---|\Z)", rendered, re.M | re.S)]


@chart.needs_helm
class Scrapes(unittest.TestCase):
    PROGRAMS = {"agent": {"enabled": True}, "yarnOperator": {"enabled": True, "hadoopConf": {"yarn-site.xml": SITE}}, **CONSOLE,
                "gateway": {"enabled": True, "tlsSecret": "gateway-tls", "accessSecret": "gateway-access"}}

    def rendered(self, scrape: dict) -> str:
        return chart.template({"scrape": scrape, **self.PROGRAMS}, "--show-only", "templates/monitoring.yaml")

    def test_each_operator_gets_its_kind_and_each_page_one_endpoint(self):
        for operator, kind, other in (("prometheus", "PodMonitor", "VMPodScrape"), ("victoria-metrics", "VMPodScrape", "PodMonitor")):
            text = self.rendered({"online": {"create": True, "operator": operator}, "offline": {"create": True, "operator": operator, "interval": "90s"}})
            self.assertEqual(8, len(re.findall(rf"^kind: {kind}$", text, re.M)), "online and offline, of three programs; console and gateway")
            self.assertNotIn(f"kind: {other}", text)
            endpoints = re.findall(r"^    path: (\S+)\n    interval: (\w+)\n((?:    (?:relabel.*|- .*)\n)+)", text, re.M)
            pages = {path: (re.search(r"targetLabel: page, replacement: (\w+)", more) or [None, ""])[1] for path, _, more in endpoints}
            self.assertEqual(PAGES, pages, "tests/support/prometheus.py scrapes as the chart does")
            self.assertEqual({("/metrics", "30s"), ("/metrics/online", "30s"), ("/metrics/offline", "90s")}, {(path, interval) for path, interval, _ in endpoints})
            self.assertEqual(5 + 1 + 3, len(endpoints), "only agents have a page of online work")
            selected = dict(re.findall(r"^  name: (\S+)\n(?:.*\n)*?    matchLabels:\n(?:      .*\n)*?      app.kubernetes.io/component: (\S+)$", text, re.M))
            of_all = {"manager", "agent", "yarn-operator"}
            self.assertEqual({f"tidemark-{each}": each for each in of_all | {"console", "gateway"}} | {f"tidemark-{each}-offline": each for each in of_all}, selected)

    def test_the_two_configurations_have_labels_of_their_own(self):
        text = self.rendered({"online": {"create": True, "labels": {"for": "main"}}, "offline": {"create": True, "labels": {"for": "cheap"}}})
        for document in text.split("\n---\n"):
            if "kind: PodMonitor" in document:
                self.assertIn("for: cheap" if "-offline\n" in document else "for: main", document)

    def test_series_of_tasks_are_an_option(self):
        self.assertNotIn("cadvisor", self.rendered({"offline": {"create": True}}))
        for operator, kind in (("prometheus", "ServiceMonitor"), ("victoria-metrics", "VMServiceScrape")):
            text = self.rendered({"offline": {"create": True, "operator": operator, "tasks": True}})
            self.assertIn(f"kind: {kind}", text)
            rules = re.findall(r"^    - (\{.*\})$", text.split("cadvisor")[1], re.M)
            guide = (GUIDE.parents[1] / "monitoring.md").read_text()
            self.assertEqual(rules[:2] + [rules[3]], [rule for rule in rules if f"- {rule}\n" in guide], "the guide drops what this keeps")
            self.assertIn(f"- {rules[2].replace('keep', 'drop')}\n", guide)


class AgentMetrics(unittest.TestCase):
    def test_queried_agent_metrics_are_in_the_guide(self):
        """Tidy checks that the guide lists the metrics of the code."""
        listed = set(re.findall(r"^\| `(tidemark_[a-z0-9_]+)", GUIDE.read_text(), re.M))
        asked = {re.sub(r"_(bucket|count)$", "", name) for name in asked_for() if name.startswith(OF_AGENTS)}
        self.assertEqual(set(), asked - listed)
        self.assertGreater(len(asked), 5)


class Metrics(Monitored):
    def test_queried_metrics_exist(self):
        component = self.run_monitored_manager()

        def scrape() -> str:
            with urllib.request.urlopen(f"http://{component.metrics_address()}/all-metrics", timeout=10) as answer:
                return answer.read().decode()

        def missing() -> set[str]:
            there = set(re.findall(r"^([a-z0-9_]+)[{ ]", scrape(), re.M))
            return {name for name in asked_for() if not name.startswith((*OF_AGENTS, OF_YARN_OPERATORS, *OF_PAGES))} - there

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
        self.assertEqual(set(), asked - {name.split("{")[0] for name in operator.metrics()})

    def test_queried_console_and_gateway_metrics_exist(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "access.yaml").write_text(json.dumps({"schema": 1, "businesses": [{"name": "b"}], "users": [{"name": "a", "business": "b", "tokenSha256": ["0" * 64]}]}))
        pki = Path(os.environ["TIDEMARK_TEST_CA_FILE"]).parent
        there = set()
        for program, *flags in (
            ("console", "--host=localhost", f"--tls-cert-file={pki / 'server.crt'}", f"--tls-key-file={pki / 'server.key'}"),
            ("gateway", f"--data-dir={folder}", f"--access-file={folder / 'access.yaml'}", "--spark-image=i"),
        ):
            component = Component(program, "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "--listen=127.0.0.1:0", "--metrics-addr=127.0.0.1:0", *flags)
            self.addCleanup(component.stop)
            wait_for(component.ready, f"a ready {program}", component)
            there |= {name.split("{")[0] for name in component.metrics()}
        asked = {name for name in asked_for() if name.startswith(OF_PAGES)}
        self.assertGreater(len(asked), 3)
        self.assertEqual(set(), asked - there)


if __name__ == "__main__":
    unittest.main()
