"""Debian's Prometheus for a test: it scrapes the pages of programs as the chart does, records by our rules, and answers the panels of our boards."""

import json
import math
import os
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from support import ports
from support.patience import PATIENCE_S

MONITORING = Path(__file__).parents[2] / "deploy" / "monitoring"
BOARDS = MONITORING / "boards"
PAGES = {"/metrics": "", "/metrics/online": "online", "/metrics/offline": "offline"}  # with the value of the label page
RANGE_S = 30  # of a panel, and of its rates
STEP_S = 5
CHOSEN = {"$__rate_interval": f"{RANGE_S}s", "$namespace": ".*", "$workload": ".*", "$price": "0.03"}


def panels(board: str) -> dict[str, list[str]]:
    """The queries of each panel, by title."""
    found = json.loads((BOARDS / f"{board}.json").read_text())["panels"]
    return {panel["title"]: [target["expr"] for target in panel["targets"]] for panel in found if panel["type"] != "row"}


def with_choices(query: str) -> str:
    for variable, value in CHOSEN.items():
        query = query.replace(variable, value)
    return query


class Prometheus:
    """`targets`: the metrics address of each program by its name. Only agents have a page of online work."""

    def __init__(self, targets: dict[str, str]):
        self._folder = tempfile.TemporaryDirectory(prefix="tidemark-prometheus-")
        folder = Path(self._folder.name)
        jobs = []
        for path, page in PAGES.items():
            scraped = {name: address for name, address in targets.items() if page != "online" or name == "agent"}
            statics = [{"targets": [address], "labels": {"namespace": "test", "pod": name, **({"page": page} if page else {})}} for name, address in scraped.items()]
            jobs.append({"job_name": path, "metrics_path": path, "static_configs": statics})
        rules = folder / "rules.yaml"
        rules.write_text((MONITORING / "rules.yaml").read_text().replace("  interval: 1m\n", ""))
        config = {"global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}, "rule_files": [str(rules)], "scrape_configs": jobs}
        (folder / "prometheus.yaml").write_text(json.dumps(config))
        port = ports.free(1)[0]
        self.url = f"http://127.0.0.1:{port}"
        self._log = open(folder / "log", "wb")
        self._process = subprocess.Popen(
            [os.environ["TIDEMARK_PROMETHEUS"], f"--config.file={folder / 'prometheus.yaml'}", f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address=127.0.0.1:{port}"],
            stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT,
        )
        deadline = time.monotonic() + PATIENCE_S
        while not self._ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                log = (folder / "log").read_text(errors="replace")
                self.stop()
                raise AssertionError(f"Prometheus did not start:\n{log[-3000:]}")
            time.sleep(0.1)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()
        self._log.close()
        self._folder.cleanup()

    def empty_panels(self, board: str) -> list[str]:
        """Panels of which no query has a number within the range."""
        return [title for title, queries in panels(board).items() if not any(self.numbers(query) for query in queries)]

    def numbers(self, query: str) -> list[float]:
        now = time.time()
        answer = self._get("/api/v1/query_range", query=with_choices(query), start=str(now - RANGE_S), end=str(now), step=str(STEP_S))
        values = [float(value) for series in answer["data"]["result"] for _, value in series["values"]]
        return [value for value in values if not math.isnan(value)]

    def now(self, query: str) -> list[float]:
        return [float(series["value"][1]) for series in self._get("/api/v1/query", query=query)["data"]["result"]]

    def down(self) -> list[str]:
        """Scrapes that fail, with their error."""
        targets = self._get("/api/v1/targets", state="active")["data"]["activeTargets"]
        return [f"{each['scrapeUrl']}: {each['lastError']}" for each in targets if each["health"] == "down"]

    def _ready(self) -> bool:
        try:
            with self._open("/-/ready") as answer:
                return answer.status == 200
        except OSError:
            return False

    def _get(self, path: str, **query: str) -> dict:
        try:
            with self._open(f"{path}?{urllib.parse.urlencode(query)}") as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{query}: {error.read().decode()}")

    def _open(self, path: str):
        return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(self.url + path, timeout=30)
