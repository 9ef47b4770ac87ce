"""YARN in the idle part of this machine: a real ResourceManager and NodeManager beside `tidemark up`, `tidemark yarn-operator` for their totals, and
`tidemark yarn-copilot`, which gives their containers to the agent of `tidemark up`."""

import json
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from driver import processes, yarn
from driver.console import Failed, step
from demo.on_tidemark import OnTidemark
from demo.samples import COLLECTIONS, Api
from support.node import cgroups
from support.yarn import Job, Totals, Yarn

# A vcore of YARN is a whole core by itself, and no container asks for less than one: a small machine would have no room for two.
MILLICORES_PER_VCORE = 50
MASTER_MIB, TASK_MIB, TASKS = 256, 256, 2
WANTED = Totals(MASTER_MIB + TASKS * TASK_MIB, 1 + TASKS)
SITE = Totals(128, 1)  # the minimum for a node at a ResourceManager: the operator sets the rest
WORK = "sha256sum /dev/zero"
DRAIN_S = 5
NODE_ID = "yarn.hadoop.apache.org/node-id"
SETTINGS = {"schema": 1, "mode": "enforce", "drain": {"yarn": "end"}}
OFFER_S, BEGUN_S, TAKEN_S, LOOK_S, STOP_S = 90, 120, 60, 3.0, 10


class NothingIdle(Failed):
    """Of this machine, for so long that it is not waited for."""


class OnYarn:
    def __init__(self, up: OnTidemark):
        self.up = up
        self.group = f"{up.group}/kubepods/besteffort/hadoop-yarn"
        self.socket = up.data / "yarn-copilot.sock"
        self.script = up.data / "yarn-job"
        # A copy for commands of the user: a process with the run's own directory in its environment counts as part of the run, and is killed with it.
        self.configuration = up.data / "hadoop-conf"
        self.yarn: Yarn | None = None
        self._beside: list[subprocess.Popen] = []
        self._outputs: dict[int, Path] = {}
        self.jobs: list[Job] = []

    @staticmethod
    def provide() -> None:
        """Java and Hadoop's jars, before anything is started."""
        environment, remedy = yarn.java_and_hadoop()
        if remedy:
            raise Failed(f"no YARN here: {remedy}")
        os.environ.update(environment)

    def up_flags(self) -> tuple[str, ...]:
        return (f"--copilot={self.socket}={self.group}",)

    def start(self) -> None:
        api = Api(self.up.kubeconfig)
        self.node = api.must("GET", COLLECTIONS["Node"])["items"][0]["metadata"]["name"]
        with step("a ResourceManager and a NodeManager"):
            self.yarn = Yarn([SITE])
            self.yarn.__enter__()
        self.nm = self.yarn.nodes[0]
        # A NodeManager under its machine's name needs no annotation of its node; this one listens on the loopback only.
        api.must("PATCH", f"{COLLECTIONS['Node']}/{self.node}", {"metadata": {"annotations": {NODE_ID: self.nm.id}}}, "application/merge-patch+json")
        maps = COLLECTIONS["ConfigMap"].format(namespace="koordinator-system")
        api.must("POST", maps, {"metadata": {"name": "tidemark-config"}, "data": {"config.yaml": json.dumps(SETTINGS)}})
        self._begin(
            "yarn-copilot", "--server-endpoint", self.socket, "--node-manager-endpoint", f"127.0.0.1:{self.nm.ports.web}", "--yarn-container-cgroup-path", self.group,
            "--adopt", f"--millicores-per-vcore={MILLICORES_PER_VCORE}", "--hadoop-conf-dir", self.yarn.configuration, "--audit-file", self.up.data / "yarn-copilot.jsonl",
        )
        self._begin(
            "yarn-operator", "--kubeconfig", self.up.kubeconfig, "--hadoop-conf-dir", self.yarn.configuration, "--leader-elect=false", "--poll=1s", "--metrics-addr=0",
            f"--millicores-per-vcore={MILLICORES_PER_VCORE}", "--audit-file", self.up.data / "yarn-operator.jsonl",
        )
        shutil.copytree(self.yarn.configuration, self.configuration)
        self._write_script()

    def _begin(self, *words) -> None:
        output = self.up.data / f"{words[0]}.log"
        with open(output, "wb") as log:
            child = processes.start([self.up.binary, *words], stdout=log, stderr=subprocess.STDOUT)
        self._beside.append(child)
        self._outputs[child.pid] = output

    def _write_script(self) -> None:
        """What a user of YARN would type: the distributed shell's client, with a command for its containers."""
        command, environment = self.yarn.client()
        jar = next(self.yarn.jars.glob("hadoop-yarn-applications-distributedshell-*.jar"))
        own = {key: value for key, value in environment.items() if os.environ.get(key) != value}
        words = [*command, "-jar", jar, "-master_memory", MASTER_MIB, "-container_memory", TASK_MIB, "-container_vcores", 1, "-num_containers", TASKS, "-shell_command"]
        self.script.write_text(
            "#!/bin/sh\n# yarn-job COMMAND: runs it in containers of YARN, and stays until they have ended\n"
            + "".join(f"export {key}={shlex.quote(str(value))}\n" for key, value in own.items())
            + f'exec {shlex.join(map(str, words))} "$*"\n'
        )
        self.script.chmod(0o755)

    def wait_offer(self) -> tuple[int, int]:
        """What the ResourceManager hands out of this node, once it is enough for the job."""
        def enough() -> tuple[int, int] | None:
            memory, vcores = self.nm.total()
            return (memory, vcores) if memory >= WANTED.memory_mib and vcores >= WANTED.vcores else None

        return self._until(f"had less to offer to YARN than {WANTED.memory_mib} MiB and {WANTED.vcores} vcores", OFFER_S, enough, NothingIdle)

    def run_job(self) -> list[dict]:
        """Its containers, once they run and lie in groups of this machine's offline work."""
        self.jobs.append(self.yarn.submit(WORK, containers=TASKS, memory_mib=TASK_MIB, master_memory_mib=MASTER_MIB))
        return self._until("had no time for the job's containers", BEGUN_S, self._all_run, NothingIdle)

    def _all_run(self) -> list[dict] | None:
        found = [each for each in self.containers() if each["state"] == "RUNNING" and each["group"] and each["use"] and each["use"]["processes"]]
        return found if len(found) == 1 + TASKS else None

    def containers(self) -> list[dict]:
        """As the copilot tells of them; none while it does not answer."""
        try:
            return json.loads(processes.capture(["curl", "--silent", "--fail", "--unix-socket", self.socket, "http://copilot/tidemark/v1/containers"]))["containers"]
        except subprocess.CalledProcessError:
            return []

    def table(self) -> str:
        """What the containers have of the machine, looked at for a while."""
        before, begun = {each["id"]: each for each in self.containers()}, time.monotonic()
        time.sleep(LOOK_S)
        after, seconds = self.containers(), time.monotonic() - begun
        lines = [f"{'CONTAINER':<44}  {'':<6}  {'CORES':>5}  {'MEMORY':>8}  PROCESSES"]
        for each in after:
            had = before.get(each["id"])
            if not each["use"] or not had or not had["use"]:
                continue
            cores = (each["use"]["cpuNanoseconds"] - had["use"]["cpuNanoseconds"]) / 1e9 / seconds
            lines.append(f"{each['id']:<44}  {'master' if each['master'] else 'task':<6}  {cores:5.2f}  {each['use']['memoryBytes'] >> 20:4d} MiB  {each['use']['processes']:9d}")
        return "\n".join(lines)

    def explain(self) -> str:
        return self.up.tidemark(*self.explain_words())

    def explain_words(self) -> list[str]:
        return [
            "explain", "yarn", self.node, f"--kubeconfig={self.up.kubeconfig}", f"--hadoop-conf-dir={self.configuration}", f"--millicores-per-vcore={MILLICORES_PER_VCORE}",
        ]

    def off(self) -> float:
        """The seconds until YARN has nothing on this machine, and no process of its containers is left."""
        begun = time.monotonic()
        self.up.tidemark("off", "node", self.node, f"--kubeconfig={self.up.kubeconfig}", f"--drain={DRAIN_S}s", "--reason=to show it", "--yes")
        self._until("still has containers of YARN", TAKEN_S, lambda: self.nm.total() == (0, 0) and not self._processes())
        return time.monotonic() - begun

    def on(self) -> None:
        self.up.tidemark("on", "node", self.node, f"--kubeconfig={self.up.kubeconfig}", "--reason=seen", "--yes")

    def _processes(self) -> int:
        return sum(each["use"]["processes"] for each in self.containers() if each["use"])

    def end_job(self) -> dict:
        """What its ResourceManager tells of it."""
        report = self.jobs[-1].report()
        self.jobs[-1].end()
        return report

    def stop(self) -> None:
        """Containers first, whose groups the copilot takes away; then nothing of it is left."""
        if self.yarn is not None:
            left = self.yarn.stop()
            self.yarn = None
            if left:
                raise Failed("left behind by YARN:\n" + "\n".join(left))
        for child in self._beside:
            child.terminate()
        for child in self._beside:
            try:
                child.wait(STOP_S)
            except subprocess.TimeoutExpired:
                pass
            processes.kill_group(child)
        self._beside.clear()
        if cgroups.there(self.group) and (left := cgroups.remove(self.group)):
            raise Failed("groups of YARN's containers are there still:\n" + "\n".join(left))

    def _until(self, what_not: str, limit_s: float, question: Callable, failure: type[Failed] = Failed):
        deadline = time.monotonic() + limit_s
        while not (answer := question()):
            gone = [child for child in self._beside if child.poll() is not None] + ([] if self.up.server.poll() is None else [self.up.server])
            if gone:
                texts = [self._outputs.get(child.pid, self.up.output).read_text(errors="replace")[-4000:] for child in gone]
                raise Failed("a program ended by itself:\n" + "\n".join(texts))
            if time.monotonic() > deadline:
                raise failure(f"for {limit_s} s this machine {what_not}")
            time.sleep(0.2)
        return answer


def show(on: OnYarn) -> None:
    """YARN is given what is idle, uses it, returns it, and has it again. On a machine that is busy with other things it says so, and stays for when it is not."""
    on.start()
    try:
        _show(on)
    except NothingIdle as why:
        print(f"\n{why}: others have it. What YARN is told follows by itself, and a job of it begins when there is room.\n\n{on.explain()}")


def _show(on: OnYarn) -> None:
    with step("what this machine may sell, for YARN"):
        memory, vcores = on.wait_offer()
    with step(f"a job of YARN: a master and {TASKS} containers of `{WORK}`"):
        on.run_job()
    print(f"\nYARN hands out {memory} MiB and {vcores} vcores of {MILLICORES_PER_VCORE} millicores of this machine. Its job, in groups of the machine's offline work:\n")
    print(on.table())
    print(f"\n$ tidemark {' '.join(on.explain_words()[:3])}\n{on.explain()}")
    with step(f"`tidemark off node {on.node} --drain={DRAIN_S}s`: the machine is the web server's alone"):
        seconds = on.off()
    report = on.end_job()
    print(
        f"{seconds:.1f} s after the order YARN is told 0 MiB and 0 vcores, and no process of its containers is left. Pre-empted, by its ResourceManager's count: "
        f"{report['numNonAMContainerPreempted']} of {TASKS} tasks, {report['numAMContainerPreempted']} of 1 master.\n"
    )
    with step(f"`tidemark on node {on.node}`, and the job again"):
        on.on()
        on.wait_offer()
        on.run_job()


def ways_on(on: OnYarn, tidemark: str) -> str:
    return "\n".join([
        "Of YARN:",
        f"  export KUBECONFIG={on.up.kubeconfig} HADOOP_CONF_DIR={on.configuration}",
        f"  {tidemark} explain yarn {on.node} --millicores-per-vcore={MILLICORES_PER_VCORE}        # what it was given of this machine, and why",
        f"  {on.script} 'sleep 60'        # another job; it stays until its containers have ended",
        f"  {tidemark} off node {on.node} --drain={DRAIN_S}s --reason=try --yes        # its containers end as pre-empted",
        f"  {tidemark} on node {on.node} --reason=tried --yes",
        f"  curl --silent http://127.0.0.1:{on.yarn.rm.ports.web}/ws/v1/cluster/apps",
        f"  curl --silent --unix-socket {on.socket} http://copilot/tidemark/v1/containers",
        "",
    ])
