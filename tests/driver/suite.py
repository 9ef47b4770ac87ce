"""./dev test: builds, starts the real parts that a group needs, calls CTest, and counts cases. CTest decides the order and runs tests side by side."""

import fcntl
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from driver import browser, build, deploy_tools, fuzz, node, packages, plan, processes, results, vm, yarn
from driver.cluster import CLUSTERS, Fixtures
from driver.console import Failed, WrongUse, loud, say
from driver.kubernetes import find_go
from driver.paths import BUILD, LOGS, ROOT, WORLD, build_folder
from driver.results import FAILED, PASSED, SKIPPED, Case, ExpectedSkips
from support import owners

GROUPS = {
    "unit": "all unit tests, the contract suite on the API server in memory, one run of `tidemark up`, checks of sources and docs",
    "contract": "the contract suite and sessions of kubectl on a real kube-apiserver",
    "node": "a real kubelet with 50 pods; cgroups and kernel interfaces of this machine",
    "vm": "a kernel with cgroup v2 in an emulated machine",
    "cluster": "components and faults on a real kube-apiserver",
    "yarn": "a real ResourceManager and NodeManager",
    "browser": "the page of the console in Chromium",
    "asan": "unit tests of the lower layers under AddressSanitizer",
    "tsan": "suites with Concurrent in their names under ThreadSanitizer",
    "long": "takes hours: soaks, fuzzers, the other unit tests under sanitizers, a build of single files, previous versions",
}
REAL = ["contract", "node", "vm", "cluster", "yarn", "browser", "asan", "tsan"]
SETS = {"real": REAL}
PRESETS = {"asan": "asan", "tsan": "tsan", "asan_long": "asan", "tsan_long": "tsan"}  # groups that have a build of their own
# Tests side by side. Those of clusters wait more than they work, those of nodes most.
JOBS = {"contract": CLUSTERS, "node": 3, "vm": 2, "cluster": CLUSTERS, "yarn": 3, "browser": 3, "long": 1}
NEED_CLUSTER = {"contract", "node", "cluster", "yarn", "browser", "long"}
PROVIDERS = {"node": node, "yarn": yarn, "vm": vm, "browser": browser, "long": yarn}
NEED_DEPLOY_TOOLS = {"node": ["helm"], "yarn": ["helm", "prometheus"], "cluster": ["helm", "promtool", "prometheus", "operator-definitions"]}
IN_A_GUEST = ["linux_test", "agent_test", "yarn_copilot_test"]  # unit test programs that the group vm runs in its machine
SECOND_TRY = {"contract", "node", "vm", "cluster", "yarn", "browser"}  # in CI: they drive other programs by the wall clock
LIMIT = "TIDEMARK_TEST_MINUTES"
GRACE_S = 480  # a test that began before the limit is killed, and fails, so long after it
LONG_FUZZ_S = 2700  # all fuzzers together
LEDGER = ROOT / "tests" / "unsteady.txt"


@dataclass
class Run:
    tests: list[plan.Test]
    until: datetime | None = None
    cases: list[Case] = field(default_factory=list)
    took: dict[str, float] = field(default_factory=dict)
    unsteady: list[Case] = field(default_factory=list)
    not_run: list[str] = field(default_factory=list)
    fixtures: Fixtures = field(default_factory=Fixtures)

    @contextmanager
    def timed(self, name: str):
        begin = time.monotonic()
        yield
        self.took[name] = self.took.get(name, 0.0) + time.monotonic() - begin

    def fail(self, group: str, program: str, name: str, detail: str) -> None:
        say(f"FAILED {group} {program} {name}")
        self.cases.append(Case(group, program, name, FAILED, detail))


@dataclass
class Asked:
    groups: list[str]
    only: str = ""
    affected: bool = False
    base: str | None = None
    show: bool = False  # the plan, and nothing else


def parse(arguments: list[str]) -> Asked:
    asked, rest = Asked([]), list(arguments)
    while rest:
        word, equals, value = rest.pop(0).partition("=")
        if word in ("--only", "--base"):
            if not equals:
                value = rest.pop(0) if rest else ""
            if not value:
                raise WrongUse(f"{word} needs a value")
            setattr(asked, word[2:], value)
        elif word == "--plan" and not equals:
            asked.show = True
        elif word == "affected":
            asked.affected = True
        elif word in SETS:
            asked.groups += SETS[word]
        elif word in GROUPS:
            asked.groups.append(word)
        else:
            raise WrongUse(f"no test group `{word}`: {', '.join([*GROUPS, *SETS, 'affected'])}")
    if arguments[:1] == ["real"] and len(asked.groups) > len(REAL):
        asked.groups = asked.groups[len(REAL):]  # ./dev test real node
    asked.groups = list(dict.fromkeys(asked.groups))
    if asked.affected and asked.groups:
        raise WrongUse("affected chooses the groups by itself")
    if (asked.base or asked.show) and not asked.affected:
        raise WrongUse("--base and --plan are for affected")
    if asked.only and len(asked.groups) != 1:
        raise WrongUse("--only=NAME needs one group")
    if not asked.affected and not asked.groups:
        asked.groups = ["unit"]
    return asked


def test(arguments: list[str]) -> int:
    asked = parse(arguments)
    begin = time.monotonic()
    until = _until()
    owners.clear_away(Path(tempfile.gettempdir()), owners.SCRATCH)
    packages.setup()
    build.list_anew("dev")
    if asked.affected:
        chosen = affected(asked.base)
        print(chosen.text(), flush=True)
        if asked.show:
            return 0
        tests = chosen.will_run
    else:
        tests = [each for group in asked.groups for each in listed(group) if asked.only in each.name.split(".", 1)[1]]
        if not tests:
            raise WrongUse(f"no test of {asked.groups[0]} has `{asked.only}` in its name")
    for group in {each.group for each in tests}:
        shutil.rmtree(LOGS / group, ignore_errors=True)
    LOGS.mkdir(parents=True, exist_ok=True)
    run = Run(tests, until)
    with _world():
        try:
            for group in dict.fromkeys(each.group for each in tests):
                _run_group(run, group, [each for each in tests if each.group == group])
                if group == "long" and not asked.only:
                    _long(run)
        finally:
            run.fixtures.stop()
    return _finish(run, time.monotonic() - begin)


@contextmanager
def _world():
    """The folder of files that tell tests where the real parts are. One run at a time has it."""
    BUILD.mkdir(exist_ok=True)
    with open(BUILD / "test.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failed("another ./dev test runs in this tree")
        shutil.rmtree(WORLD, ignore_errors=True)
        WORLD.mkdir(parents=True)
        try:
            yield
        finally:
            shutil.rmtree(WORLD, ignore_errors=True)


def _until() -> datetime | None:
    text = os.environ.get(LIMIT, "")
    if text and not (text.isdigit() and int(text) > 0):
        raise WrongUse(f"{LIMIT}: expected a number of minutes, found `{text}`")
    return datetime.now() + timedelta(minutes=int(text)) if text else None


def listed(group: str) -> list[plan.Test]:
    """The tests of a group as CTest knows them."""
    preset = PRESETS.get(group, "dev")
    if preset != "dev":
        build.list_anew(preset)
    text = processes.capture(["ctest", "--test-dir", build_folder(preset), "--show-only=json-v1", "-L", f"^{group}$"])
    seconds = dict(re.findall(r"^([^#\s]+) +(\d+)", (ROOT / "tests" / "seconds.txt").read_text(), re.M))
    found = []
    for each in json.loads(text)["tests"]:
        words = each.get("command", [])
        file = Path(words[6]) if len(words) > 6 and words[5] == "python" else None
        found.append(plan.Test(each["name"], group, file, int(seconds.get(each["name"], plan.SECONDS_DEFAULT))))
    return found


def affected(base: str | None) -> plan.Plan:
    base = plan.base_of(base)
    changed = plan.changed_files(base)
    reach = plan.Reach(plan.graph(), plan.Sources(), changed)

    def reached(each: plan.Test) -> bool:
        name = each.name.split(".", 1)[1]
        if each.file is not None:
            return reach.file(each.file)
        if name == "suite":
            return reach.program("memory_server") or any(file.startswith("tests/contract/") for file in changed)
        if name == "docs":
            return reach.program("tidemark") or any(file.endswith(".md") or file.startswith("tests/demo/") for file in changed)
        return reach.program(name)

    tests = [each for group in REAL for each in listed(group)]
    return plan.make(tests, reached, base, changed, plan.git("rev-parse", "HEAD"), first=lambda each: each.file is not None and reach.first(each.file))


def _run_group(run: Run, group: str, tests: list[plan.Test]) -> None:
    preset = PRESETS.get(group, "dev")
    names = [each.name.split(".", 1)[1] for each in tests]
    targets = {"unit": ["all", "unit-tests"], "vm": ["all", *IN_A_GUEST]}.get(group, ["all", "real-tools"])
    try:
        with run.timed(f"build {preset}"):
            build.build(preset, names if preset != "dev" else targets)
        with run.timed(f"prepare {group}"):
            _provide(run, group)
    except (Failed, OSError, subprocess.SubprocessError) as error:
        run.fail(group, "(group)", "(start)", str(error))
        return
    provider = PROVIDERS.get(group)
    ending = processes.cleaned_up(provider.clear_away) if hasattr(provider, "clear_away") else nullcontext()
    with run.timed(group), ending:
        _ctest(run, group, preset, tests)


def _provide(run: Run, group: str) -> None:
    """Writes build/test-world/GROUP.json for one_test.py. Failed if a part of it cannot be had: a group that cannot run fails."""
    environment: dict[str, str] = {}
    if group == "unit":
        try:
            environment = deploy_tools.stock_kubectl()
        except Failed as error:  # the other unit tests run
            run.fail(group, "kubectl", "(start)", str(error))
    if group in PROVIDERS:
        environment, remedy = PROVIDERS[group].provide()
        if remedy:
            raise Failed(remedy)
    clusters = []
    if group in NEED_CLUSTER:
        go, remedy = find_go()
        if go is None:
            raise Failed(remedy)
        clusters = run.fixtures.start(JOBS[group])
    for tool in NEED_DEPLOY_TOOLS.get(group, []):
        environment |= deploy_tools.PROVIDE[tool]()
    if run.until is not None:
        environment["TIDEMARK_TEST_END"] = str(int(run.until.timestamp()) + GRACE_S)
    world = {"environment": environment, "lanes": [each.lane for each in clusters]}
    (WORLD / f"{group}.json").write_text(json.dumps(world))


def _ctest(run: Run, group: str, preset: str, tests: list[plan.Test]) -> None:
    names = "|".join(re.escape(each.name) for each in tests)
    command = ["ctest", "--test-dir", build_folder(preset), "-L", f"^{group}$", "-R", f"^({names})$", "-j", str(JOBS.get(group, build.JOBS)), "--output-on-failure"]
    if os.environ.get("CI") and group in SECOND_TRY:
        command += ["--repeat", "until-pass:2"]
    if run.until is not None:
        command += ["--stop-time", run.until.strftime("%H:%M:%S")]
    for each in tests:  # an old report must not stand for this run
        for ending in ("cases", "first"):
            (LOGS / group / f"{each.name.split('.', 1)[1]}.{ending}.json").unlink(missing_ok=True)
    say(f"{group}: {len(tests)} tests")
    if run.until is None or datetime.now() < run.until:
        processes.run(command, cwd=ROOT, stdout=2)
    for each in tests:
        _read(run, group, each.name.split(".", 1)[1])


def _read(run: Run, group: str, name: str) -> None:
    """The cases that one_test.py wrote. A planned test without a report was not run, and fails."""
    report = LOGS / group / f"{name}.cases.json"
    if not report.exists():
        run.not_run.append(f"{group}.{name}")
        return
    cases, first = _cases(group, report), report.with_name(f"{name}.first.json")
    run.cases += cases
    if first.exists() and not any(case.outcome == FAILED for case in cases):
        run.unsteady += [case for case in _cases(group, first) if case.outcome == FAILED]


def _cases(group: str, report: Path) -> list[Case]:
    return [Case(group, *row) for row in json.loads(report.read_text())]


def _long(run: Run) -> None:
    """What the group long has beside its files."""
    for group in ("asan_long", "tsan_long"):
        tests = listed(group)
        run.tests += tests
        _run_group(run, group, tests)
    try:
        with run.timed("build files"):
            if processes.run(["ninja", "-C", build.by_file(), *build.EVERYTHING], cwd=ROOT, env=build.environment()).code != 0:
                raise Failed("the build of single files failed, see above: a source lacks an include")
        with run.timed("build fuzz"):
            build.build("fuzz", ["fuzzers"])
    except Failed as error:
        run.fail("long", "build", "(whole build)", str(error))
        return
    fuzzers = build.listed("fuzz", "fuzzers")
    seconds = fuzz.share(len(fuzzers), LONG_FUZZ_S, build.JOBS)
    with run.timed("fuzz"), ThreadPoolExecutor(build.JOBS) as pool:
        for (name, _), clean in zip(fuzzers, pool.map(lambda each: fuzz.one(each[0], str(each[1]), seconds), fuzzers)):
            run.cases.append(Case("long", "fuzz", name, PASSED if clean else FAILED, "" if clean else f"see .cache/fuzz/{name}.crashes/"))


def _finish(run: Run, seconds: float) -> int:
    failed = [case for case in run.cases if case.outcome == FAILED]
    for case in failed:
        print(f"\n---- FAILED {case.title}\n{case.detail.rstrip()}")
    for case in run.cases:
        if case.outcome == SKIPPED:
            say(f"skipped {case.title}: {case.detail.strip()}")
    for name, took in run.took.items():
        say(f"{name:<20} {took:7.1f} s")
    say(f"all: {seconds:.1f} s; logs in {LOGS.relative_to(ROOT)}/")
    known = LEDGER.read_text()
    for case in run.unsteady:
        listed_already = "" if f"{case.group}.{case.program.rsplit('/', 1)[-1].removesuffix('.py')} " in known else "; not in tests/unsteady.txt yet"
        loud(f"UNSTEADY, failed and then passed: {case.title}{listed_already}")
    for name in run.not_run:
        loud(f"NOT RUN, fails this run: {name}")
    unexpected = []
    if os.environ.get("CI"):
        unexpected = ExpectedSkips((ROOT / "tests" / "expected-skips.txt").read_text()).unexpected(run.cases)
        for case in unexpected:
            loud(f"UNEXPECTED SKIP fails this run: {case.title} (tests/expected-skips.txt names the expected ones)")
    if run.unsteady:
        print(f"UNSTEADY {len(run.unsteady)}")
    print(results.tally(run.cases) + (f", {len(run.not_run)} not run" if run.not_run else ""), flush=True)
    return 1 if failed or run.not_run or unexpected else 0
