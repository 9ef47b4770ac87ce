"""How a script in a guest waits for what has to come about: as long as a test is patient, by the guest's own clock, and not for a count of looks, of which each takes as long as the machine makes it."""

from support.patience import PATIENCE_S

# until_so CONDITION. What did not come about is told as `late: CONDITION`; from then on every wait is one look, and the script comes to its end.
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
