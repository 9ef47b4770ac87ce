"""An application submitted by REST, with features that no example client has flags for: tags, and files that its container must fetch."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from support.yarn.job import Job


class RestJob(Job):
    """It has no client. The caller ends it."""

    def __init__(self, manager, application: str, container_logs: list[Path]):
        self._manager, self._id, self._container_logs = manager, application, container_logs

    @classmethod
    def submit(cls, manager, container_logs: list[Path], command: str, tags: Sequence[str], files: Mapping[str, Path], memory_mib: int, queue: str, label: str = "") -> "RestJob":
        application = manager.ask("/ws/v1/cluster/apps/new-application", "POST", {}).body["application-id"]
        answer = manager.ask("/ws/v1/cluster/apps", "POST", {
            "application-id": application, "application-name": "by-rest", "application-type": "YARN", "queue": queue, "max-app-attempts": 1,
            "resource": {"memory": memory_mib, "vCores": 1}, "application-tags": {"tag": list(tags)},
            **({"am-container-node-label-expression": label, "app-node-label-expression": label} if label else {}),  # a queue's default does not count here
            "am-container-spec": {
                "commands": {"command": command},
                "local-resources": {"entry": [{"key": name, "value": _resource(path)} for name, path in files.items()]},
            },
        })
        if answer.status != 202:
            raise AssertionError(f"{application} is not taken: {answer.status} {answer.text[:400]}")
        return cls(manager, application, container_logs)


def _resource(path: Path) -> dict:
    """As a client that has checked the file describes it; for a missing file it uses the old facts."""
    seen = path.stat() if path.exists() else None
    return {
        "resource": f"file://{path}", "type": "FILE", "visibility": "APPLICATION", "size": seen.st_size if seen else 1, "timestamp": seen.st_mtime_ns // 1_000_000 if seen else 1,
    }
