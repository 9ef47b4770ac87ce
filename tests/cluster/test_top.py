"""`tidemark top` on a real API server, in a terminal of 80 columns and 24 lines. No manager and no console runs."""

import json
import os
import signal
import subprocess
import unittest

from cluster import colocation
from cluster.colocation import MERGE, must
from cluster.test_manager import SETTINGS, WithApi
from support.patience import PATIENCE_S
from support.terminal import COLOUR, OTHER_SCREEN, OWN_SCREEN, Terminal

SMOKE = True
STATE = "tidemark.io/state"
POOLS = {"schema": 1, "mode": "enforce", "pools": [{"name": "night", "nodeSelector": {"matchLabels": {"time": "night"}}}]}
FIRST, SECOND = "top-first", "top-second"


class Top(WithApi):
    def setUp(self):
        colocation.put_settings(self.api, SETTINGS)
        colocation.put_map(self.api, "tidemark-config", {"config.yaml": json.dumps(POOLS)})
        for name in (FIRST, SECOND):
            self.node(name, labels={"time": "night"})
            ready = {"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}}
            must(self.api.request("PATCH", f"/api/v1/nodes/{name}/status", ready, content=MERGE))
        self.terminal = Terminal(24, 80)
        self.addCleanup(self.terminal.close)
        self.before = self.terminal.settings()

    def words(self, *more: str) -> list[str]:
        return [os.environ["TIDEMARK_BINARY"], "top", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], *more]

    def start(self, *more: str, **environment: str):
        return self.terminal.start(*self.words("--interval=200ms", *more), env={**os.environ, "TERM": "xterm", **environment})

    def row(self, text: str) -> str:
        return next((line for line in self.terminal.screen() if text in line), "")

    def wait_row(self, *words: str) -> None:
        """Until one line has all of them."""
        self.terminal.wait_for(lambda: any(all(word in line for word in words) for line in self.terminal.screen()), f"a line with {words}")

    def press(self, keys: str) -> None:
        self.terminal.type(keys.encode())

    def label(self, name: str) -> str | None:
        return must(self.api.request("GET", f"/api/v1/nodes/{name}")).get("metadata.labels", {}).get(STATE)

    def test_shows_filters_explains_and_follows_the_cluster(self):
        with self.start() as top:
            self.terminal.read_until(OTHER_SCREEN)
            self.wait_row(FIRST, "on", "6%")
            self.assertIn("read-only", self.terminal.screen()[0])
            self.press("/top-sec\r")
            self.terminal.wait_for(lambda: self.row("filter top-sec") and not self.row(FIRST), "only the second node")
            must(self.api.request("PATCH", f"/api/v1/nodes/{SECOND}", {"metadata": {"labels": {STATE: "observe"}}}, content=MERGE))
            self.wait_row(SECOND, "observe")
            self.press("e")
            self.wait_row(f"node {SECOND}")
            self.wait_row("capacity")
            self.press("\x1b")
            self.wait_row(SECOND, "observe")
            self.press("2")
            self.wait_row("no pool matches")
            self.press("\x1b")
            self.wait_row("night", "enforce", "2")
            self.press("3")
            self.wait_row("SEVERITY")
            self.press("o")
            self.wait_row("read-only; start with --write")
            screen = self.terminal.screen()
            self.assertEqual(24, len(screen))
            self.assertLessEqual(max(map(len, screen)), 80)
            self.terminal.resize(12, 64)
            self.terminal.wait_for(lambda: len(now := self.terminal.screen()) == 12 and max(map(len, now)) <= 64, "a smaller screen")
            self.press("q")
            self.terminal.read_until(OWN_SCREEN)
            self.assertEqual(0, top.wait(PATIENCE_S))
        self.assertEqual(self.before, self.terminal.settings())

    def test_orders_off_for_a_node_after_its_name_and_a_reason(self):
        with self.start("--write") as top:
            self.wait_row(FIRST, "on")
            self.press(f"/{FIRST}\ro")
            self.wait_row(f"off node {FIRST}", "type the name")
            self.press(f"{FIRST}\rkernel update\r")
            self.wait_row("1 node, 1 marked")
            self.press("\x1b")
            self.wait_row(FIRST, "draining")
            top.send_signal(signal.SIGTERM)
            self.terminal.read_until(OWN_SCREEN)
            self.assertEqual(128 + signal.SIGTERM, top.wait(PATIENCE_S))
        self.assertEqual("draining", self.label(FIRST))
        self.assertIsNone(self.label(SECOND))
        self.assertEqual(self.before, self.terminal.settings())

    def test_orders_off_for_the_cluster_after_the_word_cluster_and_a_reason(self):
        state = f"{colocation.SETTINGS}/tidemark-state"
        self.addCleanup(self.api.request, "DELETE", state)
        with self.start("--write") as top:
            self.wait_row(FIRST, "on")
            self.press(f"/{FIRST}\rO")  # the filter hides nodes; the order is for all
            self.wait_row("off cluster", "type cluster")
            self.press(f"{FIRST}\r")
            self.wait_row("nothing is ordered")
            self.press("Ocluster\rfire in the building\r")
            self.wait_row("2 nodes, 2 marked")
            self.press("q")
            self.terminal.read_until(OWN_SCREEN)
            self.assertEqual(0, top.wait(PATIENCE_S))
        self.assertEqual(["draining", "draining"], [self.label(FIRST), self.label(SECOND)])
        self.assertIn("fire in the building", must(self.api.request("GET", state)).get("data", {})["state.json"], "nodes that join inherit it")

    def test_read_only_is_a_flag_and_excludes_write(self):
        with self.start("--read-only") as top:
            self.wait_row(FIRST, "on")
            self.press("O")
            self.wait_row("read-only; start with --write")
            self.press("q")
            self.assertEqual(0, top.wait(PATIENCE_S))
        done = subprocess.run(self.words("--read-only", "--write"), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual((2, ""), (done.returncode, done.stdout))
        self.assertIn("--write and --read-only exclude each other", done.stderr)

    def test_colours_only_without_no_color(self):
        for environment, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
            with self.subTest(environment), self.start(**environment) as top:
                self.wait_row(FIRST)
                self.press("q")
                self.terminal.read_until(OWN_SCREEN)
                self.assertEqual(coloured, COLOUR.search(self.terminal.read.decode()) is not None)
                self.assertEqual(0, top.wait(PATIENCE_S))

    def test_a_dumb_terminal_gets_the_state_once(self):
        with self.start(TERM="dumb") as top:
            self.assertEqual(0, top.wait(PATIENCE_S))
            self.terminal.wait_for(lambda: FIRST.encode() in self.terminal.read, "the node")
        self.assertNotIn(b"\x1b", self.terminal.read)

    def test_json_has_the_documents_of_the_api(self):
        done = subprocess.run(self.words("--once", "-o", "json"), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        shown = json.loads(done.stdout)
        self.assertEqual({"schema", "summary", "pools", "nodes", "problems"}, set(shown))
        at = shown["nodes"]["columns"]["name"].index(FIRST)
        self.assertEqual(("night", "on", 2000, 0), tuple(shown["nodes"]["columns"][name][at] for name in ("pool", "state", "cpuOnline", "tasks")))
        self.assertEqual(["night", "default"], [pool["name"] for pool in shown["pools"]])
        self.assertTrue(shown["summary"]["readOnly"])
        self.assertTrue(all(source["read"] for source in shown["summary"]["sources"]))

    def test_says_that_the_cluster_does_not_answer(self):
        broken = {**os.environ, "KUBECONFIG": "/nowhere"}
        done = subprocess.run([os.environ["TIDEMARK_BINARY"], "top", "--once"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, env=broken)
        self.assertEqual((1, ""), (done.returncode, done.stdout))
        self.assertIn("/nowhere", done.stderr)


if __name__ == "__main__":
    unittest.main()
