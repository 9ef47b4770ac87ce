"""A node loses its API server: what its agent continues to do, how many requests it sends meanwhile, and what it does when the server returns.

The server is killed for the kubelet too. The kubelet then refuses all requests, because it cannot authenticate them. Processes of the test make
the load, since no pod can be created.
"""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from cluster import colocation, faulty
from cluster.tidemark_process import wait_for
from node.evicting import Evicting
from node.protecting import BATCH, LIMIT_S, OFFLINE, QUOTA_FLOOR_US, Protecting
from node.test_agent import API
from node.test_eviction import memory_percent
from support.node import pods

SURGE_MILLI = 700
SURGE_US = 40000  # quota that offline work needs before a surge is visible
MEMORY_ABOVE = 8  # percent of the machine's memory: other work on it varies by less
BALLOON_MIB = 256  # a step
FOUND_OUT_S, OWN_TIME_S = 45, 20  # docs/guide/install.md, "What an agent reports": time until an agent finds the server again, and until it reports
# Three kinds are watched. A watch waits longer each time, up to half a minute, and each time the client tries up to ten times: about one request in three
# seconds for each kind. Writes (the node's condition, its NodeMetric, an event or two) are retried less and less often.
ASKED_A_MINUTE_MAX = 75
ASKED_AT_FIRST_MAX = 40
ASKED_AFTERWARDS_MAX = 30  # in the first minute after the server returned
GROWN_KB_MAX = 2048
JOURNALS_KB_MAX = 256  # limit for the growth of the agent's runtime directory, however long the outage
BALLOON = f"""
import sys
held = []
for _ in sys.stdin:
    held.append(b"x" * ({BALLOON_MIB} << 20))
    print(len(held), flush=True)
"""


def of_class(name: str) -> pods.Work:
    return pods.Work(name, pods.BEST_EFFORT, 300, 6, labels={**OFFLINE, "tidemark.io/class": name}, batch=BATCH)


class ThroughAnOutage(Evicting, Protecting):
    WORKS = [pods.Work("web", pods.BURSTABLE, 100, 6), of_class("spark"), of_class("transcode")]

    def setUp(self):
        super().setUp()
        self.addCleanup(self.server_is_there)
        self.addCleanup(self.tidemark, "on", "--local", "--reason", "the test is over")

    # -- the server

    def lose_the_server(self) -> None:
        faulty.control("kill", "apiserver")
        API.close()  # the old connection is dead
        self.lost = time.monotonic()
        self.asked_before, self.rss_before_kb, self.kept_before_kb = self.asked(), self.rss_kb(), self.kept_kb()

    def server_is_there(self) -> None:
        faulty.control("start", "apiserver")  # no effect on a running one
        API.close()
        self.back = time.monotonic()

    def asked(self) -> float:
        """The agent's requests to the API server, including retries and unanswered ones."""
        return sum(value for name, value in self.agent.metrics().items() if name.startswith("tidemark_client_requests_total"))

    def rss_kb(self) -> int:
        return int(re.search(r"^VmRSS:\s+(\d+)", Path(f"/proc/{self.agent.process.pid}/status").read_text(), re.M)[1])

    def kept_kb(self) -> int:
        """Size of the agent's journals on tmpfs, and of its audit."""
        files = [*(Path(self.state) / "run").iterdir(), Path(self.state) / "learned/audit.jsonl"]
        return sum(file.stat().st_size for file in files if file.is_file()) // 1024

    def ended(self) -> float:
        """Tasks that the agent evicted, or killed."""
        return sum(value for name, value in self.agent.metrics().items() if name.startswith(("tidemark_agent_evictions_total", "tidemark_agent_kills_total")))

    def heard(self, since: int) -> list[str]:
        """The agent's requests in the server's log from that position on."""
        account, found = f"system:serviceaccount:default:{self.node.name}-agent", {}
        with open(os.environ["TIDEMARK_TEST_AUDIT_LOG"], "rb") as log:
            log.seek(since)
            for line in log.read().split(b"\n")[:-1]:
                event = json.loads(line)
                if event["user"]["username"] == account:
                    found[event["auditID"]] = f"{event['verb']} {event['requestURI'].split('?')[0]}"
        return sorted(found.values())

    # -- events on the node

    def rules(self, **threshold) -> None:
        """Settings from the manager: all is enforced, one eviction per hour is granted, and offline work has more than its minimum on a busy machine."""
        self.want(enable=True, cpuSuppressThresholdPercent=80, cpuSuppressMinPercent=5, **threshold)
        word = {
            "schema": 1,
            "agent": {
                "modes": {"default": "enforce"}, "evict": {"graceSeconds": 3},
                "classes": [{"name": "transcode", "order": 10, "restartCostSeconds": 60}, {"name": "spark", "order": 30, "restartCostSeconds": 600}],
            },
            "evictions": {"perHour": 1, "until": "2100-01-01T00:00:00Z"},
        }
        spec = {"extensions": {"Object": {"tidemark": word}}}
        colocation.must(API.request("PATCH", f"{colocation.NODESLOS}/{self.node.name}", {"spec": spec}, content="application/merge-patch+json"))

    def a_process_in(self, pod: str) -> subprocess.Popen:
        """Uses a whole CPU, or the limit of the pod: the surge of online work."""
        life = next(each for each in self.pods if each["metadata"]["name"] == pod)
        group = f"burstable/pod{life['metadata']['uid']}/{life['status']['containerStatuses'][0]['containerID'].removeprefix('containerd://')}"
        busy = subprocess.Popen([sys.executable, "-c", "while True: pass"], stdin=subprocess.DEVNULL)
        self.addCleanup(self.end, busy)
        for controller in ("cpu", "cpuacct"):
            (self.folder(controller, group) / "cgroup.procs").write_text(str(busy.pid))
        return busy

    def end(self, process: subprocess.Popen) -> None:
        process.kill()
        process.communicate()

    def gives_way_to_a_surge(self) -> None:
        if not self.room_for(SURGE_US) or not self.others_leave(SURGE_MILLI / 1000 + 0.4):
            return
        calm, begin = self.quota(), time.monotonic()
        busy = self.a_process_in("web")
        low = wait_for(lambda: self.quota() < calm - 20000 and self.quota(), f"less than {calm}", self.agent, LIMIT_S)
        print(f"no API server: quota {calm} -> {low} within {time.monotonic() - begin:.1f} s of a surge", file=sys.stderr)
        self.end(busy)
        self.room_for(low + 20000)

    def offline_work_is_killed_for_memory(self) -> None:
        """No server can evict: the agent kills the least timely task, once."""
        balloon = subprocess.Popen([sys.executable, "-c", BALLOON], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end, balloon)
        begin = time.monotonic()

        def killed() -> bool:
            if memory_percent() < self.line + 1:
                balloon.stdin.write("more\n")
                balloon.stdin.flush()
                balloon.stdout.readline()
            return any(value for name, value in self.agent.metrics().items() if name.startswith("tidemark_agent_kills_total"))

        wait_for(killed, "a kill", self.agent, LIMIT_S)
        print(f"no API server: killed for memory {time.monotonic() - begin:.1f} s after it began to be taken", file=sys.stderr)
        self.end(balloon)
        self.assertGreaterEqual(self.evictions("TM-EVICT-017"), 1, "eviction came first, without an answer")
        kills = [each for each in self.audit() if each["verb"] == "kill" and each["outcome"] == "done"]
        self.assertEqual([f"pod{self.living['transcode'][0]}"], [Path(each["object"]["name"]).name for each in kills], kills)

    def obeys_the_switch_on_the_machine(self) -> None:
        done = self.tidemark("off", "--local", "--reason", "a test")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertTrue(self.held())
        self.assertEqual(0, self.tidemark("on", "--local", "--reason", "a test").returncode)
        wait_for(lambda: self.quota() > QUOTA_FLOOR_US, "more than the minimum", self.agent, LIMIT_S)

    def asks_seldom_and_stays_small(self) -> None:
        minutes, asked, grown = (time.monotonic() - self.lost) / 60, self.asked() - self.asked_before, self.rss_kb() - self.rss_before_kb
        print(f"no API server for {minutes * 60:.0f} s: {asked:.0f} requests, Rss {self.rss_before_kb} kB and {grown:+} kB", file=sys.stderr)
        self.assertLess(asked, ASKED_AT_FIRST_MAX + ASKED_A_MINUTE_MAX * minutes, [each for each in self.agent.metrics().items() if each[0].startswith("tidemark_client_requests_total")])
        self.assertLess(grown, GROWN_KB_MAX)
        kept = self.kept_kb() - self.kept_before_kb
        print(f"its journals and its audit: {self.kept_before_kb} kB and {kept:+} kB", file=sys.stderr)
        self.assertLess(kept, JOURNALS_KB_MAX)

    def is_heard_again_and_makes_no_storm(self, counted_s: float) -> None:
        """The mark is written before the agent knows that the server is back."""
        log, ended = Path(os.environ["TIDEMARK_TEST_AUDIT_LOG"]).stat().st_size, self.ended()
        self.server_is_there()
        shown = self.status().get("updateTime")  # None if the first report was due during the outage
        self.order("off")
        wait_for(self.held, "the order from the outage to be obeyed", self.agent, FOUND_OUT_S)
        print(f"off, written meanwhile, obeyed {time.monotonic() - self.back:.1f} s after the API server was ready again", file=sys.stderr)
        wait_for(lambda: self.status().get("updateTime") != shown, "a report", self.agent, FOUND_OUT_S + OWN_TIME_S + 5)
        print(f"reported {time.monotonic() - self.back:.1f} s after the API server was ready again", file=sys.stderr)
        wait_for(lambda: time.monotonic() - self.back > counted_s, "the end of what is counted", self.agent, counted_s)
        heard = self.heard(log)
        print(f"{len(heard)} requests in the first {time.monotonic() - self.back:.0f} s with it", file=sys.stderr)
        self.assertLess(len(heard), ASKED_AFTERWARDS_MAX, heard)
        self.assertEqual(ended, self.ended(), "missed events evict no task")

    def all_is_right_again(self, killed: str | None) -> None:
        """New settings are obeyed; only the killed task ended, and its kubelet started it again; every file is as before the agent's first write."""
        self.order("off")
        wait_for(self.held, "an order obeyed", self.agent, LIMIT_S)
        self.order("observe")
        wait_for(lambda: self.condition().get("reason") == "Observing", "condition Observing", self.agent, LIMIT_S)
        wait_for(lambda: not self.differences(self.found), "all original values", self.agent, LIMIT_S)
        now = self.lives()
        self.assertEqual({name: life[0] for name, life in self.living.items()}, {name: life[0] for name, life in now.items()}, "the same pods")
        self.assertEqual({name: life for name, life in self.living.items() if name != killed}, {name: life for name, life in now.items() if name != killed})

    def begin(self) -> None:
        self.order("observe")
        wait_for(lambda: self.in_force("batchLimits") == 0 and self.in_force("cpuPriority") == 0, "everything put back", self.agent, LIMIT_S)
        self.found, self.living = self.everything(), self.lives()
        self.order(None)
        self.line = memory_percent() + MEMORY_ABOVE
        self.rules(memoryEvictThresholdPercent=self.line, memoryEvictLowerPercent=self.line - 1)
        wait_for(lambda: self.quota() > QUOTA_FLOOR_US and self.in_force("batchLimits") > 0, "offline work limited", self.agent, LIMIT_S)

    def live_through(self, away_s: float, counted_s: float) -> None:
        """A surge, a memory shortage and an order on the machine, without an API server for at least this long."""
        self.begin()
        self.lose_the_server()
        self.gives_way_to_a_surge()
        self.offline_work_is_killed_for_memory()
        self.obeys_the_switch_on_the_machine()
        wait_for(lambda: time.monotonic() - self.lost > away_s, "the end of the outage", self.agent, away_s)
        self.assertGreater(self.in_force("batchLimits"), 0)
        self.assertGreater(self.in_force("cpuSuppress"), 0)
        self.asks_seldom_and_stays_small()
        self.is_heard_again_and_makes_no_storm(counted_s)
        self.all_is_right_again("transcode")
