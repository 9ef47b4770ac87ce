// The calendar of a pool: its water line for one week, with ramps, freezes and holidays, in the zone of the calendar.
import { useMemo } from "preact/hooks";
import type { CalendarEntry, CalendarSpan, CalendarWeek, Pools, SettingsNow } from "@api";
import { useRead } from "../api";
import { duration, language, number, t, type Key } from "../i18n";
import { Card, Failure, Title } from "../parts";
import { Plot } from "../plot";
import { query, setQuery } from "../router";
import { Editor, useEdit } from "../settings_edit";
import { poolNames, summary } from "../store";
import { Table, type Column } from "../table";
import { calendarForm } from "../calendar_form";
import { WeekStrip, dayIn, momentIn, percents } from "../week_strip";
import { Progress } from "./settings";

const WEEK = 7 * 86400;

function spanColumns(zone: string): Column<CalendarSpan>[] {
  return [
    { key: "from", title: t("from"), value: (each) => each.from, cell: (each) => momentIn(zone, each.from) },
    { key: "to", title: t("to"), value: (each) => each.to, cell: (each) => momentIn(zone, each.to) },
    { key: "phase", title: t("phase"), value: (each) => each.phase, cell: (each) => t(`phase_${each.phase}` as Key) },
    { key: "entry", title: t("entry"), value: (each) => each.entry || null },
    { key: "cpu", title: t("cpu"), number: true, value: (each) => each.cpuTo, cell: (each) => percents(each.cpuFrom, each.cpuTo) },
    { key: "memory", title: t("memory"), number: true, value: (each) => each.memoryTo, cell: (each) => percents(each.memoryFrom, each.memoryTo) },
  ];
}

function entryColumns(): Column<CalendarEntry>[] {
  const line = (value: number | null) => (value === null ? "–" : `${number(value)} %`);
  return [
    { key: "name", title: t("entry"), value: (each) => each.name },
    { key: "kind", title: t("kind"), value: (each) => each.kind, cell: (each) => t(`entry_${each.kind}` as Key) },
    { key: "recurring", title: t("recurring"), value: (each) => (each.recurring ? 1 : 0), cell: (each) => t(each.recurring ? "yes" : "no") },
    { key: "on", title: t("onDays"), value: (each) => each.on, cell: (each) => t(`days_${each.on}` as Key) },
    { key: "cpu", title: t("cpu"), number: true, value: (each) => each.cpu, cell: (each) => line(each.cpu) },
    { key: "memory", title: t("memory"), number: true, value: (each) => each.memory, cell: (each) => line(each.memory) },
    { key: "rampUp", title: t("rampUp"), number: true, value: (each) => each.rampUp, cell: (each) => (each.rampUp ? duration(each.rampUp) : "–") },
    { key: "rampDown", title: t("rampDown"), number: true, value: (each) => each.rampDown, cell: (each) => (each.rampDown ? duration(each.rampDown) : "–") },
    { key: "priority", title: t("priority"), number: true, value: (each) => each.priority },
  ];
}

function Week({ week }: { week: CalendarWeek }) {
  const series = useMemo(
    () => [
      { label: t("memory"), colour: "var(--muted)", dashed: true, values: week.memory },
      { label: t("cpuSell"), colour: "var(--offline)", fill: "var(--offline-soft)", values: week.cpuSell },
      { label: t("cpu"), colour: "var(--water)", values: week.cpu },
    ],
    [week, language.value],
  );
  return (
    <>
      <Card title={`${dayIn(week.zone, week.from)} – ${dayIn(week.zone, week.to - 1)}`} side={<span class="note">{week.zone}</span>}>
        <WeekStrip week={week} />
      </Card>
      <Card title={t("waterLine")}>
        <Plot label={t("waterLine")} at={week.at} series={series} height={180} max={100} days zone={week.zone} format={(each) => `${each} %`} />
        <details>
          <summary>{t("changes")}</summary>
          <Table label={t("changes")} columns={spanColumns(week.zone)} rows={week.spans} rowKey={(each) => String(each.from)} />
        </details>
      </Card>
      <Card title={t("entries")}>
        {week.holidaysEnd !== null && <p class="note">{t("holidaysEnd", { day: dayIn(week.zone, week.holidaysEnd - 1) })}</p>}
        {week.leadSeconds > 0 && <p class="note">{t("lead", { length: duration(week.leadSeconds) })}</p>}
        {week.entries.length === 0 ? <p class="note">{t("noEntries")}</p> : <Table label={t("entries")} columns={entryColumns()} rows={week.entries} rowKey={(each) => each.name} />}
      </Card>
    </>
  );
}

// How far the settings that were written are in force.
function Written({ hash }: { hash: string }) {
  const { value } = useRead<SettingsNow>("/api/v1/settings", 5000);
  return value && <Progress settings={value} hash={hash} />;
}

export function Calendar() {
  const pools = useRead<Pools>("/api/v1/pools", 60_000).value?.pools ?? [];
  const names = pools.length > 0 ? pools.map((each) => each.name) : poolNames.value;
  const pool = query.value.get("pool") ?? pools.find((each) => each.calendar)?.name ?? names[0] ?? "default";
  const at = query.value.get("at");
  const { value, error } = useRead<CalendarWeek>(`/api/v1/calendar?${new URLSearchParams({ pool, ...(at ? { at } : {}) })}`, 30_000);
  const { edit, failure, written, button, close, done } = useEdit(pool);
  const form = useMemo(() => edit && calendarForm(edit.about, edit.texts.texts["tidemark-config"]?.["config.yaml"] ?? ""), [edit]);
  const move = (days: number) => value && setQuery("at", String(value.from + WEEK / 2 + days * 86400));
  return (
    <>
      <div class="title-line">
        <Title>{t("calendar")}</Title>
        {summary.value?.readOnly === false && button}
      </div>
      <div class="tools">
        <label class="field">
          {t("pool")}
          <select value={pool} disabled={edit !== null} onChange={(event) => setQuery("pool", event.currentTarget.value)}>
            {names.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <div class="choice" role="group" aria-label={t("week")}>
          <button type="button" onClick={() => move(-7)}>{t("weekBefore")}</button>
          <button type="button" aria-pressed={!at} onClick={() => setQuery("at", "")}>{t("thisWeek")}</button>
          <button type="button" onClick={() => move(7)}>{t("weekAfter")}</button>
        </div>
      </div>
      {failure && <Failure error={failure} />}
      {edit && form && <Editor key={edit.texts.hash} first={edit.texts} title={t("calendarEditTitle", { pool: edit.about })} form={form} close={close} done={done} />}
      {written && <Written hash={written} />}
      {error && !value && <Failure error={error} />}
      {!value && !error && <p class="note">{t("loading")}</p>}
      {value && <Week week={value} />}
    </>
  );
}
