// Entries of a calendar as the settings hold them, and as a form shows them.
import type { Key } from "./i18n";

export type Item = Record<string, unknown>; // a mapping of the settings
export type Repeats = "daily" | "cron" | "once";
export const WEEKDAYS = ["1", "2", "3", "4", "5", "6", "0"] as const; // as cron counts them, Monday first

export type Draft = {
  name: string;
  kind: "window" | "freeze";
  repeats: Repeats;
  begins: string; // 22:00, local to the calendar's zone
  ends: string;
  weekdays: string[]; // none: each day
  cron: string;
  until: string;
  lasts: string;
  from: string; // 2026-11-10T18:00
  to: string;
  on: string;
  cpu: string;
  memory: string;
  rampUp: string;
  rampDown: string;
  priority: string;
};

const DAY_MINUTES = 24 * 60;
const two = (value: number) => String(value).padStart(2, "0");
const clockOf = (minutes: number) => `${two(Math.floor(minutes / 60) % 24)}:${two(minutes % 60)}`;
const text = (value: unknown) => (typeof value === "string" || typeof value === "number" ? String(value) : "");

// "1-5" and "1,3" as days; null: what this form does not show, such as names.
function weekdaysOf(field: string): string[] | null {
  if (field === "*") return [];
  const days = new Set<string>();
  for (const part of field.split(",")) {
    const found = /^([0-7])(?:-([0-7]))?$/.exec(part);
    if (!found) return null;
    for (let day = Number(found[1]); day <= Number(found[2] ?? found[1]); ++day) days.add(String(day % 7));
  }
  return WEEKDAYS.filter((day) => days.has(day));
}

type Time = { minutes: number; weekdays: string[] };
function timeOf(cron: string): Time | null {
  const found = /^(\d{1,2}) (\d{1,2}) \* \* (\S+)$/.exec(cron.trim());
  const weekdays = found && weekdaysOf(found[3]!);
  if (!found || !weekdays || Number(found[1]) > 59 || Number(found[2]) > 23) return null;
  return { minutes: Number(found[2]) * 60 + Number(found[1]), weekdays };
}

// The length of "8h" or "90m" in minutes; null: longer than a day, or written in another way.
function lengthOf(lasts: string): number | null {
  const found = /^(?:(\d+)h)?(?:(\d+)m)?$/.exec(lasts);
  const minutes = Number(found?.[1] ?? 0) * 60 + Number(found?.[2] ?? 0);
  return found && minutes > 0 && minutes <= DAY_MINUTES ? minutes : null;
}

// When it begins and ends, if it does so once a day.
function dailyOf(entry: Item): { begins: string; ends: string; weekdays: string[] } | null {
  const begin = timeOf(text(entry["cron"]));
  if (!begin) return null;
  const begins = clockOf(begin.minutes);
  if (entry["for"] !== undefined) {
    const length = lengthOf(text(entry["for"]));
    return length === null ? null : { begins, ends: clockOf(begin.minutes + length), weekdays: begin.weekdays };
  }
  const end = timeOf(text(entry["until"]));
  return end && end.weekdays.length === 0 ? { begins, ends: clockOf(end.minutes), weekdays: begin.weekdays } : null;
}

export function draftOf(entry: Item): Draft {
  const daily = dailyOf(entry);
  const once = entry["from"] !== undefined || entry["to"] !== undefined;
  const fresh = entry["cron"] === undefined && !once;
  const moment = (value: unknown) => (text(value).length === 10 ? `${text(value)}T00:00` : text(value));
  return {
    name: text(entry["name"]),
    kind: entry["kind"] === "freeze" ? "freeze" : "window",
    repeats: once ? "once" : daily || fresh ? "daily" : "cron",
    begins: daily?.begins ?? "22:00",
    ends: daily?.ends ?? "07:00",
    weekdays: daily?.weekdays ?? [],
    cron: text(entry["cron"]),
    until: text(entry["until"]),
    lasts: text(entry["for"]),
    from: moment(entry["from"]),
    to: moment(entry["to"]),
    on: text(entry["on"]) || "all",
    cpu: text(entry["cpu"]),
    memory: text(entry["memory"]),
    rampUp: text(entry["rampUp"]),
    rampDown: text(entry["rampDown"]),
    priority: text(entry["priority"]),
  };
}

const minutesOf = (clock: string) => Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3, 5));

function when(draft: Draft, before: Item): Item {
  if (draft.repeats === "once") return { from: draft.from, to: draft.to };
  if (draft.repeats === "cron") return { cron: draft.cron.trim(), until: draft.until.trim(), for: draft.lasts.trim() };
  const was = dailyOf(before);
  const same = was && was.begins === draft.begins && was.ends === draft.ends && String(was.weekdays) === String(draft.weekdays);
  if (same) return { cron: before["cron"], until: before["until"], for: before["for"] };
  const at = (clock: string) => `${minutesOf(clock) % 60} ${Math.floor(minutesOf(clock) / 60)} * * `;
  const days = draft.weekdays.length === 0 || draft.weekdays.length === 7 ? "*" : draft.weekdays.join(",");
  if (draft.begins === "" || draft.ends === "") return { cron: draft.begins && at(draft.begins) + days, until: draft.ends && at(draft.ends) + "*" };
  return { cron: at(draft.begins) + days, until: at(draft.ends) + "*" };
}

// Members that the form does not show stay. An empty one is left out.
export function entryOf(draft: Draft, before: Item): Item {
  const numeric = (value: string) => (value.trim() === "" ? "" : Number(value));
  const made: Item = {
    name: draft.name.trim(),
    kind: draft.kind === "window" && before["kind"] === undefined ? "" : draft.kind,
    cron: "", until: "", for: "", from: "", to: "",
    ...when(draft, before),
    on: draft.on === "all" && before["on"] === undefined ? "" : draft.on,
    cpu: numeric(draft.cpu),
    memory: numeric(draft.memory),
    rampUp: draft.rampUp.trim(),
    rampDown: draft.rampDown.trim(),
    priority: numeric(draft.priority),
  };
  return Object.fromEntries(Object.entries({ ...before, ...made }).filter(([, value]) => value !== "" && value !== undefined));
}

// Its time in words: "22:00–07:00, Mon, Tue", or as the settings have it.
export function whenText(entry: Item, say: (key: Key) => string): string {
  const daily = dailyOf(entry);
  if (daily) {
    const days = daily.weekdays.map((day) => say(`weekday_${day}` as Key)).join(", ");
    return `${daily.begins}–${daily.ends}${days && `, ${days}`}`;
  }
  if (entry["from"] !== undefined || entry["to"] !== undefined) return `${text(entry["from"])} – ${text(entry["to"])}`;
  return `${text(entry["cron"])} → ${text(entry["until"]) || text(entry["for"])}`;
}
