"""A node that loses its API server: what its agent goes on doing, what it asks for meanwhile, and what it does when the server is there again.

The server is killed, for the kubelet too, which then lets nobody ask it anything: it cannot find out who he is. Load comes from processes of the test,
since nobody can make a pod.
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
SURGE_US = 40000  # so much of a period has to be there for offline work before a surge shows
MEMORY_ABOVE = 8  # hundredths of the machine's memory: what other work of it comes and goes by is less
BALLOON_MIB = 256  # a step
FOUND_OUT_S, OWN_TIME_S = 45, 20  # docs/guide/install.md, "What an agent reports": until an agent knows that the server is there again, and until it reports
# Three kinds are followed. Whoever does waits ever longer, half a minute at last, and each time the client tries up to ten times: a request in some three
# seconds for each of them. What is written (the node's condition, its NodeMetric, an event or two) is tried ever more seldom.
ASKED_A_MINUTE_MAX = 75
ASKED_AT_FIRST_MAX = 40
ASKED_AFTERWARDS_MAX = 30  # in the first minute in which the server is there again
GROWN_KB_MAX = 2048
JOURNALS_KB_MAX = 256  # that what an agent keeps in its folder of run time grows by, however long it hears nobody
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
        API.close()  # its connection is dead
        self.lost = time.monotonic()
        self.asked_before, self.rss_before_kb, self.kept_before_kb = self.asked(), self.rss_kb(), self.kept_kb()

    def server_is_there(self) -> None:
        faulty.control("start", "apiserver")  # one that runs stays
        API.close()
        self.back = time.monotonic()

    def asked(self) -> float:
        """Requests of the agent to the API server, repeats and those that nobody answered included."""
        return sum(value for name, value in self.agent.metrics().items() if name.startswith("tidemark_client_requests_total"))

    def rss_kb(self) -> int:
        return int(re.search(r"^VmRSS:\s+(\d+)", Path(f"/proc/{self.agent.process.pid}/status").read_text(), re.M)[1])

    def kept_kb(self) -> int:
        """What the journals of the agent have on tmpfs, and its audit."""
        files = [*(Path(self.state) / "run").iterdir(), Path(self.state) / "learned/audit.jsonl"]
        return sum(file.stat().st_size for file in files if file.is_file()) // 1024

    def ended(self) -> float:
        """Tasks that the agent evicted, or killed."""
        return sum(value for name, value in self.agent.metrics().items() if name.startswith(("tidemark_agent_evictions_total", "tidemark_agent_kills_total")))

    def heard(self, since: int) -> list[str]:
        """Requests of the agent that the server wrote down from there on."""
        account, found = f"system:serviceaccount:default:{self.node.name}-agent", {}
        with open(os.environ["TIDEMARK_TEST_AUDIT_LOG"], "rb") as log:
            log.seek(since)
            for line in log.read().split(b"\n")[:-1]:
                event = json.loads(line)
                if event["user"]["username"] == account:
                    found[event["auditID"]] = f"{event['verb']} {event['requestURI'].split('?')[0]}"
        return sorted(found.values())

    # -- what the node goes through

    def rules(self, **threshold) -> None:
        """What the manager says: all is enforced, one eviction an hour is granted, and however busy this machine is, offline work has more than its least."""
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
        """It uses a whole processor, or what the pod may: the surge of online work."""
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
        """Nobody answers who could evict: the least timely work, once."""
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
        self.assertGreaterEqual(self.evictions("TM-EVICT-017"), 1, "it was asked first, and nobody answered")
        kills = [each for each in self.audit() if each["verb"] == "kill" and each["outcome"] == "done"]
        self.assertEqual([f"pod{self.living['transcode'][0]}"], [Path(each["object"]["name"]).name for each in kills], kills)

    def obeys_the_switch_on_the_machine(self) -> None:
        done = self.tidemark("off", "--local", "--reason", "a test")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertTrue(self.held())
        self.assertEqual(0, self.tidemark("on", "--local", "--reason", "a test").returncode)
        wait_for(lambda: self.quota() > QUOTA_FLOOR_US, "more than the least", self.agent, LIMIT_S)

    def asks_seldom_and_stays_small(self) -> None:
        minutes, asked, grown = (time.monotonic() - self.lost) / 60, self.asked() - self.asked_before, self.rss_kb() - self.rss_before_kb
        print(f"no API server for {minutes * 60:.0f} s: {asked:.0f} requests, Rss {self.rss_before_kb} kB and {grown:+} kB", file=sys.stderr)
        self.assertLess(asked, ASKED_AT_FIRST_MAX + ASKED_A_MINUTE_MAX * minutes, [each for each in self.agent.metrics().items() if each[0].startswith("tidemark_client_requests_total")])
        self.assertLess(grown, GROWN_KB_MAX)
        kept = self.kept_kb() - self.kept_before_kb
        print(f"its journals and its audit: {self.kept_before_kb} kB and {kept:+} kB", file=sys.stderr)
        self.assertLess(kept, JOURNALS_KB_MAX)

    def is_heard_again_and_makes_no_storm(self, counted_s: float) -> None:
        """The mark is written before the agent knows that there is anybody to hear of it."""
        log, ended = Path(os.environ["TIDEMARK_TEST_AUDIT_LOG"]).stat().st_size, self.ended()
        self.server_is_there()
        told = self.status().get("updateTime")  # none where the first report was due meanwhile
        self.order("off")
        wait_for(self.held, "an order of meanwhile obeyed", self.agent, FOUND_OUT_S)
        print(f"off, written meanwhile, obeyed {time.monotonic() - self.back:.1f} s after the API server was ready again", file=sys.stderr)
        wait_for(lambda: self.status().get("updateTime") != told, "a report", self.agent, FOUND_OUT_S + OWN_TIME_S + 5)
        print(f"reported {time.monotonic() - self.back:.1f} s after the API server was ready again", file=sys.stderr)
        wait_for(lambda: time.monotonic() - self.back > counted_s, "the end of what is counted", self.agent, counted_s)
        heard = self.heard(log)
        print(f"{len(heard)} requests in the first {time.monotonic() - self.back:.0f} s with it", file=sys.stderr)
        self.assertLess(len(heard), ASKED_AFTERWARDS_MAX, heard)
        self.assertEqual(ended, self.ended(), "nobody ends for what was missed")

    def all_is_right_again(self, killed: str | None) -> None:
        """New words are obeyed; nobody ended but who was killed, and his kubelet started him again; every file is as before the agent ever wrote."""
        self.order("off")
        wait_for(self.held, "an order obeyed", self.agent, LIMIT_S)
        self.order("observe")
        wait_for(lambda: self.condition().get("reason") == "Observing", "a condition that says so", self.agent, LIMIT_S)
        wait_for(lambda: not self.differences(self.found), "every file as it was", self.agent, LIMIT_S)
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
        """A surge, memory that runs short and an order on the machine, with no API server there for so long at least."""
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
