"""./dev test: which groups there are, what each runs, and the end of a run."""

import math
import os
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from driver import budget, build, contract_suite, deploy_tools, docs_world, fuzz, lanes, node, packages, processes, results, sanitizers, vm, yarn
from driver.cluster import CLUSTERS, Fixtures
from driver.console import Failed, WrongUse, loud, say
from driver.demo import plain_groups
from driver.kubernetes import find_go
from driver.paths import BUILD, LOGS, ROOT
from driver.results import FAILED, PASSED, SKIPPED, Case, ExpectedSkips
from support import owners, ports
from support.patience import PATIENCE_S

GROUPS = {
    "unit": "tidy, unit tests (those of the lower layers under asan+ubsan, three concurrent ones under tsan), the commands of the docs",
    "contract": "the contract suite on a real kube-apiserver and on the API server in memory",
    "node": "a real kubelet with 50 pods; cgroups and kernel interfaces of this machine",
    "cluster": "components and kubectl sessions against a real kube-apiserver, faults included",
    "yarn": "a real ResourceManager and NodeManager",
    "vm": "a kernel with cgroup v2 in an emulated machine: readers, writers and the binary on it",
    "long": "what takes too long for CI: soaks, hundreds of kills and seeds, fuzzers",
}
CI_GROUPS = [group for group in GROUPS if group != "long"]
NEED_CLUSTER = {"contract", "node", "cluster", "yarn", "long"}
BESIDE_CLUSTER = {"node": node, "yarn": yarn, "long": yarn}  # what they want beside it; what a killed test leaves of that is cleared away
MAY_LACK = {"long"}  # its tests that want what cannot be made here skip, the others run
NEED_DEPLOY_TOOLS = {"node": ["helm"], "yarn": ["helm"], "cluster": ["helm", "promtool"]}
IN_A_GUEST = ["linux_test", "agent_test", "yarn_copilot_test"]  # unit test programs that the group vm runs as well
# How many files run side by side, each on a cluster of its own. They wait more than they work, those of `node` most. The other groups run one file after the
# other: they measure, emulate a machine, or drive an API server of ours in memory.
LANES = {"node": CLUSTERS, "cluster": 2, "yarn": 2}
# Of those, what wants the machine to itself, and is run after the others, with the reason.
BY_MEMORY = "evicts by how much of the machine's memory is in use, and wants that steady"
ALONE = {
    "node": {
        "test_api_server_away.py": f"{BY_MEMORY}, and has a surge that other work would hide",
        "test_eviction.py": BY_MEMORY,
        "test_manager.py": "says how soon what was lost is back",
        "test_memory_eaten.py": BY_MEMORY,
        "test_memory_of_pods.py": BY_MEMORY,
        "test_reaction.py": "says how soon offline work gives way",
    },
    "yarn": {
        "test_leftovers.py": "takes away the runs of others",
        "test_preemption.py": BY_MEMORY,
        "test_shared_node.py": BY_MEMORY,
    },
}
# Of a program or a file, after which it is killed as a whole and no second try is made. The longest take no tenth of it where nothing else runs.
PROGRAM_LIMIT_S = {"long": 7200.0}
PROGRAM_LIMIT_DEFAULT_S = 1800.0
# Groups that drive programs of others by the wall clock. Where CI runs, what fails there is run once more, and what then passes is
# told loudly and does not fail the run: a race between two strangers is worth a look, not a landing. Never unit tests, never long.
SECOND_TRY = {"contract", "node", "cluster", "yarn", "vm"}
# Under asan+ubsan: the lower layers, through which all else reads bytes of strangers and speaks to the kernel. policy and all that stands on it, fuzz_test too, is compiled
# once, for the program as well (0010 in docs/decisions): a build of `dev` stops at undefined behaviour and at an index beyond the end. In long all are under asan.
SANITIZED = [
    "base_test", "model_test", "net_test", "linux_test", "journal_test", "kube_test", "kube_memory_test", "hadoop_test", "kerberos_test", "copilot_test",
]
# Of those, without asan too: one measures the heap, which it replaces, and one is what the guest of the group vm runs.
WITHOUT_SANITIZERS_TOO = ["net_test", "linux_test"]
# Suites that want tsan have Concurrent in their names. These programs stand on a tenth of the code; each of the others wants hundreds of files more for a case or two,
# and is run in long. A program with such a suite stands in one of the two (test_verbs.py): what is only found out by a look at all of them grows unseen.
TSAN = ["base_test", "net_test", "journal_test"]
TSAN_IN_LONG = ["kube_memory_test", "manager_test", "embedded_test", "cli_test"]
LONG_PARTS = ["fuzz", "tsan", "asan"]  # what `long` has beside its files
# Where this is set: so many minutes after its begin a run begins no group and no file any more, and says loudly which. That fails nothing: it is for a CI that ends a
# run by the clock, on a machine several times slower than others, where all would be lost with the last of them.
LIMIT = "TIDEMARK_TEST_MINUTES"
LONG_FUZZ_S = 2700  # for all fuzzers together, one on each core; the soak and the kills need the rest of the budget

@dataclass
class Run:
    only: str = ""  # part of the names of the files and programs that are run; all when empty
    cases: list[Case] = field(default_factory=list)
    took: dict[str, float] = field(default_factory=dict)
    fixtures: Fixtures = field(default_factory=Fixtures)
    warm: bool = False  # nothing had to be made from nothing
    unsteady: list[Case] = field(default_factory=list)  # failed, and passed when run once more
    until: float = math.inf  # by the monotonic clock: what would begin later is not run
    too_late: list[Case] = field(default_factory=list)

    @contextmanager
    def timed(self, name: str):
        begin = time.monotonic()
        yield
        self.took[name] = self.took.get(name, 0.0) + time.monotonic() - begin

    def add(self, cases: list[Case]) -> None:
        for case in cases:
            if case.outcome == FAILED:
                say(f"FAILED {case.title}")
        self.cases.extend(cases)

    def attempt(self, group: str, name: str, clusters: list[lanes.Lane], program: Callable[[], list[Case]]) -> None:
        self.add(self.tried(group, name, clusters, program))

    def tried(self, group: str, name: str, clusters: list[lanes.Lane], program: Callable[[], list[Case]]) -> list[Case]:
        """Its cases, after a second try where there is one, on clusters that are put right again before. Any thread may ask."""
        if late := self.late(group, name):
            return late
        cases = program()
        if os.environ.get("CI") and group in SECOND_TRY and any(case.outcome == FAILED for case in cases):
            say("\n".join(f"failed once: {case.title}\n{case.detail.rstrip()}" for case in cases if case.outcome == FAILED))
            try:
                left = [said for cluster in clusters if (said := cluster.put_right())]
            except Failed as error:
                say(f"no second try on a cluster that was lost: {error}")
                return cases
            if left:
                say(f"put right before the second try: {'; '.join(left)}")
            cases, unsteady = results.second_try(cases, program())
            self.unsteady += unsteady
        return cases

    def late(self, group: str, name: str) -> list[Case]:
        """What stands for what is not begun because the time is up; nothing while there is some."""
        if time.monotonic() <= self.until:
            return []
        self.too_late.append(Case(group, name, "(all)", SKIPPED, f"would have begun later than {LIMIT} lets it"))
        return self.too_late[-1:]

    def build(self, name: str, preset: str, targets: Callable[[], list[str]]) -> bool:
        """A build that fails is a failed case: the run goes on with what needs it not."""
        try:
            with self.timed(name):
                build.build(preset, targets())
            return True
        except Failed as error:
            self.add([Case("build", preset, name, FAILED, str(error))])
            return False


def test(arguments: list[str]) -> int:
    names, only = _parse(arguments)
    begin, caches = time.monotonic(), budget.Caches()
    run = Run(only=only, until=begin + 60 * _minutes())
    try:
        owners.clear_away(Path(tempfile.gettempdir()), owners.SCRATCH)
        with run.timed("setup"):
            packages.setup()
        groups = names or CI_GROUPS
        if only:
            _refuse_unknown(groups[0], only)
        shutil.rmtree(LOGS, ignore_errors=True)
        LOGS.mkdir(parents=True, exist_ok=True)
        # Without a build only what reads sources can run; the rest would fail with a hundred consequences of one cause.
        built = run.build("build", "dev", lambda: ["all", *_unit_programs(groups)])
        for group in groups:
            _run_group(run, group, built)
    finally:
        run.fixtures.stop()
    run.warm = caches.warm()
    return _finish(run, time.monotonic() - begin)


def _minutes() -> float:
    text = os.environ.get(LIMIT, "")
    if text and not (text.isdigit() and int(text) > 0):
        raise WrongUse(f"{LIMIT} wants a number of minutes, not `{text}`")
    return int(text) if text else math.inf


def _unit_programs(groups: list[str]) -> list[str]:
    """Those that are wanted without sanitizers."""
    if "unit" not in groups:
        return IN_A_GUEST if "vm" in groups else []
    build.list_anew("dev")
    return [name for name, _ in _plain()]


def _plain() -> list[tuple[str, Path]]:
    """Unit test programs that are run without sanitizers."""
    return [each for each in build.listed("dev", "unit-tests") if each[0] not in SANITIZED or each[0] in WITHOUT_SANITIZERS_TOO]


def _parse(arguments: list[str]) -> tuple[list[str], str]:
    names = [word for word in arguments if not word.startswith("--only=")]
    wanted = [word.removeprefix("--only=") for word in arguments if word.startswith("--only=")]
    if wanted and (not wanted[-1] or len(wanted) + len(names) != 2 or names[0] == "unit"):
        raise WrongUse("--only=NAME wants a part of a file's name, and one group, which is not unit: its programs lie in build/MODULE/")
    for name in names:
        if name not in GROUPS:
            raise WrongUse(f"no test group `{name}`: {', '.join(GROUPS)}")
    return names, "".join(wanted)


def _refuse_unknown(group: str, only: str) -> None:
    """Before anything is built for it."""
    if not _part_of_long(group, only) and not _named(_python_files(ROOT / "tests" / group), only):
        build.list_anew("dev")
        _chosen(group, only)


def _part_of_long(group: str, only: str) -> bool:
    return group == "long" and any(only in part for part in LONG_PARTS)


def _named(files: list[Path], only: str) -> list[Path]:
    return [file for file in files if only in file.name]


def _chosen(group: str, only: str) -> tuple[list[tuple[str, Path]], list[Path]]:
    """Programs and files of the group with that in their names; all of them where it is empty."""
    programs = [each for each in build.listed("dev", f"{group}-tests") if only in each[0]]
    files = _named(_python_files(ROOT / "tests" / group), only)
    if only and not programs and not files and not _part_of_long(group, only):
        raise WrongUse(f"no program and no file of the group {group} has `{only}` in its name")
    return programs, files


def _run_group(run: Run, group: str, built: bool) -> None:
    if late := run.late(group, "(whole group)"):  # before anything is built or started for it
        run.add(late)
        return
    if group == "unit":
        _unit(run, built)
        return
    if group == "long" and run.only in LONG_PARTS[0]:
        _fuzz(run)
    if group == "long" and run.only in LONG_PARTS[1]:
        _tsan(run, "long", "build-tsan-long", TSAN_IN_LONG)
    if group == "long" and run.only in LONG_PARTS[2]:
        _asan(run, "long", "build-asan-long", [name for name, _ in build.listed("dev", "unit-tests")])
    programs, files = _chosen(group, run.only)
    suite = group == "contract" and not run.only
    if not programs and not files and not suite:
        if not run.only:
            say(f"{group}: no tests in this group yet")
        return
    if not built:
        return
    together = [file for file in files if file.name not in ALONE.get(group, ())] if group in LANES else []
    surroundings = _surroundings(run, group, max(1, min(LANES.get(group, 1), len(programs) + len(together))))
    if surroundings is None:
        return
    clusters, environment = surroundings
    ending = processes.cleaned_up(BESIDE_CLUSTER[group].clear_away) if group in BESIDE_CLUSTER else nullcontext()
    if group in LANES:
        with ending:
            with run.timed(group):
                _side_by_side(run, group, programs, together, clusters, environment)
            run.fixtures.stop(all_but=1)
            with run.timed(group):
                _alone(run, group, [file for file in files if file not in together], clusters[:1], environment)
                if not run.only:
                    run.attempt(group, "docs", clusters[:1], partial(_pages, group, environment))
        return
    say(f"{group}: {len(programs)} programs, {len(files)} Python files")
    with run.timed(group), ending:  # one after the other: they share the cluster, and some of them kill it
        if suite:
            with _scratch() as scratch:
                whole = _environment(environment, scratch)
                if environment:
                    run.attempt(group, "suite", clusters, lambda: contract_suite.run_real(whole, Path(scratch)))
                run.attempt(group, "suite in memory", [], lambda: contract_suite.run_in_memory(whole, Path(scratch)))
        for name, path in programs:
            run.attempt(group, name, clusters, partial(_run_gtest, group, name, path, environment))
        for file in files:
            begin = time.monotonic()
            cases = run.tried(group, file.name, clusters, partial(_run_python, group, file, environment))
            run.add(cases)
            say(f"{group}: {file.name:<30} {time.monotonic() - begin:6.1f} s  {results.tally(cases)}")


def _surroundings(run: Run, group: str, count: int) -> tuple[list[lanes.Lane], dict[str, str]] | None:
    """So many lanes, and the environment of a test on the first of them. None where the group cannot run here, which is told."""
    if group == "vm":
        with run.timed(group):
            environment, remedy = vm.provide()
        return _skip(run, group, remedy) if remedy else ([], environment)
    if group not in NEED_CLUSTER:
        return [], {}
    go, remedy = find_go()
    if go is None and group == "contract":  # the server in memory is ours
        loud(f"SKIPPED the real kube-apiserver and kubectl of the group {group}: {remedy}")
        run.add([Case(group, program, "(all)", SKIPPED, remedy) for program in ("kube-apiserver", "kubectl")])
        return [], {}
    if go is None:
        return _skip(run, group, remedy)
    more: dict[str, str] = {}
    try:
        if group in BESIDE_CLUSTER:
            with run.timed("kubernetes" if BESIDE_CLUSTER[group] is node else group):
                more, remedy = BESIDE_CLUSTER[group].provide()
            if remedy and group not in MAY_LACK:
                return _skip(run, group, remedy)
            if remedy:
                loud(f"no node or no YARN can be made here, which tests of {group} skip: {remedy}")
        with run.timed("kubernetes"):
            clusters = run.fixtures.start(count)
    except Failed as error:
        run.add([Case(group, "cluster", "(start)", FAILED, str(error))])
        return None
    environment = {**more, **clusters[0].environment}
    for tool in NEED_DEPLOY_TOOLS.get(group, []):
        try:
            with run.timed("deploy-tools"):
                environment |= deploy_tools.PROVIDE[tool]()
        except Failed as error:  # what needs it is then skipped by name; a skip that nobody expected fails CI
            run.add([Case(group, "deploy-tools", tool, FAILED, str(error))])
    return clusters, environment


def _skip(run: Run, group: str, remedy: str) -> None:
    loud(f"SKIPPED the group {group}: {remedy}")
    run.add([Case(group, "(whole group)", "(all)", SKIPPED, remedy)])


def _side_by_side(run: Run, group: str, programs, files: list[Path], clusters: list[lanes.Lane], environment: dict[str, str]) -> None:
    """Files are dealt to several lanes. On each they run one after the other: some of them kill what they run on."""
    if not programs and not files:
        return

    def job(name: str, cases: Callable[[dict[str, str]], list[Case]]) -> lanes.Job:
        return lanes.Job(name, lambda lane: run.tried(group, name, [lane], lambda: cases({**environment, **lane.environment})))

    jobs = {name: job(name, lambda its_own, name=name, path=path: _run_gtest(group, name, path, its_own)) for name, path in programs}
    jobs |= {file.name: job(file.name, lambda its_own, file=file: _run_python(group, file, its_own)) for file in files}
    docs = group == "cluster" and not run.only
    if docs:
        jobs["docs"] = lanes.Job("docs", lambda lane: _cluster_docs(lane.environment))
    say(f"{group}: {len(programs)} programs, {len(files)} Python files{' and the docs' if docs else ''}, {len(clusters)} at a time")

    def done(number: int, each: lanes.Job, cases: list[Case], seconds: float) -> None:
        say(f"{group} {number}: {each.name:<30} {seconds:6.1f} s  {results.tally(cases)}")
        run.add(cases)

    order = lanes.longest_first(jobs, lanes.table(ROOT / "tests" / group))
    lanes.deal(group, [jobs[name] for name in order], clusters, done)


def _alone(run: Run, group: str, files: list[Path], clusters: list[lanes.Lane], environment: dict[str, str]) -> None:
    for file in files:
        begin, before = time.monotonic(), len(run.cases)
        run.attempt(group, file.name, clusters, partial(_run_python, group, file, environment))
        say(f"{group}: {file.name:<32} {time.monotonic() - begin:6.1f} s  {results.tally(run.cases[before:])}")


def _unit(run: Run, built: bool) -> None:
    from tidy import checks  # here, so that `./dev --help` does not read them

    with run.timed("unit"):
        say("unit: tidy")
        run.add([Case("unit", "tidy", name, FAILED if found else PASSED, "\n".join(found)) for name, found in checks.run_all(ROOT)])
        files = [file for folder in ("tidy", "driver", *(["unit"] if built else [])) for file in _python_files(ROOT / "tests" / folder)]
        with ThreadPoolExecutor(build.JOBS) as pool:  # they share nothing, as the programs
            for cases in pool.map(lambda file: _run_python("unit", file, {}), files):
                run.add(cases)
        if built:
            _run_all(run, "unit", "dev", _plain())
            run.add([*_docs("unit", {}), *_pages("unit", {})])
    if not built:
        return
    _asan(run, "unit", "build-asan", SANITIZED)
    _tsan(run, "unit", "build-tsan", TSAN)


def _asan(run: Run, group: str, build_name: str, names: list[str]) -> None:
    _sanitized(run, group, build_name, "asan", names, [])


def _tsan(run: Run, group: str, build_name: str, names: list[str]) -> None:
    _sanitized(run, group, build_name, "tsan", names, ["--gtest_filter=*Concurrent*"])


def _sanitized(run: Run, group: str, build_name: str, preset: str, names: list[str], arguments: list[str]) -> None:
    if not names or not run.build(build_name, preset, lambda: names):
        return
    tests = [each for each in build.listed(preset, "unit-tests") if each[0] in names]
    with run.timed(group):
        _run_all(run, group, preset, tests, arguments)


def _fuzz(run: Run) -> None:
    """Each fuzzer for a while, from the corpus that earlier runs have grown."""
    if not run.build("build-fuzz", "fuzz", lambda: ["fuzzers"]):
        return
    fuzzers = build.listed("fuzz", "fuzzers")
    seconds = fuzz.share(len(fuzzers), LONG_FUZZ_S, build.JOBS)

    def look(fuzzer) -> Case:
        name, path = fuzzer
        clean = fuzz.one(name, str(path), seconds)
        return Case("long", "fuzz", name, PASSED if clean else FAILED, "" if clean else f"see .cache/fuzz/{name}.crashes/")

    with run.timed("long"), ThreadPoolExecutor(build.JOBS) as pool:
        for case in pool.map(look, fuzzers):
            run.add([case])


def _run_all(run: Run, group: str, preset: str, programs, arguments: list[str] = []) -> None:
    """Unit test programs share nothing, so they run beside each other; the longest first, or the last one runs by itself."""
    say(f"{group}: {len(programs)} test programs ({preset})")
    paths = dict(programs)
    order = lanes.longest_first(paths, lanes.table(ROOT / "tests" / "unit"))
    with ThreadPoolExecutor(build.JOBS) as pool:
        suffix = "" if preset == "dev" else f".{preset}"
        jobs = [pool.submit(_run_gtest, group, name, paths[name], {}, arguments, suffix) for name in order]
        for job in jobs:
            run.add(job.result())


@contextmanager
def _scratch():
    """A folder of its own for each test program, gone afterwards whatever happened: after SIGKILL to us, with the next start."""
    folder = tempfile.mkdtemp(prefix=owners.SCRATCH)
    with processes.cleaned_up(lambda: shutil.rmtree(folder, ignore_errors=True)):
        owners.mark(Path(folder))
        yield folder


def _environment(group_environment: dict[str, str], scratch: str) -> dict[str, str]:
    inherited = {key: value for key, value in os.environ.items() if key not in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST")}
    return {
        **inherited, **sanitizers.ENVIRONMENT, **group_environment, "TMPDIR": scratch, "TIDEMARK_BINARY": str(BUILD / "tidemark"),
        "PYTHONPATH": str(ROOT / "tests"), "PYTHONDONTWRITEBYTECODE": "1",
    }


def _run_gtest(group: str, name: str, path: Path, environment, arguments: list[str] = [], suffix: str = "") -> list[Case]:
    log, report = LOGS / group / f"{name}{suffix}.log", LOGS / group / f"{name}{suffix}.json"
    report.unlink(missing_ok=True)
    with _scratch() as scratch:
        done = processes.run_logged(
            [path, f"--gtest_output=json:{report}", *arguments], log, cwd=ROOT,
            env=_environment(environment, scratch), timeout_s=PROGRAM_LIMIT_S.get(group, PROGRAM_LIMIT_DEFAULT_S),
        )
    return results.from_gtest(group, name + suffix, report, log.read_text(errors="replace"), done.code, done.timed_out)


def _run_python(group: str, file: Path, environment) -> list[Case]:
    name = str(file.relative_to(ROOT / "tests"))
    stem = name.replace("/", "-").removesuffix(".py")
    log, report = LOGS / group / f"{stem}.log", LOGS / group / f"{stem}.json"
    report.unlink(missing_ok=True)
    with _scratch() as scratch:
        done = processes.run_logged(
            [sys.executable, "-m", "driver.python_tests", file, report], log, cwd=ROOT,
            env=_environment(environment, scratch), timeout_s=PROGRAM_LIMIT_S.get(group, PROGRAM_LIMIT_DEFAULT_S),
        )
    return results.from_python(group, name, report, log.read_text(errors="replace"), done.code, done.timed_out)


def _python_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("test_*.py"))


def _docs(group: str, environment) -> list[Case]:
    """Runs the commands that the docs show: the blocks tagged for this group."""
    from tidy import docs

    world = {"KUBECONFIG": environment["TIDEMARK_TEST_KUBECONFIG"]} if environment else {}
    cases = []
    for block in docs.runnable(ROOT, group):
        with _scratch() as scratch:
            cases.append(_run_block(group, block, scratch, environment, world))
    return cases


def _pages(group: str, environment) -> list[Case]:
    """Pages of the docs that are run as a whole, on a server of their own. With nothing beside them: their jobs want a part of the machine that is idle."""
    from tidy import docs

    cases = []
    for page in docs.pages(ROOT, group):
        with _scratch() as scratch, _own_places(scratch) as places:
            cases.append(_run_block(group, page, scratch, environment, places))
    return cases


def _run_block(group: str, block, scratch: str, environment, more: dict[str, str]) -> Case:
    log = LOGS / group / f"docs-{block.file.replace('/', '-')}-{block.line}.log"
    programs = [str(BUILD), *([str(Path(environment["TIDEMARK_KUBECTL"]).parent)] if environment else [])]
    done = processes.run_logged(
        ["bash", "-euo", "pipefail", "-c", block.text], log, cwd=ROOT, timeout_s=PATIENCE_S,
        env={**_environment(environment, scratch), **more, "PATH": ":".join([*programs, os.environ["PATH"]]), "HOME": scratch},
    )
    detail = "" if done.code == 0 else f"exit code {done.code}\n{block.text}\n{log.read_text(errors='replace')}"
    return Case(group, "docs", f"{block.file}:{block.line}", PASSED if done.code == 0 else FAILED, detail)


@contextmanager
def _own_places(scratch: str):
    """What `tidemark up` would share with another one on the machine; its pods do not outlive the block."""
    group = f"tidemark-test-{secrets.token_hex(4)}"
    with processes.cleaned_up(lambda: plain_groups.clear(group)):
        yield {
            "TIDEMARK_LISTEN": f"127.0.0.1:{ports.free(1)[0]}", "TIDEMARK_POD_GROUP": f"/{group}", "TIDEMARK_RUN_DIR": f"{scratch}/run",
            "TIDEMARK_LATCH_FILE": f"{scratch}/off",
        }


def _cluster_docs(environment) -> list[Case]:
    kubeconfig = Path(environment["TIDEMARK_TEST_KUBECONFIG"])
    try:
        docs_world.make(kubeconfig)
        return _docs("cluster", environment)
    except (Failed, OSError) as error:
        return [Case("cluster", "docs", "(objects)", FAILED, str(error))]
    finally:
        with suppress(Failed, OSError):
            docs_world.take_away(kubeconfig)


def _finish(run: Run, seconds: float) -> int:
    failed = [case for case in run.cases if case.outcome == FAILED]
    skipped = [case for case in run.cases if case.outcome == SKIPPED]
    for case in failed:
        print(f"\n---- FAILED {case.title}\n{case.detail.rstrip()}")
    for case in skipped:
        say(f"skipped {case.title}: {case.detail.strip()}")
    budget.report(run.took if "long" in run.took else {**run.took, budget.WHOLE: seconds}, run.warm)
    say(f"all of it: {seconds:.1f} s; logs in {LOGS.relative_to(ROOT)}/")
    for case in run.unsteady:
        loud(f"UNSTEADY, failed and passed in the same run: {case.title}")
    for case in run.too_late:
        loud(f"NOT RUN, the time was up: {case.group} {case.program}")
    unexpected = []
    if os.environ.get("CI"):
        told = [case for case in run.cases if case not in run.too_late]
        unexpected = ExpectedSkips((ROOT / "tests" / "expected-skips.txt").read_text()).unexpected(told)
        for case in unexpected:
            loud(f"UNEXPECTED SKIP fails this run: {case.title} (tests/expected-skips.txt names those that are expected)")
    sys.stderr.flush()
    print(results.tally(run.cases), flush=True)
    return 1 if failed or unexpected else 0
