"""A kernel with cgroup v2 and nothing else in an emulated machine, into which a test puts programs and reads what came of them.

  machine.py     the fixture: boots, runs commands, ends; who fell silent and who died is told apart from who failed
  initramfs.py   what is in the guest: busybox, the programs and files of the test, and the libraries they need
  init.sh        process 1 of the guest: runs what it is sent over the second serial port
  systemd.py     systemd as process 1 instead, for tests that want it; init.sh is then a service of its
  gtest.py       the cases of a GoogleTest program in a guest
  waiting.py     how a script in the guest waits for what has to come about
  offline_pod.py what an agent before had heard of a node with one offline pod

The kernel is Debian's, out of its package and installed nowhere (driver/vm.py). Time in the guest proves nothing: it is emulated.
"""

from support.vm.machine import Late, Lost, NotReady, Result, Vm, run

__all__ = ["Late", "Lost", "NotReady", "Result", "Vm", "run"]
