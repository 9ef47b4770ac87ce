#!/bin/sh
# Replaces Hadoop's native container-executor, which is in no jar: LinuxContainerExecutor runs it for every operation on a container.
# It switches no user, and touches only its own directory (the run's) and the given groups. Exit codes are those of the native one.
set -eu
INVALID_COMMAND=3
CANNOT_SIGNAL=8
NO_SUCH_PROCESS=9

[ "$1" != --checksetup ] || exit 0
run=$(dirname "$0")
# A container starts without the environment of its NodeManager; the fixture finds the run's processes by this variable (leftovers.py).
[ -n "${TIDEMARK_YARN_RUN:-}" ] || TIDEMARK_YARN_RUN=$run exec "$0" "$@"

ours() {
  case $1 in
  */../* | */..) ;;
  "$run"/*) return ;;
  esac
  echo "$1 is not below $run" >&2
  exit $INVALID_COMMAND
}

each() { # lists are joined by %
  echo "$1" | tr % '\n'
}

user=$1 command=$3
shift 3
case $command in
0) # localize: APP CONTAINER TOKENS LOCAL-DIRS LOG-DIRS JAVA…
  app=$1 tokens=$3 locals=$4 logs=$5
  shift 5
  for folder in $(each "$logs"); do
    mkdir -p "$folder/$app"
  done
  for folder in $(each "$locals"); do
    mkdir -p "$folder/usercache/$user/filecache" "$folder/usercache/$user/appcache/$app/filecache"
  done
  cd "$(each "$locals" | head -n 1)/usercache/$user/appcache/$app"
  cp "$tokens" .
  exec "$@"
  ;;
1) # launch: APP CONTAINER FOLDER SCRIPT TOKENS --http PID-FILE LOCAL-DIRS LOG-DIRS cgroups=PROCS%PROCS
  app=$1 container=$2 work=$3 script=$4 tokens=$5 pid_file=$7 logs=$9
  shift 9
  for folder in $(each "$logs"); do
    mkdir -p "$folder/$app/$container"
  done
  mkdir -p "$work/tmp" # masters of MapReduce need it
  cp "$script" "$work/launch_container.sh"
  cp "$tokens" "$work/container_tokens"
  chmod 700 "$work/launch_container.sh"
  cd "$work"
  # Machines usually mount cpu and cpuacct as one hierarchy; this one may have two: then a container is in both, as usual.
  counted=
  for procs in $(each "${1#cgroups=}"); do
    case $procs in
    */cpu/*) counted=${procs%%/cpu/*}/cpuacct/${procs#*/cpu/} ;;
    esac
  done
  if [ -d "$(dirname "$(dirname "${counted:-/none/none}")")" ]; then
    mkdir -p "$(dirname "$counted")"
  else
    counted=
  fi
  status=0
  # shellcheck disable=SC2016
  setsid sh -c '
    set -eu
    pid_file=$1
    shift
    for procs; do
      [ "$procs" = none ] || echo $$ >"$procs"
    done
    echo $$ >"$pid_file.new"
    mv "$pid_file.new" "$pid_file"
    exec ./launch_container.sh
  ' sh "$pid_file" $(each "${1#cgroups=}") $counted || status=$?
  # In the background: killed processes stay in there for a moment, and the node does not wait for that.
  [ -z "$counted" ] || (
    for _ in $(seq 100); do
      rmdir "$(dirname "$counted")" && break
      sleep 0.1
    done
  ) </dev/null >/dev/null 2>&1 &
  echo "$status" >"$pid_file.exitcode.new"
  mv "$pid_file.exitcode.new" "$pid_file.exitcode"
  exit "$status"
  ;;
2) # signal: PID SIGNAL, to the whole session where there is one
  kill -s 0 -- "-$1" 2>/dev/null && target=-$1 || target=$1
  kill -s 0 -- "$target" 2>/dev/null || exit $NO_SUCH_PROCESS
  kill -s "$2" -- "$target" || exit $CANNOT_SIGNAL
  ;;
3) # delete: PATH, or the same PATH below each of FOLDER…
  path=$1
  shift
  for file in "${@:-}"; do
    file=$file${file:+${path:+/}}$path
    ours "$file"
    rm -rf -- "$file"
  done
  ;;
*)
  echo "command $command: the stand-in does not know it" >&2
  exit $INVALID_COMMAND
  ;;
esac
