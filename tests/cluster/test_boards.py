"""Each panel of the boards has numbers: a real Prometheus scrapes real programs, and answers the query of each panel. tests/yarn/test_boards.py has the board of YARN."""

import re
import unittest

from cluster import colocation
from cluster.local_case import LocalCase, batch_job
from cluster.monitored_case import Monitored
from cluster.test_manager import STATUS
from cluster.tidemark_process import wait_for
from support.patience import PATIENCE_S
from support.prometheus import BOARDS, Prometheus

OF_YARN = "yarn"
SERIES_OF_AN_AGENT_MAX = 450  # of /metrics/online and /metrics/offline, at their caps: 41 workloads × 5 and 17 classes × 3 × 3 sides, and evictions


def online_pod(name: str, workload: str) -> dict:
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": workload, "uid": "00000000-0000-0000-0000-000000000001", "controller": True}
    container = {"name": "main", "image": "local", "command": ["sleep", "1000"], "resources": {"requests": {"cpu": "100m", "memory": "32Mi"}}}
    meta = {"name": name, "labels": {"tidemark.io/business": "store"}, "ownerReferences": [owner]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"terminationGracePeriodSeconds": 1, "containers": [container]}}


class Boards(Monitored, LocalCase):
    def setUp(self):
        LocalCase.setUp(self)
        wait_for(lambda: "kubernetes.io/batch-memory" in self.get("node", "here")["status"]["allocatable"], "an offer", self.component)
        self.apply(online_pod("web-0", "web"), batch_job("nightly", ["sleep", "1000"], "32Mi"))
        wait_for(lambda: sorted(self.phases().values()) == ["Running", "Running"], "two running pods", self.component)

    def metrics_addresses(self) -> dict[str, str]:
        """Of `tidemark up`: each of its programs serves metrics at an address of its own."""
        served = re.findall(r"^\S+ INFO (\S+) metrics served .*address=(\S+)", self.component.log, re.M)
        return {name: address for name, address in served if name == "agent"}

    def test_no_panel_is_empty(self):
        manager = self.run_monitored_manager()
        targets = {"manager": manager.metrics_address(), **wait_for(self.metrics_addresses, "the agent's metrics", self.component)}
        prometheus = Prometheus(targets)
        self.addCleanup(prometheus.stop)
        boards = sorted(file.stem for file in BOARDS.glob("*.json") if file.stem != OF_YARN)
        self.assertEqual(["agents", "manager", "money", "offline", "online"], boards)

        def empty() -> list[str]:
            # Each look gives the webhooks a question and the manager a report, so that rates of both have a value.
            self.is_edit_denied()
            colocation.put_metric(self.api, "monitored", STATUS)
            return [f"{board}: {title}" for board in boards for title in prometheus.empty_panels(board)]

        try:
            wait_for(lambda: not empty(), "numbers in all panels", manager, limit_s=2 * PATIENCE_S)
        except AssertionError:
            self.assertEqual(([], []), (empty(), prometheus.down()))
        self.assertEqual([], prometheus.down())
        workloads = prometheus.numbers('workload:tidemark_online_pods:sum{workload="default/StatefulSet/web", business="store"}')
        self.assertEqual({1.0}, set(workloads))
        self.assertLess(prometheus.now('sum(scrape_samples_scraped{pod="agent", page!=""})')[0], SERIES_OF_AN_AGENT_MAX)

    def test_an_ended_task_leaves_no_series(self):
        prometheus = Prometheus(wait_for(self.metrics_addresses, "the agent's metrics", self.component))
        self.addCleanup(prometheus.stop)
        wait_for(lambda: prometheus.now("tidemark_offline_tasks") == [1], "one offline task", self.component)
        self.assertEqual([], prometheus.now('{__name__=~"tidemark_.+", workload=~".*nightly.*"}'))
        self.kubectl("delete", "jobs", "--all")
        wait_for(lambda: prometheus.now("tidemark_offline_tasks") == [], "no series of offline work", self.component)
        self.assertEqual([1], prometheus.now("tidemark_online_pods"))


if __name__ == "__main__":
    unittest.main()
