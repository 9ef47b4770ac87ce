"""The command line of ./dev, and the parts of its verbs that can be tested without carrying them out."""

import os
import re
import subprocess
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from driver import build, kubernetes, packages, suite
from driver.__main__ import VERBS
from driver.console import Failed
from driver.paths import ROOT


def dev(*arguments: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run([ROOT / "dev", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, **options)


class CommandLine(unittest.TestCase):
    def test_every_verb_has_help(self):
        listed = dev("--help")
        self.assertEqual(0, listed.returncode)
        for verb in VERBS:
            done = dev(verb, "--help")
            self.assertEqual(0, done.returncode, verb)
            self.assertIn(f"./dev {verb}", done.stdout)
            self.assertIn(f"./dev {verb} ", listed.stdout)

    def test_unknown_verb_names_the_nearest(self):
        done = dev("tset")
        self.assertEqual(2, done.returncode)
        self.assertIn("`test`", done.stderr)

    def test_wrong_use_is_2(self):
        for arguments in (["test", "units"], ["test", "--only=x"], ["test", "affected", "unit"], ["test", "--base", "HEAD"], ["test", "node", "cluster", "--only=x"], ["test", "cluster", "--only="],
                          ["build", "fast"], ["fmt", "--chek"], ["fuzz", "--seconds", "x"], ["setup", "now"], ["cluster", "x"], []):
            with self.subTest(arguments):
                self.assertEqual(2, dev(*arguments).returncode)

    def test_groups_are_what_is_asked_for(self):
        self.assertEqual(["unit"], suite.parse([]).groups)
        self.assertEqual(suite.REAL, suite.parse(["real"]).groups)
        self.assertEqual(["node", "vm"], suite.parse(["real", "node", "vm"]).groups)
        self.assertEqual(("cluster", "faults"), (suite.parse(["cluster", "--only=faults"]).groups[0], suite.parse(["cluster", "--only", "faults"]).only))
        self.assertEqual(("HEAD", True), (suite.parse(["affected", "--base=HEAD", "--plan"]).base, suite.parse(["affected", "--plan"]).show))

    def test_each_module_with_a_concurrent_suite_runs_under_thread_sanitizer(self):
        text = (ROOT / "cmake" / "TidemarkTests.cmake").read_text()
        listed = set(" ".join(re.findall(r"tidemark_thread_modules\w* ([^)]*)\)", text)).split())
        found, modules = set(), {file.parent for depth in ("*", "*/*") for file in ROOT.glob(f"{depth}/CMakeLists.txt") if "tidemark_module(" in file.read_text()}
        for file in [each for module in modules for each in module.rglob("*_test.cc")]:
            if re.search(r"^TEST(_F|_P)?\(\w*Concurrent", file.read_text(), re.M):
                found.add("_".join(next(folder for folder in file.parents if folder in modules).relative_to(ROOT).parts))
        self.assertEqual(found, listed)


class Setup(unittest.TestCase):
    def test_missing_is_in_order_and_knows_what_is_installed(self):
        self.assertEqual(["no-such-package-b", "no-such-package-a"], packages.missing(["no-such-package-b", "dpkg", "no-such-package-a"]))

    def test_nothing_missing_costs_nothing(self):
        begin = time.monotonic()
        packages.setup(["dpkg", "bash"])
        self.assertLess(time.monotonic() - begin, 20.0)

    def test_without_root_the_line_is_shown(self):
        with mock.patch.object(packages.os, "geteuid", lambda: 1000), self.assertRaises(Failed) as raised:
            packages.setup(["dpkg", "no-such-package-a"])
        self.assertIn("apt-get install -y --no-install-recommends no-such-package-a", str(raised.exception))


class WithoutGo(unittest.TestCase):
    def go(self, version: str) -> str:
        file = Path(self.enterContext(tempfile.TemporaryDirectory())) / "go"
        file.write_text(f"#!/bin/sh\necho go version {version} linux/amd64\n")
        file.chmod(0o755)
        return str(file)

    def test_a_go_that_is_new_enough_is_taken(self):
        old, new = self.go("go1.19.8"), self.go("go1.24.1")
        self.assertEqual((new, ""), kubernetes.find_go([None, old, new]))

    def test_an_old_or_absent_one_is_named_with_the_remedy(self):
        old = self.go("go1.19.8")
        found, reason = kubernetes.find_go([old, "/nonexistent/go"])
        self.assertIsNone(found)
        self.assertIn("go1.19.8", reason)
        self.assertIn("https://go.dev/dl/", reason)
        self.assertIn("no Go found", kubernetes.find_go([])[1])


class BuildFolder(unittest.TestCase):
    def test_a_folder_that_was_made_with_other_settings_is_made_anew(self):
        cache = "# x\nCMAKE_CXX_FLAGS:STRING=-O2 -DX=1\n//TIDEMARK_SYSROOT:PATH=/no\nTIDEMARK_SYSROOT:UNINITIALIZED=/cache/new\n"
        self.assertTrue(build.has_settings(cache, {"TIDEMARK_SYSROOT": Path("/cache/new"), "CMAKE_CXX_FLAGS": "-O2 -DX=1"}))
        self.assertTrue(build.has_settings("", {}))
        self.assertFalse(build.has_settings(cache, {"TIDEMARK_SYSROOT": "/cache/newer"}))
        self.assertFalse(build.has_settings(cache, {"ABSENT": ""}))
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "build.ninja").touch()
        (folder / "CMakeCache.txt").write_text(cache)
        (folder / "configure.log").touch()
        asked = []
        with mock.patch.object(build, "build_folder", lambda _: folder), \
             mock.patch.object(build.processes, "run_logged", lambda command, *_, **__: asked.append(command) or mock.Mock(code=0)):
            build.configure("x", {"TIDEMARK_SYSROOT": "/cache/new"})
            self.assertEqual([], asked)
            build.configure("x", {"TIDEMARK_SYSROOT": "/cache/newer"})
            self.assertEqual([["cmake", "--preset", "x", "-B", folder, "--fresh", "-DTIDEMARK_SYSROOT=/cache/newer"]], asked)
            asked.clear()
            before_the_presets = (ROOT / "CMakePresets.json").stat().st_mtime - 1
            os.utime(folder / "configure.log", (before_the_presets, before_the_presets))
            build.configure("x")
        self.assertEqual([["cmake", "--preset", "x", "-B", folder]], asked, "what it knows stays, and what the presets say now comes to it")

    def test_a_folder_that_could_not_be_configured_is_configured_by_the_next_build(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "build.ninja").touch()
        with mock.patch.object(build, "build_folder", lambda _: folder), self.assertRaisesRegex(Failed, "no-such-preset"):
            build.configure("no-such-preset")
        self.assertFalse((folder / "configure.log").exists())


if __name__ == "__main__":
    unittest.main()
