"""Scenario files on the real API server: what people and agents do, and what nodes then offer, in words (tests/cluster/scenarios).

One manager carries all of them out at the same time, each on nodes and in a pool of its own. Before `manager` stands what it finds.

    pool TEXT, calendar TEXT          of this scenario's pool and calendar in tidemark-config, as YAML between braces
    node NAME [carries MILLI]         32 cores, 128Gi, of which 60 % may be used; it carries so much batch-cpu already
    report NAME cpu N                 its agent reports, again and again; silent NAME: no more
    online|batch|pod NAME on NODE …   a pod, requesting `cpu` cores or `batch-cpu` milli-cores; with `uses N` it is in the reports
    evict PODS, ends POD              as a kubelet leaves it
    annotate NODE KEY TEXT, tidemark WORDS
    > NODE offers MILLI|nothing, > NODE offers yarn MILLI, > NODE says REASON, > NODE rises to MILLI by at most MILLI a second
"""

import json
import os
import re
import subprocess
import threading
import time
import traceback
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cluster import colocation
from cluster.colocation import MERGE, SETTINGS, must
from cluster.test_manager import CAPACITY, WithApi, quantity
from cluster.tidemark_process import Component, explain

FOLDER = Path(__file__).parent / "scenarios"
PODS = "/api/v1/namespaces/default/pods"
BATCH = "kubernetes.io/batch-cpu"
LIMIT_S = 120
LOOK_S = 0.25
GRACE_S = 10  # between a cut and the report that this clock begins at lies whatever a busy machine needs
NOTHING = {"cpu": "0", "memory": "0"}


class Scenario:
    def __init__(self, path: Path):
        self.name = path.stem.replace("_", "-")
        lines = [(number, line.split("#")[0].rstrip() if not line.startswith("annotate") else line.rstrip()) for number, line in enumerate(path.read_text().splitlines(), 1)]
        lines = [(number, line) for number, line in lines if line]
        begin = next(i for i, (_, line) in enumerate(lines) if line == "manager")
        self.path, self.before, self.after = path, lines[:begin], lines[begin + 1 :]
        self.pool = [line.split(None, 1)[1] for _, line in self.before if line.startswith("pool ")]
        self.calendar = [line.split(None, 1)[1] for _, line in self.before if line.startswith("calendar ")]
        self.nodes: set[str] = set()
        self.pods: dict[str, str] = {}  # name → node
        self.uses: dict[str, dict] = {}  # pod → its part of a report
        self.reports: dict[str, int] = {}  # node → cores
        self.grows_from: dict[str, tuple[float, int]] = {}  # node → when it was reported last otherwise, and its offer then
        self.failure = ""

    def config(self) -> tuple[str, str]:
        calendar = [f"calendar: {self.name}"] if self.calendar else []
        pool = ", ".join([f"name: {self.name}", f"nodeSelector: {{matchLabels: {{pool: {self.name}}}}}", *calendar, *self.pool])
        return f"- {{{pool}}}\n", "".join(f"- {{name: {self.name}, {text}}}\n" for text in self.calendar)

    def prepare(self, api) -> None:
        self.api = api
        for number, line in self.before:
            if not line.startswith(("pool ", "calendar ")):
                self.do(number, line)

    def run(self, component: Component) -> None:
        self.api, self.component = colocation.client(), component
        try:
            for number, line in self.after:
                self.do(number, line)
        except Exception:  # told by the test, with the others'
            self.failure = traceback.format_exc(limit=-3)
        finally:
            self.api.close()

    def node(self, name: str) -> str:
        return f"{self.name}-{name}"

    def do(self, number: int, line: str) -> None:
        self.place = f"{self.path.name}:{number}: {line}"
        word, rest = line.split(None, 1)
        words = rest.split()
        if word == ">":
            return self.expect(words)
        getattr(self, f"do_{word}")(words, rest)

    # -- what people and agents do

    def do_node(self, words, _) -> None:
        name = self.node(words[0])
        self.nodes.add(name)
        carried = {BATCH: words[2], "kubernetes.io/batch-memory": "1Gi"} if words[1:2] == ["carries"] else {}
        amounts = {**CAPACITY, **carried}
        origin = {colocation.ORIGIN: json.dumps({"resources": carried})} if carried else {}
        colocation.put_node(self.api, name, capacity=amounts, labels={"pool": self.name}, annotations=origin)

    def do_report(self, words, _) -> None:
        node = self.node(words[0])
        if node not in self.grows_from or hasattr(self, "component"):
            self.grows_from[node] = (time.monotonic(), self.offered(node) or 0)  # before anybody can go by the report
        self.reports[node] = int(words[2])
        self.report()

    def do_silent(self, words, _) -> None:
        del self.reports[self.node(words[0])]

    def report(self) -> None:
        for node, cores in self.reports.items():
            used = {"resources": {"cpu": str(cores), "memory": "4Gi"}}
            pods = [part for pod, part in self.uses.items() if self.pods[pod] == node]
            colocation.put_metric(self.api, node, {"nodeMetric": {"nodeUsage": used, "systemUsage": used}, "podsMetric": pods})

    def put_pod(self, words, prio: str, qos: str) -> None:
        name, node, fields = self.node(words[0]), self.node(words[2]), dict(zip(words[3::2], words[4::2]))
        requests = {"cpu": fields["cpu"], "memory": "1Gi"} if "cpu" in fields else {BATCH: fields["batch-cpu"], "kubernetes.io/batch-memory": "1Gi"}
        colocation.put_pod(self.api, node, {"name": name, "prio": prio, "qos": qos, "requests": requests, "phase": "Running"})
        self.pods[name] = node
        if "uses" in fields:
            usage = {"resources": {"cpu": fields["uses"], "memory": "1Gi"}}
            self.uses[name] = {"name": name, "namespace": "default", "priority": prio, "qos": qos, "podUsage": usage}

    def do_pod(self, words, _) -> None:
        self.put_pod(words, "koord-batch", "BE")

    do_batch = do_pod

    def do_online(self, words, _) -> None:
        self.put_pod(words, "koord-prod", "LS")

    def set_status(self, pod: str, status: dict) -> None:
        self.uses.pop(self.node(pod), None)
        must(self.api.request("PATCH", f"{PODS}/{self.node(pod)}/status", {"status": status}, content=MERGE))

    def do_evict(self, words, _) -> None:
        for pod in words:
            self.set_status(pod, {"phase": "Failed", "reason": "Evicted"})

    def do_ends(self, words, _) -> None:
        self.set_status(words[0], {"phase": "Succeeded"})

    def do_annotate(self, words, rest) -> None:
        _, key, text = rest.split(None, 2)
        must(self.api.request("PATCH", f"/api/v1/nodes/{self.node(words[0])}", {"metadata": {"annotations": {key: text}}}, content=MERGE))

    def do_tidemark(self, _, rest) -> None:
        text = re.sub(r"{node (\S+)}", lambda match: self.node(match[1]), rest.replace("{pool}", self.name))
        done = subprocess.run(
            [os.environ["TIDEMARK_BINARY"], *text.split(), "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"]], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=90
        )
        assert done.returncode == 0, f"{self.place}: {done.stderr}"

    # -- what is to come of it

    def wait(self, question, found) -> None:
        deadline = time.monotonic() + LIMIT_S
        while not question():
            assert self.component.process.poll() is None, f"{self.place}: the manager ended"
            assert time.monotonic() < deadline, f"{self.place}: found {found()}"
            self.report()
            time.sleep(LOOK_S)

    def offered(self, node: str) -> int | None:
        amount = colocation.offered(self.api, node).get(BATCH)
        return None if amount is None else quantity(amount)

    def expect(self, words: list[str]) -> None:
        node, verb, *rest = self.node(words[0]), *words[1:]
        if verb == "says":
            self.wait(lambda: rest[0] in explain(node, "-o", "json").stdout, lambda: explain(node).stdout)
        elif rest[0] == "yarn":
            self.wait(lambda: self.yarn(node) == int(rest[1]), lambda: self.yarn(node))
        elif verb == "offers":
            wanted = None if rest == ["nothing"] else int(rest[0])
            self.wait(lambda: self.offered(node) == wanted, lambda: self.offered(node))
        else:
            self.rises(node, int(rest[1]), int(rest[5]))

    def yarn(self, node: str) -> int | None:
        text = must(self.api.request("GET", f"/api/v1/nodes/{node}"))["metadata"].get("annotations", {}).get("tidemark.io/yarn-offer")
        return None if text is None else quantity(json.loads(text)["resources"][BATCH])

    def rises(self, node: str, wanted: int, a_second: int) -> None:
        """What is seen was decided before: since the beginning it can have grown by no more than this."""
        began, first = self.grows_from[node]

        def there() -> bool:
            now = self.offered(node) or 0
            most = first + a_second * (time.monotonic() - began + GRACE_S)
            assert now <= most, f"{self.place}: {now} is more than {most:.0f}"
            return now == wanted

        self.wait(there, lambda: self.offered(node))
        assert wanted > first, f"{self.place}: it was there already"


class Scenarios(WithApi):
    def test_every_scenario(self):
        scenarios = [Scenario(path) for path in sorted(FOLDER.glob(os.environ.get("TIDEMARK_TEST_SCENARIO", "*") + ".txt"))]
        self.assertGreater(len(scenarios), 0)
        self.addCleanup(self.api.request, "DELETE", f"{SETTINGS}/tidemark-state")
        colocation.put_settings(self.api, {"enable": True})
        pools, calendars = zip(*(each.config() for each in scenarios))
        text = f"schema: 1\nmode: enforce\nrollout: {{pace: at-once}}\ncalendars:\n{''.join(calendars)}pools:\n{''.join(pools)}"
        must(self.api.request("POST", SETTINGS, {"metadata": {"name": colocation.TIDEMARK_CONFIG}, "data": {"config.yaml": text}}))
        for each in scenarios:
            each.prepare(self.api)
        self.nodes = [node for each in scenarios for node in each.nodes]
        component = self.run_manager("--leader-elect=false", "--kube-api-qps=500", "--kube-api-burst=500")
        with ThreadPoolExecutor(len(scenarios)) as pool:
            list(pool.map(lambda each: each.run(component), scenarios))
        self.assertEqual([], [each.failure for each in scenarios if each.failure], component.log[-2000:])


if __name__ == "__main__":
    unittest.main()
