"""./dev up: the example of tests/demo, its table, and then it stays for `tidemark local` and kubectl. One at a time on a data folder, which
says whose it is, so that --stop finds it, and finds what is left of one that was killed."""

import os
import re
import secrets
import shutil
import signal
import subprocess
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from driver import build, go_programs, kubernetes, packages, processes
from driver.console import Failed, WrongUse, say, step
from demo import measure, on_yarn, plain_groups, plot, samples, service, show, table
from demo.on_tidemark import OnTidemark, console_in
from demo.on_yarn import OnYarn
from driver.paths import BUILD, ROOT
from support import owners
from support.node import cgroups
from support.yarn import leftovers

START_S = 30
STOP_S = 120
DATA = BUILD / "up"
GROUPS = "groups"  # in the data folder: the groups of the run that it is of
SECONDS, SECONDS_MAX = 15, 3600
TIDEMARK = f"{BUILD.relative_to(ROOT)}/tidemark"


@dataclass
class Options:
    listen: str = "127.0.0.1:0"
    data: Path = DATA
    seconds: int = SECONDS
    once: bool = False
    samples: bool = False
    yarn: bool = False
    stop: bool = False


def parse(arguments: list[str]) -> Options:
    options, rest = Options(), list(arguments)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if name in ("--once", "--samples", "--yarn", "--stop") and not equals:
            setattr(options, name[2:], True)
            continue
        if name not in ("--listen", "--data-dir", "--seconds"):
            raise WrongUse(f"unknown flag `{name}{equals}{value}`")
        if not equals:
            if not rest:
                raise WrongUse(f"`{name}` wants a value")
            value = rest.pop(0)
        if name == "--listen":
            options.listen = value
        elif name == "--data-dir":
            options.data = Path(value).resolve()
        elif value.isdigit() and 2 <= int(value) <= SECONDS_MAX:
            options.seconds = int(value)
        else:
            raise WrongUse(f"`--seconds` wants a number of seconds from 2 to {SECONDS_MAX}, found `{value}`")
    if options.samples and options.yarn:
        raise WrongUse("`--samples` shows nodes without a machine, and `--yarn` runs on this one: one of both")
    return options


def run(arguments: list[str]) -> int:
    options = parse(arguments)
    if options.stop:
        return stop(options.data)
    packages.setup()
    build.build("dev", ["tidemark"] if options.samples else ["tidemark", "tidemark_load"])
    if options.samples:
        return _samples(options)
    if options.yarn:
        OnYarn.provide()
    with _ours(options.data):
        return _example(options)


def stop(data: Path) -> int:
    if not (data / owners.MARK).exists():
        say(f"nothing of ./dev up is in {data}")
        return 0
    owner = _owner(data)
    if owner.runs():
        _end(owner)
    if left := _clear(data, keep=[plot_file(data).name]):
        raise Failed("there still:\n" + "\n".join(left))
    say("nothing of it is left" + (f" but the drawing, {plot_file(data)}" if plot_file(data).exists() else ""))
    return 0


def stop_command(data: Path) -> str:
    return "./dev up --stop" + (f" --data-dir {data}" if data != DATA else "")


def _owner(data: Path) -> owners.Owner:
    """The owner of the directory; Failed if its mark matches no process of this machine: then nothing is ended or removed."""
    owner = owners.owner_of(data)
    if owner is None:
        raise Failed(
            f"{data} is of a ./dev up of another user, of another PID namespace (a container, another machine), or of one that was cut off as it began: "
            "it cannot be seen from here whether it runs. Use --stop where it was started; if that is gone, remove the directory"
        )
    return owner


def _end(owner: owners.Owner) -> None:
    with step(f"asking process {owner.pid} to end"):
        with suppress(ProcessLookupError):
            os.kill(owner.pid, signal.SIGTERM)
        deadline = time.monotonic() + STOP_S
        while owner.runs():
            if time.monotonic() > deadline:
                raise Failed(f"process {owner.pid} has not ended within {STOP_S} s")
            time.sleep(0.1)


@contextmanager
def _ours(data: Path):
    """The folder is this process' own while the block runs. What one that was killed has left is taken away before."""
    if (data / owners.MARK).exists():
        if _owner(data).runs():
            raise Failed(f"./dev up runs already on {data}. To end it: {stop_command(data)}")
        say("taking away what an earlier ./dev up has left")
    elif data != DATA and data.exists() and any(file != plot_file(data) for file in data.iterdir()):
        raise Failed(f"{data} holds something else; ./dev up wants a folder of its own")
    _tell(_clear(data))
    data.mkdir(parents=True, mode=0o700)
    owners.mark(data)
    with _ended_in_order():
        try:
            yield
        finally:
            _tell(_clear(data, keep=[plot_file(data).name]))


def _tell(left: list[str]) -> None:
    for each in left:
        say(f"there still: {each}")


def _clear(data: Path, keep: list[str] = ()) -> list[str]:
    """Removes the cgroups of the run with their processes, then its files; for YARN also processes without a cgroup. Returns what could not be removed."""
    _, left = leftovers.clear_away()
    if (data / GROUPS).exists():
        for name in (data / GROUPS).read_text().split():
            if cgroups.there(name):
                plain_groups.clear(name)
    for file in data.iterdir() if data.is_dir() else []:
        if file.name not in keep:
            shutil.rmtree(file) if file.is_dir() else file.unlink()
    if data.is_dir() and not any(data.iterdir()):
        data.rmdir()
    return left


def plot_file(data: Path) -> Path:
    return data / "colocation.svg"


@contextmanager
def _ended_in_order():
    """A signal ends the block as an error would, so that what is up is taken down in its order; another one meanwhile changes nothing."""
    def raise_once(number, _frame):
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, signal.SIG_IGN)
        say(f"ending: {signal.Signals(number).name}")
        raise KeyboardInterrupt

    before = {number: signal.signal(number, raise_once) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _example(options: Options) -> int:
    names = [f"tidemark-demo-{secrets.token_hex(4)}" for _ in range(2)]
    (options.data / GROUPS).write_text(" ".join(names))
    up = OnTidemark(BUILD / "tidemark", options.data, names[0], options.listen, ("--console-write",))
    yarn = OnYarn(up) if options.yarn else None
    if yarn:
        up.add_flags(*yarn.up_flags())
    load = dict(build.listed("dev", "benches"))["interference"]
    with ExitStack() as stack:
        stack.callback(up.stop)
        if yarn:
            stack.callback(yarn.stop)
        try:
            groups = stack.enter_context(plain_groups.PlainGroups(names[1]))
        except Failed as why:
            if yarn:
                raise Failed(f"--yarn wants groups for its containers. {why}")
            say(f"no comparison here: {why}. What `tidemark up` does without groups: it runs tasks without limits, and observes")
            up.start()
        else:
            web = service.write(service.provide_nginx(), load, options.data / "web", show.cores())
            rate, rounds = show.in_rounds(groups, up, web, options.seconds)
            stages = {name: measure.median(found) for name, found in rounds.items()}
            print(f"\nA web server under {rate:.0f} requests a second, on {show.cores()} processors; latencies count from when a request was due.\n")
            print(table.text(stages))
            print(table.price(stages["alone"], stages["with Tidemark"]), end="")
            print(table.noise(rounds, show.ROUNDS * show.ROUND_LEAST_S))
            plot_file(options.data).write_text(plot.svg(stages, show.cores(), f"{rate:.0f} requests a second, {options.seconds} s each"))
            print(f"drawn in {plot_file(options.data)}\n")
            if yarn:
                with step("the offline jobs end; what they had is YARN's"):
                    up.end_tasks(keep=("web", "load"))
                on_yarn.show(yarn)
        if options.once:
            return 0
        print(ways_on(options.data, up.kubeconfig, up.console), flush=True)
        if yarn:
            print(on_yarn.ways_on(yarn, TIDEMARK), flush=True)
        say(f"up until Ctrl-C, or {stop_command(options.data)}")
        up.server.wait()
        raise Failed(f"`tidemark up` ended by itself with {up.server.returncode}:\n{up.log()[-4000:]}")


def ways_on(data: Path, kubeconfig: Path, console: str) -> str:
    return "\n".join([
        f"In a browser on this machine: {console}                    # the same, live",
        "",
        "In another terminal:",
        f"  export TIDEMARK_DATA_DIR={data}",
        f"  {TIDEMARK} local top                                        # use of the machine, limited tasks and reasons",
        f"  {TIDEMARK} local ps                                         # every task",
        f"  {TIDEMARK} local run --class=free --wait -- sha256sum /etc/os-release",
        f"  {TIDEMARK} local logs load -f                               # the latencies of each second",
        "",
        way_in(kubeconfig, kubernetes.built().get("kubectl") or shutil.which("kubectl")),
        "",
    ])


def way_in(kubeconfig: Path, kubectl: Path | str | None) -> str:
    """What to type next; where there is no kubectl, where one comes from."""
    major, minor = go_programs.GO_AT_LEAST
    return f"export KUBECONFIG={kubeconfig}\n" + (
        f"{kubectl} get nodes" if kubectl else
        f"# There is no kubectl here. `./dev cluster start` builds one, with Go {major}.{minor} or newer; others: "
        "https://kubernetes.io/docs/tasks/tools/"
    )


def _samples(options: Options) -> int:
    """An API server and the manager without this machine: sample nodes, what each of them may sell, and why."""
    data = BUILD / "samples" if options.data == DATA else options.data
    if options.data == DATA:
        shutil.rmtree(data, ignore_errors=True)
    server, kubeconfig = start(data, options.listen)
    try:
        api = samples.Api(kubeconfig)
        objects = samples.load(api)
        nodes = [o["metadata"]["name"] for o in objects if o["kind"] == "Node"]
        samples.settle(api, nodes)
        for node in nodes:
            print(f"\n$ build/tidemark explain node {node}")
            print(processes.capture([BUILD / "tidemark", "explain", "node", node, "--kubeconfig", kubeconfig], cwd=ROOT), end="")
        print("\nIn a browser on this machine: " + console_in((data / "up.log").read_text(errors="replace")))
        print(way_in(kubeconfig, kubernetes.built().get("kubectl") or shutil.which("kubectl")), flush=True)
        if options.once:
            return 0
        say("up until Ctrl-C")
        while server.poll() is None:
            try:
                server.wait(samples.RENEW_S)
            except subprocess.TimeoutExpired:
                samples.renew(api, objects)
        raise Failed(f"`tidemark up` ended by itself with {server.returncode}:\n{(data / 'up.log').read_text(errors='replace')[-4000:]}")
    finally:
        processes.kill_group(server)


def start(data: Path, listen: str = "127.0.0.1:0") -> tuple[subprocess.Popen, Path]:
    """`tidemark up` on a data folder, and its kubeconfig once it serves. Its output is in up.log there."""
    data.mkdir(parents=True, exist_ok=True)
    output = data / "up.log"
    with open(output, "wb") as log:
        server = processes.start(
            [BUILD / "tidemark", "up", "--pods=false", "--console-write", "--data-dir", data, "--listen", listen], cwd=ROOT, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        return server, _kubeconfig(server, output)
    except Failed:
        processes.kill_group(server)
        raise


def _kubeconfig(server: subprocess.Popen, output: Path) -> Path:
    """The path that `tidemark up` prints when it is ready."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and server.poll() is None:
        for path in re.findall(r"(/[^\s\"'=]*kubeconfig[^\s\"',]*)", output.read_text(errors="replace")):
            if Path(path).is_file():
                return Path(path)
        time.sleep(0.05)
    raise Failed(f"`tidemark up` named no kubeconfig within {START_S} s. It printed:\n{output.read_text(errors='replace')[-4000:]}")
