"""One scenario file of tests/cluster/scenarios: the actions of people and agents, and the expected offers of nodes, in words.

One manager runs all files at the same time, each with its own nodes and pool. Lines before `manager` describe what the manager finds. Amounts are
CPU/MEMORY. In expectations, a single number is milli-cores of CPU, memory is in bytes, and batch is the default.

    settings JSON                     of this scenario's nodes, in colocation-config
    normalization JSON, amplification JSON    the same in cpu-normalization-config and resource-amplification-config, which are off for all others
    pool TEXT, calendar TEXT          of this scenario's pool and calendar in tidemark-config, as YAML between braces
    node NAME [carries MILLI] [allocatable C/M]    32 cores, 128Gi, of which 60 % and 65 % may be used; `carries`: the batch-cpu that it already has
    could-offer NAME MILLI            the least that it could offer recently, at any hour of the day, as an earlier manager stored it
    zones NAME N                      its NodeResourceTopology, with so many equal zones
    cpu NAME [hyper-thread] [turbo] MODEL    the CPU facts that its agent reports there
    report NAME WORDS                 its agent reports repeatedly; silent NAME: it stops. `cpu N`: the system uses N cores and 4Gi; or each by its
                                      name: node C/M, system C/M, reclaimable C/M, host C/M and gone C/M (online, on the host and of a deleted
                                      pod); age MINUTES
    online|batch|pod NAME on NODE …   a pod, requesting `cpu` cores, `batch-cpu` milli-cores or `request` C/M; with `uses C[/M]` it is in the reports;
                                      qos, prio, phase, of: its StatefulSet, class: transcode (order 10) or spark (30), and numa: the places of its zones
    overwrites NODE MILLI             another manager writes this amount of batch-cpu
    uses POD C/M, evict PODS, ends POD    its use in reports; evicted as a kubelet leaves it; ended
    annotate|label NODE KEY TEXT, tidemark WORDS    the text `-` removes it
    yarn NODE holds MILLI [waits MILLI] [class NAME] [frozen]    YARN's operator keeps its ledger on the node and acts on each offer that it sees; a frozen one on none
    preempted NODE N                  YARN's operator ended N containers there for more timely work
    > NODE offers [mid|yarn] AMOUNT|nothing, > NODE offers at most MILLI, > NODE origin AMOUNT, > NODE zone PLACE offers AMOUNT
    > NODE annotation KEY TEXT        the text `-` means no annotation
    > NODE returns CLASS MILLI keeps MILLI|nothing    of its pods, as in its NodeSLO
    > NODE may evict N                within an hour, as in its NodeSLO; > pool yarn-operator may end N, as in tidemark-budgets
    > pool used N of its hour, > pool has none left    as `tidemark report budgets` says
    > NODE says REASON, > NODE rises to MILLI by at most MILLI a second

{now-2h30m} in any line is that moment in UTC, to the minute, and {hour+2h} is that hour of the day.
"""

import datetime
import json
import os
import re
import subprocess
import time
import traceback
from pathlib import Path

from cluster import colocation, history
from cluster.colocation import MERGE, must
from cluster.test_manager import CAPACITY, quantity
from cluster.tidemark_process import Component, explain
from support.patience import PATIENCE_S

PODS = "/api/v1/namespaces/default/pods"
TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"
BATCH = "kubernetes.io/batch-cpu"
BOOK = "tidemark.io/yarn-book"
ANOTHER = "another-manager"
CPU_INFO = "node.koordinator.sh/cpu-basic-info"
CLASSES = "[{name: transcode, order: 10}, {name: spark, order: 30}]"
# Settings of a scenario's nodes, by keyword.
NODE_SETTINGS = {"settings": "colocation-config", "normalization": "cpu-normalization-config", "amplification": "resource-amplification-config"}
ONLINE = {"priority": "koord-prod", "qos": "LS"}
LIMIT_S = 120 + PATIENCE_S  # a side without waiting work counts as content after two minutes
LOOK_S = 0.25
GRACE_S = 10  # a busy machine needs time between a cut and the report that starts this clock


def measured(text: str) -> dict:
    """Parses `CPU/MEMORY`; CPU alone goes with 1Gi."""
    cpu, _, memory = text.partition("/")
    return {"resources": {"cpu": cpu, "memory": memory or "1Gi"}}


def batch(cpu_milli: str, memory: str = "1Gi") -> dict[str, str]:
    return {BATCH: cpu_milli, "kubernetes.io/batch-memory": memory}


def filled_in(line: str, now: datetime.datetime) -> str:
    """The line with its {now…} and {hour…} replaced."""
    def shown(match: re.Match) -> str:
        away = datetime.timedelta(hours=int(match["hours"] or 0), minutes=int(match["minutes"] or 0))
        then = now - away if match["sign"] == "-" else now + away
        return then.strftime("%Y-%m-%dT%H:%M") if match["what"] == "now" else str(then.hour)

    return re.sub(r"{(?P<what>now|hour)(?:(?P<sign>[+-])(?:(?P<hours>\d+)h)?(?:(?P<minutes>\d+)m)?)?}", shown, line)


def status_of(words: list[str]) -> tuple[dict, float]:
    """An agent's report of its node without pods, and its age in minutes."""
    parts = dict(zip(words[::2], words[1::2], strict=True))
    if "cpu" in parts:
        parts["node"] = parts["system"] = f"{parts.pop('cpu')}/4Gi"
    age_minutes = float(parts.pop("age", "0"))
    system = measured(parts.pop("system"))
    status = {"nodeMetric": {"nodeUsage": measured(parts.pop("node")), "systemUsage": system}, "podsMetric": [], "hostApplicationMetric": []}
    reclaimable = measured(parts.pop("reclaimable")) if "reclaimable" in parts else {"resources": {}}
    status["prodReclaimableMetric"] = {"resource": reclaimable}
    if "host" in parts:
        status["hostApplicationMetric"] = [{**ONLINE, "name": "host", "usage": measured(parts.pop("host"))}]
    if "gone" in parts:
        status["podsMetric"] = [{**ONLINE, "name": "gone", "namespace": "default", "podUsage": measured(parts.pop("gone"))}]
    assert not parts, f"unknown words in a report: {', '.join(parts)}"
    return status, age_minutes * 60


def same(found: dict[str, str], kind: str, amount: str) -> bool:
    """Whether batch, or mid, has this amount; memory counts only if it is given."""
    names = [f"kubernetes.io/{'mid' if kind == 'mid' else 'batch'}-{name}" for name in ("cpu", "memory")]
    wanted = [None, None] if amount == "nothing" else [int(each) for each in amount.split("/")]
    return all(wanted == (quantity(found[name]) if name in found else None) for name, wanted in zip(names, wanted))


class Scenario:
    def __init__(self, path: Path):
        self.name = path.stem.replace("_", "-")
        lines = [(number, line.split("#")[0].rstrip() if not line.startswith("annotate") else line.rstrip()) for number, line in enumerate(path.read_text().splitlines(), 1)]
        now = datetime.datetime.now(datetime.timezone.utc)
        lines = [(number, filled_in(line, now)) for number, line in lines if line]
        begin = next(i for i, (_, line) in enumerate(lines) if line == "manager")
        self.path, self.before, self.after = path, lines[:begin], lines[begin + 1 :]
        self.settings = {key: [json.loads(line.split(None, 1)[1]) for _, line in self.before if line.startswith(f"{word} ")] for word, key in NODE_SETTINGS.items()}
        self.pool = [line.split(None, 1)[1] for _, line in self.before if line.startswith("pool ")]
        self.calendar = [line.split(None, 1)[1] for _, line in self.before if line.startswith("calendar ")]
        self.nodes: set[str] = set()
        self.pods: dict[str, str] = {}  # name → node
        self.uses: dict[str, dict] = {}  # pod → its part of a report
        self.reports: dict[str, tuple[dict, float]] = {}  # node → its report and the age of it
        self.books: dict[str, tuple[dict[str, str], bool]] = {}  # node → its ledger from YARN's operator, and whether that acts on offers
        self.preempted: list[dict] = []  # as YARN's operator reports it
        self.grows_from: dict[str, tuple[float, int]] = {}  # node → time of the last different report, and the offer then
        self.failure = ""

    def config(self) -> tuple[str, str]:
        calendar = [f"calendar: {self.name}"] if self.calendar else []
        pool = ", ".join([f"name: {self.name}", f"nodeSelector: {{matchLabels: {{pool: {self.name}}}}}", *calendar, *self.pool])
        return f"- {{{pool}}}\n", "".join(f"- {{name: {self.name}, {text}}}\n" for text in self.calendar)

    def node_configs(self, key: str) -> list[dict]:
        return [{"name": self.name, "nodeSelector": {"matchLabels": {"pool": self.name}}, **each} for each in self.settings[key]]

    def prepare(self, api) -> None:
        self.api = api
        for number, line in self.before:
            if line.split()[0] not in (*NODE_SETTINGS, "pool", "calendar"):
                self.do(number, line)

    def run(self, component: Component) -> None:
        self.api, self.component = colocation.client(), component
        try:
            for number, line in self.after:
                self.do(number, line)
        except Exception:  # reported by the test, with the failures of the others
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
            return self.expect_of_pool(words[1:]) if words[0] == "pool" else self.expect(words)
        getattr(self, f"do_{word.replace('-', '_')}")(words, rest)

    # -- actions of people and agents

    def do_node(self, words, _) -> None:
        name, fields = self.node(words[0]), dict(zip(words[1::2], words[2::2], strict=True))
        self.nodes.add(name)
        carried = {BATCH: fields["carries"], "kubernetes.io/batch-memory": "1Gi"} if "carries" in fields else {}
        allocatable = measured(fields["allocatable"])["resources"] if "allocatable" in fields else {}
        origin = {colocation.ORIGIN: json.dumps({"resources": carried})} if carried else {}
        amounts = {**CAPACITY, **carried}
        colocation.put_node(self.api, name, capacity=amounts, allocatable={**amounts, **allocatable}, labels={"pool": self.name}, annotations=origin)

    def do_could_offer(self, words, _) -> None:
        hours = ",".join([f"{words[1]}:0"] * 24)
        key, text = history.record(self.node(words[0]), schema=1, content=hours.encode())
        colocation.put_map(self.api, colocation.LEAST_OFFERS[0], {key: text})

    def do_zones(self, words, _) -> None:
        node, count = self.node(words[0]), int(words[1])
        cpu, memory = str(quantity(CAPACITY["cpu"]) // count), str(quantity(CAPACITY["memory"]) // count)
        amounts = [{"name": name, "capacity": amount, "allocatable": amount, "available": amount} for name, amount in (("cpu", cpu), ("memory", memory))]
        zones = [{"name": f"node-{i}", "type": "Node", "resources": amounts} for i in range(count)]
        self.api.request("DELETE", f"{TOPOLOGIES}/{node}")  # left by a killed run
        topology = {"apiVersion": "topology.node.k8s.io/v1alpha1", "kind": "NodeResourceTopology", "metadata": {"name": node}, "topologyPolicies": ["None"], "zones": zones}
        must(self.api.request("POST", TOPOLOGIES, topology))

    def do_cpu(self, words, _) -> None:
        flags = {"hyper-thread", "turbo"} & set(words[1:])
        says = {"cpuModel": " ".join(word for word in words[1:] if word not in flags), "hyperThreadEnabled": "hyper-thread" in flags, "turboEnabled": "turbo" in flags}
        change = {"metadata": {"annotations": {CPU_INFO: json.dumps(says)}}}
        must(self.api.request("PATCH", f"{TOPOLOGIES}/{self.node(words[0])}", change, content=MERGE))

    def do_overwrites(self, words, _) -> None:
        amounts = {BATCH: words[1]}
        change = {"status": {"capacity": amounts, "allocatable": amounts}}
        must(self.api.request("PATCH", f"/api/v1/nodes/{self.node(words[0])}/status", change, content=MERGE, fieldManager=ANOTHER))

    def do_preempted(self, words, _) -> None:
        node = self.node(words[0])
        self.preempted.append({"at": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ"), "class": "transcode", "evicted": int(words[1])})
        text = json.dumps({"schema": 1, "ends": self.preempted})
        must(self.api.request("PATCH", f"/api/v1/nodes/{node}", {"metadata": {"annotations": {"tidemark.io/yarn-preempted": text}}}, content=MERGE))

    def do_report(self, words, _) -> None:
        node = self.node(words[0])
        if node not in self.grows_from or hasattr(self, "component"):
            self.grows_from[node] = (time.monotonic(), self.offered(node) or 0)  # before the manager can use the report
        self.reports[node] = status_of(words[1:])
        self.report()

    def do_silent(self, words, _) -> None:
        del self.reports[self.node(words[0])]

    def report(self) -> None:
        for node, (status, age_s) in self.reports.items():
            pods = [part for pod, part in self.uses.items() if self.pods[pod] == node]
            colocation.put_metric(self.api, node, {**status, "podsMetric": [*status["podsMetric"], *pods]}, age_s)

    def put_pod(self, words, prio: str, qos: str) -> None:
        name, node, fields = self.node(words[0]), self.node(words[2]), dict(zip(words[3::2], words[4::2], strict=True))
        prio, qos = fields.pop("prio", prio), fields.pop("qos", qos)
        asked = fields.pop("request", fields.pop("cpu", None))
        requests = measured(asked)["resources"] if asked else {BATCH: fields.pop("batch-cpu"), "kubernetes.io/batch-memory": "1Gi"}
        owner = {"of": f"{self.name}-{fields.pop('of')}"} if "of" in fields else {}
        colocation.put_pod(self.api, node, {"name": name, "prio": prio, "qos": qos, "requests": requests, "phase": fields.pop("phase", "Running"), **owner})
        self.pods[name] = node
        if "class" in fields:
            must(self.api.request("PATCH", f"{PODS}/{name}", {"metadata": {"labels": {"tidemark.io/class": fields.pop("class")}}}, content=MERGE))
        if "numa" in fields:
            placed = json.dumps({"numaNodeResources": [{"node": int(place)} for place in fields.pop("numa").split(",")]})
            must(self.api.request("PATCH", f"{PODS}/{name}", {"metadata": {"annotations": {"scheduling.koordinator.sh/resource-status": placed}}}, content=MERGE))
        if "uses" in fields:
            self.uses[name] = {"name": name, "namespace": "default", "priority": prio, "qos": qos, "podUsage": measured(fields.pop("uses"))}
        assert not fields, f"{self.place}: unknown words of a pod: {', '.join(fields)}"

    def do_pod(self, words, _) -> None:
        self.put_pod(words, "koord-batch", "BE")

    do_batch = do_pod

    def do_online(self, words, _) -> None:
        self.put_pod(words, "koord-prod", "LS")

    def do_uses(self, words, _) -> None:
        self.uses[self.node(words[0])]["podUsage"] = measured(words[1])

    def do_yarn(self, words, _) -> None:
        node, frozen = self.node(words[0]), words[-1] == "frozen"
        self.books[node] = (dict(zip(words[1:-1:2], words[2::2])) if frozen else dict(zip(words[1::2], words[2::2], strict=True)), not frozen)
        self.keep_books()

    def keep_books(self) -> None:
        for node, (says, acts) in self.books.items():
            marks = must(self.api.request("GET", f"/api/v1/nodes/{node}"))["metadata"].get("annotations", {})
            before = json.loads(marks.get(BOOK, "{}"))
            offer = json.loads(marks.get("tidemark.io/yarn-offer", "{}"))
            acted = {"generation": offer.get("generation", 0), "confirmed": offer.get("resources", batch("0", "0"))}
            if not acts and before:
                acted = {name: before[name] for name in acted}
            work = says.get("class", "")
            book = {"schema": 1, **acted, "sold": [{"class": work, "resources": batch(says["holds"])}]}
            if "waits" in says:
                book |= {"waiting": work, "waitingFor": batch(says["waits"])}
            if book != before:
                must(self.api.request("PATCH", f"/api/v1/nodes/{node}", {"metadata": {"annotations": {BOOK: json.dumps(book)}}}, content=MERGE))

    def set_status(self, pod: str, status: dict) -> None:
        self.uses.pop(self.node(pod), None)
        must(self.api.request("PATCH", f"{PODS}/{self.node(pod)}/status", {"status": status}, content=MERGE))

    def do_evict(self, words, _) -> None:
        for pod in words:
            self.set_status(pod, {"phase": "Failed", "reason": "Evicted"})

    def do_ends(self, words, _) -> None:
        self.set_status(words[0], {"phase": "Succeeded"})

    def mark(self, kind: str, rest: str) -> None:
        node, key, text = rest.split(None, 2)
        change = {"metadata": {kind: {key: None if text == "-" else text}}}
        must(self.api.request("PATCH", f"/api/v1/nodes/{self.node(node)}", change, content=MERGE))

    def do_annotate(self, _, rest) -> None:
        self.mark("annotations", rest)

    def do_label(self, _, rest) -> None:
        self.mark("labels", rest)

    def do_tidemark(self, _, rest) -> None:
        text = re.sub(r"{node (\S+)}", lambda match: self.node(match[1]), rest.replace("{pool}", self.name))
        done = subprocess.run(
            [os.environ["TIDEMARK_BINARY"], *text.split(), "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"]], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=90
        )
        assert done.returncode == 0, f"{self.place}: {done.stderr}"

    # -- expectations

    def wait(self, question, found) -> None:
        deadline = time.monotonic() + LIMIT_S
        while not question():
            assert self.component.process.poll() is None, f"{self.place}: the manager ended"
            assert time.monotonic() < deadline, f"{self.place}: found {found()}"
            self.report()
            self.keep_books()
            time.sleep(LOOK_S)

    def offered(self, node: str) -> int | None:
        amount = colocation.offered(self.api, node).get(BATCH)
        return None if amount is None else quantity(amount)

    def expect(self, words: list[str]) -> None:
        node, verb, *rest = self.node(words[0]), *words[1:]
        if verb == "says":
            self.wait(lambda: rest[0] in explain(node, "-o", "json").stdout, lambda: explain(node).stdout)
        elif rest[:2] == ["at", "most"]:
            self.wait(lambda: (self.offered(node) or 0) <= int(rest[2]), lambda: f"{self.offered(node)}\n{explain(node).stdout}")
        elif verb == "annotation":
            key, text = rest
            self.wait(lambda: self.annotation(node, key) == (None if text == "-" else text), lambda: f"{self.annotation(node, key)}\n{explain(node).stdout}")
        elif verb == "returns":
            wanted = [] if rest[0] == "nothing" else [(rest[0], int(rest[1]), int(rest[3]))]
            self.wait(lambda: self.returns(node) == wanted, lambda: f"{self.returns(node)}\n{explain(node).stdout}")
        elif verb == "may":
            self.wait(lambda: self.granted(node) == int(rest[1]), lambda: self.granted(node))
        elif verb == "rises":
            self.rises(node, int(rest[1]), int(rest[5]))
        else:
            place = int(rest.pop(0)) if verb == "zone" else None
            verb = rest.pop(0) if verb == "zone" else verb
            kind, amount = rest if len(rest) == 2 else ("batch", rest[0])
            found = {"origin": lambda: colocation.origin(self.api, node), "offers": lambda: self.carried(node, kind, place)}[verb]
            self.wait(lambda: same(found() or {}, kind, amount), lambda: f"{found()}\n{explain(node).stdout}")

    def expect_of_pool(self, words: list[str]) -> None:
        question = {
            "yarn-operator": lambda shown: shown.get("yarnOperator", {}).get("perHour") == int(words[3]),
            "used": lambda shown: shown["lastHour"]["used"] == int(words[1]),
            "has": lambda shown: shown["exhausted"],
        }[words[0]]
        self.wait(lambda: question(self.budget()), self.budget)

    def budget(self) -> dict:
        words = ["report", "budgets", "--pool", self.name, "-o", "json", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"]]
        done = subprocess.run([os.environ["TIDEMARK_BINARY"], *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=90)
        return json.loads(done.stdout)["pools"][0] if done.returncode == 0 else {"lastHour": {"used": None}, "exhausted": False, "error": done.stderr}

    def carried(self, node: str, kind: str, place: int | None) -> dict[str, str]:
        if place is not None:
            zones = must(self.api.request("GET", f"{TOPOLOGIES}/{node}"))["zones"]
            return {each["name"]: each["available"] for each in zones[place]["resources"]}
        if kind == "yarn":
            text = must(self.api.request("GET", f"/api/v1/nodes/{node}"))["metadata"].get("annotations", {}).get("tidemark.io/yarn-offer")
            return {} if text is None else json.loads(text)["resources"]
        return colocation.offered(self.api, node)

    def annotation(self, node: str, key: str) -> str | None:
        return must(self.api.request("GET", f"/api/v1/nodes/{node}"))["metadata"].get("annotations", {}).get(key)

    def shown(self, node: str) -> dict:
        """Our part of the node's NodeSLO, beside Koordinator's settings."""
        found = self.api.request("GET", f"{colocation.NODESLOS}/{node}")
        shown = (found.get("spec.extensions") or {}) if found.status == 200 else {}
        return shown.get("Object", {}).get("tidemark", {})

    def granted(self, node: str) -> int | None:
        return self.shown(node).get("evictions", {}).get("perHour")

    def returns(self, node: str) -> list[tuple[str, int, int]]:
        asked = self.shown(node).get("reclaim", {}).get("classes", [])
        return [(each["class"], quantity(each["amount"][BATCH]), quantity(each["keep"][BATCH])) for each in asked]

    def rises(self, node: str, wanted: int, a_second: int) -> None:
        """The manager decided earlier than the offer is seen: since the beginning it can have grown by at most this."""
        began, first = self.grows_from[node]

        def there() -> bool:
            now = self.offered(node) or 0
            most = first + a_second * (time.monotonic() - began + GRACE_S)
            assert now <= most, f"{self.place}: {now} is more than {most:.0f}"
            return now == wanted

        self.wait(there, lambda: self.offered(node))
        assert wanted > first, f"{self.place}: it had that offer already"
