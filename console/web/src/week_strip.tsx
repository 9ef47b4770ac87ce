// The week of a calendar by day and hour: the water line with its ramps, freezes, holidays and the time now.
import type { CalendarDay, CalendarWeek } from "@api";
import { inZone, number, t, type Key } from "./i18n";

const clockIn = (zone: string, at: number) => inZone(zone, at, { hour: "2-digit", minute: "2-digit" });
export const dayIn = (zone: string, at: number) => inZone(zone, at, { weekday: "short", month: "short", day: "numeric" });
export const momentIn = (zone: string, at: number) => inZone(zone, at, { weekday: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
export const percents = (from: number, to: number) => (from === to ? `${number(from)} %` : `${number(from)} → ${number(to)} %`);

// The part of each span that lies in the day.
function Day({ day, end, week }: { day: CalendarDay; end: number; week: CalendarWeek }) {
  const length = end - day.at;
  const share = (at: number) => (100 * (at - day.at)) / length;
  const parts = week.spans.filter((span) => span.from < end && span.to > day.at);
  return (
    <div class={day.rest ? "day rest" : "day"}>
      <div class="day-name">
        {dayIn(week.zone, day.at)}
        {day.rest && <span class="note"> {t(day.listed ? "holiday" : "weekend")}</span>}
      </div>
      <div class="day-track">
        {parts.map((span) => {
          const from = Math.max(span.from, day.at);
          const to = Math.min(span.to, end);
          const words = `${percents(span.cpuFrom, span.cpuTo)} ${t(`phase_${span.phase}` as Key)}${span.entry ? ` (${span.entry})` : ""}`;
          return (
            <div key={from} class={`span span-${span.phase}`} style={{ left: `${share(from)}%`, width: `${share(to) - share(from)}%` }} title={`${clockIn(week.zone, from)}–${clockIn(week.zone, to)} ${words}`}>
              <div class="span-fill" style={{ clipPath: `polygon(0 ${100 - span.cpuFrom}%, 100% ${100 - span.cpuTo}%, 100% 100%, 0 100%)` }} />
              {to - from >= 3 * 3600 ? <span>{`${percents(span.cpuFrom, span.cpuTo)} ${span.entry}`}</span> : null}
            </div>
          );
        })}
        {week.now >= day.at && week.now < end && <div class="day-now" style={{ left: `${share(week.now)}%` }} />}
      </div>
    </div>
  );
}

const PHASES = ["base", "rampingUp", "open", "rampingDown", "frozen", "overridden"] as const;

export function WeekStrip({ week }: { week: CalendarWeek }) {
  const shown = PHASES.filter((phase) => week.spans.some((span) => span.phase === phase));
  return (
    <>
      <div class="week" role="img" aria-label={t("weekStrip")}>
        <div class="day day-clock" aria-hidden="true">
          <div class="day-name" />
          <div class="day-track">
            {[0, 6, 12, 18].map((hour) => (
              <span key={hour} style={{ left: `${(100 * hour) / 24}%` }}>{`${String(hour).padStart(2, "0")}:00`}</span>
            ))}
          </div>
        </div>
        {week.days.map((day, i) => (
          <Day key={day.date} day={day} end={week.days[i + 1]?.at ?? week.to} week={week} />
        ))}
      </div>
      <p class="states">
        {shown.map((phase) => (
          <span key={phase}>
            <span class={`swatch span-swatch span-${phase}`} aria-hidden="true" /> {t(`phase_${phase}` as Key)}
          </span>
        ))}
      </p>
    </>
  );
}
