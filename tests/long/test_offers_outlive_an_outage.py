"""The API server is down for longer than the safe profile keeps an offer without reports: no node could report, so none counts as silent.
The short form, under simulated time, is manager/capacity/outage_test.cc."""

import time
import unittest

from cluster import colocation, faulty
from cluster.test_manager import LEFT, SETTINGS, STATUS, WithApi
from cluster.tidemark_process import wait_for

HOLD_S = 240  # half of it exceeds the time between the recoveries of one process's caches (a wait of up to 45 s each) and their follow-up
MOTION = f"{{slewPermillePerMinute: 1000, deadBandPermille: 0, hold: {HOLD_S}s, decayStep: 1s, decaySteps: 1}}"
AWAY_S = HOLD_S + 60  # by then the offer of a silent node is 0
REPORT_S = 1
ELECT = ("--leader-elect-lease-duration=10s", "--leader-elect-renew-deadline=8s", "--leader-elect-retry-period=300ms")


class OffersOutliveAnOutage(WithApi):
    def setUp(self):
        colocation.put_settings(self.api, SETTINGS)
        text = f"schema: 1\nmode: enforce\nprofile: tidemark\nrollout: {{pace: at-once}}\nmotion: {MOTION}\n"
        colocation.put_map(self.api, colocation.TIDEMARK_CONFIG, {"config.yaml": text})
        self.live, self.silent = self.node("outlives"), self.node("falls-silent")
        self.component = self.run_manager(*ELECT)
        self.report_until(LEFT, (self.live, self.silent))

    def report_until(self, amount: str, nodes, status: dict = STATUS) -> list[set[str]]:
        """The offers of each node during that time."""
        seen: list[set[str]] = [set() for _ in nodes]

        def there() -> bool:
            time.sleep(REPORT_S)
            for node in nodes:
                colocation.put_metric(self.api, node, status)
            now = [colocation.offered(self.api, node).get("kubernetes.io/batch-cpu", "nothing") for node in nodes]
            for each, before in zip(now, seen):
                before.add(each)
            return set(now) == {amount}

        wait_for(there, f"{amount} on {nodes}", self.component, limit_s=120)
        return seen

    def test_no_offer_falls_during_the_outage_and_a_silent_node_falls_afterwards(self):
        faulty.control("kill", "apiserver")
        time.sleep(AWAY_S)
        faulty.control("start", "apiserver")
        self.api.close()  # its connection ended with the server
        busier = {**STATUS, "nodeMetric": {**STATUS["nodeMetric"], "systemUsage": {"resources": {"cpu": "3", "memory": "4Gi"}}}}
        [seen] = self.report_until("16200", [self.live], busier)
        self.assertLessEqual(seen, {LEFT, "16200"})
        self.assertEqual(LEFT, colocation.offered(self.api, self.silent)["kubernetes.io/batch-cpu"], "its silence was not noticed yet")
        self.wait_offered(self.silent, "0", self.component, limit_s=2 * HOLD_S)


if __name__ == "__main__":
    unittest.main()
