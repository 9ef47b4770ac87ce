"""A kernel with only cgroup v2 in an emulated machine, in which a test runs programs and reads their results.

  machine.py     the fixture: boots, runs commands, ends; distinguishes a silent guest, a dead guest and a failed command
  initramfs.py   the content of the guest: busybox, the programs and files of the test, and their libraries
  init.sh        process 1 of the guest: runs the commands that it gets over the second serial port
  systemd.py     systemd as process 1 instead, for tests that need it; init.sh is then one of its services
  gtest.py       the cases of a GoogleTest program in a guest
  waiting.py     how a script in the guest waits for an event
  offline_pod.py the stored state of an earlier agent for a node with one offline pod

The kernel is Debian's, extracted from its package without installation (driver/vm.py). Times in the guest prove nothing: it is emulated.
"""

from support.vm.machine import Late, Lost, NotReady, Result, Vm, run

__all__ = ["Late", "Lost", "NotReady", "Result", "Vm", "run"]
