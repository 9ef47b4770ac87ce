"""The API server is away for longer than the safe profile holds an offer without reports: nobody could report, so no node was silent.
The short form, under simulated time, is manager/capacity/outage_test.cc."""

import time
import unittest

from cluster import colocation, faulty
from cluster.test_manager import LEFT, SETTINGS, STATUS, WithApi
from cluster.tidemark_process import wait_for

HOLD_S = 240  # half of it is longer than the caches of one process come back apart, each after a wait of up to 45 s, and what comes after that
MOTION = f"{{slewPermillePerMinute: 1000, deadBandPermille: 0, hold: {HOLD_S}s, decayStep: 1s, decaySteps: 1}}"
AWAY_S = HOLD_S + 60  # by then nothing is left of an offer whose node is silent
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
        """What each offered meanwhile."""
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

    def test_no_offer_falls_for_it_and_a_node_that_stays_silent_goes_down_afterwards(self):
        faulty.control("kill", "apiserver")
        time.sleep(AWAY_S)
        faulty.control("start", "apiserver")
        self.api.close()  # its connection went with the server
        busier = {**STATUS, "nodeMetric": {**STATUS["nodeMetric"], "systemUsage": {"resources": {"cpu": "3", "memory": "4Gi"}}}}
        [seen] = self.report_until("16200", [self.live], busier)
        self.assertLessEqual(seen, {LEFT, "16200"})
        self.assertEqual(LEFT, colocation.offered(self.api, self.silent)["kubernetes.io/batch-cpu"], "it was not heard to be silent yet")
        self.wait_offered(self.silent, "0", self.component, limit_s=2 * HOLD_S)


if __name__ == "__main__":
    unittest.main()
