"""deploy/ and its pages: alerts and runbooks belong together, and everything that they name exists. Needs no Go and no cluster."""

import fnmatch
import json
import re
import unittest
from pathlib import Path

from release import binaries
from support import images

ROOT = Path(__file__).parents[2]
MONITORING = ROOT / "deploy" / "monitoring"
RUNBOOKS = ROOT / "docs" / "runbooks"
CHART = ROOT / "deploy" / "chart"


def alerts() -> dict[str, str]:
    """The text of each alert."""
    parts = re.split(r"^  - alert: ", (MONITORING / "alerts.yaml").read_text(), flags=re.M)[1:]
    return {part.split("\n", 1)[0]: part for part in parts}


def boards() -> dict[str, dict]:
    return {file.stem: json.loads(file.read_text()) for file in (MONITORING / "boards").glob("*.json")}


def selectors() -> set[tuple[str, str, str, str]]:
    """Queries of the rules and the board: metric, label, operator and value."""
    queries = [target["expr"] for board in boards().values() for panel in board["panels"] for target in panel.get("targets", [])]
    for name in ("alerts.yaml", "rules.yaml"):
        queries += re.findall(r"^    expr: \|\n((?:      .*\n)+)", (MONITORING / name).read_text(), re.M)
    return {
        (metric, *selector)
        for query in queries
        for metric, braces in re.findall(r"\b((?:tidemark|slo_controller)_\w+)\{([^}]*)\}", query)
        for selector in re.findall(r'(\w+)\s*(=~|!=|!~|=)\s*"([^"]*)"', braces)
        if "$" not in selector[2]  # chosen by the reader of the board
    }


def sources() -> dict[Path, str]:
    """The source of the program without its tests."""
    found = {}
    for folder in ("agent", "kube", "manager", "net", "yarn_operator", "yarn_copilot"):
        for path in (ROOT / folder).rglob("*.cc"):
            if not path.stem.endswith(("_test", "_fuzz")) and "testing" not in path.parts:
                found[path] = path.read_text()
    return found


class LabelValues(unittest.TestCase):
    """A rule with a value that the code does not have never fires, and promtool accepts it. cluster/test_monitoring.py checks the metrics."""

    @classmethod
    def setUpClass(cls):
        cls.asked, cls.sources = selectors(), sources()
        cls.guide = (ROOT / "docs" / "guide" / "reference" / "metrics.md").read_text()
        cls.reasons = {name: id for name, id in re.findall(r'ReasonInfo\{Reason::(k\w+),\s*"(TM-[A-Z]+-\d+)"', (ROOT / "model" / "reason.cc").read_text())}

    def told_by(self, metric: str) -> list[Path]:
        return [path for path, text in self.sources.items() if f'"{metric}"' in text]

    def test_each_label_belongs_to_its_metric(self):
        self.assertGreaterEqual(len(self.asked), 5)
        for metric, label, _, _ in self.asked:
            labels = re.search(rf"^\| `{metric}\{{([a-z,]+)\}}`", self.guide, re.M)
            self.assertIsNotNone(labels, f"{metric} has no labels in the guide")
            self.assertIn(label, labels[1].split(","), metric)

    def test_each_reason_exists(self):
        policies = [path.read_text() for path in (ROOT / "policy").rglob("*.cc") if not path.stem.endswith(("_test", "_fuzz", "_text"))]
        named = {word for text in [*policies, *self.sources.values()] for word in re.findall(r"\bk[A-Z]\w+", text)}
        given = {id for name, id in self.reasons.items() if name in named}
        self.assertGreater(len(given), 100)
        asked = [(metric, value) for metric, label, _, value in self.asked if label == "reason" and value.startswith("TM-")]
        self.assertGreater(len(asked), 0)
        for metric, value in asked:
            first = [value] if value in given else [id for id in given if re.fullmatch(value, id)]
            self.assertNotEqual([], first, f"{metric}: no code gives the reason {value}")
            for alternative in re.findall(r"\[(\w+)\]", value)[-1:]:  # both of TM-EVICT-01[67]
                self.assertEqual(len(alternative), len(first), f"{metric}: of {value} there is only {first}")

    def test_each_other_value_is_in_the_code_of_the_metric(self):
        asked = [(metric, label, word) for metric, label, operator, value in self.asked if not value.startswith("TM-") for word in (value.split("|") if "~" in operator else [value])]
        self.assertGreater(len(asked), 3)
        for metric, label, word in asked:
            files = self.told_by(metric)
            self.assertNotEqual([], files, metric)
            components = {path.relative_to(ROOT).parts[0] for path in files}
            # A queue's metrics are in kube, and its name is in the code that creates it.
            named_elsewhere = label == "component" and components == {"kube"}
            texts = self.sources.values() if named_elsewhere else [self.sources[path] for path in files]
            self.assertTrue(any(re.search(rf'\\?"{re.escape(word)}\\?"', text) for text in texts), f"{metric}: no {label} of it is called {word}")


class Boards(unittest.TestCase):
    def test_each_panel_has_a_title_a_unit_and_a_description(self):
        self.assertEqual({"agents", "manager", "money", "offline", "online", "yarn"}, set(boards()))
        for name, board in boards().items():
            panels = [panel for panel in board["panels"] if panel["type"] != "row"]
            titles = [panel["title"] for panel in panels]
            self.assertEqual(len(set(titles)), len(titles), f"{name}: a title is used twice")
            for panel in panels:
                place = f"{name}: {panel['title']}"
                self.assertTrue(panel["title"] and panel["description"].endswith("."), place)
                self.assertTrue(panel["fieldConfig"]["defaults"]["unit"], place)
                self.assertEqual({"type": "prometheus", "uid": "${datasource}"}, panel["datasource"], place)
                for target in panel["targets"]:
                    self.assertIn('namespace=~"$namespace"', target["expr"], place)
                    self.assertNotRegex(target["expr"], r"(rate|increase)\([^()]*\[\d+m\]", f"{place}: use $__rate_interval")

    def test_a_board_fits_any_grafana(self):
        for name, board in boards().items():
            self.assertNotIn("uid", board, f"{name}: two installations would share it")
            self.assertEqual("datasource", board["templating"]["list"][0]["type"], name)

    def test_recorded_series_of_the_boards_exist(self):
        recorded = set(re.findall(r"^  - record: (\S+)$", (MONITORING / "rules.yaml").read_text(), re.M))
        asked = {name for board in boards().values() for panel in board["panels"] for target in panel.get("targets", []) for name in re.findall(r"\w+:\w+:\w+", target["expr"])}
        self.assertEqual(set(), asked - recorded)
        inputs = (MONITORING / "rules.yaml").read_text() + (MONITORING / "alerts.yaml").read_text()
        unread = {name for name in recorded - asked if len(re.findall(rf"\b{name}\b", inputs)) < 2}
        self.assertEqual(set(), unread, "nothing reads these")


class Alerts(unittest.TestCase):
    def test_each_alert_has_a_page_and_each_page_an_alert(self):
        pages = {page.stem for page in RUNBOOKS.glob("*.md")} - {"README"}
        self.assertEqual(set(alerts()), pages)
        listed = re.findall(r"^\| \[(\w+)\]\((\w+)\.md\) \| (\w+) \|", (RUNBOOKS / "README.md").read_text(), re.M)
        self.assertEqual([(name, name) for name in alerts()], [(name, page) for name, page, _ in listed])
        for name, _, severity in listed:
            self.assertIn(f"severity: {severity},", alerts()[name], name)

    def test_each_alert_names_its_page_and_the_page_says_what_to_do(self):
        for name, text in alerts().items():
            self.assertIn(f"runbook: docs/runbooks/{name}.md\n", text)
            page = (RUNBOOKS / f"{name}.md").read_text()
            summary = re.search(r'summary: "(.*)"', text)[1]
            self.assertIn(summary, page)
            for heading in ("## Meaning", "## Check", "## Repair"):
                self.assertIn(heading, page, name)

    def test_each_alert_is_tested_to_fire(self):
        tests = (MONITORING / "alerts_test.yaml").read_text()
        fires = set(re.findall(r"alertname: (\w+)\n    exp_alerts:\n    - exp_labels", tests))
        self.assertEqual(set(alerts()), fires)


class NodeManagerImage(unittest.TestCase):
    FOLDER = ROOT / "deploy" / "node-manager"

    def test_copied_files_may_be_copied_and_exist_or_are_hadoops(self):
        text = (self.FOLDER / "Dockerfile").read_text()
        allowed = [line[1:] for line in (self.FOLDER / "Dockerfile.dockerignore").read_text().splitlines() if line.startswith("!")]
        copied = re.findall(r"^COPY (?:--\S+ )*(\S+) \S+$", text, re.M)
        self.assertGreater(len(copied), 5)
        for source in copied:
            top = source.split("/")[0]
            self.assertTrue(any(fnmatch.fnmatch(top, pattern) for pattern in allowed), top)
            self.assertTrue(top == "hadoop-${HADOOP_VERSION}" or (self.FOLDER / top).exists(), top)
        version = re.search(r"^ARG HADOOP_VERSION=(\S+)$", text, re.M)[1]
        self.assertIn(f"<hadoop.version>{version}</hadoop.version>", (ROOT / "tests/support/yarn/pom.xml").read_text(), "what the tests run")
        self.assertIn(f"    tag: {version}\n", (CHART / "values.yaml").read_text())

    def test_the_native_program_is_where_a_generated_yarn_site_expects_it(self):
        text = (self.FOLDER / "Dockerfile").read_text()
        constants = (ROOT / "cli" / "yarn" / "node_manager_site.h").read_text()
        program, group = (re.search(rf'{name} = "(.*)"', constants)[1] for name in ("kNodeExecutor", "kNodeExecutorGroup"))
        self.assertRegex(text, rf"(?m)^COPY --chown=root:{group} --chmod=6050 \S+/bin/container-executor {program}$")
        self.assertIn(f"executor.group={group}\n", (self.FOLDER / "container-executor.cfg").read_text())

    def test_the_chart_mounts_the_directories_of_a_generated_yarn_site(self):
        constants, values = (ROOT / "cli" / "yarn" / "node_manager_site.h").read_text(), (CHART / "values.yaml").read_text()
        for name, line in (("kNodeLocalDir", "localDirs: [{}]"), ("kNodeLogDir", "logDirs: [{}]"), ("kNodeRecoveryDir", "recoveryDir: {}")):
            self.assertIn(line.format(re.search(rf'{name} = "(.*)"', constants)[1]), values)


class Image(unittest.TestCase):
    DOCKERFILE = ROOT / "deploy" / "image" / "Dockerfile"

    def test_it_copies_the_files_of_a_release(self):
        """The pattern of each executable matches only its file of `./dev release`, for each architecture."""
        text = self.DOCKERFILE.read_text()
        programs = re.search(r"for program in (.*?);", text)[1].split()
        self.assertEqual(list(images.PROGRAMS), programs)
        pattern = re.search(r"install -m 0755 /(\S+) /image/\$program;", text)[1]
        for architecture in ("amd64", "arm64"):
            files = [f"dist/{binaries.file_name(architecture, program)}" for program in programs]
            for file, program in zip(files, programs):
                wanted = pattern.replace("${TARGETARCH}", architecture).replace("$program", program)
                self.assertEqual([file], fnmatch.filter([*files, *(f"{each}.spdx.json" for each in files)], wanted))
        self.assertEqual("*\n!dist\n", Path(f"{self.DOCKERFILE}.dockerignore").read_text())

    def test_the_time_zones_are_where_the_manager_looks(self):
        text = self.DOCKERFILE.read_text()
        self.assertIn("COPY --from=files /usr/share/zoneinfo /usr/share/zoneinfo\n", text)
        self.assertIn('"/usr/share/zoneinfo/"', (ROOT / "main" / "zones.cc").read_text())
        self.assertTrue(Path("/usr/share/zoneinfo/Europe/Berlin").exists(), "Debian's tzdata puts them there")

    def test_it_runs_as_the_user_in_the_chart(self):
        user = re.search(r"^USER (\d+):(\d+)$", self.DOCKERFILE.read_text(), re.M)
        pod = (CHART / "templates" / "deployment.yaml").read_text()
        self.assertIn(f"runAsUser: {user[1]}\n        runAsGroup: {user[2]}\n", pod)
        self.assertIn("command: [/tidemark, manager]", pod)


class Chart(unittest.TestCase):
    def test_shared_files_of_the_chart_are_links(self):
        for link in (CHART / "crds", CHART / "files" / "alerts.yaml", CHART / "files" / "rules.yaml", CHART / "files" / "boards"):
            self.assertTrue(link.is_symlink(), link)
            self.assertTrue(link.exists(), link)

    def test_every_value_is_in_the_schema(self):
        """Also the opposite: helm refuses a value that the schema does not have, and here the schema has no unused name."""
        schema = json.loads((CHART / "values.schema.json").read_text())
        values = re.findall(r"^(\w+):", (CHART / "values.yaml").read_text(), re.M)
        self.assertEqual(sorted(set(schema["properties"]) - {"global"}), sorted(values))
        self.assertFalse(schema["additionalProperties"])

    def test_its_version_is_ours(self):
        ours = re.search(r"project\(tidemark VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
        chart = (CHART / "Chart.yaml").read_text()
        self.assertIn(f'\nappVersion: "{ours}"', chart)
        self.assertIn(f"\nversion: {ours} ", chart)


if __name__ == "__main__":
    unittest.main()
