"""./dev bench agent: what `tidemark agent` of the release build costs on a real node, measured from outside its process.

A real kubelet and containerd run PODS pods of two containers each, a third of them with batch resources; the agent has TLS to a
real kube-apiserver and to the kubelet, its watches, its report, and every strategy that is there: suppression, batch limits, CPU
priority, class weights, who ends first when memory is out, evictions with their lines drawn (and far away). What it had is read
from the kernel after it came to rest.

  cpu_50_pods         what the process had of a core, kernel part included, in percent: ROUND_S a round
  rss_50_pods         Rss of its smaps_rollup at the end of a round, in MiB
  private_50_pods     Private_Dirty of the same
  grew_50_pods        by how much its own memory (Anonymous of the same) grew within a round, in KiB
  …_50_pods_by_quota  the same with suppression by quota; the others have the default, by cpuset
  …_200_pods          as the first, with 200 pods, of one container each beyond the first 50; TIDEMARK_BENCH_MORE_PODS=0 leaves them out
"""

import json
import os
import re
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from bench.harness import cpu_seconds, figure, main_with_cluster, real_node, start_agent
from cluster import colocation
from driver import processes
from driver.console import Failed, say
from support.node import pods

PODS, MORE_PODS = 50, int(os.environ.get("TIDEMARK_BENCH_MORE_PODS", "150"))
LOT = 25  # made and waited for together: two processors start no more within the time that a node gives its pods
ROUNDS, ROUND_S, REST_S = 3, 60, 45
BATCH = {"batch-cpu": 100, "batch-memory": 64 << 20}
OFFLINE = {"koordinator.sh/qosClass": "BE", "tidemark.io/class": "spark"}
NODESLOS = "/apis/slo.koordinator.sh/v1alpha1/nodeslos"


def works(first: int, count: int, containers: int) -> list:
    """Online pods and, every third, offline ones; each container uses 4 milli-cores."""
    kinds = [
        lambda name: pods.Work(name, pods.GUARANTEED, 4, 4, containers),
        lambda name: pods.Work(name, pods.BURSTABLE, 4, 4, containers),
        lambda name: pods.Work(name, pods.BEST_EFFORT, 4, 4, containers, labels=OFFLINE, batch=BATCH),
    ]
    return [kinds[i % 3](f"work-{i}") for i in range(first, first + count)]


def memory(pid: int) -> dict[str, int]:
    fields = re.findall(r"^(\w+):\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)
    return {name: int(amount) * 1024 for name, amount in fields}


def slo_spec(policy: dict[str, str]) -> dict:
    word = {"schema": 1, "agent": {"modes": {"default": "enforce"}, "classes": [{"name": "transcode", "order": 10}, {"name": "spark", "order": 30, "cpuWeight": 200}]}}
    return {
        "resourceUsedThresholdWithBE": {
            "enable": True, **policy, "cpuSuppressThresholdPercent": 65, "memoryEvictThresholdPercent": 98,
            "cpuEvictBESatisfactionLowerPercent": 1, "cpuEvictBESatisfactionUpperPercent": 2,
        },
        "resourceQOSStrategy": {"beClass": {"cpuQOS": {"enable": True, "groupIdentity": -1}}},
        "extensions": {"Object": {"tidemark": word}},
    }


def set_up(api, name: str) -> None:
    """What a manager would: the objects of the node, with everything switched on."""
    colocation.install_crds()
    metric = {
        "apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric", "metadata": {"name": name},
        "spec": {"metricCollectPolicy": {"reportIntervalSeconds": 60, "aggregateDurationSeconds": 300, "nodeAggregatePolicy": {"durations": ["5m0s", "10m0s", "30m0s"]}}},
    }
    slo = {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeSLO", "metadata": {"name": name}, "spec": slo_spec({})}
    for path, body in ((colocation.NODEMETRICS, metric), (NODESLOS, slo)):
        colocation.must(api.request("POST", path, body))
    amounts = {"kubernetes.io/batch-cpu": "80000", "kubernetes.io/batch-memory": "80Gi"}
    status = {"status": {"capacity": amounts, "allocatable": amounts}}
    colocation.must(api.request("PATCH", f"/api/v1/nodes/{name}/status", status, content="application/strategic-merge-patch+json"))


def rounds(agent, suffix: str) -> None:
    time.sleep(REST_S)  # files opened, first values written, the first report sent
    cpu, rss, private, grew = [], [], [], []
    for _ in range(ROUNDS):
        own = memory(agent.pid)["Anonymous"]
        began, had = time.monotonic(), cpu_seconds(agent.pid)
        time.sleep(ROUND_S)
        if agent.poll() is not None:
            raise Failed(f"the agent ended with {agent.returncode}")
        cpu.append(100 * (cpu_seconds(agent.pid) - had) / (time.monotonic() - began))
        held = memory(agent.pid)
        rss.append(held["Rss"] / 2**20)
        private.append(held["Private_Dirty"] / 2**20)
        grew.append((held["Anonymous"] - own) / 2**10)
    figure(f"agent.cpu_{suffix}", "%", cpu)
    figure(f"agent.rss_{suffix}", "MiB", rss)
    figure(f"agent.private_{suffix}", "MiB", private)
    figure(f"agent.grew_{suffix}", "KiB", grew)


def run(program: Path, environment: dict[str, str], stack: ExitStack) -> None:
    api, here = real_node(environment, stack)
    set_up(api, here.name)
    say(f"{PODS} pods with {2 * PODS} containers …")
    here.run(works(0, PODS, 2))
    state = stack.enter_context(tempfile.TemporaryDirectory(prefix="tidemark-bench-"))
    log = stack.enter_context(open(f"{state}/log", "w+"))
    agent = start_agent(program, here, state, "--state-dir", f"{state}/learned", log=log)
    try:
        rounds(agent, "50_pods")
        check(state, "batchLimits", "cpuPriority")  # by cpuset there may be nothing to narrow: two processors are its least
        suppress(api, here.name, "cfsQuota")
        rounds(agent, "50_pods_by_quota")
        check(state, "cpuSuppress", "batchLimits", "cpuPriority")
        if MORE_PODS == 0:
            return
        suppress(api, here.name, "cpuset")
        say(f"{MORE_PODS} pods more …")
        for first in range(PODS, PODS + MORE_PODS, LOT):
            here.run(works(first, LOT, 1))
        rounds(agent, "200_pods")
        check(state, "batchLimits", "cpuPriority")
    except Failed:
        log.seek(0)
        print(log.read()[-4000:], file=sys.stderr)
        raise
    finally:
        processes.kill_group(agent)


def suppress(api, name: str, policy: str) -> None:
    body = {"spec": slo_spec({"cpuSuppressPolicy": policy})}
    colocation.must(api.request("PATCH", f"{NODESLOS}/{name}", body, content="application/merge-patch+json"))


def check(state: str, *in_force: str) -> None:
    """That it did its work while it was measured."""
    status = json.loads(Path(f"{state}/run/status.json").read_text())
    for each in status["strategies"]:
        if each["permit"] != "enforce":
            raise Failed(f"{each['name']} does not enforce: {each}")
    # Weights of classes stand nowhere where offline pods run idle: such a group takes none.
    for name in in_force:
        if not any(each["name"] == name and each["inForce"] > 0 for each in status["strategies"]):
            raise Failed(f"nothing of {name} is in force: {status}")


if __name__ == "__main__":
    sys.exit(main_with_cluster("agent", run))
