"""`tidemark up` as its own node: pods as processes of this machine, an agent, and kubectl as client; killed at work, and gone without
residue."""

import json
import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from cluster.local_case import CGROUPS, LocalCase
from cluster.tidemark_process import Component, wait_for
from demo import plain_groups
from support.patience import PATIENCE_S

TASKS = 10
SHORT_JOBS = 20
SOLD_WITHIN_S = 60
SHIM_GROWTH_KIB_MAX = 400  # memory that much output may leave in a shim


def pod(name: str, command: list[str], **more) -> dict:
    spec = {"nodeName": "here", "restartPolicy": "Never", "terminationGracePeriodSeconds": 2, **more.pop("spec", {})}
    container = {"name": "main", "image": "local", "command": command, **more.pop("container", {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **more}, "spec": {**spec, "containers": [container]}}


def batch(name: str, command: list[str], milli: int) -> dict:
    amounts = {"kubernetes.io/batch-cpu": str(milli), "kubernetes.io/batch-memory": "64Mi"}
    return pod(
        name, command, labels={"koordinator.sh/qosClass": "BE"}, spec={"priorityClassName": "koord-batch"},
        container={"resources": {"requests": amounts, "limits": amounts}},
    )


class Local(LocalCase):
    def containers(self) -> dict[str, dict]:
        return {each["metadata"]["name"]: each["status"]["containerStatuses"][0] for each in self.get("pods")["items"]}

    def test_tasks_survive_a_kill_and_are_adopted_with_their_exit_codes(self):
        go, later, shown = self.folder / "go", self.folder / "later", self.folder / "told"
        ends = [f"task-{i}" for i in range(TASKS // 2)]  # these end while `tidemark up` is dead; the others run on
        stays = [f"task-{i}" for i in range(TASKS // 2, TASKS)]
        self.apply(*[
            pod(name, ["sh", "-c", f"echo {name}; trap 'echo {name} >>{shown}; exit 99' TERM; until [ -e {file} ]; do sleep 0.05; done; exit {name[5:]}"])
            for file, names in ((go, ends), (later, stays)) for name in names
        ])
        wait_for(lambda: set(self.phases().values()) == {"Running"}, "ten that run", self.component)
        before = {name: each["containerID"] for name, each in self.containers().items()}
        self.component.kill()
        go.touch()
        data = self.folder / "data"
        wait_for(lambda: len(list(data.glob("containers/*/main/0/ended.json"))) == len(ends), "five tasks to end without `tidemark up`")
        self.start()
        wait_for(lambda: all(self.phases()[name] in ("Succeeded", "Failed") for name in ends), "five reported ends", self.component)
        wait_for(lambda: all(self.phases()[name] == "Running" for name in stays), "five tasks to run on", self.component)
        self.assertEqual({name: before[name] for name in stays}, {name: self.containers()[name]["containerID"] for name in stays})

        stopped = stays.pop()  # an adopted task is terminated and removed with its cgroup like any other
        uid = self.get("pod", stopped)["metadata"]["uid"]
        self.assertEqual(0, self.kubectl("delete", "pod", stopped).returncode)
        self.assertEqual(f"{stopped}\n", shown.read_text())
        wait_for(lambda: not self.groups(f"pod{uid}"), "its group gone", self.component)

        later.touch()
        wait_for(lambda: not set(self.phases().values()) & {"Running", "Pending"}, "all ends reported", self.component)
        self.assertEqual({*ends, *stays}, set(self.containers()))
        for name, status in self.containers().items():
            self.assertEqual(int(name.removeprefix("task-")), status["state"]["terminated"]["exitCode"], name)
            self.assertEqual(before[name], status["containerID"])
            self.assertEqual(0, status["restartCount"])
            log = next(data.glob(f"logs/default_{name}_*/main/0.log")).read_text()
            self.assertRegex(log, rf"^\S+ stdout F {name}\n$")

    def shims_kib(self) -> list[int]:
        """The unshared memory of the shim of each container."""
        pids = [file.read_text().split()[0] for file in (self.folder / "data").glob("containers/*/*/*/lock")]
        rollups = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in pids]
        return [sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Private_")) for rollup in rollups]

    def test_a_shim_stays_small_however_much_its_container_writes(self):
        quiet = [pod(f"quiet-{i}", ["sleep", "1000"]) for i in range(TASKS)]
        self.apply(*quiet)
        wait_for(lambda: set(self.phases().values()) == {"Running"}, "those that run", self.component)
        before = self.shims_kib()
        self.assertEqual(TASKS, len(before))
        short_lines = "head -c 1000000 /dev/zero | tr '\\0' '\\n'; seq 20000; echo done; sleep 1000"
        self.apply(pod("writes", ["sh", "-c", short_lines]))
        log = lambda: "".join(file.read_text() for file in (self.folder / "data").glob("logs/default_writes_*/main/0.log"))
        wait_for(lambda: log().endswith(" done\n"), "all of its output", self.component)
        after = self.shims_kib()
        print(f"unshared memory of each of {TASKS} shims has: {min(before)} to {max(before)} KiB; of one whose container wrote much: {max(after)} KiB", file=sys.stderr)
        self.assertLess(max(after) - max(before), SHIM_GROWTH_KIB_MAX)

    def test_offline_work_is_sold_idle_capacity_limited_and_evicted_first(self):
        def sold() -> int:
            return int(self.get("node", "here")["status"]["allocatable"].get("kubernetes.io/batch-cpu", 0))

        begun = time.monotonic()
        wait_for(lambda: self.get("nodemetric", "here").get("status", {}).get("nodeMetric"), "a report", self.component)
        self.assertLess(time.monotonic() - begun, SOLD_WITHIN_S)
        wait_for(lambda: "kubernetes.io/batch-memory" in self.get("node", "here")["status"]["allocatable"], "an offer", self.component)
        self.assertLess(sold(), os.cpu_count() * 1000)
        self.apply(batch("burn", ["sh", "-c", "while :; do :; done"], 500))
        wait_for(lambda: self.phases() == {"burn": "Running"}, "it runs", self.component)
        uid = self.get("pod", "burn")["metadata"]["uid"]
        limit = "memory.limit_in_bytes" if (CGROUPS / "memory").is_dir() else "memory.max"
        wait_for(lambda: self.file(uid, limit) == str(64 << 20), "the limit of its batch memory", self.component)
        audit = self.folder / "data" / "agent" / "audit.jsonl"
        wait_for(lambda: "TM-LIMIT-001" in audit.read_text(), "a line of the audit, written by its own thread", self.component)

        def stands() -> str:
            return next((each["reason"] for each in self.get("node", "here")["status"]["conditions"] if each["type"] == "TidemarkIsolation"), "")

        wait_for(lambda: stands() == "Enforcing", "condition Enforcing", self.component)

    def test_offline_work_is_idle_as_one_group(self):
        """The kernel compares idleness between siblings: a waking online process would wait for a slice of a pod that is idle only inside its group."""
        def value(name: str, *below: str) -> str:
            return next((path.read_text().strip() for top in (CGROUPS / self.group, CGROUPS / "cpu" / self.group) if (path := top.joinpath(*below, name)).exists()), "")

        def idle(*below: str) -> str:
            return value("cpu.idle", *below)

        def quota() -> str:
            return value("cpu.cfs_quota_us", "kubepods", "besteffort") or value("cpu.max", "kubepods", "besteffort").split()[0]

        wait_for(lambda: idle(), "groups", self.component)
        if not idle("kubepods"):
            self.skipTest("this kernel has no cpu.idle")
        wait_for(lambda: idle() == "1", "kubepods idle beside the services of the machine", self.component)
        self.apply(pod("web", ["sleep", "1000"], container={"resources": {"requests": {"cpu": "100m"}}}))
        wait_for(lambda: idle() == "0" and idle("kubepods", "besteffort") == "1", "only offline work idle", self.component)
        self.apply(batch("burn", ["sleep", "1000"], 100))
        suppressed = lambda: (self.folder / "run" / "status.json").read_text()
        wait_for(lambda: "TM-SUPPRESS-011" in suppressed(), "no limit on the last tasks", self.component)
        self.assertIn(quota(), ("-1", "max"))
        self.assertEqual(0, self.kubectl("delete", "pod", "burn", "--grace-period=0", "--force").returncode)
        self.component.kill()
        self.start()
        self.assertEqual("1", idle("kubepods", "besteffort"), "unchanged from the previous run")
        self.assertEqual(0, self.kubectl("delete", "pod", "web", "--grace-period=0", "--force").returncode)
        wait_for(lambda: idle() == "1" and idle("kubepods", "besteffort") == "0", "kubepods idle again", self.component)

    def test_jobs_of_kubectl_run_to_their_end(self):
        wait_for(lambda: "kubernetes.io/batch-cpu" in self.get("node", "here")["status"]["allocatable"], "an offer", self.component)
        for i in range(SHORT_JOBS):
            done = self.kubectl("create", "job", f"short-{i}", "--image=local", "--", "sh", "-c", f"exit {i % 2}")
            self.assertEqual(0, done.returncode, done.stderr)
        good = [f"job/short-{i}" for i in range(0, SHORT_JOBS, 2)]
        waited = self.kubectl("wait", "--for=condition=complete", f"--timeout={PATIENCE_S - 60}s", *good)
        self.assertEqual(0, waited.returncode, waited.stderr + self.component.log)
        pods = self.get("pods", "-l", "job-name=short-0")["items"]
        self.assertEqual(["Succeeded"], [each["status"]["phase"] for each in pods])
        self.assertEqual(0, self.kubectl("delete", "jobs", "--all").returncode)
        wait_for(lambda: not self.get("pods")["items"], "pods to go with their jobs", self.component)

    def test_an_evicted_batch_job_is_requeued_and_keeps_its_tries(self):
        wait_for(lambda: "kubernetes.io/batch-cpu" in self.get("node", "here")["status"]["allocatable"], "an offer", self.component)
        done = self.local("run", "--name=long", "--class=free", "--", "sh", "-c", "echo begun; sleep 1000")
        self.assertEqual((0, "long\n"), (done.returncode, done.stdout), done.stderr)
        wait_for(lambda: "begun" in self.local("logs", "long").stdout, "it runs", self.component)
        first = self.get("pods", "-l", "job-name=long")["items"][0]["metadata"]["name"]
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": first, "namespace": "default"}}
        evicted = self.kubectl("create", "--raw", f"/api/v1/namespaces/default/pods/{first}/eviction", "-f", "-", stdin=json.dumps(eviction))
        self.assertEqual(0, evicted.returncode, evicted.stderr)

        def second() -> list[dict]:
            return [each for each in self.get("pods", "-l", "job-name=long")["items"] if each["metadata"]["name"] != first]

        wait_for(second, "a second pod of the job", self.component)
        wait_for(lambda: self.tasks()["long"]["state"] == "Requeued", "the job to wait again with a reason", self.component)
        status = self.get("job", "long")["status"]
        self.assertEqual((0, []), (status.get("failed", 0), [each["type"] for each in status.get("conditions", [])]), status)
        wait_for(lambda: self.tasks()["long"]["state"] == "Running", "the job to run again after the pause", self.component)
        self.assertEqual(2, self.tasks()["long"]["runs"])
        wait_for(lambda: self.local("logs", "long").stdout.count("begun") == 2, "the output of the evicted pod too", self.component)
        self.assertEqual(0, self.local("stop", "long", "--wait", "--now").returncode)
        self.assertNotIn("long", self.tasks())
        wait_for(lambda: not list((self.folder / "data" / "logs").iterdir()), "its logs to go with it", self.component)

    def reboot(self):
        """Simulates a reboot for the next start: nothing runs, no cgroup exists, and all tasks began before the boot."""
        self.component.kill()
        for folder in (self.folder / "data" / "containers").glob("*/*/*"):
            begin = json.loads((folder / "begin.json").read_text())
            (folder / "begin.json").write_text(json.dumps({**begin, "boot": "another"}))
            os.kill(int((folder / "lock").read_text().split()[0]), signal.SIGKILL)  # it would record how the others ended
        plain_groups.clear(self.group)
        self.start()

    def test_a_job_that_ended_with_the_machine_is_requeued(self):
        wait_for(lambda: "kubernetes.io/batch-cpu" in self.get("node", "here")["status"]["allocatable"], "an offer", self.component)
        self.assertEqual(0, self.local("run", "--name=long", "--class=free", "--", "sh", "-c", "echo run $$; sleep 1000").returncode)
        wait_for(lambda: "run" in self.local("logs", "long").stdout, "it runs", self.component)
        self.reboot()
        wait_for(lambda: self.tasks()["long"]["state"] == "Running" and self.tasks()["long"]["runs"] == 2, "it runs again", self.component)
        status = self.get("job", "long")["status"]
        self.assertEqual((0, []), (status.get("failed", 0), [each["type"] for each in status.get("conditions", [])]), status)
        wait_for(lambda: self.local("logs", "long").stdout.count("run") == 2, "its output before and after", self.component)

    def test_all_processes_of_a_task_get_sigterm_and_the_grace_period(self):
        kept = self.folder / "kept"
        work = f"(trap 'sleep 0.5; echo kept >> {kept}; exit' TERM; echo up; while :; do sleep 0.1; done) & wait"
        self.assertEqual(0, self.local("run", "--name=away", "--class=free", "--", "sh", "-c", work).returncode)
        wait_for(lambda: "up" in self.local("logs", "away").stdout, "it runs", self.component)
        stopped = self.local("stop", "away", "--wait")
        self.assertEqual(0, stopped.returncode, stopped.stderr)
        self.assertEqual("kept\n", kept.read_text(), "the shell ended at once, its child had the grace period")

    def test_run_wait_returns_the_output_and_the_exit_code(self):
        wait_for(lambda: "kubernetes.io/batch-cpu" in self.get("node", "here")["status"]["allocatable"], "an offer", self.component)
        done = self.local("run", "--wait", "--class=free", "--name=quick", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
        self.assertEqual((7, "out\n"), (done.returncode, done.stdout), done.stderr)
        self.assertIn("err\n", done.stderr)

    def test_rotated_logs_are_read_completely(self):
        self.component.stop()
        self.start("--log-size=1", "--log-files=5")
        wait_for(lambda: "kubernetes.io/batch-cpu" in self.get("node", "here")["status"]["allocatable"], "an offer", self.component)
        done = self.local("run", "--wait", "--class=free", "--name=talker", "--", "seq", "-f", "%0999.0f", "3000")  # 3 MB
        written = "".join(f"{i:0999d}\n" for i in range(1, 3001))
        self.assertEqual((0, True), (done.returncode, done.stdout == written), done.stderr)
        kept = list((self.folder / "data" / "logs").glob("default_talker-*/main/*"))
        self.assertIn(len(kept), (3, 4), kept)
        self.assertTrue(all(file.stat().st_size < 1.1 * (1 << 20) for file in kept), kept)
        self.assertTrue(self.local("logs", "talker").stdout == written)
        self.assertEqual(written[-10_000:], self.local("logs", "talker", "--tail=10").stdout)

    def test_no_residue_after_its_pods_are_gone(self):
        self.apply(pod("web", ["sleep", "1000"]), pod("bad", []))
        wait_for(lambda: self.phases() == {"web": "Running", "bad": "Failed"}, "one running pod, one failed", self.component)
        self.assertIn("spec.containers[0].command: ", self.get("pod", "bad")["status"]["message"])
        self.assertTrue(self.groups("pod*"))
        self.assertEqual(0, self.kubectl("delete", "pods", "--all").returncode)
        self.assertEqual(0, self.component.stop(), self.component.log)
        self.assertEqual([], self.groups())
        self.assertEqual([], [top for top in CGROUPS.glob(f"*/{self.group}")])
        data = self.folder / "data"
        self.assertEqual([], [*(data / "containers").iterdir(), *(data / "logs").iterdir()])

    def test_settings_come_from_one_file_and_follow_it(self):
        self.component.stop()
        file = self.folder / "settings.yaml"

        def write(percent: int):
            fresh = file.with_suffix(".new")
            fresh.write_text(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: slo-controller-config}\ndata:\n"
                f"  colocation-config: '{{\"enable\": true, \"cpuReclaimThresholdPercent\": {percent}}}'\n"
            )
            fresh.rename(file)

        def in_force() -> str:
            return self.get("configmap", "slo-controller-config", "-n", "koordinator-system")["data"]["colocation-config"]

        write(50)
        self.start("--settings", str(file))
        wait_for(lambda: '"cpuReclaimThresholdPercent": 50' in in_force(), "the file in force", self.component)
        write(40)
        wait_for(lambda: '"cpuReclaimThresholdPercent": 40' in in_force(), "its edit in force", self.component)
        file.write_text("kind: Secret\n")
        wait_for(lambda: "what was before stays" in self.component.log, "a log line about a wrong file", self.component)
        self.assertIn("40", in_force())
        self.component.stop()
        refused = subprocess.run(
            [os.environ["TIDEMARK_BINARY"], *self.arguments, "--settings", str(file)], capture_output=True, text=True, timeout=60
        )
        self.assertEqual((1, True), (refused.returncode, "document 1: wanted a ConfigMap" in refused.stderr), refused.stderr)

    def test_two_instances_do_not_share_groups(self):
        second = Component(*[each.replace("/data", "/second").replace("/run", "/run2") for each in self.arguments])
        self.addCleanup(second.stop)
        self.assertEqual(1, second.process.wait(60))
        self.assertIn("--pod-group", second.log)


if __name__ == "__main__":
    unittest.main()
