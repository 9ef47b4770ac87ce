#!/bin/busybox sh
# Process 1 of the guest, or a service of systemd if the guest has that. Prints `ready`, then runs the commands that it gets, one after the other,
# and answers each with `ended CODE BYTES BYTES`, its output and its errors. A command line is `LIMIT-SECONDS SCRIPT-IN-BASE64`.
export PATH=/bin
systemd=/lib/systemd/systemd

broken() {
  echo "broken $1" >&3
  poweroff -f
}

# systemd does this itself.
set_up() {
  mkdir -p /dev/shm /dev/pts
  mount -t sysfs sysfs /sys && mount -t cgroup2 cgroup2 /sys/fs/cgroup && mount -t tmpfs shm /dev/shm && mount -t devpts devpts /dev/pts || broken "what is mounted"
  for controller in cpu cpuset io memory pids; do
    echo "+$controller" >/sys/fs/cgroup/cgroup.subtree_control || broken "the controller $controller"
  done
  ifconfig lo 127.0.0.1 up || broken "loopback"
  [ -z "$disk" ] || set_up_disk || broken "the disk"
}

set_up_disk() {
  for attempt in $(seq 6000); do
    [ ! -b "$disk" ] || break  # its driver finds it in parallel
    usleep 10000
  done
  mkdir /disk && mke2fs -F "$disk" >/dev/null && mount -t ext4 "$disk" /disk
}

if [ $$ = 1 ]; then
  /bin/busybox --install -s /bin
  mount -t proc proc /proc && mount -t devtmpfs devices /dev
  [ ! -e "$systemd" ] || exec "$systemd"
fi
exec 3<>/dev/ttyS1
stty -F /dev/ttyS1 raw -echo
[ $$ != 1 ] || set_up
own=/run/guest
mkdir -p "$own"
chmod 1777 /tmp
rm /dev/ttyS1  # nothing that runs in here can talk in our name

others_left() {
  for process in /proc/[0-9]*; do
    [ "$process" != /proc/1 ] && [ "$process" != "/proc/$$" ] && [ -e "$process/exe" ] && return 0  # kernel threads and zombies have none
  done
  return 1
}

echo ready >&3
while read -r limit script <&3; do
  echo "$script" | base64 -d >"$own/script"
  rm -f "$own/late"
  setsid sh "$own/script" </dev/null >"$own/out" 2>"$own/err" 3>&- &
  child=$!
  (
    sleep "$limit"
    : >"$own/late"
    kill -9 "$child"
  ) 3>&- &
  wait "$child"
  code=$?
  [ -e "$own/late" ] && code=late
  while kill -9 -1; others_left; do  # all but us and process 1
    usleep 10000
  done
  wait
  out=$(wc -c <"$own/out") err=$(wc -c <"$own/err")
  echo "ended $code $out $err" >&3
  cat "$own/out" "$own/err" >&3
done
poweroff -f
