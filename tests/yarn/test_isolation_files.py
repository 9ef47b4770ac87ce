"""Each file that the agent writes for offline work, on a real YARN container: its value while the container is limited, and the original value afterwards."""

import json
import re
import unittest
from pathlib import Path

from cluster.colocation import MERGE, NODESLOS, must
from cluster.tidemark_process import wait_for
from support.node import cgroups
from support.yarn import frameworks, groups
from yarn.sharing import API, LIMIT_S, MASTER_MIB, ROOM, TASK_MIB, OnASharedNode, tearDownModule  # noqa: F401

ROOT = Path(__file__).parents[2]
CAPACITY = "yarn.scheduler.capacity.root"
STRATEGIES = ("cpuSuppress", "batchLimits", "cpuPriority", "classWeights", "oomOrder", "eviction")
SPARK = {"name": "spark", "order": 30, "cpuWeight": 50, "memoryLowPercent": 50, "restartCostSeconds": 0}
FIRST, LINE_MIN, LINE_MAX = 1000, 900, 999  # of oom_score_adj: a task; a master
CONTAINER = ("cpu.shares", "cpu.cfs_quota_us", "cpu.idle", "memory.limit_in_bytes")  # in its group
OFFLINE = ("cpu.cfs_quota_us", "cpuset.cpus")  # in the group of all offline work
# Files that this kernel does not have, and where they are tested: tests/vm and agent/protect/on_machine_test.cc, as docs/guide/protection.md says.
ELSEWHERE = {"cpu.bvt_warp_ns": "Anolis", "cpu.qos_level": "openEuler", "memory.min": "cgroup v2", "memory.low": "cgroup v2"}


def written_by_the_agent() -> set[str]:
    """The group files named in policy/protect."""
    return set(re.findall(r'return "([a-z_]+\.[a-z_.]+)";', (ROOT / "policy/protect/knobs.cc").read_text()))


class IsolationFiles(OnASharedNode):
    # Otherwise its NodeManager would set the same memory limit, and the writer would be unknown.
    YARN_SITE = {"yarn.nodemanager.resource.memory.enforced": "false", **frameworks.SHUFFLE}
    QUEUES = {f"{CAPACITY}.queues": "default,spark", f"{CAPACITY}.default.capacity": "50", f"{CAPACITY}.spark.capacity": "50", f"{CAPACITY}.spark.user-limit-factor": "2"}

    @classmethod
    def copilot_flags(cls) -> list[str]:
        # Half a core per vcore: not the NodeManager's number. Adopted, a container uses the CPUs of offline work.
        return ["--adopt", "--millicores-per-vcore=500", f"--hadoop-conf-dir={cls.yarn.configuration}", "--queue-class=spark=spark"]

    def setUp(self):
        self.say({"enable": False})
        self.enforce()

    def enforce(self, *strategies: str, classes: tuple[dict, ...] = (), threshold: dict | None = None) -> None:
        """These settings and no others."""
        word = {"agent": {"modes": {**dict.fromkeys(STRATEGIES, "observe"), "default": "observe", **dict.fromkeys(strategies, "enforce")}, "classes": list(classes)}}
        spec = {
            "resourceUsedThresholdWithBE": threshold or {"enable": False}, "extensions": {"Object": {"tidemark": word}},
            "resourceQOSStrategy": {"beClass": {"cpuQOS": {"enable": True, "groupIdentity": -1}}},
        }
        must(API.request("PATCH", f"{NODESLOS}/{self.node.name}", {"spec": spec}, content=MERGE))

    def start_spark(self) -> tuple[str, str]:
        """A master and its container, of that class by their queue, known to the agent and with the CPUs of offline work."""
        job = self.yarn.submit("sleep 1000", memory_mib=TASK_MIB, master_memory_mib=MASTER_MIB, queue="spark")
        self.addCleanup(job.end)
        running = wait_for(lambda: len(found := self.copilot.running()) == 2 and found, "a master and its container", self.copilot)
        wait_for(lambda: self.known() == 2, "an agent that knows them", self.agent, LIMIT_S)
        master, task = sorted(running, key=lambda name: not running[name]["master"])
        wait_for(lambda: all(self.pids(name) and self.pids(name) <= groups.pids(self.offline("cpuset")) for name in running), "all in the cpuset of offline work", self.copilot)
        return master, task

    def pids(self, container: str) -> set[int]:
        return groups.pids(self.group("cpu", container))

    def offline(self, controller: str) -> Path:
        return next(place for place in cgroups.hierarchies() if place.name == controller) / self.node.cgroup / "kubepods/besteffort"

    def stands(self, container: str) -> dict[str, str]:
        """The content of each file that may be written for it."""
        found = {name: (self.group(name.split(".")[0], container) / name).read_text().strip() for name in CONTAINER}
        found |= {f"offline {name}": (self.offline(name.split(".")[0]) / name).read_text().strip() for name in OFFLINE}
        return found | {"oom_score_adj": " ".join(sorted({Path(f"/proc/{pid}/oom_score_adj").read_text().strip() for pid in self.pids(container)}))}

    def recorded(self, container: str) -> dict | None:
        """The container as the agent recorded it with its limits."""
        path = Path(self.state) / "learned/record.jsonl"
        tasks = [each for line in path.read_text().splitlines() for each in json.loads(line)["tasks"]] if path.exists() else []
        return next((each for each in tasks if each["name"] == container and "limits" in each), None)

    def wait_stands(self, container: str, **wanted: str) -> None:
        """These files as keyword arguments; _ replaces characters that are not allowed in a name."""
        last: dict[str, str] = {}

        def there() -> bool:
            last.update({re.sub(r"\W", "_", name): value for name, value in self.stands(container).items()})
            return wanted.items() <= last.items()

        try:
            wait_for(there, f"{wanted}", self.agent, LIMIT_S)
        except AssertionError as error:
            raise AssertionError(f"{error}\nthere is {last}")

    def test_each_is_written_on_a_container_and_restored(self):
        self.assertEqual(written_by_the_agent(), {*CONTAINER, *OFFLINE, *ELSEWHERE}, "a file without a check")
        master, task = self.start_spark()
        for name in ELSEWHERE:
            self.assertFalse((self.group(name.split(".")[0], task) / name).exists(), f"this kernel has {name}: check it here")
        self.narrow_processors()
        found = {name: self.stands(name) for name in (master, task)}
        self.assertEqual(("1024", "-1", "0"), (found[task]["cpu.shares"], found[task]["cpu.cfs_quota_us"], found[task]["offline cpuset.cpus"]), "as its NodeManager created it")

        self.enforce("batchLimits")
        self.wait_stands(task, cpu_shares="512", cpu_cfs_quota_us="50000", memory_limit_in_bytes=str(TASK_MIB << 20))
        self.wait_stands(master, memory_limit_in_bytes=str(MASTER_MIB << 20))
        self.enforce("batchLimits", "classWeights", classes=(SPARK,))
        self.wait_stands(task, cpu_shares="256", cpu_cfs_quota_us="50000")
        self.enforce("cpuPriority")
        self.wait_stands(task, cpu_idle="1", cpu_cfs_quota_us="-1", memory_limit_in_bytes=found[task]["memory.limit_in_bytes"])
        self.enforce("cpuSuppress", "batchLimits", threshold={**ROOM, "cpuSuppressPolicy": "cfsQuota"})
        self.wait_stands(task, cpu_idle="0", cpu_cfs_quota_us="-1", memory_limit_in_bytes=str(TASK_MIB << 20))
        wait_for(lambda: int(self.stands(task)["offline cpu.cfs_quota_us"]) > 0, "one quota over all offline work instead of one for each", self.agent, LIMIT_S)
        self.enforce("cpuSuppress", threshold={**ROOM, "cpuSuppressPolicy": "cpuset"})
        wait_for(lambda: self.stands(task)["offline cpuset.cpus"] not in ("", "0"), "processors", self.agent, LIMIT_S)
        self.wait_stands(task, offline_cpu_cfs_quota_us="-1")
        self.assertEqual({self.stands(task)["offline cpuset.cpus"]}, {self.may_run_on(pid) for pid in self.pids(task)}, "by the kernel")
        self.enforce("oomOrder")
        self.wait_stands(task, oom_score_adj=str(FIRST))
        wait_for(lambda: LINE_MIN <= int(self.stands(master)["oom_score_adj"]) <= LINE_MAX, "the master after its tasks", self.agent, LIMIT_S)

        record = wait_for(lambda: self.recorded(task), "a record of its limits", self.agent, LIMIT_S)
        self.assertEqual("spark", record["class"])
        self.assertIn(("memory.limit_in_bytes", str(TASK_MIB << 20)), {(each["file"], each["value"]) for each in record["limits"]})

        self.enforce()
        wait_for(lambda: {name: self.stands(name) for name in found} == found, f"all original values: {found}", self.agent, LIMIT_S)
        self.assertEqual({master, task}, set(self.copilot.running()), "no container ended")

    def test_the_class_tag_of_a_job_sets_the_weight_of_its_tasks(self):
        """In a queue without a class: its user's tag counts."""
        job = frameworks.map_reduce(self.yarn, 1, 1, until=self.yarn.layout.folder / "never", tags="nightly,tidemark-class:spark")
        self.addCleanup(job.end)
        task = wait_for(lambda: next((name for name, each in self.copilot.running().items() if not each["master"]), ""), "a map", self.copilot, LIMIT_S)
        seen = wait_for(lambda: (each := self.copilot.seen()[task])["tags"] and each, "its tags", self.copilot)
        self.assertEqual(("root.default", "MAPREDUCE", ["nightly", "tidemark-class:spark"]), (seen["queue"], seen["type"], sorted(seen["tags"])))
        self.assertEqual("spark", next(each["labels"] for each in self.copilot.get("/v1/containers") if each["name"] == task)["tidemark.io/class"])
        plain = self.yarn.submit_by_rest("sleep 1000", tags=["tidemark-job:nightly"])
        self.addCleanup(plain.end)
        beside = wait_for(lambda: next((name for name in self.copilot.running() if plain.id.removeprefix("application") in name), ""), "a container without a class", self.copilot)
        self.enforce("batchLimits", "classWeights", classes=(SPARK,))
        self.wait_stands(task, cpu_shares="256")
        self.wait_stands(beside, cpu_shares="512")
        self.enforce("batchLimits")
        self.wait_stands(task, cpu_shares="512")

    def narrow_processors(self) -> None:
        """Limits offline work to one CPU, other than its minimum: the agent has something to write, also on a machine with two CPUs."""
        files = sorted(self.offline("cpuset").rglob("cpuset.cpus"), key=lambda file: len(file.parts))
        before = {file: text for file in files if (text := file.read_text().strip())}
        self.addCleanup(lambda: [file.write_text(text) for file, text in before.items() if file.exists()])
        for file in reversed(before):
            file.write_text("0")

    @staticmethod
    def may_run_on(pid: int) -> str:
        return re.search(r"^Cpus_allowed_list:\s*(\S+)", Path(f"/proc/{pid}/status").read_text(), re.M)[1]


if __name__ == "__main__":
    unittest.main()
