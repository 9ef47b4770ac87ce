// The form for a calendar: entries are added, changed and deleted, and the text of the settings changes with them.
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { CalendarWeek, SettingsFault, TextChanged, TextChanges } from "@api";
import { send } from "./api";
import { WEEKDAYS, draftOf, entryOf, whenText, type Draft, type Item, type Repeats } from "./calendar_entry";
import { t, type Key } from "./i18n";
import { Choice } from "./parts";
import { query } from "./router";
import { withoutPlace, type TextForm } from "./settings_edit";
import { WeekStrip, dayIn } from "./week_strip";

type Step = NonNullable<TextChanges["changes"]>[number];

const items = (value: unknown): Item[] => (Array.isArray(value) ? (value.filter((each) => typeof each === "object" && each !== null) as Item[]) : []);
const textOf = (value: unknown) => (typeof value === "string" ? value : "");

// The calendar of the pool; -1: it has none.
function calendarOf(tree: Item, pool: string): number {
  const own = items(tree["pools"]).find((each) => each["name"] === pool)?.["calendar"];
  return items(tree["calendars"]).findIndex((each) => each["name"] === (own ?? tree["calendar"]));
}

function faultsAt(faults: SettingsFault[], calendar: number, entry: number): SettingsFault[] {
  const place = new RegExp(`^calendars\\[${calendar}\\][^.]*\\.entries\\[${entry}\\]`);
  return faults.filter((each) => place.test(each.place));
}
const memberOf = (fault: SettingsFault) => /\]\s*(?:\([^)]*\))?\.(\w+)$/.exec(fault.place)?.[1] ?? "";

// The member of the settings that a field of the form writes.
const MEMBER: Partial<Record<keyof Draft, string>> = { begins: "cron", ends: "until", lasts: "for" };

function EntryForm(props: { first: Item; faults: SettingsFault[]; sending: boolean; save: (entry: Item) => void; cancel: () => void }) {
  const [draft, setDraft] = useState(() => draftOf(props.first));
  const ids = useId();
  const box = useRef<HTMLFieldSetElement>(null);
  const wrong = (name: keyof Draft) => props.faults.find((each) => memberOf(each) === (MEMBER[name] ?? name));
  useLayoutEffect(() => box.current?.querySelector<HTMLElement>("input")?.focus(), []);
  useEffect(() => {
    if (props.faults.length > 0) box.current?.querySelector<HTMLElement>("[aria-invalid]")?.focus();
  }, [props.faults]);
  const set = (name: keyof Draft, value: string | string[]) => setDraft((before) => ({ ...before, [name]: value }));
  const field = (name: Exclude<keyof Draft, "weekdays">, label: Key, type: "text" | "time" | "number" | "datetime-local", more: Record<string, string> = {}) => {
    const fault = wrong(name);
    return (
      <label key={name}>
        {t(label)}
        <input
          {...({ type } as { type: "text" })} // each of them takes the same attributes
          autocomplete="off"
          spellcheck={false}
          {...more}
          {...(fault ? { "aria-invalid": true, "aria-describedby": `${ids}-faults` } : {})}
          value={draft[name]}
          onInput={(event) => set(name, event.currentTarget.value)}
        />
      </label>
    );
  };
  const once = draft.repeats === "once";
  return (
    <form
      class="entry-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        props.save(entryOf(draft, props.first));
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        props.cancel();
      }}
    >
      <fieldset ref={box}>
        <legend>{t(props.first["name"] === undefined ? "entryNew" : "entryChange")}</legend>
        <div class="fields">
          {field("name", "entryName", "text", { maxlength: "63" })}
          <label>
            {t("kind")}
            <select value={draft.kind} onChange={(event) => set("kind", event.currentTarget.value)}>
              <option value="window">{t("entry_window")}</option>
              <option value="freeze">{t("entry_freeze")}</option>
            </select>
          </label>
        </div>
        <Choice<Repeats>
          label={t("repeats")}
          value={draft.repeats}
          onChange={(next) => set("repeats", next)}
          options={[{ value: "daily", text: t("repeats_daily") }, { value: "cron", text: "cron" }, { value: "once", text: t("repeats_once") }]}
        />
        <div class="fields">
          {draft.repeats === "daily" && [field("begins", "begins", "time"), field("ends", "ends", "time")]}
          {draft.repeats === "cron" && [field("cron", "beginsCron", "text", { placeholder: "0 22 * * *" }), field("until", "endsCron", "text", { placeholder: "0 7 * * *" }), field("lasts", "lastsCron", "text", { placeholder: "8h" })]}
          {once && [field("from", "begins", "datetime-local"), field("to", "ends", "datetime-local")]}
          {!once && (
            <label>
              {t("onDays")}
              <select value={draft.on} onChange={(event) => set("on", event.currentTarget.value)}>
                {["all", "workdays", "holidays"].map((each) => (
                  <option key={each} value={each}>
                    {t(`days_${each}` as Key)}
                  </option>
                ))}
              </select>
            </label>
          )}
        </div>
        {draft.repeats === "daily" && (
          <div class="weekdays" role="group" aria-label={t("weekdays")}>
            <span class="note">{t("weekdays")}</span>
            {WEEKDAYS.map((day) => (
              <label key={day} class="option">
                <input type="checkbox" checked={draft.weekdays.includes(day)} onChange={(event) => set("weekdays", WEEKDAYS.filter((each) => (each === day ? event.currentTarget.checked : draft.weekdays.includes(each))))} />
                <span>{t(`weekday_${day}` as Key)}</span>
              </label>
            ))}
          </div>
        )}
        <div class="fields">
          {field("cpu", "overrideCpu", "number", { min: "0", max: "100" })}
          {field("memory", "overrideMemory", "number", { min: "0", max: "100" })}
          {field("rampUp", "rampUp", "text", { placeholder: "30m" })}
          {field("rampDown", "rampDown", "text", { placeholder: "30m" })}
          {field("priority", "priority", "number")}
        </div>
        <div role="alert" id={`${ids}-faults`}>
          {props.faults.length > 0 && (
            <ul class="faults">
              {props.faults.map((each) => (
                <li key={each.detail}>
                  {memberOf(each) && <code>{memberOf(each)}: </code>}
                  {withoutPlace(each)}
                </li>
              ))}
            </ul>
          )}
        </div>
        <div class="buttons">
          <button type="button" class="quiet" onClick={props.cancel}>
            {t("cancel")}
          </button>
          <button type="submit" class="order" disabled={props.sending}>
            {t("entrySave")}
          </button>
        </div>
      </fieldset>
    </form>
  );
}

// A pool without a calendar gets one.
function NewCalendar({ pool, tree, save }: { pool: string; tree: Item; save: (changes: Step[]) => void }) {
  const [name, setName] = useState("");
  const [zone, setZone] = useState("UTC");
  const number = items(tree["pools"]).findIndex((each) => each["name"] === pool);
  return (
    <form
      class="entry-form"
      onSubmit={(event) => {
        event.preventDefault();
        const made = { name: name.trim(), zone: zone.trim(), entries: [] };
        const calendars = tree["calendars"];
        save([
          ...(tree["schema"] === undefined ? [{ at: ["schema"], value: 1 }] : []),
          Array.isArray(calendars) ? { at: ["calendars", calendars.length], value: made } : { at: ["calendars"], value: [made] },
          { at: number >= 0 ? ["pools", number, "calendar"] : ["calendar"], value: made.name },
        ]);
      }}
    >
      <p class="note">{t(number >= 0 ? "calendarNewHelp" : "calendarNewHelpAll")}</p>
      <div class="fields">
        <label>
          {t("calendarName")}
          <input type="text" required autocomplete="off" spellcheck={false} value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <label>
          {t("zone")}
          <input type="text" required autocomplete="off" spellcheck={false} value={zone} onInput={(event) => setZone(event.currentTarget.value)} />
        </label>
      </div>
      <div class="buttons">
        <button type="submit" class="order">
          {t("calendarNew")}
        </button>
      </div>
    </form>
  );
}

const dates = (value: unknown) => (Array.isArray(value) ? value.map(String).join("\n") : "");

// Zone, lead and holidays of a calendar.
function CalendarParts({ calendar, number, save }: { calendar: Item; number: number; save: (changes: Step[]) => void }) {
  const stored = (calendar["holidays"] ?? {}) as Item;
  const [zone, setZone] = useState(textOf(calendar["zone"]));
  const [lead, setLead] = useState(textOf(calendar["lead"]));
  const [days, setDays] = useState(dates(stored["days"]));
  const [workdays, setWorkdays] = useState(dates(stored["workdays"]));
  const [weekends, setWeekends] = useState(stored["weekends"] !== false);
  const list = (text: string) => text.split(/[\s,]+/).filter(Boolean);
  const area = (label: Key, value: string, set: (next: string) => void) => (
    <label>
      {t(label)}
      <textarea rows={Math.min(10, Math.max(3, value.split("\n").length))} spellcheck={false} placeholder="2026-10-01" value={value} onInput={(event) => set(event.currentTarget.value)} />
    </label>
  );
  return (
    <details>
      <summary>{t("calendarParts")}</summary>
      <form
        class="entry-form editor"
        onSubmit={(event) => {
          event.preventDefault();
          const holidays: Item = { ...stored, days: list(days), workdays: list(workdays), weekends };
          for (const key of ["days", "workdays"]) if ((holidays[key] as string[]).length === 0) delete holidays[key];
          if (weekends) delete holidays["weekends"];
          const part = (key: string, before: unknown, value: unknown, empty: boolean): Step[] =>
            JSON.stringify(before) === JSON.stringify(value) || (empty && before === undefined) ? [] : [empty ? { at: ["calendars", number, key] } : { at: ["calendars", number, key], value }];
          save([
            ...part("zone", calendar["zone"], zone.trim(), zone.trim() === ""),
            ...part("lead", calendar["lead"], lead.trim(), lead.trim() === ""),
            ...part("holidays", calendar["holidays"], holidays, Object.keys(holidays).length === 0),
          ]);
        }}
      >
        <div class="fields">
          <label>
            {t("zone")}
            <input type="text" autocomplete="off" spellcheck={false} value={zone} onInput={(event) => setZone(event.currentTarget.value)} />
          </label>
          <label>
            {t("leadTime")}
            <input type="text" placeholder="1h" autocomplete="off" spellcheck={false} value={lead} onInput={(event) => setLead(event.currentTarget.value)} />
          </label>
        </div>
        <div class="fields">
          {area("holidayDates", days, setDays)}
          {area("workdayDates", workdays, setWorkdays)}
        </div>
        <label class="option">
          <input type="checkbox" checked={weekends} onChange={(event) => setWeekends(event.currentTarget.checked)} />
          <span>{t("weekendsRest")}</span>
        </label>
        <div class="buttons">
          <button type="submit" class="order">
            {t("entrySave")}
          </button>
        </div>
      </form>
    </details>
  );
}

// The week as it would be with the text.
function WeekPreview({ pool, text }: { pool: string; text: string }) {
  const at = query.value.get("at"); // of the page: the week that it shows
  const [week, setWeek] = useState<CalendarWeek | null>(null);
  useEffect(() => {
    let gone = false;
    send<CalendarWeek>("/api/v1/calendar", { pool, text, ...(at ? { at: Number(at) } : {}) }).then(
      (answer) => !gone && setWeek(answer),
      () => !gone && setWeek(null), // the errors of the text are shown by the plan
    );
    return () => {
      gone = true;
    };
  }, [pool, text, at]);
  if (!week) return null;
  return (
    <section aria-label={t("weekPlanned")}>
      <h3>
        {t("weekPlanned")} <span class="note">{`${dayIn(week.zone, week.from)} – ${dayIn(week.zone, week.to - 1)}`}</span>
      </h3>
      <WeekStrip week={week} />
    </section>
  );
}

// `number`: the entry's; one behind the last is new. `text`: without the draft.
type Editing = { number: number; first: Item; text: string };

// `stored`: the text as it was when the edit began.
export function calendarForm(pool: string, stored: string): TextForm {
  return function CalendarForm({ text, faults, apply }) {
    const [read, setRead] = useState<{ text: string; tree: Item } | null>(null);
    const [failure, setFailure] = useState("");
    const [editing, setEditing] = useState<Editing | null>(null);
    const [sending, setSending] = useState(false);
    const opener = useRef<string>("");
    const holder = useRef<HTMLElement>(null);
    const ask = async (from: string, changes: Step[]) => {
      const answer = await send<TextChanged>("/api/v1/settings/text-changes", { text: from, changes });
      return { text: answer.text, tree: (answer.value ?? {}) as Item };
    };
    useEffect(() => {
      if (read?.text === text) return;
      const timer = setTimeout(() => {
        ask(text, []).then(
          (answer) => {
            setFailure("");
            setRead({ text, tree: answer.tree });
          },
          (why: Error) => setFailure(why.message),
        );
      }, 300);
      return () => clearTimeout(timer);
    }, [text]);
    const focusOpener = () => requestAnimationFrame(() => holder.current?.querySelector<HTMLElement>(`[data-opens="${opener.current}"]`)?.focus());
    // Writes the changes into `from`, plans it, and closes the form if the entry has no error.
    const change = async (from: string, changes: Step[], entry = -1) => {
      if (changes.length === 0) return;
      setSending(true);
      setFailure("");
      try {
        const answer = await ask(from, changes);
        setRead(answer);
        const found = await apply(answer.text);
        if (entry < 0 || faultsAt(found, calendarOf(answer.tree, pool), entry).length === 0) {
          setEditing(null);
          focusOpener();
        }
      } catch (why) {
        setFailure((why as Error).message);
      }
      setSending(false);
    };
    if (!read) return failure ? <p class="failure" role="alert">{failure}</p> : <p class="note">{t("loading")}</p>;
    const { tree } = read;
    const number = calendarOf(tree, pool);
    const calendar = items(tree["calendars"])[number];
    const entries = items(calendar?.["entries"]);
    const open = (opens: string, first: Item, at: number) => {
      opener.current = opens;
      setEditing({ number: at, first, text: read.text });
    };
    const cancel = () => {
      if (editing && editing.text !== text) void apply(editing.text);
      setEditing(null);
      focusOpener();
    };
    const save = (entry: Item) => {
      const of = editing!;
      const at = ["calendars", number, "entries"];
      const list = calendar?.["entries"];
      void change(of.text, Array.isArray(list) ? [{ at: [...at, of.number], value: entry }] : [{ at, value: [entry] }], of.number);
    };
    const used = items(tree["pools"]).filter((each) => (each["calendar"] ?? tree["calendar"]) === calendar?.["name"]).map((each) => textOf(each["name"]));
    const percent = (value: unknown) => (value === undefined ? "–" : `${String(value)} %`);
    return (
      <section class="calendar-form" ref={holder} aria-label={t("calendar")}>
        {failure && <p class="failure" role="alert">{failure}</p>}
        {!calendar && <NewCalendar pool={pool} tree={tree} save={(changes) => void change(read.text, changes)} />}
        {calendar && (
          <>
            <p class="note">{t("calendarUsed", { name: textOf(calendar["name"]), zone: textOf(calendar["zone"]), pools: used.join(", ") || "–" })}</p>
            {entries.length > 0 && (
              <div class="table" tabIndex={0} role="group" aria-label={t("entries")}>
                <table>
                  <thead>
                    <tr>
                      {(["entry", "kind", "entryWhen", "onDays", "cpu", "memory", "ramps", "action"] as const).map((key) => (
                        <th key={key} scope="col">
                          {t(key)}
                        </th>
                      ))}
                    </tr>
                  </thead>
                  <tbody>
                    {entries.map((entry, i) => (
                      <tr key={i}>
                        <th scope="row">
                          {textOf(entry["name"])}
                          {faultsAt(faults, number, i).length > 0 && <span class="mark severity-bad"> ▲ {t("severity_bad")}</span>}
                        </th>
                        <td>{t(entry["kind"] === "freeze" ? "entry_freeze" : "entry_window")}</td>
                        <td>{whenText(entry, t)}</td>
                        <td>{t(`days_${textOf(entry["on"]) || "all"}` as Key)}</td>
                        <td>{percent(entry["cpu"])}</td>
                        <td>{percent(entry["memory"])}</td>
                        <td>{`${textOf(entry["rampUp"]) || "–"} / ${textOf(entry["rampDown"]) || "–"}`}</td>
                        <td>
                          <span class="orders">
                            <button type="button" class="order small" data-opens={`entry-${i}`} aria-label={t("entryChangeLabel", { name: textOf(entry["name"]) })} onClick={() => open(`entry-${i}`, entry, i)}>
                              {t("entryChangeShort")}
                            </button>
                            <button
                              type="button"
                              class="order danger small"
                              aria-label={t("entryDeleteLabel", { name: textOf(entry["name"]) })}
                              disabled={sending}
                              onClick={() => {
                                opener.current = "window";
                                void change(read.text, [{ at: ["calendars", number, "entries", i] }]);
                              }}
                            >
                              {t("entryDelete")}
                            </button>
                          </span>
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            )}
            {entries.length === 0 && <p class="note">{t("entriesNone")}</p>}
            <div class="orders">
              <button type="button" class="order" data-opens="window" onClick={() => open("window", {}, entries.length)}>
                {t("windowAdd")}
              </button>
              <button type="button" class="order" data-opens="freeze" onClick={() => open("freeze", { kind: "freeze" }, entries.length)}>
                {t("freezeAdd")}
              </button>
            </div>
            {editing && <EntryForm key={`${editing.number} ${opener.current}`} first={editing.first} faults={faultsAt(faults, number, editing.number)} sending={sending} save={save} cancel={cancel} />}
            {text !== stored && <WeekPreview pool={pool} text={text} />}
            <CalendarParts key={JSON.stringify([calendar["name"], calendar["zone"], calendar["lead"], calendar["holidays"]])} calendar={calendar} number={number} save={(changes) => void change(read.text, changes)} />
          </>
        )}
      </section>
    );
  };
}
