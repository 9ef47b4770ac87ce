"""How a script in a guest waits for an event: as long as a test's patience, by the guest's own clock. It does not count polls, because their duration depends on the machine."""

from support.patience import PATIENCE_S

# until_so CONDITION. A missing event is printed as `late: CONDITION`; from then on every wait is one poll, and the script comes to its end.
UNTIL_SO = rf"""
patience_s={PATIENCE_S}
until_so() {{
  read -r now_s rest </proc/uptime; end_s=$((${{now_s%.*}} + patience_s))
  until eval "$1"; do
    read -r now_s rest </proc/uptime
    [ "${{now_s%.*}}" -lt "$end_s" ] || {{ echo "late: $1"; patience_s=0; break; }}
    sleep 0.2
  done
}}
"""
