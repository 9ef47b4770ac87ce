"""`tidemark local` as a user calls it: exit codes, messages for wrong calls, and a terminal that is restored afterwards."""

import os
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from support.patience import PATIENCE_S
from support.terminal import OTHER_SCREEN, OWN_SCREEN, Terminal


class LocalCommands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="tidemark-local-")))
        cls.data = cls.folder / "data"
        words = ["up", "--pods=false", "--data-dir", str(cls.data), "--listen", "127.0.0.1:0"]
        cls.server = subprocess.Popen([os.environ["TIDEMARK_BINARY"], *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.addClassCleanup(cls.end)
        deadline = time.monotonic() + PATIENCE_S
        while not cls.local("ps").returncode == 0:
            assert cls.server.poll() is None and time.monotonic() < deadline, "no server"
            time.sleep(0.05)

    @classmethod
    def end(cls):
        cls.server.terminate()
        cls.server.wait(PATIENCE_S)

    @classmethod
    def local(cls, *words: str, data: Path | None = None) -> subprocess.CompletedProcess:
        environment = {"PATH": os.environ["PATH"], "HOME": str(cls.folder), "TIDEMARK_DATA_DIR": str(data or cls.data)}
        return subprocess.run(
            [os.environ["TIDEMARK_BINARY"], "local", *words],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, env=environment, cwd=cls.folder,
        )

    def test_wrong_use_is_2_and_names_what_is_wrong(self):
        for words, message in {
            (): "expected run, ps, logs, stop or top",
            ("pss",): "did you mean ps?",
            ("--data-dir=x", "ps"): "flags follow the command",
            ("ps", "--al"): "unknown flag --al; did you mean --all?",
            ("run",): "command is missing; it follows --",
            ("run", "x", "--", "true"): 'found "x" before --',
            ("run", "--qos=LS", "--class=free", "--", "true"): "do not go together",
            ("run", "--qos=LS", "--wait", "--", "true"): "online work does not end",
            ("run", "--restart", "--retries=2", "--", "true"): "--retries and --restart exclude each other",
            ("run", "--name=No_Name", "--", "true"): "--name: a name has 1 to 63 small letters",
            ("run", "--memory=4", "--", "true"): "4Gi, 512Mi",
            ("stop",): "1 more argument wanted",
            ("logs", "x", "-p", "-f"): "goes without --follow",
        }.items():
            with self.subTest(words):
                done = self.local(*words)
                self.assertEqual((2, ""), (done.returncode, done.stdout))
                self.assertIn(message, done.stderr)

    def test_each_has_help_with_examples(self):
        for word in ("run", "ps", "logs", "stop", "top"):
            done = self.local(word, "--help")
            self.assertEqual(0, done.returncode)
            self.assertIn(f"\nExamples:\n  tidemark local {word}", done.stdout)

    def test_without_a_server_it_says_what_to_start(self):
        nowhere = self.folder / "nowhere"
        for words in (("ps",), ("run", "--", "true"), ("stop", "x"), ("top", "--once")):
            with self.subTest(words):
                done = self.local(*words, data=nowhere)
                self.assertEqual((1, ""), (done.returncode, done.stdout))
                self.assertIn(f"no `tidemark up` runs with --data-dir {nowhere}: start it with `tidemark up --data-dir={nowhere}`", done.stderr)

    def test_a_job_from_its_start_to_its_end(self):
        done = self.local("run", "--cpu=2", "--", "/bin/sleep", "100")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        name = done.stdout.strip()
        self.assertRegex(name, r"^sleep-[a-z0-9]{6}$")
        self.assertRegex(self.local("ps").stdout, rf"(?m)^{name} +batch +Starting +-/2 ")
        self.assertEqual(1, self.local("run", f"--name={name}", "--", "true").returncode)
        self.assertEqual(1, self.local("logs", name).returncode)
        self.assertEqual(0, self.local("stop", name, "--wait").returncode)
        self.assertEqual(1, self.local("stop", name).returncode)

    def test_a_waiting_client_may_end_and_the_job_stays(self):
        words = [os.environ["TIDEMARK_BINARY"], "local", "run", f"--data-dir={self.data}", "--name=stays", "--wait", "--", "true"]
        with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as waits:
            while "stays" not in self.local("ps").stdout:
                self.assertIsNone(waits.poll())
            waits.send_signal(signal.SIGINT)
            out, error = waits.communicate(timeout=PATIENCE_S)
        self.assertEqual((128 + signal.SIGINT, ""), (waits.returncode, out))
        self.assertIn("stays continues", error)
        self.assertEqual(0, self.local("stop", "stays").returncode)

    def test_the_terminal_is_restored_however_top_ends(self):
        terminal = Terminal(24, 90)
        self.addCleanup(terminal.close)
        before = terminal.settings()
        for how, code in ((b"q", 0), (b"\x03", 128 + signal.SIGINT), (signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGINT, 128 + signal.SIGINT)):
            with self.subTest(how), terminal.start(os.environ["TIDEMARK_BINARY"], "local", "top", f"--data-dir={self.data}") as top:
                self.assertIn(OTHER_SCREEN, terminal.read_until(b"EVICTED"))
                self.assertNotEqual(before, terminal.settings())
                if isinstance(how, bytes):
                    terminal.type(how)
                else:
                    top.send_signal(how)
                terminal.read_until(OWN_SCREEN)
                self.assertEqual(code, top.wait(PATIENCE_S))
            self.assertEqual(before, terminal.settings())


if __name__ == "__main__":
    unittest.main()
