"""promtool out of a package, where apt is a script of this test."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from driver import deploy_tools
from driver.console import Failed

VERSION = "2.42.0+ds-5+deb12u1"


class Promtool(unittest.TestCase):
    def setUp(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.cache, self.programs, self.asked, archive = folder / "cache", folder / "programs", folder / "asked", folder / "prometheus.deb"
        self.programs.mkdir()
        self.asked.touch()
        self.package(folder / "made", archive)
        self.program("apt-cache", f"echo Package: prometheus; echo Version: {VERSION}")
        self.program("apt-get", f'echo "$*" >>{self.asked}\ncase "$*" in "download "*" prometheus={VERSION}") cp {archive} .;; *) exit 100;; esac')
        self.enterContext(mock.patch.dict(os.environ, PATH=f"{self.programs}:{os.environ['PATH']}"))
        self.enterContext(mock.patch.object(deploy_tools, "cache_folder", lambda: self.cache))

    def package(self, made: Path, archive: Path) -> None:
        for file, text in {
            "DEBIAN/control": f"Package: prometheus\nVersion: {VERSION}\nArchitecture: all\nMaintainer: test <test@example.com>\nDescription: test\n",
            "usr/bin/prometheus": "#!/bin/sh\necho server\n", "usr/bin/promtool": "#!/bin/sh\necho tool\n",
        }.items():
            (made / file).parent.mkdir(parents=True, exist_ok=True)
            (made / file).write_text(text)
            (made / file).chmod(0o755)
        subprocess.run(["dpkg-deb", "--build", made, archive], check=True, stdin=subprocess.DEVNULL, capture_output=True)

    def program(self, name: str, text: str) -> None:
        (self.programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.programs / name).chmod(0o755)

    def provide(self) -> Path:
        return Path(deploy_tools.PROVIDE["promtool"]()["TIDEMARK_PROMTOOL"])

    def test_it_is_fetched_once_and_runs_from_the_cache(self):
        found = self.provide()
        self.assertEqual(self.cache / f"promtool-{VERSION}" / "promtool", found)
        self.assertEqual("tool\n", subprocess.run([found], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout)
        self.assertEqual(found, self.provide())
        self.assertEqual(1, len(self.asked.read_text().splitlines()))

    def test_one_of_another_version_is_not_taken_for_it(self):
        other = self.cache / "promtool-3.6.0" / "promtool"
        other.parent.mkdir(parents=True)
        other.touch(0o755)
        self.assertNotEqual(other, self.provide())

    def test_an_apt_that_fails_is_a_reason_with_the_remedy(self):
        self.program("apt-get", "exit 100")
        for user, remedy in ((0, "is a package mirror reachable"), (1000, "as root:\n  apt-get update")):
            with mock.patch.object(os, "geteuid", lambda user=user: user), self.assertRaisesRegex(Failed, remedy):
                self.provide()
        self.assertFalse((self.cache / f"promtool-{VERSION}" / "promtool").exists())

    def test_where_apt_knows_nothing_the_one_that_is_kept_serves(self):
        kept = self.provide()
        self.older("2.30.0")
        self.program("apt-cache", "exit 100")
        self.program("apt-get", "exit 100")
        for user in (0, 1000):
            with self.subTest(user=user), mock.patch.object(os, "geteuid", lambda user=user: user):
                self.assertEqual((kept, f"kept from before, promtool-{VERSION}"), self.provide_kept())

    def test_where_a_newer_one_cannot_be_fetched_the_one_that_is_kept_serves(self):
        kept = self.older("2.30.0")
        self.program("apt-get", "exit 100")
        self.assertEqual((kept, "kept from before, promtool-2.30.0"), self.provide_kept())

    def older(self, version: str) -> Path:
        file = self.cache / f"promtool-{version}" / "promtool"
        file.parent.mkdir(parents=True)
        file.touch(0o755)
        os.utime(file, (1, 1))
        return file

    def provide_kept(self) -> tuple[Path, str]:
        """And the beginning of what was said of it; the reason comes behind."""
        with mock.patch.object(deploy_tools, "say") as said:
            found = self.provide()
        text, reason = said.call_args.args[0].split(": ", 1)
        self.assertTrue(reason)
        return found, text


if __name__ == "__main__":
    unittest.main()
