"""What the fixture of a guest does before there is one: its archive, its kernel, the cases it lists, and what is said where there can be none."""

import os
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from driver import debian_file, packages, vm
from driver.console import Failed
from support.vm import gtest, initramfs
from support.vm.waiting import UNTIL_SO

LDD = """\tlinux-vdso.so.1 (0x00007ffd0a5f2000)
\tlibstdc++.so.6 => /lib/x86_64-linux-gnu/libstdc++.so.6 (0x00007f5c4f800000)
\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f5c4f61f000)
\t/lib64/ld-linux-x86-64.so.2 (0x00007f5c4fb3e000)
"""
SHOWN = "Package: linux-image-cloud-amd64\nVersion: 6.1.192-2\nDepends: linux-image-6.1.0-56-cloud-amd64 (= 6.1.192-2)\nDescription: Linux\n"


def entries(archive: bytes) -> dict[str, tuple[int, bytes, tuple[int, int]]]:
    """As the kernel reads it: path → mode, content, device."""
    found, at = {}, 0
    while True:
        fields = [int(archive[at + 6 + 8 * i:at + 14 + 8 * i], 16) for i in range(13)]
        assert archive[at:at + 6] == b"070701", archive[at:at + 6]
        name = archive[at + 110:at + 110 + fields[11] - 1].decode()
        at += (110 + fields[11] + 3) // 4 * 4
        if name == "TRAILER!!!":
            return found
        found[name] = (fields[1], archive[at:at + fields[6]], (fields[9], fields[10]))
        at += (fields[6] + 3) // 4 * 4


class Waiting(unittest.TestCase):
    """In any shell, where no time passes between two looks."""

    def told(self, script: str) -> str:
        return subprocess.run(["sh", "-c", f"{UNTIL_SO}\nsleep() {{ :; }}\n{script}"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout

    def test_it_counts_no_looks(self):
        self.assertEqual("2000\n", self.told("looks=0; until_so 'looks=$((looks + 1)); [ $looks = 2000 ]'; echo $looks"))

    def test_a_timeout_is_reported_and_ends_all_later_waits(self):
        self.assertEqual("late: false\nlate: [ -e /nowhere ]\nover\n", self.told("patience_s=0; until_so false; until_so '[ -e /nowhere ]'; until_so true; echo over"))
        self.assertEqual("late: false\n0\n", self.told("patience_s=1; until_so false; echo $patience_s"))


class Initramfs(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.busybox = self.folder / "busybox"
        self.busybox.write_bytes(b"#!any program")

    def test_files_of_any_length_are_there_with_their_folders(self):
        files = {f"/a/b/{size}": b"x" * size for size in range(6)} | {"/run-me": b"#!/bin/sh\n"}
        found = entries(initramfs.make(self.busybox, files))
        for path, content in files.items():
            self.assertEqual((stat.S_IFREG | (0o755 if path == "/run-me" else 0o644), content, (0, 0)), found[path[1:]])
        self.assertEqual((stat.S_IFREG | 0o755, b"#!any program", (0, 0)), found["bin/busybox"])
        self.assertEqual((stat.S_IFCHR | 0o600, b"", (5, 1)), found["dev/console"])
        self.assertEqual(initramfs.INIT.read_bytes(), found["init"][1])
        names = list(found)
        for name in names:  # a folder comes before what is in it
            for parent in Path(name).parents[:-1]:
                self.assertLess(names.index(str(parent)), names.index(name))

    def test_a_path_outside_of_the_guest_is_refused(self):
        for path in ("relative", "/../up"):
            with self.assertRaises(ValueError):
                initramfs.make(self.busybox, {path: b""})

    def test_a_program_brings_its_libraries(self):
        shell = Path("/bin/sh")
        found = entries(initramfs.make(self.busybox, {"/bin/other": shell}))
        libraries = initramfs.libraries(shell)
        self.assertTrue(libraries)
        for name, path in libraries.items():
            self.assertEqual(path.read_bytes(), found[name[1:]][1])

    def test_what_ldd_says_is_read(self):
        wanted = ["/lib/x86_64-linux-gnu/libstdc++.so.6", "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2"]
        self.assertEqual({name: Path(name) for name in wanted}, initramfs.parse_ldd(LDD, Path("x")))
        self.assertEqual({}, initramfs.parse_ldd("\tstatically linked\n", Path("x")))
        with self.assertRaisesRegex(ValueError, "libmissing"):
            initramfs.parse_ldd(LDD + "\tlibmissing.so.1 => not found\n", Path("x"))

    def test_process_1_is_a_script_that_a_shell_reads(self):
        self.assertEqual("", subprocess.run(["sh", "-n", initramfs.INIT], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stderr)


class Listed(unittest.TestCase):
    def test_cases_are_listed_as_they_are_reported(self):
        text = "Running main() from gmock\nMachine.\n  A\n  B\nWrite/OnV2.  # TypeParam = int\n  C/folder  # GetParam() = folder\n"
        self.assertEqual(["Machine.A", "Machine.B", "Write/OnV2.C/folder"], gtest.parse_list(text))


class Fetched(unittest.TestCase):
    def test_the_newest_kernel_and_systemd_are_taken_by_version(self):
        cache = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(mock.patch.object(vm, "cache_folder", lambda: cache))
        self.enterContext(mock.patch.object(vm.shutil, "which", lambda name: f"/usr/bin/{name}"))
        self.enterContext(mock.patch.object(packages, "setup"))
        self.enterContext(mock.patch.object(vm.platform, "machine", lambda: "x86_64"))
        self.enterContext(mock.patch.object(debian_file, "_shown", lambda package: SHOWN if package == vm.KERNEL else f"Package: {package}\nVersion: 252.39\n"))
        self.enterContext(mock.patch.object(debian_file, "_fetch_tree", lambda packages, wanted: (wanted / " ".join(packages)).mkdir(parents=True)))
        self.enterContext(mock.patch.object(debian_file, "_fetch", lambda package, version, _, wanted: wanted.write_text(f"{package} {version}")))
        environment, reason = vm.provide()
        self.assertEqual("", reason)
        self.assertEqual("linux-image-6.1.0-56-cloud-amd64 6.1.192-2", Path(environment["TIDEMARK_VM_KERNEL"]).read_text())
        self.assertEqual(cache / "vm-systemd-252.39" / "root", Path(environment["TIDEMARK_VM_SYSTEMD"]))
        self.assertEqual([" ".join(vm.SYSTEMD)], os.listdir(environment["TIDEMARK_VM_SYSTEMD"]))

    def test_a_package_without_one_kernel_is_refused(self):
        for text in ("", SHOWN.replace("Depends: ", "Suggests: "), SHOWN.replace("(= 6.1.192-2)", "")):
            with self.assertRaises(Failed):
                vm.parse(text)


class WhereThereCanBeNone(unittest.TestCase):
    def test_packages_that_cannot_be_installed_are_a_reason(self):
        with mock.patch.object(packages, "setup", side_effect=Failed("run as root: apt-get install qemu-system-x86")), mock.patch.object(vm.platform, "machine", lambda: "x86_64"):
            self.assertEqual(({}, "run as root: apt-get install qemu-system-x86"), vm.provide())

    def test_another_kind_of_machine_is_a_reason(self):
        with mock.patch.object(vm.platform, "machine", lambda: "aarch64"), mock.patch.object(packages, "setup", side_effect=AssertionError("nothing is to be installed")):
            self.assertIn("aarch64", vm.provide()[1])


if __name__ == "__main__":
    unittest.main()
