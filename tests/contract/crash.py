"""kill -9 during a burst of writes: acknowledged writes exist afterwards, at their revisions, and no watch stays silent.

A round on one data directory:  start → writers and a watcher → kill -9 after some acknowledgements → start → compare.

The writers know each object's last acknowledged state and, if the server died before its answer, the state that may or may
not have been written. Anything else in the directory is an error: something lost, outdated, or never written.
"""

import random
import threading
from dataclasses import dataclass, field

from contract.client import Broken, Client, Watch
from contract.memory import Memory

WRITERS = 4
OBJECTS = 12  # objects of each writer
ACKNOWLEDGED_MAX = 160  # acknowledgements of all writers before the kill
WATCH_EVENTS_MAX = 100_000


class Lost(AssertionError):
    pass


@dataclass
class State:
    """revision 0: the object does not exist."""

    revision: int = 0
    value: str = ""


@dataclass
class Book:
    """The knowledge of one writer. Names are its own, so no two writers touch one object."""

    held: dict[str, State] = field(default_factory=dict)
    unanswered: tuple[str, str | None] | None = None  # name, and its possible value (None: the object may be deleted)
    revisions: list[int] = field(default_factory=list)  # in the order of acknowledgement
    problem: str = ""


class Round:
    def __init__(self, memory: Memory, seed: int):
        self._memory, self._random = memory, random.Random(seed)
        self._ns = f"crash-{seed}"
        self._acknowledged = threading.Semaphore(0)
        self._seen: list[tuple[str, str, int, str]] = []  # events of the watcher: type, name, revision, value

    def path(self, name: str = "") -> str:
        return f"/api/v1/namespaces/{self._ns}/configmaps" + (f"/{name}" if name else "")

    def play(self) -> int:
        """Returns the number of acknowledged writes."""
        if not self._memory.alive():
            self._memory.start()
        client = Client(self._memory.target)
        if client.post("/api/v1/namespaces", {"metadata": {"name": self._ns}}).status != 201:
            raise Lost(f"the namespace {self._ns} could not be created: {client.transcript[-1]}")
        begin = int(client.get(self.path())["metadata.resourceVersion"])
        watch = client.watch(self.path(), resourceVersion=str(begin))
        books = [Book() for _ in range(WRITERS)]
        threads = [threading.Thread(target=self._write, args=(number, book, random.Random(self._random.random()))) for number, book in enumerate(books)]
        threads.append(threading.Thread(target=self._look, args=(watch,)))
        for thread in threads:
            thread.start()
        for _ in range(self._random.randint(WRITERS, ACKNOWLEDGED_MAX)):
            self._acknowledged.acquire(timeout=30)
        self._memory.kill()
        for thread in threads:
            thread.join()
        watch.close()
        client.close()
        if problems := [book.problem for book in books if book.problem]:
            raise Lost("\n".join(problems))
        self._memory.start()
        self._compare(books, begin)
        return sum(len(book.revisions) for book in books)

    # -- before the kill

    def _write(self, number: int, book: Book, chance: random.Random) -> None:
        client = Client(self._memory.target)
        count = 0
        try:
            while True:
                client.transcript.clear()
                count += 1
                name, value = f"w{number}-{chance.randrange(OBJECTS)}", f"{number}.{count}." + "x" * chance.choice((0, 10, 3000))
                state = book.held.get(name, State())
                delete = state.revision and chance.random() < 0.2
                book.unanswered = (name, None if delete else value)
                if delete:
                    answer = client.delete(self.path(name))
                elif not state.revision:
                    answer = client.post(self.path(), {"metadata": {"name": name}, "data": {"v": value}})
                elif chance.random() < 0.5:
                    answer = client.merge(self.path(name), {"data": {"v": value}})
                else:
                    answer = client.put(self.path(name), {"metadata": {"name": name, "resourceVersion": str(state.revision)}, "data": {"v": value}})
                if answer.status not in (200, 201):
                    book.problem = f"{answer.request} answered {answer.status}: {answer.body[:500]!r}"
                    return
                if delete:
                    book.held[name] = State()
                else:
                    book.held[name] = State(int(answer["metadata.resourceVersion"]), value)
                    book.revisions.append(book.held[name].revision)
                book.unanswered = None
                self._acknowledged.release()
        except Broken:
            pass  # the server is gone: the write in flight is in `unanswered`
        finally:
            client.close()

    def _look(self, watch: Watch) -> None:
        try:
            while len(self._seen) < WATCH_EVENTS_MAX and (event := watch.event()) is not None:
                found = event["object"]
                self._seen.append((event["type"], found["metadata"]["name"], int(found["metadata"]["resourceVersion"]), found["data"]["v"]))
        except Broken:
            pass

    # -- after the kill

    def _compare(self, books: list[Book], begin: int) -> None:
        client = Client(self._memory.target)
        try:
            whole = client.get(self.path()).json
            found = {item["metadata"]["name"]: State(int(item["metadata"]["resourceVersion"]), item["data"]["v"]) for item in whole["items"]}
            now = int(whole["metadata"]["resourceVersion"])
            for book in books:
                self._compare_book(book, found)
            known = set().union(*(book.held for book in books), {book.unanswered[0] for book in books if book.unanswered})
            if strange := set(found) - known:
                raise Lost(f"objects without a writer: {sorted(strange)}")
            newest = max([revision for book in books for revision in book.revisions] + [revision for _, _, revision, _ in self._seen] + [begin])
            if now < newest:
                raise Lost(f"the server is at revision {now} but had shown {newest}")
            self._compare_seen(found)
            self._compare_watches(client, found, begin, now)
        finally:
            client.close()

    def _compare_book(self, book: Book, found: dict[str, State]) -> None:
        for name, state in book.held.items():
            there = found.get(name, State())
            if there == state:
                continue
            if book.unanswered and book.unanswered[0] == name:
                value = book.unanswered[1]
                written = there.revision == 0 if value is None else there.revision > state.revision and there.value == value
                if written:
                    continue
            raise Lost(f"{name}: acknowledged {_short(state)}, found {_short(there)}, unanswered {str(book.unanswered)[:60]}")

    def _compare_seen(self, found: dict[str, State]) -> None:
        """Each event of the watch happened: its state exists, or a newer one."""
        last: dict[str, tuple[str, int, str]] = {}
        before = 0
        for kind, name, revision, value in self._seen:
            if revision <= before:
                raise Lost(f"the watch showed revision {revision} after {before}")
            before = revision
            last[name] = (kind, revision, value)
        for name, (kind, revision, value) in last.items():
            there = found.get(name, State())
            if kind == "DELETED":
                if there.revision and there.revision < revision:
                    raise Lost(f"{name}: the watch showed its deletion at {revision}, found {_short(there)}")
            elif there.revision and (there.revision < revision or (there.revision == revision and there.value != value)):
                raise Lost(f"{name}: the watch showed revision {revision}, found {_short(there)}")

    def _compare_watches(self, client: Client, found: dict[str, State], begin: int, now: int) -> None:
        """From an old revision: every change since then, or 410. From the newest: the next change. Never silence."""
        marker = "marker"
        old = client.watch(self.path(), resourceVersion=str(begin))
        new = client.watch(self.path(), resourceVersion=str(now))
        try:
            made = client.post(self.path(), {"metadata": {"name": marker}, "data": {"v": marker}})
            if made.status != 201 or int(made["metadata.resourceVersion"]) <= now:
                raise Lost(f"the first write after the start: {made.status} {made.body[:300]!r}, the server was at {now}")
            if (first := new.next("ADDED"))["metadata"]["name"] != marker:
                raise Lost(f"a watch from the newest revision began with {first['metadata']['name']}")
            if old.status == 410:
                return
            state: dict[str, int] = {}
            while True:
                event = old.event()
                if event is None:
                    raise Lost("the watch from an old revision ended without an event")
                if event["type"] == "ERROR":
                    if event["object"]["code"] != 410:
                        raise Lost(f"the watch from an old revision: {event['object']}")
                    return
                name, revision = event["object"]["metadata"]["name"], int(event["object"]["metadata"]["resourceVersion"])
                if name == marker:
                    break
                state[name] = 0 if event["type"] == "DELETED" else revision
            missing = {name: held.revision for name, held in found.items() if state.get(name) != held.revision}
            if missing:
                raise Lost(f"the watch from revision {begin} never showed {missing}")
        finally:
            old.close()
            new.close()


def _short(state: State) -> str:
    return f"({state.revision}, {state.value[:12]!r})" if state.revision else "(not there)"
