"""An application of distributed shell: a master, and containers that run a command. Its client stays until the application ends."""

import re
from dataclasses import dataclass
from pathlib import Path

from support.yarn.server import READY_S, NotReady, Server, until

ENDED = ("FINISHED", "FAILED", "KILLED")
# A line of its master's log: the diagnostics continue until the next line that starts with a date.
_CONTAINER_ENDED = r"got container status for containerID={}, state=COMPLETE, exitStatus=(-?\d+), diagnostics=(.*?)(?=^\d{{4}}-|\Z)"
_SUBMITTED = re.compile(r"Submitted application (application_\d+_\d+)")


@dataclass(frozen=True)
class End:
    """The end of a container, as its master sees it."""

    status: int  # exit code of the process; negative if YARN ended it
    diagnostics: str


class Job:
    MASTER_LOG = "AppMaster.std*"  # the log files of masters

    def __init__(self, manager, client: Server, container_logs: list[Path]):
        self._manager, self.client, self._container_logs = manager, client, container_logs
        self._id = ""

    @property
    def id(self) -> str:
        """As soon as the ResourceManager has accepted it; otherwise NotReady with the client's message."""
        if not self._id:
            self._id = until("the job is submitted", lambda: _SUBMITTED.search(self.client.said()), servers=[self.client])[1]
        return self._id

    def report(self) -> dict:
        """state, finalStatus, diagnostics, runningContainers and more."""
        return self._manager.get(f"/ws/v1/cluster/apps/{self.id}")["app"]

    @property
    def state(self) -> str:
        return self.report()["state"]

    def wait_for(self, state: str, limit_s: float = READY_S) -> dict:
        """Its report in that state. Fails if it ended in another state."""

        def there() -> dict | None:
            report = self.report()
            if report["state"] in ENDED and report["state"] != state:
                raise NotReady(f"{self.id} ended as {report['state']} before it was {state}: {report['diagnostics']}\n{self.tail()}")
            return report if report["state"] == state else None

        return until(f"{self.id} is {state}", there, limit_s)

    def wait_for_containers(self, count: int, limit_s: float = READY_S) -> dict:
        """Its report with this many containers, including the master's own."""
        return until(f"{self.id} has {count} containers", lambda: self._has(count), limit_s)

    def _has(self, count: int) -> dict | None:
        report = self.report()
        return report if report["runningContainers"] == count else None

    def attempts(self) -> list[dict]:
        return self._manager.get(f"/ws/v1/cluster/apps/{self.id}/appattempts")["appAttempts"]["appAttempt"]

    def excluded(self) -> set[str]:
        """Hosts that its master has excluded, from the ResourceManager, which forgets them at the end of the job."""
        return {host for attempt in self.attempts() for host in attempt["blacklistedNodes"].split(", ") if host}

    def end(self) -> None:
        """As `yarn application -kill` does, and waits until it has ended."""
        self._manager.ask(f"/ws/v1/cluster/apps/{self.id}/state", "PUT", {"state": "KILLED"})
        until(f"{self.id} has ended", lambda: self.state in ENDED)

    def masters(self) -> str:
        """The logs of its masters: only they know how containers ended."""
        return "\n".join(log.read_text(errors="replace") for folder in self._container_logs for log in sorted(folder.glob(f"{self.id}/*_000001/{self.MASTER_LOG}")))

    def told(self, container: str) -> End | None:
        """None while its master does not know yet."""
        found = re.search(_CONTAINER_ENDED.format(container), self.masters(), re.M | re.S)
        return End(int(found[1]), found[2].strip()) if found else None

    def wait_told(self, container: str, limit_s: float = READY_S) -> End:
        return until(f"the master is told that {container} has ended", lambda: self.told(container), limit_s)

    def tail(self, lines: int = 30) -> str:
        return "\n".join(["---- masters", *self.masters().splitlines()[-lines:]])
