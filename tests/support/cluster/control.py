"""Controls a cluster that support.cluster.server runs: control --state DIR COMMAND [PROGRAM].

  status                     what runs, as JSON
  kill|start|restart NAME    etcd or apiserver; kill is SIGKILL, start keeps data and ports and returns when it is ready
  pause|resume NAME          SIGSTOP and SIGCONT
  stop                       ends both and the supervisor
"""

import argparse
import json
import os
import socket
import sys
from pathlib import Path

from support.patience import PATIENCE_S

ANSWER_S = PATIENCE_S + 60  # above the supervisor's own limit: its answer then names the missing part


class Refused(Exception):
    pass


def ask(state: Path, command: str, program: str = "") -> dict:
    """Sends one command and waits for its result."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(ANSWER_S)
        try:
            folder = os.open(state, os.O_PATH | os.O_DIRECTORY)
            try:  # the path may be too long for a Unix address, and all threads share the working directory
                connection.connect(f"/proc/self/fd/{folder}/control.sock")
            finally:
                os.close(folder)
        except OSError as error:
            raise Refused(f"no cluster answers in {state}: {error}") from error
        connection.sendall(json.dumps({"command": command, "program": program}).encode() + b"\n")
        answer = json.loads(connection.makefile("rb").readline() or b'{"error": "the supervisor died"}')
    if "error" in answer:
        raise Refused(answer["error"])
    return answer


def put_right(state: Path) -> str:
    """Starts again what was left stopped or paused, and says what that was; empty if nothing was."""
    stopped = {name: each["state"] for name, each in ask(state, "status").items() if each["state"] != "running"}
    for name in ("etcd", "apiserver") if stopped else ():  # both: an API server is ready again some time after its etcd
        if stopped.get(name) == "paused":
            ask(state, "resume", name)
        ask(state, "start", name)
    return "; ".join(f"{name} {found}" for name, found in stopped.items())


def main() -> int:
    parser = argparse.ArgumentParser(prog="cluster control", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("command", choices=["status", "kill", "start", "restart", "pause", "resume", "stop"])
    parser.add_argument("program", nargs="?", default="", choices=["", "etcd", "apiserver"])
    options = parser.parse_args()
    try:
        answer = ask(options.state, options.command, options.program)
    except (Refused, OSError) as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 1
    if options.command == "status":
        print(json.dumps(answer, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
