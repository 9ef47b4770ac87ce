"""The water line moved by override and by calendar, on the real API server beside a running manager."""

import datetime
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from cluster import colocation
from cluster.colocation import MERGE, NODESLOS, must
from cluster.test_manager import LEFT
from cluster.test_state import STATE_MAP, WithState, order, tidemark
from cluster.tidemark_process import Component, explain, explain_json, wait_for
from support.patience import PATIENCE_S as LIMIT_S

EVENTS = "/api/v1/namespaces/koordinator-system/events"
LOWER = "10800"  # 40 % of 32 cores, without the 2 that the system uses
POOLS = {
    "schema": 1, "mode": "enforce", "rollout": {"pace": "at-once"},
    "calendars": [{"name": "nights", "zone": "UTC", "lead": "0s", "entries": [
        {"name": "night", "cron": "0 22 * * *", "until": "0 6 * * *", "cpu": 60, "rampUp": "30m"},
        {"name": "sale", "kind": "freeze", "from": "2026-01-01T00:00", "to": "2026-01-02T00:00"},
    ]}],
    "pools": [{"name": "web", "nodeSelector": {"matchLabels": {"pool": "web"}}, "calendar": "nights"}],
}


def refused(*arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [os.environ["TIDEMARK_BINARY"], *arguments, "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"]],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
    )
    return done.returncode, done.stderr


def override(scope: str, *more: str) -> str:
    return tidemark("override", *scope.split(), "--reason", "a fire drill", "--by", "ann@ops", "--yes", *more)


class WithPools(WithState):
    def put_pools(self) -> None:
        must(self.api.request("POST", colocation.SETTINGS, {"metadata": {"name": colocation.TIDEMARK_CONFIG}, "data": {"config.yaml": json.dumps(POOLS)}}))

    def suppress(self, node: str) -> int | None:
        return self.api.request("GET", f"{NODESLOS}/{node}").get("spec", {}).get("resourceUsedThresholdWithBE", {}).get("cpuSuppressThresholdPercent")

    def wait_event(self, reason: str, text: str, component) -> None:
        def seen() -> bool:
            return any(each.get("reason") == reason and text in each.get("message", "") for each in self.api.request("GET", EVENTS).get("items", []))

        wait_for(seen, f"the event {reason}", component, LIMIT_S)


class Override(WithPools):
    def test_an_override_reaches_offers_and_agents_is_shown_and_is_cleared(self):
        self.put_pools()
        node, other = self.node("override-a", labels={"pool": "web"}), self.node("override-b")
        component = self.run_manager("--leader-elect=false")
        self.wait_offered(node, LEFT, component)
        self.wait_offered(other, LEFT, component)
        wait_for(lambda: self.suppress(node) == 65, "a NodeSLO", component, LIMIT_S)

        planned = override("pool web", "--cpu", "40", "--for", "2h", "--dry-run")
        self.assertIn("cpu: 60 % -> 40 %", planned)
        self.assertEqual(self.api.request("GET", f"{colocation.SETTINGS}/{STATE_MAP}").status, 404, "a dry run writes nothing")

        shown = json.loads(override("pool web", "--cpu", "40", "--for", "2h", "--wait", f"{LIMIT_S}s", "-o", "json"))
        self.assertTrue(shown["reached"])
        self.assertEqual(shown["override"]["cpuPercent"], 40)
        self.assertEqual(self.offered(node), int(LOWER))
        self.assertEqual(self.suppress(node), 45, "the agent's threshold moves by the same number of points")
        self.assertEqual((self.offered(other), self.suppress(other)), (int(LEFT), 65))
        self.wait_event("TidemarkLineOverridden", "pool web", component)

        line = explain_json(node)["offer"]["line"]
        self.assertEqual((line["cpu"]["holdPercent"], line["cpu"]["reason"]["id"]), (40, "TM-LINE-004"))
        self.assertEqual(line["overrides"][0]["why"], "a fire drill")
        self.assertIn("overridden: cpu 40 %, until ", explain(node).stdout)
        self.assertIn("overridden by ann@ops until ", explain(node, kind="config").stdout)
        self.assertIn("water line overridden: cpu 40 %", tidemark("report", "states"))
        metrics = component.metrics()
        self.assertEqual(metrics['tidemark_override_cpu_percent{pool="web"}'], 40)
        self.assertEqual(metrics['tidemark_override_memory_percent{pool="web"}'], -1)

        # The other orders in the same map stay in force.
        order("off", f"node {other}")
        order("off", "cluster")
        order("on", "cluster")
        self.wait_offered(node, LOWER, component, LIMIT_S)

        self.assertIn("cleared", override("pool web", "--clear", "--wait", f"{LIMIT_S}s"))
        self.assertEqual((self.offered(node), self.suppress(node)), (int(LEFT), 65))
        self.wait_event("TidemarkLineOverrideCleared", "pool web", component)
        self.assertEqual(component.metrics()['tidemark_override_cpu_percent{pool="web"}'], -1)

    def test_another_manager_obeys_an_override_until_it_expires(self):
        node = self.node("override-c")
        component = self.run_manager("--leader-elect=false")
        self.wait_offered(node, LEFT, component)
        override("cluster", "--cpu", "40", "--for", "1h")
        self.wait_offered(node, LOWER, component, LIMIT_S)
        component.kill()
        component = self.run_manager("--leader-elect=false")
        self.report(node)
        self.wait_offered(node, LOWER, component, LIMIT_S)
        self.ends_in(3)
        self.wait_offered(node, LEFT, component, LIMIT_S)
        self.wait_event("TidemarkLineOverrideEnded", "cluster", component)
        self.assertNotIn("overridden", tidemark("report", "states"))

    def test_a_raised_line_ends_while_no_manager_runs(self):
        """The agent got the end in advance and uses its own clock; the returning manager writes the value that already holds."""
        node = self.node("override-d")
        component = self.run_manager("--leader-elect=false")
        self.wait_offered(node, LEFT, component)
        override("cluster", "--cpu", "80", "--for", "1h")
        wait_for(lambda: self.suppress(node) == 85, "the raised line", component, LIMIT_S)
        end = self.ends_in(20)
        wait_for(lambda: self.ends(node) == [{"from": end, "cpuSuppressThresholdPercent": 65}], "its end", component, LIMIT_S)
        agent = self.run_agent(node)
        self.assertEqual(0, agent.metrics()["tidemark_agent_lines_ended"])
        component.kill()

        wait_for(lambda: agent.metrics()["tidemark_agent_lines_ended"] == 1, "the end by the agent's clock", agent, LIMIT_S)
        self.assertGreaterEqual(datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"), end)
        self.assertIn("cpuSuppressThresholdPercent 85 % -> 65 %", agent.log)
        self.assertEqual(85, self.suppress(node), "no manager wrote it")

        component = self.run_manager("--leader-elect=false")
        wait_for(lambda: self.suppress(node) == 65 and not self.ends(node), "the daytime line", component, LIMIT_S)
        wait_for(lambda: agent.metrics()["tidemark_agent_lines_ended"] == 0, "no ended line", agent, LIMIT_S)

    def ends_in(self, seconds: int) -> str:
        """Sets a short override of the cluster: the command allows no less than a minute."""
        text = must(self.api.request("GET", f"{colocation.SETTINGS}/{STATE_MAP}")).get("data")["overrides.json"]
        stored = json.loads(text)
        stored["generation"] += 1
        stored["cluster"]["until"] = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
        must(self.api.request("PATCH", f"{colocation.SETTINGS}/{STATE_MAP}", {"data": {"overrides.json": json.dumps(stored)}}, content=MERGE))
        return stored["cluster"]["until"]

    def ends(self, node: str) -> list[dict]:
        extensions = self.api.request("GET", f"{NODESLOS}/{node}").get("spec.extensions") or {}
        return extensions.get("Object", {}).get("tidemark", {}).get("lines", [])

    def run_agent(self, node: str) -> Component:
        """It only observes: this machine is not the node."""
        folder = self.enterContext(tempfile.TemporaryDirectory())
        agent = Component(
            "agent", "--node-name", node, "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "--metrics-addr", "127.0.0.1:0", "--mode", "observe", "--pod-source", "api-server",
            "--run-dir", f"{folder}/run", "--latch-file", f"{folder}/latch", "--state-dir", f"{folder}/state", "--reaction=false", "--line-ends-within=0s",
        )
        self.addCleanup(agent.stop)
        wait_for(agent.ready, "a ready agent", agent, LIMIT_S)
        return agent

    def test_wrong_overrides_are_refused_and_nothing_is_stored(self):
        self.put_pools()
        right = ("override", "pool", "web", "--reason", "x", "--yes", "--for", "1h")
        for more, code, why in (
            (("--cpu", "101"), 2, "--cpu: expected 0 to 100"),
            (("--cpu=-1",), 2, "--cpu: expected 0 to 100"),
            (("--cpu", "many"), 2, "--cpu: expected 0 to 100"),
            ((), 2, "water line is missing"),
            (("--clear",), 2, "--clear removes the override"),
            (("--cpu", "40", "--until", "2030-01-01T00:00:00Z"), 2, "exclude each other"),
        ):
            found = refused(*right, *more)
            self.assertEqual(found[0], code, found[1])
            self.assertIn(why, found[1])
        for arguments, code, why in (
            (("override", "pool", "web", "--cpu", "40", "--reason", "x", "--yes"), 2, "end is missing"),
            (("override", "pool", "web", "--cpu", "40", "--reason", "x", "--yes", "--for", "1000h"), 2, "168h"),
            (("override", "pool", "web", "--cpu", "40", "--reason", "x", "--yes", "--until", "2036-01-01T00:00:00Z"), 1, "an override lasts 168h"),
            (("override", "pool", "web", "--cpu", "40", "--reason", "x", "--yes", "--until", "2020-01-01T00:00:00Z"), 1, "at least 1m"),
            (("override", "pool", "wed", "--cpu", "40", "--reason", "x", "--yes", "--for", "1h"), 1, "did you mean web?"),
            (("override", "node", "n", "--cpu", "40", "--reason", "x", "--yes", "--for", "1h"), 2, "expected pool or cluster"),
            (("override", "pool", "web", "--cpu", "40", "--reason", "x", "--for", "1h"), 2, "--yes"),
        ):
            found = refused(*arguments)
            self.assertEqual(found[0], code, found[1])
            self.assertIn(why, found[1])
        self.assertEqual(self.api.request("GET", f"{colocation.SETTINGS}/{STATE_MAP}").status, 404)


class Preview(WithPools):
    def test_preview_shows_the_week_with_reasons(self):
        self.put_pools()
        self.node("preview-a", labels={"pool": "web"})
        override("pool web", "--cpu", "40", "--for", "24h")
        shown = json.loads(tidemark("preview", "pool", "web", "--from", "2025-12-31T12:00:00Z", "-o", "json"))
        self.assertEqual((shown["pool"], shown["nodes"], shown["zone"], shown["calendar"]), ("web", 1, "UTC", "nights"))
        points = {point["at"]: point["cpu"] for point in shown["points"]}
        self.assertEqual(len(points), 7 * 24 * 12)
        self.assertEqual(points["2026-01-01T12:00:00Z"]["phase"], "overridden", "it holds until its end, whatever the start of the preview")
        override("pool web", "--clear")

        shown = json.loads(tidemark("preview", "pool", "web", "--from", "2025-12-31T12:03:00Z", "--for", "3d", "-o", "json"))
        points = {point["at"]: point["cpu"] for point in shown["points"]}
        self.assertEqual(len(points), 3 * 24 * 12)
        self.assertEqual(points["2025-12-31T22:15:00Z"]["phase"], "rising")
        self.assertEqual(points["2026-01-01T03:00:00Z"]["phase"], "frozen", "a freeze over the night")
        self.assertEqual(points["2026-01-02T23:00:00Z"]["entry"], "night")
        text = tidemark("preview", "pool", "web", "--from", "2025-12-31T12:00:00Z", "--for", "2d")
        self.assertIn("2026-01-01 Thu 00:00  cpu 60 %, memory 65 %  sale (frozen): a freeze of the calendar is in force [TM-LINE-003]", text)

        dawn = {"name": "dawn", "cron": "0 4 * * *", "for": "1h", "cpu": 90, "on": "holidays"}
        new = {**POOLS, "calendars": [{"name": "nights", "zone": "Asia/Shanghai", "holidays": {"days": ["2026-01-06"]}, "entries": [dawn]}]}
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "new.yaml"
            file.write_text(json.dumps({"kind": "ConfigMap", "metadata": {"name": "tidemark-config"}, "data": {"config.yaml": json.dumps(new)}}))
            text = tidemark("preview", "pool", "web", "--from", "2026-01-05T00:00:00Z", "--for", "1d", "-f", str(file))
        self.assertIn("2026-01-06 Tue 04:00  cpu 90 %", text)
        self.assertIn("note: calendar nights: its list of holidays ends on 2026-01-06; ", text)

        for arguments, code, why in (
            (("preview", "pool", "wed"), 1, "did you mean web?"),
            (("preview", "node", "web"), 2, "expected pool NAME"),
            (("preview", "pool", "web", "--for", "400d"), 2, "at most 31d"),
            (("preview", "pool", "web", "--from", "tomorrow"), 2, "--from: expected a time"),
        ):
            found = refused(*arguments)
            self.assertEqual(found[0], code, found[1])
            self.assertIn(why, found[1])


if __name__ == "__main__":
    unittest.main()
