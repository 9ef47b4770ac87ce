"""./dev bench gateway: `tidemark gateway` of the release build with its default flags. SQLite is on the disk. No driver runs at Kubernetes: kubelet.py reports
the status of driver pods, at once if nothing else is said.

On a real kube-apiserver, all programs on the same machine:

  post_p50, _p99       a POST of Livy's API, from when it was due to its answer, which is durable; 50 a second. Each round has a gateway of its own
  submission_cpu       CPU time of the gateway for one of these runs, from its POST until its driver runs: HTTP, SQLite, four calls of the API server, the watch
  submissions          runs a minute whose driver pods begin to run, while 500 wait all the time
  stock_…              spark-submit of pyspark for the same job on the same API server, which waits for nothing: seconds, CPU time and memory of one submission
  operator_submissions Spark Operator (peer/spark_operator) with SparkApplication objects of the same job, until their driver pods run; its default flags
  end_kubernetes       from the success of the driver pod in the API server to `success` in the answer of the gateway

With a real ResourceManager and NodeManager as well:

  moved_submitted      from the eviction of the driver pod in the API server to the start time of the application at the ResourceManager
  moved_running        from the eviction to the state RUNNING at YARN: the same, and YARN's start of a master of Spark
  end_yarn             from the finish time at the ResourceManager to the end in the answer of the gateway

A part of a day on an API server in memory, which is cheaper than a real one: 40,000 runs a day of 20,000 jobs, 100 times as fast. Drivers live 48 s on
average, so more than 2,000 of them live at the same time. Halfway the gateway is killed during a POST, which the client then repeats.

  day_runs             runs of it
  day_lost             runs that a client posted and that did not end with success
  day_doubled          drivers and runs beyond one of each POST
  day_memory           resident memory of the gateway while 2,000 runs or more live
  day_cpu              CPU time of the gateway for one run, from its POST to its stored end
"""

import http.client
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from bench.harness import Talker, client, cpu_seconds, figure, main_with_cluster, resident_bytes
from cluster.colocation import must
from contract.client import Client
from contract.memory import Memory
from driver import maven_jars, processes, python_packages, spark_operator, yarn as yarn_world
from driver.console import Failed
from support.spark_operator import APPLICATIONS, SparkOperator, peers_environment

ROUNDS = 3
STEADY_S, STEADY_RATE = 20, 50
BURST_S, BURST_WARM_S, BURST_WAITING, POSTERS = 10, 4, 500, 2
ENDS = 20
MOVES = 3
KILLS = 10
APPLICATIONS = 12  # of Spark Operator
OPERATOR_LIMIT_S = 120
DAY_RUNS, DAY_JOBS, DAY_SPEED = 40_000, 20_000, 100
DAY_S, DAY_LIFE_S = 240, 48  # 2,200 runs live at 46.3 a second
DAY_LIVE = 2000
LIMIT_S = 120
MIB = 1 << 20
PODS = "/api/v1/namespaces/default/pods"
PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"
PRIORITY = {"metadata": {"name": "koord-batch"}, "value": 5500}


def wait_for(question, what: str, limit_s: float = LIMIT_S):
    deadline = time.monotonic() + limit_s
    while not (answer := question()):
        if time.monotonic() > deadline:
            raise Failed(f"not within {limit_s} s: {what}")
        time.sleep(0.02)
    return answer


class Gateway:
    """The process that is measured."""

    def __init__(self, program: Path, kubeconfig: str, folder: Path, *flags: str):
        self._command = [program, "gateway", "--kubeconfig", kubeconfig, "--data-dir", folder, "--listen=127.0.0.1:0", *flags]
        self._log = folder.with_suffix(".log")
        self._begin()

    def _begin(self) -> None:
        with open(self._log, "ab") as log:
            before = log.tell()
            self._child = processes.start(self._command, stdout=log, stderr=subprocess.STDOUT)
        self.address = wait_for(lambda: (re.search(r"gateway serves .*address=(\S+)", self.log()[before:]) or [None, None])[1], "the gateway serves")
        wait_for(lambda: self.ask(http.client.HTTPConnection(self.address), "GET", "/readyz")[0] == 200, "the gateway is ready")

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def pid(self) -> int:
        return self._child.pid

    @staticmethod
    def send(connection: http.client.HTTPConnection, method: str, path: str, body: dict | None = None, key: str = "") -> None:
        fields = {"Content-Type": "application/json", **({"Idempotency-Key": key} if key else {})}
        connection.request(method, path, None if body is None else json.dumps(body).encode(), fields)

    def ask(self, connection: http.client.HTTPConnection, method: str, path: str, body: dict | None = None, key: str = "") -> tuple[int, bytes]:
        self.send(connection, method, path, body, key)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def read(self, path: str) -> dict:
        status, body = self.ask(http.client.HTTPConnection(self.address), "GET", path)
        if status != 200:
            raise Failed(f"GET {path}: {status} {body[:500]!r}")
        return json.loads(body)

    def post(self, connection: http.client.HTTPConnection, body: dict, key: str = "") -> dict:
        status, answer = self.ask(connection, "POST", "/batches", body, key)
        if status != 201:
            raise Failed(f"POST /batches: {status} {answer[:500]!r}")
        return json.loads(answer)

    def kill_and_restart(self) -> None:
        os.kill(self._child.pid, signal.SIGKILL)
        self._child.wait()
        self._begin()

    def end(self) -> None:
        processes.kill_group(self._child)


def job(name: str, **conf: str) -> dict:
    return {
        "file": "local:///opt/jobs/report.jar", "className": "com.example.Report", "args": ["2026-01-02"], "name": name, "driverMemory": "1g", "executorMemory": "2g", "numExecutors": 2,
        "conf": {"spark.kubernetes.container.image": "spark", "spark.tidemark.side": "kubernetes", **conf},
    }


class Bench:
    def __init__(self, program: Path, environment: dict[str, str], stack: ExitStack):
        self._program, self._environment, self._stack = program, environment, stack
        self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tidemark-bench-")))
        self._api = client(environment)
        stack.callback(self._api.close)
        must(self._api.request("POST", PRIORITIES, PRIORITY), 201, 409)
        self._folders = 0
        self.found: dict[str, list[float]] = {}

    def note(self, name: str, value: float) -> None:
        self.found.setdefault(name, []).append(value)

    def kubelet(self, stack: ExitStack, life_s: float = 0) -> Talker:
        target = [self._environment[name] for name in ("TIDEMARK_TEST_SERVER", "TIDEMARK_TEST_CA_FILE", "TIDEMARK_TEST_TOKEN_FILE")]
        return self._kubelet(stack, *target, "0", str(life_s))

    @staticmethod
    def _kubelet(stack: ExitStack, *words: str) -> Talker:
        kubelet = Talker([sys.executable, Path(__file__).with_name("kubelet.py"), *words])
        stack.callback(kubelet.end)
        kubelet.ask("count")
        return kubelet

    def gateway(self, stack: ExitStack, *flags: str, kubeconfig: str = "") -> Gateway:
        self._folders += 1
        gateway = Gateway(self._program, kubeconfig or self._environment["TIDEMARK_TEST_KUBECONFIG"], self._folder / f"gateway-{self._folders}", *flags)
        stack.callback(gateway.end)
        return gateway

    # -- Kubernetes

    def steady(self) -> None:
        with ExitStack() as stack:
            self.kubelet(stack)
            gateway = self.gateway(stack)
            connection = http.client.HTTPConnection(gateway.address)
            took, cpu, begin = [], cpu_seconds(gateway.pid), time.monotonic()
            for number in range(STEADY_S * STEADY_RATE):
                due = begin + number / STEADY_RATE
                time.sleep(max(0, due - time.monotonic()))
                gateway.post(connection, job(f"steady {number}"))
                took.append(1000 * (time.monotonic() - due))
            wait_for(lambda: self.running(gateway) == len(took), "the gateway sees that all drivers run")
            self.note("submission_cpu", 1000 * (cpu_seconds(gateway.pid) - cpu) / len(took))
            cuts = statistics.quantiles(took, n=100)
            self.note("post_p50", cuts[49])
            self.note("post_p99", cuts[98])

    @staticmethod
    def running(gateway: Gateway) -> int:
        return gateway.read("/api/v1/batches?batchState=RUNNING&size=1")["total"]

    def burst(self) -> None:
        with ExitStack() as stack:
            kubelet, gateway = self.kubelet(stack), self.gateway(stack)
            room, ended = threading.Semaphore(BURST_WAITING), threading.Event()

            def post(first: int) -> None:
                connection, number = http.client.HTTPConnection(gateway.address), first
                while not ended.is_set():
                    if room.acquire(timeout=0.1):
                        gateway.post(connection, job(f"burst {number}"))
                        number += POSTERS

            posters = [threading.Thread(target=post, args=(i,)) for i in range(POSTERS)]
            for poster in posters:
                poster.start()
            try:
                begin, counts, seen = time.monotonic(), [], 0
                while len(counts) <= ROUNDS:
                    running = kubelet.ask("count")["running"]
                    room.release(running - seen) if running > seen else None
                    seen = running
                    if time.monotonic() - begin >= BURST_WARM_S + len(counts) * BURST_S:
                        counts.append((time.monotonic(), running))
                    time.sleep(0.02)
            finally:
                ended.set()
                for poster in posters:
                    poster.join()
            for (t0, n0), (t1, n1) in zip(counts, counts[1:]):
                self.note("submissions", 60 * (n1 - n0) / (t1 - t0))

    def ends(self) -> None:
        with ExitStack() as stack:
            kubelet, gateway = self.kubelet(stack), self.gateway(stack)
            connection = http.client.HTTPConnection(gateway.address)
            runs = [gateway.post(connection, job(f"end {number}"))["id"] for number in range(ENDS)]
            wait_for(lambda: self.running(gateway) == ENDS, "all drivers run")
            for run in runs:
                pod = gateway.read(f"/batches/{run}")["attempts"][-1]["handle"]
                at = kubelet.ask(f"end {pod}")["at"]
                self.note("end_kubernetes", self.shown(gateway, run, "success") - at)

    @staticmethod
    def shown(gateway: Gateway, run: int, state: str) -> float:
        wait_for(lambda: gateway.read(f"/batches/{run}/state")["state"] == state, f"run {run} is shown as {state}")
        return time.time()

    # -- peers

    def stock(self, pyspark: Path, java: str) -> None:
        words = ["--master", f"k8s://{self._environment['TIDEMARK_TEST_SERVER']}", "--deploy-mode", "cluster", "--class", "com.example.Report", "--name", "stock", "--driver-memory", "1g",
                 "--executor-memory", "2g", "--num-executors", "2", "--conf", "spark.kubernetes.container.image=spark", "--conf", "spark.kubernetes.submission.waitAppCompletion=false",
                 "local:///opt/jobs/report.jar", "2026-01-02"]
        begin = time.monotonic()
        log = self._folder / "spark-submit.log"
        with open(log, "wb") as out:
            child = processes.start([pyspark / "bin/spark-submit", *words], env=peers_environment(self._environment, pyspark, java), stdout=out, stderr=subprocess.STDOUT)
            _, code, used = os.wait4(child.pid, 0)
        took = time.monotonic() - begin
        child.returncode = os.waitstatus_to_exitcode(code)
        processes.forget(child)
        if child.returncode != 0:
            raise Failed(f"spark-submit ended with {child.returncode}:\n{log.read_text(errors='replace')[-3000:]}")
        must(self._api.request("DELETE", f"{PODS}?labelSelector=spark-app-name%3Dstock"))  # no kubelet has seen it
        self.note("stock_submission", took)
        self.note("stock_submission_cpu", 1000 * (used.ru_utime + used.ru_stime))
        self.note("stock_submission_memory", used.ru_maxrss / 1024)

    def operator(self, program: Path, pyspark: Path, java: str) -> None:
        environment = {**self._environment, **peers_environment(self._environment, pyspark, java)}
        with ExitStack() as stack:
            kubelet = self.kubelet(stack)
            operator = stack.enter_context(SparkOperator(program, spark_operator.definitions(), environment, self._folder))
            begin, reached = time.monotonic(), []
            for number in range(APPLICATIONS):
                must(self._api.request("POST", APPLICATIONS, self._application(f"app-{number}")))
            while len(reached) < APPLICATIONS and time.monotonic() - begin < OPERATOR_LIMIT_S:
                running = kubelet.ask("count")["running"]
                reached += [time.monotonic()] * (running - len(reached))
                time.sleep(0.05)
            if not reached:
                print(f"Spark Operator started no driver in {OPERATOR_LIMIT_S} s, so no figure of it:\n{operator.log()[-3000:]}", flush=True)
                return
            self.note("operator_submissions", 60 * len(reached) / (reached[-1] - begin))

    @staticmethod
    def _application(name: str) -> dict:
        return {
            "apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication", "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "type": "Scala", "mode": "cluster", "sparkVersion": "3.5.9", "image": "spark", "mainClass": "com.example.Report", "mainApplicationFile": "local:///opt/jobs/report.jar",
                "arguments": ["2026-01-02"], "restartPolicy": {"type": "Never"}, "driver": {"cores": 1, "memory": "1g"}, "executor": {"cores": 1, "instances": 2, "memory": "2g"},
            },
        }

    # -- YARN

    def yarn(self) -> None:
        from support.yarn import Totals, Yarn, frameworks

        with Yarn([Totals(memory_mib=4096, vcores=8)]) as yarn, ExitStack() as stack:
            jar = frameworks.spark_jar(yarn)
            kubelet = self.kubelet(stack)
            gateway = self.gateway(stack, "--hadoop-conf-dir", str(yarn.configuration), f"--spark-yarn-jars=local:{os.environ['TIDEMARK_SPARK_JARS']}/*")
            connection = http.client.HTTPConnection(gateway.address)
            staging = {"spark.yarn.stagingDir": f"file://{yarn.layout.scratch}/staging", "spark.yarn.appMasterEnv.SPARK_LOCAL_IP": "127.0.0.1", "spark.executorEnv.SPARK_LOCAL_IP": "127.0.0.1"}
            small = {"driverMemory": "512m", "executorMemory": "512m", "numExecutors": 1}

            def post(**conf: str) -> int:
                body = {**job("sleeping tasks", **staging, **conf), **small, "file": f"local://{jar}", "className": "SleepingTasks", "args": ["2", "0"]}
                return gateway.post(connection, body)["id"]

            def application(run: int) -> dict:
                handle = gateway.read(f"/batches/{run}")["attempts"]
                found = [each for each in (yarn.rm.get("/ws/v1/cluster/apps")["apps"] or {}).get("app", []) if handle and each["id"] == handle[-1]["handle"]]
                return found[0] if found else {}

            def end_shown(run: int, state: str) -> None:
                at = self.shown(gateway, run, state)
                self.note("end_yarn", at - wait_for(lambda: application(run).get("finishedTime"), "a finish time") / 1000)

            for _ in range(MOVES):
                run = post(**{"spark.tidemark.rerunSafe": "true"})
                wait_for(lambda: gateway.read(f"/batches/{run}/state")["state"] == "running", "a running driver")
                at = kubelet.ask(f"evict {gateway.read(f'/batches/{run}')['attempts'][-1]['handle']}")["at"]
                wait_for(lambda: application(run).get("state") == "RUNNING", "the run runs on YARN")
                self.note("moved_running", time.time() - at)
                self.note("moved_submitted", application(run)["startedTime"] / 1000 - at)
                end_shown(run, "success")
            yarn.nodes[0].stop()  # from now on applications wait
            runs = [post(**{"spark.tidemark.side": "yarn"}) for _ in range(KILLS)]
            for run in runs:
                wait_for(lambda: application(run).get("state") == "ACCEPTED", "an accepted application")
                time.sleep(random.random())  # at any moment between two polls
                yarn.rm.ask(f"/ws/v1/cluster/apps/{application(run)['id']}/state?user.name=root", "PUT", {"state": "KILLED"})
                end_shown(run, "killed")

    # -- a day

    def day(self, server: Path) -> None:
        with ExitStack() as stack:
            memory = Memory([str(server), str(self._folder / "day"), "1"], self._folder / "day")
            memory.start()
            stack.callback(memory.kill)
            target = memory.target
            api = Client(target)
            stack.callback(api.close)
            must(api.request("POST", PRIORITIES, PRIORITY), 201)
            token = self._folder / "day" / "admin.token"
            kubelet = self._kubelet(stack, target.server, target.ca, str(token), "1", str(DAY_LIFE_S))
            gateway = self.gateway(stack, kubeconfig=str(memory.kubeconfig))
            self._replay(gateway, kubelet)

    def _replay(self, gateway: Gateway, kubelet: Talker) -> None:
        draws = random.Random(1)
        rate = DAY_RUNS * DAY_SPEED / 86_400
        runs, cpu = round(rate * DAY_S), 0.0
        connection = http.client.HTTPConnection(gateway.address)
        begin, looked = time.monotonic(), 0.0
        for number in range(runs):
            time.sleep(max(0, begin + number / rate - time.monotonic()))
            body, key = job(f"job-{draws.randrange(DAY_JOBS)}"), f"day-{number}"
            if number == runs // 2:
                cpu += cpu_seconds(gateway.pid)
                gateway.send(connection, "POST", "/batches", body, key)  # its answer is lost, and perhaps the run: the client repeats it
                gateway.kill_and_restart()
                connection = http.client.HTTPConnection(gateway.address)
            gateway.post(connection, body, key)
            if time.monotonic() - looked > 1:
                looked, count = time.monotonic(), kubelet.ask("count")
                if count["seen"] - count["ended"] >= DAY_LIVE:
                    self.note("day_memory", resident_bytes(gateway.pid) / MIB)
        late = time.monotonic() - begin - DAY_S

        def by_state(state: str = "") -> int:
            return gateway.read(f"/api/v1/batches?size=1{state and f'&batchState={state}'}")["total"]

        wait_for(lambda: by_state("PENDING") + by_state("RUNNING") == 0, "all runs end", 3 * LIMIT_S)
        cpu += cpu_seconds(gateway.pid)
        drivers = kubelet.ask("drivers")
        print(f"{runs} runs, posted {late:.1f} s late", flush=True)
        self.note("day_runs", runs)
        self.note("day_lost", runs - by_state("FINISHED"))
        self.note("day_doubled", sum(drivers.values()) - len(drivers) + by_state() - runs)
        self.note("day_cpu", 1000 * cpu / runs)


UNITS = {"post_p50": "ms", "post_p99": "ms", "submission_cpu": "ms", "stock_submission_cpu": "ms", "stock_submission_memory": "MiB", "submissions": "runs/min", "operator_submissions": "runs/min",
         "day_runs": "runs", "day_lost": "runs", "day_doubled": "runs", "day_memory": "MiB", "day_cpu": "ms"}


def operator_program() -> Path | None:
    try:
        return spark_operator.provide()
    except Failed as error:
        print(f"no Spark Operator, so no figure of it: {error}", flush=True)
        return None


def run(program: Path, environment: dict[str, str], stack: ExitStack) -> None:
    more, remedy = yarn_world.java_and_hadoop()
    if remedy:
        raise Failed(remedy)
    os.environ.update({**environment, **more, "TIDEMARK_SPARK_JARS": str(maven_jars.SPARK.provide())})
    pyspark = next(python_packages.PYSPARK.provide().parents[1].glob("lib/python3*/site-packages/pyspark"))
    java, operator = more["TIDEMARK_JAVA"], operator_program()
    bench = Bench(program, environment, stack)

    def part(name: str, action) -> None:
        begin = time.monotonic()
        action()
        print(f"{name}: {time.monotonic() - begin:.0f} s, load {os.getloadavg()[0]:.1f}", {each: round(values[-1], 3) for each, values in bench.found.items()}, flush=True)

    for _ in range(ROUNDS):
        part("steady", bench.steady)
        part("spark-submit", lambda: bench.stock(pyspark, java))
    part("burst", bench.burst)
    if operator:
        part("Spark Operator", lambda: bench.operator(operator, pyspark, java))
    part("ends", bench.ends)
    part("YARN", bench.yarn)
    part("day", lambda: bench.day(Path(os.environ["TIDEMARK_BENCH_PROGRAMS"].split(os.pathsep)[0])))
    for name, values in bench.found.items():
        figure(f"gateway.{name}", UNITS.get(name, "s"), values)


if __name__ == "__main__":
    sys.exit(main_with_cluster("gateway", run))
