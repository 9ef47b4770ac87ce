"""A second `tidemark up` on the machine: it names the resources of the first one (its port, its directory, its cgroups) and does not touch them."""

import json
import os
import subprocess
import unittest
from pathlib import Path
from urllib.parse import urlsplit

from cluster.local_case import CGROUPS, LocalCase
from cluster.tidemark_process import wait_for
from support.patience import PATIENCE_S

ITS_OWN = ("objects.sqlite", "audit.jsonl", "agent/", "logs/")  # written by the instance that runs there


class LocalTwice(LocalCase):
    def setUp(self):
        super().setUp()
        self.apply({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
            "spec": {"containers": [{"name": "main", "image": "local", "command": ["sleep", "1000"], "resources": {"requests": {"cpu": "100m"}}}]},
        })
        wait_for(lambda: self.phases() == {"web": "Running"}, "a task", self.component)
        self.port = urlsplit(json.loads(Path(self.kubeconfig).read_text())["clusters"][0]["cluster"]["server"]).port

    def second(self, **flags: str) -> str:
        """Its output; it has the first one's arguments except for these."""
        command = [os.environ["TIDEMARK_BINARY"], "up"]
        given = dict(zip(self.arguments[1::2], self.arguments[2::2]))
        for flag, value in {**given, **{f"--{name.replace('_', '-')}": value for name, value in flags.items()}}.items():
            command.append(f"{flag}={value}")
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(1, done.returncode, done.stderr)
        return done.stderr

    def weights(self) -> dict[str, str]:
        tops = [CGROUPS / self.group, CGROUPS / "cpu" / self.group]
        files = [top / below / name for top in tops for below in ("", "kubepods") for name in ("cpu.shares", "cpu.weight")]
        return {str(file): file.read_text() for file in files if file.exists()}

    def files(self) -> dict[str, tuple[int, int]]:
        data = self.folder / "data"
        names = [str(file.relative_to(data)) for file in data.rglob("*") if file.is_file()]
        return {name: ((data / name).stat().st_ino, (data / name).stat().st_mtime_ns) for name in names if not name.startswith(ITS_OWN)}

    def container(self) -> str:
        return self.get("pod", "web")["status"]["containerStatuses"][0]["containerID"]

    def test_resources_of_the_first_instance_are_named_and_not_touched(self):
        other = f"{self.group[:-1]}{'0' if self.group[-1] != '0' else '1'}"
        mine = {"data_dir": str(self.folder / "second"), "run_dir": str(self.folder / "run2"), "pod_group": f"/{other}"}
        taken = f"127.0.0.1:{self.port}"
        before = (self.files(), self.weights(), self.container())
        self.assertTrue(before[1])

        said = self.second(listen=taken, reserved_cpu="500")
        self.assertRegex(said, rf"tidemark: --listen: listening on {taken}: .*another `tidemark up`.*name another port")
        said = self.second(**mine, listen=taken)
        self.assertIn(f"listening on {taken}", said)
        self.assertFalse((self.folder / "second").exists())
        said = self.second(**{**mine, "data_dir": str(self.folder / "data")})
        self.assertRegex(said, rf"{self.folder}/data/objects\.sqlite is in use by another server")
        said = self.second(**{**mine, "pod_group": f"/{self.group}"}, reserved_cpu="500")
        self.assertIn("--pod-group", said)

        self.assertEqual([], [CGROUPS / other] * (CGROUPS / other).exists() + list(CGROUPS.glob(f"*/{other}")), "cgroups of an instance that did not start")
        self.assertEqual(before, (self.files(), self.weights(), self.container()))
        self.assertEqual({"web": "Running"}, self.phases())


if __name__ == "__main__":
    unittest.main()
