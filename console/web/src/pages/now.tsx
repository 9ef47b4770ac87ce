// The first page: sums of the cluster, an hour of history, problems, and all nodes as a map or a table.
import { useMemo, useState } from "preact/hooks";
import type { Amounts, Finding, History, NodeRow } from "@api";
import { useRead } from "../api";
import { age, amount, amountWithUnit, clock, bytes, language, moment, number, percent, t, type Key, type Resource } from "../i18n";
import { NodeMap } from "../map";
import { Amount, Bar, Card, Choice, Legend, ReportMark, State, Title, Words, rowBar } from "../parts";
import { Evictions, OrderButtons, type Target } from "../orders";
import { Plot } from "../plot";
import { nodePath, query, setQuery } from "../router";
import { nodes, poolNames, problems, summary, tick } from "../store";
import { Table, type Column } from "../table";

function Tank({ resource, sum, nodesKnown, nodesTotal }: { resource: Resource; sum: Amounts; nodesKnown: number; nodesTotal: number }) {
  const used = sum.online === null || sum.offline === null ? null : sum.online + sum.offline;
  const idle = used === null || sum.line === null ? null : Math.max(0, sum.line - used);
  const note = (value: number | null) => (value === null ? undefined : percent(value, sum.capacity));
  return (
    <div class="tank">
      <div class="tank-head">
        <h3>{t(resource)}</h3>
        <p>
          <strong>{percent(used, sum.capacity)}</strong> {t("ofCapacity")} {amountWithUnit(resource, sum.capacity)}
        </p>
      </div>
      <Bar resource={resource} label={t(resource)} values={{ capacity: sum.capacity, online: sum.online, offline: sum.offline, line: sum.line }} />
      <Legend
        items={[
          { kind: "online", label: t("online"), value: amount(resource, sum.online), note: note(sum.online) },
          { kind: "offline", label: t("offlineUse"), value: amount(resource, sum.offline), note: note(sum.offline) },
          { kind: "idle", label: t("idle"), value: amount(resource, idle), note: note(idle) },
          { kind: "line", label: t("waterLine"), value: amount(resource, sum.line), note: note(sum.line) },
          { kind: "none", label: t("offered"), value: amount(resource, sum.offered) },
          { kind: "none", label: t("sold"), value: amount(resource, sum.sold) },
        ]}
      />
      {nodesKnown < nodesTotal && <p class="note">{t("ofKnown", { n: number(nodesKnown), total: number(nodesTotal) })}</p>}
    </div>
  );
}

const SEVERITY_SHAPE = { bad: "▲", warn: "◆", ok: "✓" };

export function Problem({ finding }: { finding: Finding }) {
  const names = finding.groups.flatMap((group) => group.names);
  return (
    <li class={`problem severity-${finding.severity}`}>
      <p>
        <span class="mark">
          <span aria-hidden="true">{SEVERITY_SHAPE[finding.severity]}</span> {t(`severity_${finding.severity}` as Key)}
        </span>
        <span class="problem-what">{finding.what}</span>
      </p>
      <p class="found"><Words text={finding.found} /></p>
      {finding.fix && (
        <p class="fix">
          <span>{t("fix")}:</span> <Words text={finding.fix} />
        </p>
      )}
      {names.length > 0 && (
        <p class="names">
          {names.slice(0, 6).map((name) => (
            <a key={name} href={nodePath(name)}>
              {name}
            </a>
          ))}
          {finding.nodes > Math.min(6, names.length) && <span>{t("more", { n: finding.nodes - Math.min(6, names.length) })}</span>}
        </p>
      )}
    </li>
  );
}

// What the doctor found, worst first.
export function Problems({ title }: { title: string }) {
  const found = problems.value;
  const read = summary.value?.sources.every((source) => source.read || source.name === "pods") ?? false;
  return (
    <Card title={title} class="problems">
      {!read && <p class="note">{t("problemsUnread")}</p>}
      {read && found?.findings.length === 0 && <p class="note">{t("noProblems")}</p>}
      {found && found.findings.length > 0 && (
        <ul tabIndex={0} aria-label={title}>
          {found.findings.map((finding, i) => (
            <Problem key={`${finding.fact}-${i}`} finding={finding} />
          ))}
        </ul>
      )}
    </Card>
  );
}

// What offline work used today, in core-hours and, with a price, in money.
function Gain() {
  const now = summary.value;
  if (!now) return <p class="note">{t("loading")}</p>;
  if (!now.gain) return <p class="note">{t("gainUnknown")}</p>;
  const hours = now.gain.coreSeconds / 3600;
  const { price } = now.gain;
  return (
    <p class="gain">
      <strong>{t("gainHours", { n: number(hours, 1) })}</strong>
      {price && <strong> · {number((hours * price.perCoreHourMicro) / 1e6, 2)} {price.currency}</strong>}
      <span class="note"> {t("gainSince", { time: moment(now.gain.since) })}</span>
    </p>
  );
}

// Sums over time: of the cluster the last hour, of a pool the last day, with what is sold and idle.
export function Uses({ resource, pool }: { resource: Resource; pool?: string }) {
  const { value } = useRead<History>(pool === undefined ? "/api/v1/history" : `/api/v1/history?${new URLSearchParams({ pool })}`, pool === undefined ? 5000 : 30_000);
  const series = useMemo(() => {
    if (!value) return [];
    const of = value[resource];
    const scale = resource === "cpu" ? 1000 : 1;
    const total = of.online.map((online, i) => {
      const offline = of.offline[i];
      return online === null || offline === null || offline === undefined ? null : (online + offline) / scale;
    });
    return [
      { label: t("offlineUse"), colour: "var(--offline)", fill: "var(--offline-soft)", values: total, own: of.offline.map((each) => (each === null ? null : each / scale)) },
      { label: t("online"), colour: "var(--online)", fill: "var(--online-soft)", values: of.online.map((each) => (each === null ? null : each / scale)) },
      { label: t("waterLine"), colour: "var(--water)", dashed: true, values: of.line.map((each) => (each === null ? null : each / scale)) },
      ...(pool === undefined ? [] : [{ label: t("sold"), colour: "var(--bad)", values: of.sold.map((each) => (each === null ? null : each / scale)) }]),
    ];
  }, [value, resource, pool, language.value]);
  if (!value || value.at.length < 2) return <p class="note empty-plot">{t(pool === undefined ? "historyEmpty" : "poolDayEmpty")}</p>;
  const capacity = value[resource].capacity.at(-1) ?? 0;
  return (
    <>
      <Plot
        label={t(pool === undefined ? "lastHour" : "poolDay")}
        at={value.at}
        series={series}
        height={260}
        max={resource === "cpu" ? capacity / 1000 : capacity}
        format={(each) => (each === 0 ? "0" : resource === "cpu" ? number(each, each < 10 && !Number.isInteger(each) ? 1 : 0) : bytes(each))}
        amount={(each) => amountWithUnit(resource, resource === "cpu" ? each * 1000 : each)}
      />
      <p class="note">{t("historyStart", { time: clock(value.at[0]!) })}</p>
    </>
  );
}

function nodeColumns(resource: Resource): Column<NodeRow>[] {
  const cpu = resource === "cpu";
  return [
    { key: "name", title: t("node"), value: (row) => row.name, cell: (row) => <a href={nodePath(row.name)}>{row.name}</a> },
    { key: "pool", title: t("pool"), value: (row) => row.pool },
    { key: "state", title: t("state"), value: (row) => row.state, cell: (row) => <State state={row.state} /> },
    {
      key: "use", title: t(resource), value: (row) => { const bar = rowBar(row, resource); return bar.online === null || bar.offline === null || bar.capacity === 0 ? null : (bar.online + bar.offline) / bar.capacity; },
      cell: (row) => <Bar thin resource={resource} label={row.name} values={rowBar(row, resource)} />,
    },
    { key: "online", title: t("online"), number: true, value: (row) => (cpu ? row.cpuOnline : row.memoryOnline), cell: (row) => <Amount resource={resource} value={cpu ? row.cpuOnline : row.memoryOnline} /> },
    { key: "offline", title: t("offlineUse"), number: true, value: (row) => (cpu ? row.cpuOffline : row.memoryOffline), cell: (row) => <Amount resource={resource} value={cpu ? row.cpuOffline : row.memoryOffline} /> },
    { key: "offered", title: t("offered"), number: true, value: (row) => (cpu ? row.cpuOffered : row.memoryOffered), cell: (row) => <Amount resource={resource} value={cpu ? row.cpuOffered : row.memoryOffered} /> },
    { key: "sold", title: t("sold"), number: true, value: (row) => (cpu ? row.cpuSold : row.memorySold), cell: (row) => <Amount resource={resource} value={cpu ? row.cpuSold : row.memorySold} /> },
    { key: "tasks", title: t("tasks"), number: true, value: (row) => row.tasks },
    { key: "report", title: t("report"), value: (row) => row.reported, cell: (row) => (row.report === "fresh" ? <span class="nowrap">{age(row.reported)}</span> : <ReportMark report={row.report} />) },
  ];
}

function Nodes({ resource, setResource }: { resource: Resource; setResource: (next: Resource) => void }) {
  const view = query.value.get("view") === "table" ? "table" : "map";
  const text = query.value.get("q") ?? "";
  const pool = query.value.get("pool") ?? "";
  const all = nodes.value;
  const shown = useMemo(
    () => all.filter((row) => (pool === "" || row.pool === pool) && (text === "" || row.name.includes(text))),
    [all, pool, text],
  );
  const columns = useMemo(() => nodeColumns(resource), [resource, language.value]);
  tick.value;
  return (
    <Card
      title={t("nodes")}
      class="nodes"
      side={
        <div class="tools">
          <input
            type="search"
            aria-label={t("filter")}
            placeholder={t("filter")}
            value={text}
            onInput={(event) => setQuery("q", event.currentTarget.value)}
          />
          {poolNames.value.length > 1 && (
            <select aria-label={t("pool")} value={pool} onChange={(event) => setQuery("pool", event.currentTarget.value)}>
              <option value="">{t("allPools")}</option>
              {poolNames.value.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          )}
          <Choice label={t("resource")} value={resource} onChange={setResource} options={[{ value: "cpu", text: t("cpu") }, { value: "memory", text: t("memory") }]} />
          <Choice label={t("view")} value={view} onChange={(next) => setQuery("view", next === "table" ? "table" : "")} options={[{ value: "map", text: t("map") }, { value: "table", text: t("table") }]} />
        </div>
      }
    >
      <p class="note count">{t("nodesCount", { n: number(shown.length) })}</p>
      {view === "map" ? <NodeMap nodes={shown} resource={resource} /> : <Table label={t("nodes")} columns={columns} rows={shown} rowKey={(row) => row.name} sort="name" />}
    </Card>
  );
}

const CLUSTER: Target = { scope: "cluster" };

export function Now() {
  const [resource, setResource] = useState<Resource>("cpu");
  const sums = summary.value?.sums;
  return (
    <>
      <div class="title-line">
        <Title>{t("now")}</Title>
        <OrderButtons target={CLUSTER} />
      </div>
      <Evictions target={CLUSTER} />
      <Card title={t("overview")} class="overview" side={sums && (
        <p class="states">
          {(["on", "observe", "draining", "off"] as const).filter((state) => state === "on" || sums[state] > 0).map((state) => (
            <span key={state}>
              <State state={state} /> {number(sums[state])}
            </span>
          ))}
        </p>
      )}>
        {sums ? (
          <div class="tanks">
            <Tank resource="cpu" sum={sums.cpu} nodesKnown={sums.nodes - sums.unknown} nodesTotal={sums.nodes} />
            <Tank resource="memory" sum={sums.memory} nodesKnown={sums.nodes - sums.unknown} nodesTotal={sums.nodes} />
          </div>
        ) : (
          <p class="note">{t("loading")}</p>
        )}
      </Card>
      <Card title={t("gainToday")}>
        <Gain />
      </Card>
      <div class="columns">
        <Card title={t("lastHour")} class="hour" side={<Choice label={t("resource")} value={resource} onChange={setResource} options={[{ value: "cpu", text: t("cpu") }, { value: "memory", text: t("memory") }]} />}>
          <Uses resource={resource} />
        </Card>
        <Problems title={t("problems")} />
      </div>
      <Nodes resource={resource} setResource={setResource} />
    </>
  );
}
