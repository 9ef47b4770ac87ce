"""Our operator, a job at a real ResourceManager, and the simulated agent of its node: the requests that it writes to reclaim a container."""

import datetime
import json

from cluster.tidemark_process import Component, wait_for
from support.yarn import End, Job, Yarn, until
from yarn.operating import NODE_ID, SITE, Operating, origin

HOLD_S = 5
RECLAIM, ANSWER = "tidemark.io/yarn-reclaim", "tidemark.io/yarn-reclaim-answer"
MASTER_MIB, TASK_MIB, TASKS = 256, 512, 3
PREEMPTED = End(-102, "Container preempted by scheduler")


def in_seconds(seconds: float) -> str:
    """This time by this machine's clock, in the format of objects."""
    then = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return then.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class AskingBack(Operating):
    """One node with three containers and their master."""

    YARN_SITE: dict[str, str] = {}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.yarn = cls.enterClassContext(Yarn([SITE], site=cls.YARN_SITE))
        cls.nms = cls.yarn.nodes

    def setUp(self):
        super().setUp()
        self.put_node("yarn-0", {NODE_ID: self.nms[0].id, **origin(4000, 3072)})

    def begin_with_a_job(self) -> tuple[Component, Job]:
        operator = self.begin()
        self.wait_total(0, 3072, 4, operator)
        job = self.yarn.submit("sleep 1000", containers=TASKS, memory_mib=TASK_MIB, master_memory_mib=MASTER_MIB)
        self.addCleanup(job.end)
        until("a master and its containers run", lambda: len(self.running()) == TASKS + 1)
        until("its node holds them", lambda: self.nms[0].seen()["usedMemoryMB"] == MASTER_MIB + TASKS * TASK_MIB)
        return operator, job

    def running(self) -> list[str]:
        """The oldest first: that is the master."""
        return sorted(each["id"] for each in self.nms[0].containers() if each["state"] == "RUNNING")

    def answer(self) -> dict:
        return json.loads(self.annotation("yarn-0", ANSWER) or "{}")

    def ask_back(self, generation: int, container: str, asked_in_s: float) -> None:
        """As the agent of a node does, by the agent's clock."""
        asked = {"generation": generation, "containers": [container], "reason": "TM-EVICT-001", "asked": in_seconds(asked_in_s), "holdSeconds": HOLD_S}
        self.annotate("yarn-0", {RECLAIM: json.dumps({"schema": 1, **asked})})

    def wait_answer(self, generation: int, operator: Component) -> dict:
        return wait_for(lambda: (answer := self.answer()).get("generation") == generation and answer, f"an answer to {generation}", operator)
