"""A real ResourceManager and NodeManagers on this machine, each in its own JVM on loopback ports.

  yarn.py        the fixture: starts them, submits jobs, removes everything
  pair.py        two ResourceManagers in HA, with a ZooKeeper
  server.py      one of these programs: started, killed, stopped, frozen, and restarted on the same ports
  settings.py    their configuration
  classes.py     the archive of class data that their JVMs share
  rest.py        their REST interfaces
  job.py         an application of distributed shell
  rest_job.py    one that is submitted by REST, with tags and files to fetch
  frameworks.py  jobs of MapReduce and Spark, from the sources in jobs/
  groups.py      the cgroups of containers; container_executor.sh puts containers there instead of Hadoop's own
  kerberos.py    a test's own KDC, and its settings for Hadoop
  leftovers.py   the processes of containers, which outlive their NodeManager; and the residue of a killed run
  pom.xml        the version of Hadoop, and which of its jars (driver/maven_jars.py downloads them)
"""

from support.yarn.job import ENDED, End, Job
from support.yarn.pair import YarnPair
from support.yarn.server import NotReady
from support.yarn.settings import Totals
from support.yarn.yarn import Yarn, until

__all__ = ["ENDED", "End", "Job", "NotReady", "Totals", "Yarn", "YarnPair", "until"]
