// One node: every term of its offer, its tasks with limits and reasons, what its agent enforces, and its conditions.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { NodeDetail, NodeRecord, NodeRecords, Task, Unknown, Yarn, YarnContainer, YarnHeld, YarnOfNode } from "@api";
import { known, useRead, type Loaded } from "../api";
import { age, amount, amountWithUnit, duration, language, localTime, moment, number, percent, serverNow, t, type Key, type Resource } from "../i18n";
import { TaskLimits } from "../limits";
import { Evictions, OrderButtons, type Target } from "../orders";
import { Amount, Bar, Card, Choice, Failure, Legend, ReportMark, State, Title, Words, rowBar } from "../parts";
import { Plot } from "../plot";
import { poolPath, query, setQuery } from "../router";
import { findingsOf, nodeByName, tick } from "../store";
import { Table, type Column } from "../table";
import { Problem } from "./now";

type Json = Record<string, unknown>;
type Explained = "kubernetes.io/batch-cpu" | "kubernetes.io/batch-memory" | "kubernetes.io/mid-cpu" | "kubernetes.io/mid-memory";

const resourceOf = (what: Explained): Resource => (what.endsWith("cpu") ? "cpu" : "memory");

function reasonText(value: unknown): string | undefined {
  const reason = value as { id?: string; text?: string } | null | undefined;
  return reason?.text ? `${reason.text} [${reason.id}]` : undefined;
}

type Step = { key: Key; kind: "total" | "minus" | "plus" | "result"; value: number; from: number; note?: string };

// The terms of a batch offer as steps of a waterfall, in the order of the formula.
function steps(terms: Json): Step[] {
  const value = (name: string) => (typeof terms[name] === "number" ? (terms[name] as number) : null);
  const out: Step[] = [];
  let level = value("capacity") ?? 0;
  out.push({ key: "term_capacity", kind: "total", value: level, from: 0 });
  const minus = (key: Key, name: string, note?: string) => {
    const amount = value(name);
    if (amount === null) return;
    out.push({ key, kind: "minus", value: amount, from: level - amount, ...(note ? { note } : {}) });
    level -= amount;
  };
  const result = (key: Key, name: string, note?: string) => {
    const amount = value(name);
    if (amount === null) return;
    out.push({ key, kind: "result", value: amount, from: 0, ...(note ? { note } : {}) });
    level = amount;
  };
  minus("term_margin", "margin");
  minus("term_reserved", "reserved", reasonText(terms["reservedBy"]));
  minus("term_highPriority", "highPriority", reasonText(terms["policy"]));
  result("term_left", "left");
  if (value("cap") !== null) result("term_cap", "cap");
  // The value of one CPU of this model, in percent of the least: the offer grows by it.
  const ratio = value("ratioPercent");
  if (ratio !== null && ratio > 100) {
    const more = Math.floor((level * (ratio - 100)) / 100);
    out.push({ key: "term_ratio", kind: "plus", value: more, from: level, note: `× ${number(ratio / 100, 2)}` });
    level += more;
  }
  result("term_origin", "origin", reasonText(terms["originBy"]));
  minus("term_thirdParty", "thirdParty", reasonText(terms["thirdPartyBy"]));
  result("term_published", "published");
  result("term_onNode", "onNode");
  return out;
}

function Waterfall({ terms, resource }: { terms: Json; resource: Resource }) {
  const all = steps(terms);
  const whole = Math.max(1, ...all.map((step) => step.from + step.value));
  const share = (value: number) => Math.max(0, Math.min(100, (100 * value) / whole));
  return (
    <table class="waterfall">
      <tbody>
        {all.map((step) => {
          const start = share(Math.max(0, step.from));
          const end = share(Math.max(0, step.from + step.value));
          return (
            <tr key={step.key} class={`step-${step.kind}`}>
              <th scope="row">
                <span class="sign" aria-hidden="true">{step.kind === "minus" ? "−" : step.kind === "plus" ? "+" : step.kind === "result" ? "=" : ""}</span>
                {t(step.key)}
                {step.note && <span class="note">{step.note}</span>}
              </th>
              <td class="number">{amount(resource, step.value)}</td>
              <td class="fall" aria-hidden="true">
                <div class="fall-track">
                  <div class="fall-bar" style={{ left: `${start}%`, width: `${Math.max(0.4, end - start)}%` }} />
                </div>
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

// Terms without a picture: a list of names and values, nested as they are.
function Terms({ value, resource }: { value: unknown; resource?: Resource | undefined }) {
  if (value === null || value === undefined) return <span class="unknown">{t("none")}</span>;
  if (typeof value === "number") return <>{resource ? amountWithUnit(resource, value) : value}</>;
  if (typeof value !== "object") return <>{String(value)}</>;
  if (Array.isArray(value)) {
    if (value.length === 0) return <span class="unknown">{t("none")}</span>;
    return (
      <ul class="plain">
        {value.map((each, i) => (
          <li key={i}>
            <Terms value={each} />
          </li>
        ))}
      </ul>
    );
  }
  const reason = reasonText(value);
  if (reason && Object.keys(value).length === 2) return <>{reason}</>;
  return (
    <dl class="terms">
      {Object.entries(value as Json).map(([name, each]) => (
        <div key={name}>
          <dt>{`term_${name}` in termKeys ? t(`term_${name}` as Key) : name}</dt>
          <dd>
            <Terms value={each} resource={name.endsWith("Percent") || name.endsWith("Share") ? undefined : resource} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
const termKeys: Record<string, true> = Object.fromEntries(
  ["capacity", "prodReclaimable", "nodeUnused", "base", "prodRequest", "unallocated", "unallocatedShare", "staticShare", "cap", "reserved", "published", "onNode"].map((name) => [`term_${name}`, true as const]),
);

const MINUTE = 60;

// The minute that is explained; in the address, so that a link shows the same.
function MinuteChoice({ at }: { at: number | null }) {
  const show = (next: number | null) => setQuery("at", next === null ? "" : String(next));
  const now = Math.floor(serverNow() / MINUTE) * MINUTE;
  const shown = localTime(at ?? now, "minute");
  const [typed, setTyped] = useState(shown); // the page is drawn anew each second, also while a person types
  useEffect(() => setTyped(shown), [shown]);
  return (
    <div class="tools minute" role="group" aria-label={t("minute")}>
      <button type="button" class="quiet" aria-label={t("minuteBefore")} onClick={() => show((at ?? now) - MINUTE)}>
        ‹
      </button>
      <input
        type="datetime-local"
        aria-label={t("minute")}
        value={typed}
        max={localTime(now, "minute")}
        onInput={(event) => setTyped(event.currentTarget.value)}
        onChange={(event) => {
          const chosen = Date.parse(event.currentTarget.value) / 1000;
          if (Number.isFinite(chosen)) show(chosen);
        }}
      />
      <button type="button" class="quiet" aria-label={t("minuteAfter")} disabled={at === null} onClick={() => show(at !== null && at + MINUTE < now ? at + MINUTE : null)}>
        ›
      </button>
      <button type="button" class="quiet" aria-pressed={at === null} onClick={() => show(null)}>
        {t("now")}
      </button>
    </div>
  );
}

function Why({ detail, name }: { detail: NodeDetail; name: string }) {
  const chosen = Number(query.value.get("at") ?? "");
  const at = chosen > 0 ? chosen : null;
  return at === null ? <Explanation explanation={detail.explanation as Json | null} error={detail.explanationError ?? ""} name={name} at={null} /> : <Past key={at} name={name} at={at} />;
}

function Past({ name, at }: { name: string; at: number }) {
  const { value: answer, error } = useRead<Json | Unknown>(`/api/v1/past/offer?${new URLSearchParams({ node: name, at: String(at) })}`, 60_000);
  const { value, why } = known<Json>(answer);
  return <Explanation explanation={value} error={why ?? error ?? t("loading")} name={name} at={at} />;
}

function Explanation({ explanation, error, name, at }: { explanation: Json | null; error: string; name: string; at: number | null }) {
  const [what, setWhat] = useState<Explained>("kubernetes.io/batch-cpu");
  const title = at === null ? t("why") : t("whyThen", { time: moment(at) });
  if (!explanation) {
    return (
      <Card title={title} class="why" side={<MinuteChoice at={at} />}>
        <p class="note">{t("noExplanation", { why: error })}</p>
      </Card>
    );
  }
  const terms = explanation[what] as Json | undefined;
  const state = explanation["state"] as Json | undefined;
  const notes = (explanation["notes"] as string[] | undefined) ?? [];
  const further = Object.fromEntries(
    ["offer", "withdrawnOfClasses", "safeguards", "ignored", "evictions", "youngPods", "normalization", "amplification", "zones"]
      .filter((key) => key in explanation)
      .map((key) => [key, explanation[key]]),
  );
  return (
    <Card
      title={title}
      class="why"
      side={
       <div class="tools">
        <MinuteChoice at={at} />
        <Choice
          label={t("resourceChoice")}
          value={what}
          onChange={setWhat}
          options={[
            { value: "kubernetes.io/batch-cpu", text: t("cpu") },
            { value: "kubernetes.io/batch-memory", text: t("memory") },
            { value: "kubernetes.io/mid-cpu", text: t("midCpu") },
            { value: "kubernetes.io/mid-memory", text: t("midMemory") },
          ]}
        />
       </div>
      }
    >
      <p class="lead">{reasonText(explanation["reason"])}</p>
      {typeof state?.["text"] === "string" && <p class="lead">{state["text"] as string}</p>}
      {terms === undefined ? (
        <p class="note">{t("none")}</p>
      ) : what.includes("batch") ? (
        <Waterfall terms={terms} resource={resourceOf(what)} />
      ) : (
        <Terms value={terms} resource={resourceOf(what)} />
      )}
      {notes.length > 0 && (
        <ul class="notes" aria-label={t("notes")}>
          {notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
      <p class="note">
        <Words text={t("whyHelp", { name })} />
      </p>
      <details>
        <summary>{t("otherTerms")}</summary>
        <Terms value={further} />
      </details>
      <Sources explanation={explanation} />
    </Card>
  );
}

function Sources({ explanation }: { explanation: Json }) {
  const sources = (explanation["sources"] as Json[] | undefined) ?? [];
  return (
    <details>
      <summary>{t("sources")}</summary>
      <div class="table" tabIndex={0} role="group" aria-label={t("sources")}>
        <table>
          <thead>
            <tr>
              <th scope="col">{t("object")}</th>
              <th scope="col">{t("gives")}</th>
              <th scope="col" class="number">{t("age")}</th>
            </tr>
          </thead>
          <tbody>
            {sources.map((source) => (
              <tr key={String(source["object"])}>
                <th scope="row">{String(source["object"])}</th>
                <td>{String(source["gives"])}</td>
                <td class="number">{typeof source["ageSeconds"] === "number" ? duration(source["ageSeconds"]) : "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

const TASK_SHAPE: Record<Task["state"], string> = { waiting: "◷", running: "▶", terminating: "▼", succeeded: "✓", failed: "✕", evicted: "⏏" };
export function TaskState({ state }: { state: Task["state"] }) {
  return (
    <span class={`mark task-${state}`}>
      <span aria-hidden="true">{TASK_SHAPE[state]}</span> {t(`task_${state}` as Key)}
    </span>
  );
}

export function taskColumns(withNode: boolean, withUse: boolean): Column<Task>[] {
  const all: (Column<Task> | null)[] = [
    { key: "name", title: t("task"), value: (task) => `${task.namespace}/${task.name}`, cell: (task) => <span title={`${task.namespace}/${task.name}`}>{task.name}<span class="note"> {task.namespace}</span></span> },
    { key: "class", title: t("class"), value: (task) => task.class || "–" },
    { key: "state", title: t("status"), value: (task) => task.state, cell: (task) => <TaskState state={task.state} /> },
    withNode ? { key: "node", title: t("node"), value: (task) => task.node, cell: (task) => (task.node ? <a href={`/nodes/${encodeURIComponent(task.node)}`}>{task.node}</a> : "–") } : null,
    { key: "cpu", title: `${t("cpu")}: ${t("requested")}`, number: true, value: (task) => task.cpu, cell: (task) => amount("cpu", task.cpu) },
    withUse ? { key: "cpuUsed", title: t("used"), number: true, value: (task) => task.cpuUsed ?? null, cell: (task) => <span class={task.cpuUsed == null ? "unknown" : undefined}>{amount("cpu", task.cpuUsed)}</span> } : null,
    { key: "memory", title: `${t("memory")}: ${t("requested")}`, number: true, value: (task) => task.memory, cell: (task) => amount("memory", task.memory) },
    withUse ? { key: "memoryUsed", title: t("used"), number: true, value: (task) => task.memoryUsed ?? null, cell: (task) => <span class={task.memoryUsed == null ? "unknown" : undefined}>{amount("memory", task.memoryUsed)}</span> } : null,
    { key: "started", title: t("started"), number: true, value: (task) => task.started ?? task.created, cell: (task) => <span class="nowrap">{age(task.started ?? task.created)}</span> },
    { key: "why", title: t("whyTask"), value: (task) => task.why, cell: (task) => <span class="wrap">{task.why}</span> },
  ];
  return all.filter((column) => column !== null);
}

// What the agent recorded in the last minutes: use beside the limit, and what was held back.
function RecordCard({ record }: { record: Loaded<NodeRecords | Unknown> }) {
  const { value: answer, error } = record;
  const { value, why } = known<NodeRecords>(answer);
  const records = value?.records ?? [];
  const at = useMemo(() => records.map((record) => record.at), [answer]);
  const series = useMemo(() => {
    const column = (of: (record: NodeRecord) => number | null) => records.map((record) => { const milli = of(record); return milli === null ? null : milli / 1000; });
    return [
      { label: t("recordUsed"), colour: "var(--online)", fill: "var(--online-soft)", values: column((record) => record.used) },
      { label: t("offlineUse"), colour: "var(--offline)", fill: "var(--offline-soft)", values: column((record) => record.offline) },
      { label: t("recordLimit"), colour: "var(--water)", dashed: true, values: column((record) => record.limit) },
    ];
  }, [answer, language.value]);
  const held = new Map<string, number>();
  for (const record of records) {
    for (const task of record.tasks) {
      const key = `${task.namespace}/${task.name}`;
      held.set(key, Math.max(held.get(key) ?? 0, task.throttled, task.cpuPressure, task.runQueueWorst));
    }
  }
  const events = records.flatMap((record) => record.events);
  return (
    <Card title={t("record")}>
      {!value && <p class="note">{why ?? error ? <Words text={t("recordUnknown", { why: why ?? error ?? "" })} /> : t("loading")}</p>}
      {value && records.length < 2 && <p class="note">{t("recordEmpty")}</p>}
      {records.length >= 2 && (
        <>
          <Plot label={t("record")} at={at} series={series} height={200} max={records.at(-1)!.cpus} format={(each) => number(each)} amount={(each) => amountWithUnit("cpu", each * 1000)} />
          <p class="note">{t("recordKey")}</p>
          <h3>{t("recordHeld")}</h3>
          {held.size === 0 ? <p class="note">{t("none")}</p> : (
            <ul class="says">
              {[...held].sort((a, b) => b[1] - a[1]).slice(0, 20).map(([task, permille]) => <li key={task}>{t("recordWaited", { task, share: percent(permille, 1000) })}</li>)}
            </ul>
          )}
          {events.length > 0 && (
            <ul class="says">
              {events.map((event, i) => <li key={i}>{moment(event.at)}: {event.what} {event.process} {event.task}</li>)}
            </ul>
          )}
        </>
      )}
    </Card>
  );
}

function heldColumns(): Column<YarnHeld>[] {
  return [
    { key: "class", title: t("class"), value: (each) => each.class, cell: (each) => each.class || <span class="note">{t("noClass")}</span> },
    { key: "cpu", title: `${t("heldByYarn")} ${t("cpu")}`, number: true, value: (each) => each.cpu, cell: (each) => <Amount resource="cpu" value={each.cpu} /> },
    { key: "memory", title: `${t("heldByYarn")} ${t("memory")}`, number: true, value: (each) => each.memory, cell: (each) => <Amount resource="memory" value={each.memory} /> },
  ];
}

function containerColumns(): Column<YarnContainer>[] {
  return [
    { key: "name", title: t("container"), value: (each) => each.name },
    { key: "source", title: t("copilot"), value: (each) => each.source },
    { key: "class", title: t("class"), value: (each) => each.class, cell: (each) => each.class || <span class="note">{t("noClass")}</span> },
    { key: "cpu", title: `${t("used")}: ${t("cpu")}`, number: true, value: (each) => each.cpu, cell: (each) => <Amount resource="cpu" value={each.cpu} /> },
    { key: "memory", title: `${t("used")}: ${t("memory")}`, number: true, value: (each) => each.memory, cell: (each) => <Amount resource="memory" value={each.memory} /> },
    { key: "throttled", title: t("throttled"), number: true, value: (each) => each.throttled, cell: (each) => percent(each.throttled, 1000) },
    { key: "waited", title: t("waitedForCpu"), number: true, value: (each) => each.cpuPressure, cell: (each) => percent(each.cpuPressure, 1000) },
  ];
}

// Why the last full record of the agent is not known.
function Unread({ record }: { record: Loaded<NodeRecords | Unknown> }) {
  const { value: records, why } = known<NodeRecords>(record.value);
  return <p class="unknown">{records ? t("containersUnread") : why ?? record.error ? <Words text={t("recordUnknown", { why: why ?? record.error ?? "" })} /> : t("loading")}</p>;
}

function PodLimits({ record }: { record: Loaded<NodeRecords | Unknown> }) {
  const pods = known<NodeRecords>(record.value).value?.pods ?? null;
  return (
    <>
      <h3>{t("limits")}</h3>
      {pods === null ? <Unread record={record} /> : <p class="note">{pods.rows.length === 0 ? t("limitsNoPods") : t("limitsAt", { age: age(pods.at) })}</p>}
      {pods && <TaskLimits tasks={pods.rows.map((each) => ({ ...each, name: `${each.namespace}/${each.name}` }))} />}
    </>
  );
}

// What YARN is offered on this node, what its classes hold, what is contested, and the containers of the last record.
function YarnCard({ name, yarn, record }: { name: string; yarn: YarnOfNode; record: Loaded<NodeRecords | Unknown> }) {
  const all = useRead<Yarn>("/api/v1/yarn", 15_000);
  const own = all.value?.nodes.find((each) => each.node === name);
  const { value: records } = known<NodeRecords>(record.value);
  const containers = records?.containers ?? null;
  const limit = records?.records.at(-1)?.limit ?? null;
  const row = (label: string, value: ComponentChildren) => (
    <div key={label}>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
  const both = (of: { cpu: number; memory: number } | null | undefined) => (of ? `${amountWithUnit("cpu", of.cpu)}, ${amountWithUnit("memory", of.memory)}` : <span class="unknown">{t("unknown")}</span>);
  return (
    <Card title="YARN" side={<a href={`/yarn?cluster=${encodeURIComponent(yarn.cluster)}`}>{yarn.cluster || t("unknown")}</a>}>
      <dl class="facts-list">
        {row("NodeManager", yarn.nodeManager || <span class="unknown">{t("unknown")}</span>)}
        {row(t("offered"), both(yarn.offered))}
        {row(t("confirmedByRm"), both(yarn.confirmed))}
        {yarn.waiting && row(t("waitingClass"), yarn.waiting)}
        {yarn.reclaim?.map((each) => row(`${t("yarnReclaim")}: ${each.class || t("noClass")}`, <>{both(each)} <span class="note">[{each.reason}]</span></>))}
        {own?.drainBy != null && row(t("yarnDrainBy"), moment(own.drainBy))}
        {row(t("contested"), !own || all.value?.eventsError ? <span class="unknown">{t("unknown")}</span> : own.contestedAt === null ? t("no") : <>{age(own.contestedAt)}: {own.contest}</>)}
      </dl>
      {yarn.problem && <p class="failure">{yarn.problem}</p>}
      {yarn.held === null && <p class="unknown">{t("yarnHeldUnknown")}</p>}
      {yarn.held?.length === 0 && <p class="note">{t("yarnHeldNone")}</p>}
      {yarn.held && yarn.held.length > 0 && <Table label={t("yarnHeld")} columns={heldColumns()} rows={yarn.held} rowKey={(each) => each.class} sort="class" />}
      <h3>{t("containers")}</h3>
      {containers === null && <Unread record={record} />}
      {containers && <p class="note">{t("containersAt", { age: age(containers.at), limit: amountWithUnit("cpu", limit) })}</p>}
      {containers?.rows.length === 0 && <p class="note">{t("containersNone")}</p>}
      {containers && containers.rows.length > 0 && <Table label={t("containers")} columns={containerColumns()} rows={containers.rows} rowKey={(each) => `${each.source} ${each.name}`} sort="name" />}
      {containers && containers.rows.length > 0 && <h3>{t("limits")}</h3>}
      {containers && <TaskLimits tasks={containers.rows} />}
    </Card>
  );
}

// What the doctor found that names this node.
function DoctorCard({ name }: { name: string }) {
  const found = findingsOf(name);
  return (
    <Card title={t("doctorOf")} class="problems">
      {found.length === 0 ? <p class="note">{t("doctorNone")}</p> : (
        <ul>
          {found.map((finding, i) => (
            <Problem key={`${finding.fact}-${i}`} finding={finding} />
          ))}
        </ul>
      )}
      <p class="note"><Words text={t("doctorPart")} /> <a href="/">{t("doctorAll")}</a></p>
    </Card>
  );
}

// "cpuSuppress: enforce (1 file); mark 3; ordered by ann: why" → each strategy, the mark, and the rest as one text: the
// reason of an order may contain "; ".
function partsOf(message: string): string[] {
  const first = /^(?:(?:\w+: \w+(?: \(\d+ \w+\))?|mark \d+)(?:; |$))*/.exec(message)![0];
  return [...first.split("; "), message.slice(first.length)].filter((part) => part !== "");
}

export function NodePage({ name }: { name: string }) {
  const { value: detail, error } = useRead<NodeDetail>(`/api/v1/nodes/${encodeURIComponent(name)}`, 3000);
  const record = useRead<NodeRecords | Unknown>(`/api/v1/past/record?${new URLSearchParams({ node: name })}`, 15_000);
  const target: Target = { scope: "node", nodes: [name] };
  const row = nodeByName(name) ?? detail?.node;
  const isolation = detail?.conditions.find((condition) => condition.type === "TidemarkIsolation");
  tick.value;
  return (
    <>
      <div class="title-line">
        <Title>{name}</Title>
        {row && <OrderButtons target={target} />}
      </div>
      {row && (
        <div class="facts">
          <State state={row.state} />
          <span>
            {t("pool")} <a href={poolPath(row.pool)}>{row.pool}</a>
          </span>
          <span>
            {t("report")}: <ReportMark report={row.report} /> {age(row.reported)}
          </span>
        </div>
      )}
      <Evictions target={target} />
      {row && (
        <div class="card pair">
          {(["cpu", "memory"] as const).map((resource) => (
            <div key={resource}>
              <p class="pair-head">
                <span>{t(resource)}</span> <span class="number">{amountWithUnit(resource, resource === "cpu" ? row.cpuCapacity : row.memoryCapacity)}</span>
              </p>
              <Bar resource={resource} label={t(resource)} values={rowBar(row, resource)} />
              <Legend
                items={[
                  { kind: "online", label: t("online"), value: amount(resource, rowBar(row, resource).online) },
                  { kind: "offline", label: t("offlineUse"), value: amount(resource, rowBar(row, resource).offline) },
                  { kind: "line", label: t("waterLine"), value: amount(resource, rowBar(row, resource).line) },
                  { kind: "none", label: t("offered"), value: amount(resource, resource === "cpu" ? row.cpuOffered : row.memoryOffered) },
                  { kind: "none", label: t("sold"), value: amount(resource, resource === "cpu" ? row.cpuSold : row.memorySold) },
                ]}
              />
            </div>
          ))}
        </div>
      )}
      {error && !detail && <Failure error={error} />}
      {!detail && !error && <p class="note">{t("loading")}</p>}
      {detail && (
        <>
          <Why detail={detail} name={name} />
          <DoctorCard name={name} />
          <Card title={t("tasksOf")}>
            {detail.tasks.length === 0 ? (
              <p class="note">{t("noTasks")}</p>
            ) : (
              <Table label={t("tasksOf")} columns={taskColumns(false, true)} rows={detail.tasks} rowKey={(task) => `${task.namespace}/${task.name}`} sort="state" />
            )}
            <PodLimits record={record} />
          </Card>
          {detail.yarn && <YarnCard name={name} yarn={detail.yarn} record={record} />}
          <RecordCard record={record} />
          <Card title={t("agentSays")}>
            {isolation ? (
              <>
                <p>
                  <strong>{isolation.reason}</strong>
                </p>
                <ul class="says">
                  {partsOf(isolation.message).map((part) => (
                    <li key={part}>{part}</li>
                  ))}
                </ul>
              </>
            ) : (
              <p class="note">{t("agentSilent")}</p>
            )}
          </Card>
          <Card title={t("conditions")}>
            <div class="table" tabIndex={0} role="group" aria-label={t("conditions")}>
              <table>
                <thead>
                  <tr>
                    <th scope="col">{t("conditions")}</th>
                    <th scope="col">{t("status")}</th>
                    <th scope="col">{t("reason")}</th>
                    <th scope="col" class="number">{t("since")}</th>
                  </tr>
                </thead>
                <tbody>
                  {detail.conditions.map((condition) => (
                    <tr key={condition.type}>
                      <th scope="row">{condition.type}</th>
                      <td>{condition.status}</td>
                      <td>
                        <span class="wrap">{condition.type === "TidemarkIsolation" ? condition.reason : [condition.reason, condition.message].filter(Boolean).join(": ")}</span>
                      </td>
                      <td class="number nowrap">{condition.changed === null ? "–" : moment(condition.changed)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
            <dl class="info">
              {(["kernel", "osImage", "runtime", "kubelet", "address"] as const).map((key) => (
                <div key={key}>
                  <dt>{t(key)}</dt>
                  <dd>{detail.info[key] || "–"}</dd>
                </div>
              ))}
            </dl>
          </Card>
        </>
      )}
    </>
  );
}
