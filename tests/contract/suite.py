"""Cases, their inputs, and how they are run and counted."""

import fnmatch
import importlib
import itertools
import json
import pkgutil
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from contract.client import Answer, Client, Target, Watch, at
from contract.history import History

WORKERS = 4
UNSUPPORTED = Path(__file__).parent / "unsupported.json"
IN_MEMORY = "in_memory."  # cases only for kube/memory: its deliberate differences
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


class Wrong(AssertionError):
    """The server broke the rule in the case's name."""


@dataclass(frozen=True)
class Case:
    name: str  # "watch.starts_after_the_given_revision"
    function: Callable
    alone: bool = False  # after all others: it removes server state that they may need


class Skipped(Exception):
    """The case cannot run on this server; the text gives the reason."""


_cases: list[Case] = []


def case(function):
    """Registers a case. Its name states the rule."""
    return _register(function, alone=False)


def case_alone(function):
    """Registers a case that runs when no other does."""
    return _register(function, alone=True)


def _register(function, *, alone: bool):
    _cases.append(Case(f"{function.__module__.rsplit('.', 1)[-1]}.{function.__name__}", function, alone))
    return function


def all_cases() -> list[Case]:
    import contract.cases

    for module in sorted(module.name for module in pkgutil.iter_modules(contract.cases.__path__)):
        importlib.import_module(f"contract.cases.{module}")
    return list(_cases)


class Run:
    """Shared state of one run: the target, unique names, shared objects."""

    def __init__(self, target: Target, history: "History | None" = None):
        self.target = target
        self.history = history
        self.mark = format(time.time_ns() // 1000 % 36**6, "x")  # distinguishes our objects from those of an earlier run on the same server
        self._numbers = itertools.count(1)
        self._once: dict[str, object] = {}
        self._owners: list[T] = []
        self._lock = threading.RLock()

    def number(self) -> int:
        return next(self._numbers)

    def once(self, key: str, make: Callable):
        with self._lock:
            if key not in self._once:
                self._once[key] = make()
            return self._once[key]

    def owner(self) -> "T":
        """Creates a shared object: it is removed at the end of the run, not of a case."""
        with self._lock:
            self._owners.append(T(self))
            return self._owners[-1]

    def clean_up(self) -> None:
        for owner in self._owners:
            owner.clean_up()


class T:
    """A case's own view of the server: a connection, a namespace created on first use, unique names, and assertions."""

    def __init__(self, run: Run):
        self.run = run
        self.api = Client(run.target)
        self.answers: list[Answer] = []
        self._namespace: str | None = None
        self._collections: set[str] = set()
        self._singles: list[str] = []
        self._watch_request(self.api)

    # -- names and paths

    def name(self, stem: str = "x") -> str:
        return f"{stem}-{self.run.mark}-{self.run.number()}"

    @property
    def ns(self) -> str:
        if self._namespace is None:
            self._namespace = self.name("contract")
            self.made(self.api.post("/api/v1/namespaces", {"metadata": {"name": self._namespace}}))
        return self._namespace

    def core(self, plural: str, name: str = "") -> str:
        return f"/api/v1/namespaces/{self.ns}/{plural}" + (f"/{name}" if name else "")

    def group(self, group_version: str, plural: str, name: str = "") -> str:
        return f"/apis/{group_version}/namespaces/{self.ns}/{plural}" + (f"/{name}" if name else "")

    def cm(self, name: str = "") -> str:
        return self.core("configmaps", name)

    def pods(self, name: str = "") -> str:
        return self.core("pods", name)

    def node(self, name: str = "") -> str:
        return "/api/v1/nodes" + (f"/{name}" if name else "")

    # -- objects

    def make_cm(self, name: str = "a", data: dict | None = None, **meta) -> dict:
        return self.made(self.api.post(self.cm(), {"metadata": {"name": name, **meta}, **({} if data is None else {"data": data})}))

    def make_pod(self, name: str = "p", **changes) -> dict:
        return self.made(self.api.post(self.pods(), pod(name, **changes)))

    def make_node(self, **changes) -> dict:
        name = self.name("node")
        return self.made(self.api.post(self.node(), {"metadata": {"name": name, **changes.pop("metadata", {})}, **changes}))

    # -- assertions

    def made(self, answer: Answer) -> dict:
        return self.ok(answer, 201).json

    def ok(self, answer: Answer | Watch, code: int = 200):
        if answer.status != code:
            raise Wrong(f"wanted {code}, found {answer.status}")
        return answer

    def equal(self, wanted, found, what: str = "") -> None:
        if wanted != found:
            raise Wrong(f"{what + ': ' if what else ''}wanted {_text(wanted)}\n{' ' * len(what)}   found {_text(found)}")

    def true(self, condition, what: str) -> None:
        if not condition:
            raise Wrong(what)

    def has(self, wanted: dict, found, what: str = "") -> None:
        """Every member of `wanted` is in `found` with that value; `found` may have more. Lists must be equal in length."""
        problem = _missing(wanted, found, what or "object")
        if problem:
            raise Wrong(problem)

    def refused(self, answer: Answer, code: int, reason: str | None, message: str | None = None, details: dict | None = None) -> dict:
        """A metav1.Status with exactly this code, reason, message and details (None: not checked)."""
        body = self.ok(answer, code).json
        self.has({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code}, body)
        self.equal(reason or None, body.get("reason"), "reason")
        if message is not None:
            self.equal(message, body.get("message"), "message")
        if details is not None:
            self.equal(details, body.get("details"), "details")
        return body

    def invalid(self, answer: Answer, kind: str, name: str, *causes: tuple[str, str, str], group: str | None = None) -> dict:
        """422 with exactly these causes (reason, field, message), repeated in one line."""
        details = {**({"name": name} if name else {}), "kind": kind, "causes": [{"reason": r, "message": m, "field": f} for r, f, m in causes]}
        if group is not None:
            details["group"] = group
        shown = [f"{field}: {text}" for _, field, text in causes]
        whole = shown[0] if len(shown) == 1 else "[" + ", ".join(shown) + "]"
        kind_text = f"{kind}.{group}" if group else kind
        return self.refused(answer, 422, "Invalid", f'{kind_text} "{name}" is invalid: {whole}', details)

    # -- cleanup

    def _watch_request(self, client: Client) -> None:
        plain = client.request

        def request(method, path, body=None, **options):
            answer = plain(method, path, body, **options)
            self.answers.append(answer)
            if answer.status == 201 and method in ("POST", "PUT") and options.get("dryRun") is None:
                self._remember(method, path.split("?")[0], answer)
            return answer

        client.request = request

    def _remember(self, method: str, path: str, answer: Answer) -> None:
        name = at(answer.json, "metadata.name", None)
        if name is None:
            return
        own = f"/namespaces/{self._namespace}/"
        if own in path:
            self._collections.add(path if method == "POST" else path.rsplit("/", 1)[0])
        else:
            self._singles.append(f"{path}/{name}" if method == "POST" else path)

    def clean_up(self) -> None:
        """Removes the objects of the case, also on a server without controllers, where no namespace is finalized automatically."""
        transcript, self.api.transcript = self.api.transcript, []
        for collection in sorted(self._collections):
            self.api.delete(collection, gracePeriodSeconds=0)
        for path in reversed(self._singles):
            self.api.delete(path, gracePeriodSeconds=0)
            if "/namespaces/" in path and path.endswith(path.rsplit("/", 1)[-1]) and path.startswith("/api/v1/namespaces/"):
                self.api.put(f"{path}/finalize", {"metadata": {"name": path.rsplit("/", 1)[-1]}, "spec": {"finalizers": []}})
        self.api.close()
        self.api.transcript = transcript


def pod(name: str, **changes) -> dict:
    """A pod with one container `main`. `spec`, `metadata` and `container` add to it."""
    container = {"name": "main", "image": "example/main:1", **changes.pop("container", {})}
    spec = {"containers": [container], **changes.pop("spec", {})}
    return {"metadata": {"name": name, **changes.pop("metadata", {})}, "spec": spec, **changes}


def _text(value) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _missing(wanted, found, path: str) -> str | None:
    if isinstance(wanted, dict):
        if not isinstance(found, dict):
            return f"{path}: wanted an object, found {_text(found)}"
        for key, value in wanted.items():
            if key not in found:
                return f"{path}.{key}: wanted {_text(value)}, found none"
            if problem := _missing(value, found[key], f"{path}.{key}"):
                return problem
        return None
    if isinstance(wanted, list):
        if not isinstance(found, list) or len(wanted) != len(found):
            return f"{path}: wanted {_text(wanted)}, found {_text(found)}"
        for index, value in enumerate(wanted):
            if problem := _missing(value, found[index], f"{path}[{index}]"):
                return problem
        return None
    return None if wanted == found else f"{path}: wanted {_text(wanted)}, found {_text(found)}"


# -- running


@dataclass(frozen=True)
class Result:
    name: str
    outcome: str
    detail: str
    seconds: float


def _run_case(run: Run, one: Case, unsupported: dict | None) -> Result:
    begin = time.monotonic()
    t = T(run)
    problem = None
    try:
        one.function(t)
    except Skipped as why:
        t.clean_up()
        return Result(one.name, SKIPPED, str(why), time.monotonic() - begin)
    except Exception as error:  # any failure of a case must not stop the others
        frame = next((f for f in reversed(traceback.extract_tb(error.__traceback__)) if "/cases/" in f.filename), None)
        problem = f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno}: {frame.line}\n" if frame else ""
        problem += str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
    if unsupported is not None:
        problem = _judge_unsupported(t, unsupported, problem)
    if problem is not None:
        problem += "\n" + "".join(t.api.transcript[-8:])
    try:
        t.clean_up()
    except Exception as error:
        problem = problem or f"cleaning up: {error}"
    return Result(one.name, PASSED if problem is None else FAILED, problem or "", time.monotonic() - begin)


def _judge_unsupported(t: T, declared: dict, problem: str | None) -> str | None:
    """Only the declared refusal, with its code and name, is right; anything else is a silent difference."""
    if problem is None:
        return f"{UNSUPPORTED.name} declares it unsupported, but the server supports it: delete the entry"
    if "instead" in declared:
        return None if declared["instead"] in {c.name for c in _cases} else f"{UNSUPPORTED.name}: no case {declared['instead']}"
    for answer in t.answers:
        if answer.status == declared["code"] and fnmatch.fnmatch(answer.request, declared["request"]):
            if declared["says"] in answer.get("message", ""):
                return None
    return f"not supported, and not refused as {UNSUPPORTED.name} declares ({declared['code']}, naming `{declared['says']}`):\n{problem}"


def load_unsupported() -> dict[str, dict]:
    return json.loads(UNSUPPORTED.read_text())["cases"]


def run_cases(target: Target, patterns: list[str], *, in_memory: bool = False, history: History | None = None, workers: int = WORKERS) -> list[Result]:
    """Runs the cases that match any of the patterns (all by default). `in_memory`: by the rules of unsupported.json.
    `history`: how this server is made to forget."""
    cases = [c for c in all_cases() if in_memory or not c.name.startswith(IN_MEMORY)]
    chosen = [c for c in cases if not patterns or any(fnmatch.fnmatch(c.name, p) for p in patterns)]
    declared = load_unsupported() if in_memory else {}
    known = {c.name for c in cases}
    run = Run(target, history)
    with ThreadPoolExecutor(workers) as pool:
        results = list(pool.map(lambda one: _run_case(run, one, declared.get(one.name)), [c for c in chosen if not c.alone]))
    results += [_run_case(run, one, declared.get(one.name)) for one in chosen if one.alone]
    run.clean_up()
    for name in sorted(set(declared) - known):
        results.append(Result(name, FAILED, f"{UNSUPPORTED.name} names a case that does not exist", 0.0))
    return results
