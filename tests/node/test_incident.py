"""`tidemark incident` on a real node: its answers about pods that were evicted, limited by us, limited by themselves, and not limited; and the same from the records of a collector."""

import json
import os
import re
import subprocess
import sys
import threading
import unittest
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cluster.tidemark_process import Component, wait_for
from node.evicting import LIMIT_S, Evicting
from node.test_agent import tearDownModule  # noqa: F401
from support.node import pods

OFFLINE = {"koordinator.sh/qosClass": "BE", "tidemark.io/class": "transcode"}
SMALL = {"batch-cpu": 100, "batch-memory": 64 << 20}
ROOMY = {"batch-cpu": 1000, "batch-memory": 64 << 20}


class Collector:
    """Stores the lines that it receives."""

    def __init__(self):
        self.lines: list[str] = []
        self.sources: set[str] = set()
        self.down = False
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                if not collector.down:
                    collector.lines += body.splitlines()
                    collector.sources.add(self.headers["x-tidemark-source"])
                self.send_response(503 if collector.down else 204)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/lines"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join(10)
        self._server.server_close()


class Incident(Evicting):
    WORKS = [
        pods.Work("web", pods.BURSTABLE, 20, 6),
        pods.Work("held", pods.BEST_EFFORT, 300, 6, labels=OFFLINE, batch=SMALL),
        pods.Work("going", pods.BEST_EFFORT, 5, 60, labels=OFFLINE, batch=ROOMY),
    ]

    @classmethod
    def setUpClass(cls):
        cls.collector = Collector()
        cls.addClassCleanup(cls.collector.close)
        super().setUpClass()

    @classmethod
    def machine(cls) -> list[str]:
        return [*super().machine(), "--stream-url", cls.collector.url]

    def incident(self, pod: str, *words: str, lines: list[str] | None = None) -> dict:
        done = subprocess.run(
            [os.environ["TIDEMARK_BINARY"], "incident", f"default/{pod}", "--last", "10m", "-o", "json", *(words or ("--state-dir", f"{self.state}/learned"))],
            input="\n".join(lines) if lines else None, stdin=None if lines else subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
        )
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def facts(self, report: dict) -> set[str]:
        return {each["fact"] for each in report["findings"]}

    def records(self) -> list[dict]:
        path = Path(self.state) / "learned/record.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def the_console_shows_the_same(self, ended: dict) -> None:
        console = Component("console", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "--listen", "127.0.0.1:0", "--agent-dir", f"{self.state}/learned")
        self.addCleanup(console.stop)
        url = wait_for(lambda: re.search(r"^console +(http://\S+)$", console.log, re.M), "the address of the console", console)[1]

        def ask(path: str) -> dict:
            with urllib.request.urlopen(f"{url}api/v1/past/{path}", timeout=60) as answer:
                return json.loads(answer.read())

        shown = ask("incident?namespace=default&name=going")
        self.assertEqual((ended["verdict"], ended["task"]), (shown["verdict"], shown["task"]))
        self.assertIn("TM-EVICT-001", {deed["reason"] for deed in shown["deeds"]})
        records = ask(f"record?node={self.node.name}")["records"]
        self.assertGreaterEqual(len(records), 2)
        self.assertTrue(any(task["name"] == "held" and task["throttled"] > 100 for record in records for task in record["tasks"]), records)
        self.assertTrue(all(record["used"] > 0 for record in records), records)
        console.stop()

    def test_the_cause_of_each_slowdown_is_named(self):
        enforced = ("batchLimits", "eviction")
        self.say({}, modes={each: "enforce" for each in enforced})
        wait_for(lambda: len(self.records()) >= 2 and any(task["name"] == "held" and task.get("throttled", 0) > 100 for task in self.records()[-1]["tasks"]), "a record of a limited task", self.agent, LIMIT_S)
        self.collector.down = True
        self.say({"memoryEvictThresholdPercent": 2, "memoryEvictLowerPercent": 1}, modes={each: "enforce" for each in enforced})
        wait_for(lambda: "going" not in self.names(), "an eviction", self.agent, LIMIT_S)
        self.say({}, modes={each: "enforce" for each in enforced})
        self.all_have_ended()
        had = len(self.records())
        wait_for(lambda: len(self.records()) > had, "the record of its end", self.agent, LIMIT_S)

        ended = self.incident("going")
        self.assertEqual("ours", ended["verdict"])
        self.assertIn("ended", self.facts(ended))
        self.assertTrue(any(deed["own"] and deed["what"] == "evict" and deed["reason"] == "TM-EVICT-001" for deed in ended["deeds"]), ended["deeds"])
        held = self.incident("held")
        self.assertEqual("ours", held["verdict"])
        self.assertIn("heldByOurs", self.facts(held), held["findings"])
        web = self.incident("web")
        self.assertFalse({"ended", "narrowed", "heldByOurs", "offlineLimited"} & self.facts(web), web["findings"])
        self.assertEqual(self.node.name, web["node"])
        self.assertEqual("cannotTell", self.incident("nobody")["verdict"])
        self.the_console_shows_the_same(ended)

        self.collector.down = False
        wait_for(lambda: any('"TM-EVICT-001"' in line for line in self.collector.lines) and len([line for line in self.collector.lines if '"tasks"' in line]) > had, "all records at the collector", self.agent, 6 * LIMIT_S)
        self.assertEqual({self.node.name}, self.collector.sources)
        collected = self.incident("going", "--file", "-", lines=self.collector.lines)
        self.assertEqual((ended["verdict"], ended["task"]), (collected["verdict"], collected["task"]))
        self.assertEqual([deed["reason"] for deed in ended["deeds"] if deed["own"]], [deed["reason"] for deed in collected["deeds"] if deed["own"]])
        page = subprocess.run([os.environ["TIDEMARK_BINARY"], "incident", "default/going", "--state-dir", f"{self.state}/learned"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertIn("yes: Tidemark caused it", page.stdout)
        print(page.stdout, file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
