// Past decisions of managers, writes of all processes, and events: filtered by the address, exported as CSV or JSON.
import { useEffect, useState } from "preact/hooks";
import type { Decision, Decisions as DecisionsAnswer } from "@api";
import { useRead } from "../api";
import { age, amountWithUnit, localTime, moment, number, serverNow, t, type Key } from "../i18n";
import { Card, Choice, Failure, Title } from "../parts";
import { nodePath, query, setQuery } from "../router";
import { poolNames, tick } from "../store";
import { Table, type Column } from "../table";

const SHOWN = 100; // all of them are in the document: rows differ in height
const EXPORTED = 10_000;
const CHANGE_CHARS = 160;
const RANGES = { "1h": 3600, "24h": 86400, "7d": 7 * 86400, "": 0 };
type Range = keyof typeof RANGES;
const FILTERS = ["node", "pool", "reason", "person"] as const;

function question(range: Range, limit: number): URLSearchParams {
  const out = new URLSearchParams({ limit: String(limit) });
  for (const name of FILTERS) {
    const value = query.value.get(name);
    if (value) out.set(name, value);
  }
  // Whole minutes: the same question for a while has the same answer.
  const since = query.value.get("since") ?? (RANGES[range] > 0 ? String(Math.floor((serverNow() - RANGES[range]) / 60) * 60) : null);
  const until = query.value.get("until");
  if (since) out.set("since", since);
  if (until) out.set("until", until);
  return out;
}

const OUTCOME_SHAPE = { done: "✓", refused: "✕", unknown: "?" };

function Outcome({ decision }: { decision: Decision }) {
  const word = decision.outcome as keyof typeof OUTCOME_SHAPE | null;
  return (
    <span class={`mark outcome-${word ?? "none"}`}>
      <span aria-hidden="true">{word ? OUTCOME_SHAPE[word] : "·"}</span> {decision.action}
      {word && word !== "done" ? ` (${t(`outcome_${word}` as Key)})` : ""}
    </span>
  );
}

function What({ decision }: { decision: Decision }) {
  const change = decision.after ?? decision.before;
  return (
    <span class="wrap">
      {decision.text || <span class="note">{t("noReason")}</span>}
      {decision.reason && !decision.text.includes(decision.reason) && <span class="note"> [{decision.reason}]</span>}
      {decision.batchCpu !== null && (
        <span class="note">
          {" "}
          {t("offered")}: {amountWithUnit("cpu", decision.batchCpu)}, {amountWithUnit("memory", decision.batchMemory)}
        </span>
      )}
      {decision.detail && <span class="note"> {decision.detail}</span>}
      {change && <code class="change">{change.length > CHANGE_CHARS ? `${change.slice(0, CHANGE_CHARS)}…` : change}</code>}
    </span>
  );
}

function columns(): Column<Decision>[] {
  return [
    { key: "at", title: t("time"), value: (each) => each.at, cell: (each) => <span title={age(each.at)}>{moment(each.at)}</span> },
    { key: "by", title: t("by"), value: (each) => each.by, cell: (each) => <>{each.by} <span class="note">{t(`from_${each.source}` as Key)}</span></> },
    { key: "object", title: t("object"), value: (each) => each.object, cell: (each) => (each.object.startsWith("Node/") && each.node ? <a href={nodePath(each.node)}>{each.node}</a> : <span class="object">{each.object}</span>) },
    { key: "pool", title: t("pool"), value: (each) => each.pool },
    { key: "action", title: t("action"), value: (each) => each.action, cell: (each) => <Outcome decision={each} /> },
    { key: "text", title: t("whatAndWhy"), value: (each) => each.reason, cell: (each) => <What decision={each} /> },
  ];
}

function Filter({ name }: { name: (typeof FILTERS)[number] }) {
  const inForce = query.value.get(name) ?? "";
  const [typed, setTyped] = useState(inForce); // the page is drawn anew each second, also while a person types
  useEffect(() => setTyped(inForce), [inForce]);
  return (
    <label class="field">
      {t(`filter_${name}` as Key)}
      <input
        type="text"
        spellcheck={false}
        autocomplete="off"
        value={typed}
        {...(name === "pool" ? { list: "pool-names" } : {})}
        onInput={(event) => setTyped(event.currentTarget.value)}
        onChange={(event) => setQuery(name, event.currentTarget.value.trim())}
      />
    </label>
  );
}

function TimeField({ name, label }: { name: "since" | "until"; label: string }) {
  const inForce = Number(query.value.get(name));
  const shown = inForce > 0 ? localTime(inForce, "second") : "";
  const [typed, setTyped] = useState(shown);
  useEffect(() => setTyped(shown), [shown]);
  return (
    <label class="field">
      {label}
      <input
        type="datetime-local"
        step="1"
        value={typed}
        onInput={(event) => setTyped(event.currentTarget.value)}
        onChange={(event) => {
          const at = Date.parse(event.currentTarget.value) / 1000;
          setQuery(name, Number.isFinite(at) ? String(at) : "");
        }}
      />
    </label>
  );
}

// The entries before those that are shown. The last second is shown again: it may have more entries.
function Paging({ rows, more }: { rows: Decision[]; more: boolean }) {
  const last = more ? rows.at(-1)!.at : 0;
  const oneSecond = more && rows[0]!.at === last;
  const show = (until: string) => {
    setQuery("until", until);
    document.querySelector<HTMLElement>("main h1")?.focus(); // the button goes with its rows
  };
  return (
    <>
      {oneSecond && <p class="note">{t("decisionsOneSecond")}</p>}
      <div class="tools">
        {query.value.has("until") && (
          <button type="button" class="order" onClick={() => show("")}>
            {t("newest")}
          </button>
        )}
        {more && (
          <button type="button" class="order" onClick={() => show(String(oneSecond ? last : last + 1))}>
            {t("older")}
          </button>
        )}
      </div>
    </>
  );
}

export function Decisions() {
  const chosen = query.value.get("range") as Range | "all" | null;
  const range: Range = chosen === null || !(chosen in RANGES) ? (chosen === "all" ? "" : "24h") : (chosen as Range);
  const { value, error } = useRead<DecisionsAnswer>(`/api/v1/decisions?${question(range, SHOWN)}`, 10_000);
  tick.value;
  const exported = question(range, EXPORTED);
  return (
    <>
      <Title>{t("decisions")}</Title>
      <Card
        title={t("filterTitle")}
        side={
          <div class="tools">
            <Choice
              label={t("range")}
              value={query.value.has("since") ? null : range}
              onChange={(next) => {
                setQuery("since", "");
                setQuery("until", "");
                setQuery("range", next || "all");
              }}
              options={[{ value: "1h", text: t("lastHourShort") }, { value: "24h", text: t("lastDay") }, { value: "7d", text: t("lastWeek") }, { value: "", text: t("all") }]}
            />
          </div>
        }
      >
        <div class="fields">
          {FILTERS.map((name) => (
            <Filter key={name} name={name} />
          ))}
          <TimeField name="since" label={t("from")} />
          <TimeField name="until" label={t("to")} />
          <datalist id="pool-names">
            {poolNames.value.map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </div>
        <p class="exports">
          {t("export")}:{" "}
          <a href={`/api/v1/decisions?${exported}&format=csv`} target="_self" download="decisions.csv">
            CSV
          </a>{" "}
          <a href={`/api/v1/decisions?${exported}&download=1`} target="_self" download="decisions.json">
            JSON
          </a>
        </p>
      </Card>
      {error && !value && <Failure error={error} />}
      {!value && !error && <p class="note">{t("loading")}</p>}
      {value && (
        <Card title={t("decisions")}>
          {value.journals === 0 && <p class="note">{t("noJournal")}</p>}
          {value.audits === 0 && <p class="note">{t("noAudit")}</p>}
          {value.notes.map((note) => (
            <p key={note} class="note">
              {note}
            </p>
          ))}
          <p class="note count" role="status">
            {t(value.more ? "decisionsMore" : "decisionsCount", { n: number(value.decisions.length) })}
          </p>
          {value.decisions.length > 0 && (
            <Table label={t("decisions")} columns={columns()} rows={value.decisions} rowKey={(each) => `${each.at} ${each.source} ${each.by} ${each.object} ${each.action} ${each.after ?? ""} ${each.text}`} sort="at" descending />
          )}
          <Paging rows={value.decisions} more={value.more && value.decisions.length > 0} />
        </Card>
      )}
    </>
  );
}
