"""The agent's writes to cgroups by contract 7.2, 7.5, 7.6, 7.7, 7.8, and the reaction of a kernel with cgroup v2: accepted, changed, or refused with which error."""

import unittest

from support.patience import PATIENCE_S
from support.vm import Result, Vm

INVALID, RANGE, BUSY, UNSUPPORTED = "Invalid argument", "Numerical result out of range", "Device or resource busy", "Operation not supported"
MAX_INT64 = str((1 << 63) - 1)
# in-group GROUP COMMAND …: runs there, with all controllers in the group and in the group `low` below it.
IN_GROUP = b"""#!/bin/sh
group=$1
shift
[ -d "$group" ] || { mkdir -p "$group/low" && echo "+cpu +cpuset +io +memory +pids" >"$group/cgroup.subtree_control" || exit; }
cd "$group" && exec "$@"
"""
# put FILE VALUE …: prints one line each: the content of the file after the write, or the kernel's error.
PUT = rb"""#!/bin/sh
while [ $# -gt 0 ]; do
  if why=$({ echo "$2" >"$1"; } 2>&1); then cat "$1"; else echo "${why##*: }"; fi
  shift 2
done
"""
USE_MEMORY = "dd if=/dev/zero of=/dev/null count=1 bs"  # the block is private memory, all of it touched

QUIET = "exec 2>/dev/null"  # a shell reports killed children


def setUpModule():
    global VM
    VM = unittest.enterModuleContext(Vm(files={"/bin/in-group": IN_GROUP, "/bin/put": PUT}))


class InAGroup(unittest.TestCase):
    """Each test has its own group with `low` in it, and all controllers in both."""

    def run_there(self, *argv: str) -> Result:
        return VM.run(["in-group", f"/sys/fs/cgroup/{'-'.join(self.id().split('.')[-2:])}", *argv], deadline_s=PATIENCE_S)

    def shell(self, script: str, code: int = 0) -> str:
        done = self.run_there("sh", "-c", script)
        self.assertEqual((code, b""), (done.code, done.stderr), script)
        return done.text.strip()

    def put(self, *writes: tuple[str, str, str]) -> None:
        """Writes (file, value, expected content or error), one after the other."""
        done = self.run_there("put", *(word for file, value, _ in writes for word in (file, value)))
        self.assertEqual((0, b""), (done.code, done.stderr))
        self.assertEqual(list(writes), [(file, value, shown) for (file, value, _), shown in zip(writes, done.text.splitlines(), strict=True)])

    def read(self, file: str) -> str:
        return self.shell(f"cat {file}")

    def counts(self, file: str) -> dict[str, int]:
        return {name: int(value) for name, value in (line.split() for line in self.read(file).splitlines())}


class Cpu(InAGroup):
    def test_a_burst_is_no_larger_than_the_quota(self):
        """7.5: "some kernels reject burst > quota". This one does."""
        self.put(("cpu.max", "50000", "50000 100000"), ("cpu.max.burst", "50001", INVALID), ("cpu.max.burst", "50000", "50000"))

    def test_a_quota_is_not_lowered_below_the_burst(self):
        """So the burst is lowered first, and raised last."""
        self.put(("cpu.max", "50000", "50000 100000"), ("cpu.max.burst", "50000", "50000"), ("cpu.max", "49999", INVALID))
        self.put(("cpu.max.burst", "49999", "49999"), ("cpu.max", "49999", "49999 100000"))

    def test_without_a_quota_any_burst_is_accepted(self):
        """7.2: cpu.cfs_burst_us up to 100 000 000. Then no smaller quota can be set."""
        self.put(("cpu.max.burst", "100000000", "100000000"), ("cpu.max", "50000", INVALID), ("cpu.max.burst", "0", "0"), ("cpu.max", "50000", "50000 100000"))

    def test_of_the_quota_only_the_number_is_written(self):
        """7.2: "only the quota number is written; −1 → max". The period stays; cpu.max does not accept −1 itself."""
        self.put(("cpu.max", "60000 200000", "60000 200000"), ("cpu.max", "30000", "30000 200000"), ("cpu.max", "-1", INVALID), ("cpu.max", "max", "max 200000"))

    def test_a_quota_has_a_minimum(self):
        """7.2: "<1000 → 1000"."""
        self.put(("cpu.max", "999", INVALID), ("cpu.max", "1000", "1000 100000"))

    def test_a_weight_reads_as_it_was_written(self):
        """7.2: 1+((s−2)×9999)/262142, clamped to 1..10000; a write is skipped if the file has the value already."""
        weights = [str(1 + (shares - 2) * 9999 // 262142) for shares in (2, 3, 102, 1024, 2048, 65536, 262144)]
        self.assertEqual(("1", "39", "10000"), (weights[0], weights[3], weights[-1]))
        self.put(*(("cpu.weight", weight, weight) for weight in weights), ("cpu.weight", "0", RANGE), ("cpu.weight", "10001", RANGE))

    def test_an_idle_group_has_no_weight(self):
        """7.2: cpu.idle is 0 or 1. While it is 1 no weight is accepted, and the earlier one is lost: it must be written again."""
        self.put(("cpu.weight", "3907", "3907"), ("cpu.idle", "2", INVALID), ("cpu.idle", "-1", INVALID), ("cpu.idle", "1", "1"), ("cpu.weight", "3907", INVALID))
        self.assertEqual("0", self.read("cpu.weight"))
        self.put(("cpu.idle", "0", "0"))
        self.assertEqual("100", self.read("cpu.weight"))

    def test_a_child_may_have_more_than_its_parent(self):
        """7.2, levelled updates: here no order of writes is refused; the smaller value applies."""
        self.put(("cpu.max", "20000", "20000 100000"), ("low/cpu.max", "50000", "50000 100000"), ("cpu.max", "10000", "10000 100000"))

    def test_throttling_and_bursts_are_counted(self):
        """7.12: usage and nr_throttled, nr_periods of cpu.stat."""
        self.assertLessEqual({"usage_usec", "nr_periods", "nr_throttled", "throttled_usec", "nr_bursts", "burst_usec"}, set(self.counts("cpu.stat")))


class Cpuset(InAGroup):
    def test_sets_are_shown_as_ranges(self):
        """7.2: "cpuset compared as sets"."""
        self.put(("cpuset.cpus", "1,0", "0-1"), ("cpuset.cpus", "0-1,1", "0-1"), ("cpuset.cpus", "1", "1"))

    def test_an_empty_set_is_the_parents(self):
        self.put(("cpuset.cpus", "1", "1"), ("low/cpuset.cpus", "0-1", "0-1"), ("low/cpuset.cpus", "", ""))
        self.assertEqual("1", self.read("low/cpuset.cpus.effective"))

    def test_a_child_may_name_more_than_its_parent_has(self):
        """7.2: cpuset.cpus is read from cpuset.cpus.effective, the CPUs it really uses."""
        self.put(("cpuset.cpus", "0", "0"), ("low/cpuset.cpus", "0-1", "0-1"))
        self.assertEqual("0", self.read("low/cpuset.cpus.effective"))
        self.put(("low/cpuset.cpus", "1", "1"))  # no common CPU: all of the parent's
        self.assertEqual("0", self.read("low/cpuset.cpus.effective"))

    def test_missing_cpus_are_refused(self):
        self.put(("cpuset.cpus", "0-100000", RANGE), ("cpuset.cpus", "one", INVALID))


class Memory(InAGroup):
    def test_no_limit_is_max(self):
        """7.2: −1 → max; math.MaxInt64 equals max."""
        self.put(("memory.max", "-1", INVALID), ("memory.max", "8388608", "8388608"), ("memory.max", "max", "max"), ("memory.max", MAX_INT64, "max"))
        self.put(*((file, MAX_INT64, "max") for file in ("memory.high", "memory.low", "memory.min")))

    def test_bytes_are_cut_to_pages(self):
        """7.6: memory.high is floored to a page; the kernel does that to all four."""
        self.put(*((file, "8388609", "8388608") for file in ("memory.max", "memory.high", "memory.low", "memory.min")), ("memory.low", "4095", "0"))

    def test_a_child_may_have_more_than_its_parent(self):
        for file in ("memory.max", "memory.high", "memory.low", "memory.min"):
            self.put((file, "8388608", "8388608"), (f"low/{file}", "16777216", "16777216"), (file, "4194304", "4194304"))

    def test_a_group_is_killed_whole_if_requested(self):
        """7.6: memory.oom.group."""
        self.put(("memory.oom.group", "2", INVALID), ("low/memory.oom.group", "1", "1"), ("low/memory.max", "8388608", "8388608"))
        shown = self.shell(
            "sleep 1000 & beside=$!; echo $beside >low/cgroup.procs\n"
            f"{QUIET}; sh -c 'echo 0 >low/cgroup.procs; exec {USE_MEMORY}=64M'; echo $?\n"
            "wait $beside; echo $?"
        )
        self.assertEqual([str(128 + 9)] * 2, shown.split())
        self.assertEqual(1, self.counts("low/memory.events")["oom_group_kill"])

    def test_above_high_no_process_is_killed(self):
        """7.6: memory.high throttles; memory.max kills."""
        self.put(("low/memory.high", "8388608", "8388608"))
        self.shell(f"sh -c 'echo 0 >low/cgroup.procs; exec {USE_MEMORY}=8M' 2>/dev/null")  # a little above: the delay by the kernel grows with the excess
        events = self.counts("low/memory.events")
        self.assertGreater(events["high"], 0)
        self.assertEqual((0, 0), (events["oom"], events["oom_kill"]))
        self.assertGreater(int(self.read("low/memory.peak")), 8388608)


class Names(InAGroup):
    def test_files_that_the_contract_maps_to_exist(self):
        mapped = ("cpu.weight", "cpu.max", "cpu.max.burst", "cpu.idle", "cpuset.cpus", "cpuset.cpus.effective", "cgroup.threads", "memory.max", "memory.current",
                  "memory.min", "memory.low", "memory.high", "memory.oom.group", "cpu.pressure", "memory.pressure", "io.pressure", "io.max", "memory.reclaim", "cgroup.kill")
        self.assertEqual(sorted(mapped), sorted(self.shell(f"ls -d {' '.join(mapped)}").split()))

    def test_files_of_other_kernels_do_not_exist(self):
        """7.2: "kernel-specific ones skipped when the file is absent"; of blkio nothing is mapped."""
        others = ("cpu.bvt_warp_ns", "cpu.qos_level", "memory.wmark*", "memory.priority", "memory.use_priority_oom", "memory.pagecache_limit*", "blkio*", "net_cls*", "tasks")
        self.assertEqual("", self.shell(f"ls -d {' '.join(others)} 2>/dev/null", code=1))


class Processes(InAGroup):
    """7.2: tasks → cgroup.threads."""

    def test_a_group_with_child_controllers_has_no_processes(self):
        self.put(("cgroup.procs", "0", BUSY))

    def test_a_thread_does_not_leave_the_group_of_its_process(self):
        """Moves are written to cgroup.procs; cgroup.threads is only read."""
        shown = self.shell("mkdir other; sleep 1000 & put low/cgroup.procs $!; put other/cgroup.threads $!; cat low/cgroup.threads; put other/cgroup.procs $!; echo $!").splitlines()
        pid = shown[-1]
        self.assertEqual([pid, UNSUPPORTED, pid, pid, pid], shown)

    def test_a_group_is_killed_by_one_write(self):
        shown = self.shell(
            "mkdir low/lower; pids=''\n"
            "for group in low low/lower low/lower; do sleep 1000 & echo $! >$group/cgroup.procs; pids=\"$pids $!\"; done\n"
            "echo 1 >low/cgroup.kill\n"
            f"{QUIET}; for pid in $pids; do wait $pid; echo $?; done"
        )
        self.assertEqual([str(128 + 9)] * 3, shown.split())


if __name__ == "__main__":
    unittest.main()
