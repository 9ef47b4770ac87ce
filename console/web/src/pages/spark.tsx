// Runs of the Spark gateway: side, attempts with their reasons, and the core-hours and money that each business saved by
// idle capacity. The gateway answers by the person's own token, which stays in the memory of this page.
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import type { Price, SparkAttempt, SparkRun, SparkRuns, SparkUnknown } from "@api";
import { read, useRead } from "../api";
import { age, duration, number, serverNow, t, type Key } from "../i18n";
import { Card, Failure, Title } from "../parts";
import { query, setQuery } from "../router";
import { tick } from "../store";
import { Table, type Column } from "../table";

const RUNS = "/api/v1/spark?size=500";
const NO_TOKEN = {};
const token = signal<Record<string, string>>(NO_TOKEN);
export const readRuns = (signal: AbortSignal) => read<SparkRuns | SparkUnknown>(RUNS, signal, token.value);

const STATE_SHAPE: Record<SparkRun["state"], string> = { waiting: "◷", running: "▶", succeeded: "✓", failed: "✕", killed: "■" };

// In seconds; 0: its driver was never seen to run.
function ranFor(attempt: SparkAttempt): number {
  if (attempt.runningSince === null) return 0;
  return Math.max(0, (attempt.ended ?? serverNow()) - attempt.runningSince);
}
const ranInAll = (run: SparkRun) => run.attempts.reduce((sum, each) => sum + ranFor(each), 0);

type Saved = { business: string; runs: number; moved: number; unknown: number; kubernetes: number; yarn: number };

// Core-seconds by business and side.
function savings(runs: SparkRun[]): Saved[] {
  const all = new Map<string, Saved>();
  for (const run of runs) {
    const of = all.get(run.business) ?? { business: run.business, runs: 0, moved: 0, unknown: 0, kubernetes: 0, yarn: 0 };
    all.set(run.business, of);
    of.runs += 1;
    if (run.attempts.length > 1) of.moved += 1;
    if (run.cores === null) of.unknown += 1;
    else for (const attempt of run.attempts) of[attempt.side] += run.cores * ranFor(attempt);
  }
  return [...all.values()];
}

function savedColumns(price: Price | null): Column<Saved>[] {
  const all: (Column<Saved> | null)[] = [
    { key: "business", title: t("business"), value: (each) => each.business || t("noBusiness") },
    { key: "runs", title: t("sparkTitle"), number: true, value: (each) => each.runs, cell: (each) => number(each.runs) },
    { key: "saved", title: t("sparkSavedHours"), number: true, value: (each) => each.kubernetes, cell: (each) => number(each.kubernetes / 3600, 2) },
    price ? { key: "money", title: t("sparkSavedMoney"), number: true, value: (each) => each.kubernetes, cell: (each) => `${number(((each.kubernetes / 3600) * price.perCoreHourMicro) / 1e6, 2)} ${price.currency}` } : null,
    { key: "yarn", title: t("sparkYarnHours"), number: true, value: (each) => each.yarn, cell: (each) => number(each.yarn / 3600, 2) },
    { key: "moved", title: t("sparkMoved"), number: true, value: (each) => each.moved, cell: (each) => number(each.moved) },
    { key: "unknown", title: t("sparkUnknownRuns"), number: true, value: (each) => each.unknown, cell: (each) => number(each.unknown) },
  ];
  return all.filter((column) => column !== null);
}

function Attempts({ run }: { run: SparkRun }) {
  return (
    <span class="wrap">
      {run.attempts.map((attempt, i) => (
        <span key={i} class="attempt">
          {t("sparkOn", { side: t(`side_${attempt.side}` as Key), why: attempt.why })} <code>{attempt.handle}</code>
          {attempt.endWhy && <span class="note"> {t("sparkEnded", { why: attempt.endWhy })}</span>}
        </span>
      ))}
      {run.message && <span class="note">{run.message}</span>}
    </span>
  );
}

function runColumns(): Column<SparkRun>[] {
  return [
    { key: "id", title: t("sparkRun"), value: (run) => run.id, cell: (run) => <>{String(run.id)} <span class="note">{run.name}</span></> },
    { key: "user", title: t("sparkUser"), value: (run) => run.user || null },
    { key: "business", title: t("business"), value: (run) => run.business || null },
    { key: "state", title: t("status"), value: (run) => run.state, cell: (run) => <span class={`mark task-${run.state === "killed" ? "evicted" : run.state}`}><span aria-hidden="true">{STATE_SHAPE[run.state]}</span> {t(`sparkState_${run.state}` as Key)}</span> },
    { key: "side", title: t("sparkSide"), value: (run) => run.attempts.at(-1)?.side ?? null, cell: (run) => (run.attempts.length === 0 ? <span class="note">{t("sparkWaitsSide")}</span> : run.attempts.map((each) => t(`side_${each.side}` as Key)).join(" → ")) },
    { key: "cores", title: t("sparkCores"), number: true, value: (run) => run.cores, cell: (run) => (run.cores === null ? <span class="unknown">{t("unknown")}</span> : number(run.cores)) },
    { key: "created", title: t("sparkCreated"), number: true, value: (run) => run.created, cell: (run) => <span class="nowrap">{age(run.created)}</span> },
    { key: "ran", title: t("sparkRuntime"), number: true, value: ranInAll, cell: (run) => duration(ranInAll(run)) },
    { key: "attempts", title: t("sparkAttempts"), value: (run) => run.attempts.length, cell: (run) => <Attempts run={run} /> },
  ];
}

function TokenForm() {
  const [text, setText] = useState("");
  return (
    <form
      class="tools"
      onSubmit={(event) => {
        event.preventDefault();
        token.value = text.trim() ? { "x-tidemark-gateway-token": text.trim() } : NO_TOKEN;
      }}
    >
      <label class="field">
        {t("sparkToken")}
        <input type="password" autocomplete="off" value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <button type="submit" class="order">
        {t("sparkTokenUse")}
      </button>
    </form>
  );
}

export function Spark() {
  const { value: answer, error } = useRead<SparkRuns | SparkUnknown>(RUNS, 3000, token.value);
  tick.value;
  const unknown = answer && "unknown" in answer ? answer : null;
  const value = answer && "runs" in answer ? answer : null;
  const text = query.value.get("q") ?? "";
  const shown = value?.runs.filter((run) => `${run.id} ${run.name}`.includes(text)) ?? [];
  return (
    <>
      <Title>{t("sparkTitle")}</Title>
      {error && !answer && <Failure error={error} />}
      {!answer && !error && <p class="note">{t("loading")}</p>}
      {unknown && (
        <Card title={t("sparkTitle")}>
          <p class="unknown" role="status">{t("unknownWhy", { why: unknown.unknown })}</p>
          {unknown.needsToken && (
            <>
              <TokenForm />
              <p class="note">{t("sparkTokenHelp")}</p>
            </>
          )}
        </Card>
      )}
      {value && (
        <>
          <Card title={t("sparkSaved")}>
            {value.runs.length === 0 ? <p class="note">{t("sparkNone")}</p> : <Table label={t("sparkSaved")} columns={savedColumns(value.price)} rows={savings(value.runs)} rowKey={(each) => each.business} sort="saved" descending />}
            <p class="note">
              {t("sparkSavedHelp", { n: number(value.runs.length) })} {!value.price && t("sparkNoPrice")}
            </p>
          </Card>
          <Card
            title={t("sparkTitle")}
            side={<input type="search" aria-label={t("filter")} placeholder={t("filter")} value={text} onInput={(event) => setQuery("q", event.currentTarget.value)} />}
          >
            <p class="note count">{t("sparkCount", { n: number(shown.length), total: number(value.total) })}</p>
            {shown.length > 0 && <Table label={t("sparkTitle")} columns={runColumns()} rows={shown} rowKey={(run) => String(run.id)} sort="id" descending />}
          </Card>
        </>
      )}
    </>
  );
}
