"""The water line moved by hand and by the calendar, on the real API server beside a running manager."""

import datetime
import json
import os
import subprocess
import unittest

from cluster import colocation
from cluster.colocation import MERGE, NODESLOS, must
from cluster.test_manager import LEFT
from cluster.test_state import STATE_MAP, WithState, order, tidemark
from cluster.tidemark_process import explain, explain_json, wait_for

EVENTS = "/api/v1/namespaces/koordinator-system/events"
LIMIT_S = 60
LOWER = "10800"  # 40 % of 32 cores, without the 2 that the system uses
POOLS = {
    "schema": 1, "mode": "enforce", "rollout": {"pace": "at-once"},
    "calendars": [{"name": "nights", "lead": "0s", "entries": [
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
    def test_it_reaches_offers_and_agents_is_shown_and_taken_back(self):
        self.put_pools()
        node, other = self.node("override-a", labels={"pool": "web"}), self.node("override-b")
        component = self.run_manager("--leader-elect=false")
        self.wait_offered(node, LEFT, component)
        self.wait_offered(other, LEFT, component)
        wait_for(lambda: self.suppress(node) == 65, "a NodeSLO", component, LIMIT_S)

        planned = override("pool web", "--cpu", "40", "--for", "2h", "--dry-run")
        self.assertIn("cpu: 60 % -> 40 %", planned)
        self.assertEqual(self.api.request("GET", f"{colocation.SETTINGS}/{STATE_MAP}").status, 404, "a dry run writes nothing")

        told = json.loads(override("pool web", "--cpu", "40", "--for", "2h", "--wait", f"{LIMIT_S}s", "-o", "json"))
        self.assertTrue(told["reached"])
        self.assertEqual(told["override"]["cpuPercent"], 40)
        self.assertEqual(self.offered(node), int(LOWER))
        self.assertEqual(self.suppress(node), 45, "the agent's line moves by as many points")
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

        # The other orders in the same map go on beside it.
        order("off", f"node {other}")
        order("off", "cluster")
        order("on", "cluster")
        self.wait_offered(node, LOWER, component, LIMIT_S)

        self.assertIn("taken back", override("pool web", "--clear", "--wait", f"{LIMIT_S}s"))
        self.assertEqual((self.offered(node), self.suppress(node)), (int(LEFT), 65))
        self.wait_event("TidemarkLineOverrideCleared", "pool web", component)
        self.assertEqual(component.metrics()['tidemark_override_cpu_percent{pool="web"}'], -1)

    def test_another_manager_obeys_it_and_it_ends_by_itself(self):
        node = self.node("override-c")
        component = self.run_manager("--leader-elect=false")
        self.wait_offered(node, LEFT, component)
        override("cluster", "--cpu", "40", "--for", "1h")
        self.wait_offered(node, LOWER, component, LIMIT_S)
        component.kill()
        component = self.run_manager("--leader-elect=false")
        self.report(node)
        self.wait_offered(node, LOWER, component, LIMIT_S)
        # An end that comes soon: the command wants a minute at least.
        text = must(self.api.request("GET", f"{colocation.SETTINGS}/{STATE_MAP}")).get("data")["overrides.json"]
        stored = json.loads(text)
        stored["generation"] += 1
        stored["cluster"]["until"] = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=3)).strftime("%Y-%m-%dT%H:%M:%SZ")
        must(self.api.request("PATCH", f"{colocation.SETTINGS}/{STATE_MAP}", {"data": {"overrides.json": json.dumps(stored)}}, content=MERGE))
        self.wait_offered(node, LEFT, component, LIMIT_S)
        self.wait_event("TidemarkLineOverrideEnded", "cluster", component)
        self.assertNotIn("overridden", tidemark("report", "states"))

    def test_what_is_wrong_is_said_and_nothing_is_stored(self):
        self.put_pools()
        right = ("override", "pool", "web", "--reason", "x", "--yes", "--for", "1h")
        for more, code, why in (
            (("--cpu", "101"), 2, "--cpu: wanted 0 to 100"),
            (("--cpu=-1",), 2, "--cpu: wanted 0 to 100"),
            (("--cpu", "many"), 2, "--cpu: wanted 0 to 100"),
            ((), 2, "which line?"),
            (("--clear",), 2, "--clear takes the override back"),
            (("--cpu", "40", "--until", "2030-01-01T00:00:00Z"), 2, "not both"),
        ):
            found = refused(*right, *more)
            self.assertEqual(found[0], code, found[1])
            self.assertIn(why, found[1])
        for arguments, code, why in (
            (("override", "pool", "web", "--cpu", "40", "--reason", "x", "--yes"), 2, "an override always ends"),
            (("override", "pool", "web", "--cpu", "40", "--reason", "x", "--yes", "--for", "1000h"), 2, "168h"),
            (("override", "pool", "web", "--cpu", "40", "--reason", "x", "--yes", "--until", "2036-01-01T00:00:00Z"), 1, "an override lasts 168h"),
            (("override", "pool", "web", "--cpu", "40", "--reason", "x", "--yes", "--until", "2020-01-01T00:00:00Z"), 1, "at least 1m"),
            (("override", "pool", "wed", "--cpu", "40", "--reason", "x", "--yes", "--for", "1h"), 1, "did you mean web?"),
            (("override", "node", "n", "--cpu", "40", "--reason", "x", "--yes", "--for", "1h"), 2, "wanted pool or cluster"),
            (("override", "pool", "web", "--cpu", "40", "--reason", "x", "--for", "1h"), 2, "--yes"),
        ):
            found = refused(*arguments)
            self.assertEqual(found[0], code, found[1])
            self.assertIn(why, found[1])
        self.assertEqual(self.api.request("GET", f"{colocation.SETTINGS}/{STATE_MAP}").status, 404)


if __name__ == "__main__":
    unittest.main()
