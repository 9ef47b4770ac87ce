"""A node that a kubelet and a NodeManager share, with YARN's operator: evictions there go through the ResourceManager."""

import json
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from cluster.colocation import MERGE, SETTINGS, TIDEMARK_CONFIG, delete_settings, must
from cluster.tidemark_process import Component, wait_for
from yarn.doors import Doors
from yarn.sharing import API, OnASharedNode, test_eviction
from yarn.operating import NODE_ID, origin

A_STEP = 0.022  # of the machine's memory: the threshold is the use in whole percents, and the goal is one below
# The manager only observes, the test sets the node's offer; YARN's operator also reads these settings.
OBSERVED = {"schema": 1, "mode": {"capacity": "observe", "nodeSlo": "observe", "agent": "enforce", "yarn": "enforce"}, "rollout": {"pace": "at-once"}, "evictions": {"backOff": "2m", "breaker": {"atLeast": 1, "ratePercent": 1}}}
RECLAIM, ANSWER = "tidemark.io/yarn-reclaim", "tidemark.io/yarn-reclaim-answer"


class WithOperator(OnASharedNode):
    VCORE_MILLI = 1000  # CPU per vcore

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.nm = cls.yarn.nodes[0]

    def setUp(self):
        super().setUp()
        self.annotate({NODE_ID: self.nm.id, **origin(self.VCORE_MILLI * self.SITE.vcores, self.SITE.memory_mib)})
        self.addCleanup(self.annotate, {NODE_ID: None, RECLAIM: None, ANSWER: None})
        self.doors = Doors(self.yarn.rm, Path(self.enterContext(tempfile.TemporaryDirectory(prefix="tidemark-audit-"))))
        self.operator = Component(
            "yarn-operator", *self.doors.flags, "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "--hadoop-conf-dir", str(self.yarn.configuration), "--leader-elect=false",
            "--metrics-addr=127.0.0.1:0", f"--millicores-per-vcore={self.VCORE_MILLI}",
        )
        self.addCleanup(self.operator.stop)
        wait_for(lambda: ANSWER in self.annotations(), "an operator that acknowledges", self.operator)

    def start_manager(self) -> Component:
        must(API.request("POST", "/api/v1/namespaces", {"metadata": {"name": "koordinator-system"}}), 201, 409)
        must(API.request("POST", SETTINGS, {"metadata": {"name": TIDEMARK_CONFIG}, "data": {"config.yaml": json.dumps(OBSERVED)}}), 201)
        self.addCleanup(delete_settings, API)  # and the stored evictions, so that a repeated test starts anew
        manager = Component("manager", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "--leader-elect=false", "--metrics-addr=127.0.0.1:0", "--controllers=noderesource")
        self.addCleanup(manager.stop)
        wait_for(manager.ready, "a ready manager", manager)
        return manager

    def annotate(self, annotations: dict) -> None:
        must(API.request("PATCH", f"/api/v1/nodes/{self.node.name}", {"metadata": {"annotations": annotations}}, content=MERGE))

    def annotations(self) -> dict:
        return API.get(f"/api/v1/nodes/{self.node.name}")["metadata"]["annotations"]

    def evict_some(self, count: int, over: Callable[[], bool], limit_s: float) -> float:
        """Reclaims this many containers, or until the end, a few per step. A step needs running containers that hold more than it takes, so that no master ends:
        a new master would ask for the current size of the largest node, and this is the only one. Returns how many the ResourceManager has taken."""
        before = self.evictions("TM-EVICT-022")
        taken = lambda: self.evictions("TM-EVICT-022") - before
        a_step = int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * A_STEP)

        def one_step() -> bool:
            if taken() >= count or over():
                return True
            held = 0
            for name, each in self.copilot.running().items():
                with suppress(OSError):  # it has ended
                    held += 0 if each["master"] else self.held(name)
            self.line(test_eviction.memory_percent() if held > a_step else test_eviction.OFF)
            time.sleep(0.5)  # the agent decides once a second
            return False

        wait_for(one_step, f"{count} evictions", self.agent, limit_s)
        self.line(test_eviction.OFF)
        return taken()
