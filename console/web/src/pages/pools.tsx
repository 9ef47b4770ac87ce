// Pools: their water lines now, and for one pool the next seven days.
import { useMemo, useState } from "preact/hooks";
import type { Budgets, Line, OverrideReport, Pool, PoolDetail, PoolOrder, Pools as PoolsAnswer, SettingsNow } from "@api";
import { useRead } from "../api";
import { change } from "../change";
import { age, amount, amountWithUnit, language, moment, number, percent, t, type Key, type Resource } from "../i18n";
import { Uses } from "./now";
import { Bar, Card, Choice, Failure, State, Title } from "../parts";
import { Evictions, OrderButtons, type Target } from "../orders";
import { Plot } from "../plot";
import { nodePath, poolPath } from "../router";
import { summary } from "../store";
import { Table, type Column } from "../table";
import { RolloutButtons } from "./settings";

function LineText({ line }: { line: Line }) {
  return (
    <span>
      <strong class="number">{number(line.percent)} %</strong> {t(`phase_${line.phase}` as Key)}
      {line.entry ? ` (${line.entry})` : ""}
    </span>
  );
}

function PoolCard({ pool, linked }: { pool: Pool; linked: boolean }) {
  const { sums } = pool;
  return (
    <section class="card pool" aria-label={pool.name}>
      <div class="card-head">
        <h2>{linked ? <a href={poolPath(pool.name)}>{pool.name}</a> : t("now")}</h2>
        <p class="states">
          <span>{t("nodesCount", { n: number(sums.nodes) })}</span>
          {(["on", "observe", "draining", "off"] as const)
            .filter((state) => sums[state] > 0)
            .map((state) => (
              <span key={state}>
                <State state={state} /> {number(sums[state])}
              </span>
            ))}
        </p>
      </div>
      <div class="pair">
        {(["cpu", "memory"] as const).map((resource) => (
          <div key={resource}>
            <p class="pair-head">
              <span>{t(resource)}</span>
              <span class="number">{amountWithUnit(resource, sums[resource].capacity)}</span>
            </p>
            <Bar
              resource={resource}
              label={`${pool.name} ${t(resource)}`}
              values={{ capacity: sums[resource].capacity, online: sums[resource].online, offline: sums[resource].offline, line: sums[resource].line }}
            />
            <dl class="facts-list">
              <div>
                <dt>{t("waterLine")}</dt>
                <dd>{pool.line ? <LineText line={pool.line[resource]} /> : <span class="unknown">{t("unknown")}</span>}</dd>
              </div>
              <div>
                <dt>{t("online")}</dt>
                <dd class="number">
                  {amount(resource, sums[resource].online)} <span class="note">{percent(sums[resource].online, sums[resource].capacity)}</span>
                </dd>
              </div>
              <div>
                <dt>{t("offlineUse")}</dt>
                <dd class="number">
                  {amount(resource, sums[resource].offline)} <span class="note">{percent(sums[resource].offline, sums[resource].capacity)}</span>
                </dd>
              </div>
              <div>
                <dt>{t("offered")}</dt>
                <dd class="number">{amount(resource, sums[resource].offered)}</dd>
              </div>
              <div>
                <dt>{t("sold")}</dt>
                <dd class="number">{amount(resource, sums[resource].sold)}</dd>
              </div>
            </dl>
          </div>
        ))}
      </div>
      {pool.overrides.map((each) => (
        <p key={each.since} class="override">
          <strong>{t("override")}:</strong>{" "}
          {t("overrideBy", { cpu: each.cpuPercent == null ? "–" : `${each.cpuPercent} %`, memory: each.memoryPercent == null ? "–" : `${each.memoryPercent} %`, until: moment(Date.parse(each.until ?? "") / 1000), by: each.by ?? "", why: each.why ?? "" })}
        </p>
      ))}
      <dl class="info">
        {pool.business && (
          <div>
            <dt>{t("business")}</dt>
            <dd>{pool.business}</dd>
          </div>
        )}
        <div>
          <dt>{t("mode")}</dt>
          <dd>{t(`mode_${pool.mode}` as Key)}</dd>
        </div>
        <div>
          <dt>{t("profile")}</dt>
          <dd>{t(`profile_${pool.profile}` as Key)}</dd>
        </div>
        {pool.calendar && (
          <div>
            <dt>{t("calendar")}</dt>
            <dd>{pool.calendar}</dd>
          </div>
        )}
      </dl>
    </section>
  );
}

export function Pools() {
  const { value, error } = useRead<PoolsAnswer>("/api/v1/pools", 3000);
  return (
    <>
      <Title>{t("poolsTitle")}</Title>
      {error && !value && <Failure error={error} />}
      {!value && !error && <p class="note">{t("loading")}</p>}
      {value?.pools.map((pool) => <PoolCard key={pool.name} pool={pool} linked />)}
    </>
  );
}

function overrideEffect(answer: unknown) {
  const { line, notes } = answer as OverrideReport;
  return (
    <>
      {line &&
        (["cpu", "memory"] as const).map((resource) => (
          <p key={resource}>{t("overrideNow", { resource: t(resource), before: line.before[resource].sellPercent, after: line.after[resource].sellPercent })}</p>
        ))}
      {notes.map((note) => (
        <p key={note} class="note">
          {note}
        </p>
      ))}
    </>
  );
}
function overrideLine(pool: string) {
  change.value = {
    title: t("overrideTitle", { name: pool }),
    help: t("overrideHelp"),
    confirm: t("overrideConfirm"),
    path: "/api/v1/overrides",
    fixed: { pool },
    fields: [
      { name: "cpuPercent", label: t("overrideCpu"), kind: "percent" },
      { name: "memoryPercent", label: t("overrideMemory"), kind: "percent" },
      { name: "lastsSeconds", label: t("lasts"), kind: "lasts" },
    ],
    preview: overrideEffect,
    done: t("overrideSet"),
  };
}
function endOverride(pool: string) {
  change.value = {
    title: t("overrideEndTitle", { name: pool }),
    help: t("overrideEndHelp"),
    confirm: t("overrideEndConfirm"),
    path: "/api/v1/overrides",
    fixed: { pool, clear: true },
    preview: overrideEffect,
    done: t("overrideSet"),
  };
}
function OverrideButtons({ pool }: { pool: Pool }) {
  if (summary.value?.readOnly !== false) return null;
  return (
    <div class="orders" role="group" aria-label={t("override")}>
      <button type="button" class="order" onClick={() => overrideLine(pool.name)}>
        {t("overrideLine")}
      </button>
      {pool.overrides.length > 0 && (
        <button type="button" class="order" onClick={() => endOverride(pool.name)}>
          {t("overrideEnd")}
        </button>
      )}
    </div>
  );
}

// Use, what is sold, and what is idle below the line, over the day.
function Day({ pool }: { pool: string }) {
  const [resource, setResource] = useState<Resource>("cpu");
  return (
    <Card
      title={t("poolDay")}
      side={
        <Choice label={t("resource")} value={resource} onChange={setResource} options={[{ value: "cpu", text: t("cpu") }, { value: "memory", text: t("memory") }]} />
      }
    >
      <Uses resource={resource} pool={pool} />
      <p class="note">{t("poolDayHelp")}</p>
    </Card>
  );
}

function OrderScope({ of }: { of: PoolOrder }) {
  if (of.scope !== "node") return <>{t(of.scope === "cluster" ? "scopeCluster" : "orderOfPool")}</>;
  return (
    <span class="names">
      {of.names.map((name) => (
        <a key={name} href={nodePath(name)}>
          {name}
        </a>
      ))}
      {of.nodes > of.names.length && <span>{t("more", { n: number(of.nodes - of.names.length) })}</span>}
    </span>
  );
}

function orderColumns(): Column<PoolOrder>[] {
  return [
    { key: "verb", title: t("order"), value: (each) => each.verb, cell: (each) => <>{<State state={each.verb} />}{each.evict && <span class="note"> {t("orderEvicts")}</span>}{each.only.length > 0 && <span class="note"> {each.only.join(", ")}</span>}</> },
    { key: "scope", title: t("orderFor"), value: (each) => each.scope, cell: (each) => <OrderScope of={each} /> },
    { key: "nodes", title: t("nodes"), number: true, value: (each) => each.nodes, cell: (each) => number(each.nodes) },
    {
      key: "state", title: t("status"), value: (each) => (each.inForce ? 0 : 1),
      cell: (each) => <span class={`mark ${each.inForce ? "report-fresh" : "report-stale"}`}><span aria-hidden="true">{each.inForce ? "✓" : "◷"}</span> {t(each.inForce ? "orderInForce" : "orderBelow")}</span>,
    },
    { key: "at", title: t("orderAt"), value: (each) => each.at, cell: (each) => (each.at === null ? <span class="unknown">{t("unknown")}</span> : <span title={moment(each.at)}>{age(each.at)}</span>) },
    { key: "until", title: t("orderUntil"), value: (each) => each.until, cell: (each) => (each.until === null ? t("lasts_0") : moment(each.until)) },
    { key: "by", title: t("by"), value: (each) => each.by, cell: (each) => <span class="wrap">{each.by}</span> },
    { key: "reason", title: t("reason"), value: (each) => each.reason, cell: (each) => <span class="wrap">{each.reason}</span> },
  ];
}

// The orders that the nodes of the pool are under.
function PoolOrders({ detail }: { detail: PoolDetail }) {
  const { orders } = detail;
  return (
    <Card title={t("poolOrders")}>
      {orders === null && <p class="unknown">{t("unknown")}</p>}
      {orders?.length === 0 && <p class="note">{t("poolOrdersNone")}</p>}
      {orders && orders.length > 0 && <Table label={t("poolOrders")} columns={orderColumns()} rows={orders} rowKey={(each) => JSON.stringify(each)} />}
      {detail.ordersLeftOff > 0 && (
        <p class="stopped" role="status">
          <span aria-hidden="true">◆</span> {t("poolOrdersCut", { n: number(detail.ordersLeftOff), shown: number(orders?.length ?? 0) })}
        </p>
      )}
    </Card>
  );
}

// Which revision of the settings the nodes of the pool run.
function Rollout({ pool }: { pool: string }) {
  const { value, error } = useRead<SettingsNow>(`/api/v1/settings?${new URLSearchParams({ pool })}`, 10_000);
  const { rollout } = value ?? { rollout: null };
  const run = value?.revisions.filter((each) => each.nodes > 0) ?? [];
  return (
    <Card
      title={t("poolRollout")}
      side={
        <div class="tools">
          <RolloutButtons rollout={rollout} />
          <a href="/settings">{t("settings")}</a>
        </div>
      }
    >
      {error && !value && <Failure error={error} />}
      {value && run.length === 0 && <p class="note">{t("noRevisions")}</p>}
      {run.map((each) => (
        <p key={each.hash}>
          {t("revisionN", { n: each.number })}: {t("inForceOn", { n: number(each.confirmed), total: number(each.nodes) })}
        </p>
      ))}
      {rollout && (
        <p class="note">
          {t(`rollout_${rollout.phase}` as Key)}, {age(rollout.began)}
          {rollout.pausedSince != null && `; ${t("paused")} ${age(rollout.pausedSince)}: ${rollout.pauseText ?? ""}`}
        </p>
      )}
    </Card>
  );
}

const BREAKER_SHAPE: Record<string, string> = { closed: "✓", probation: "◷", open: "■" };

// What evictions may still take of the pool, and whether they stopped it.
function Budget({ pool }: { pool: string }) {
  const { value, error } = useRead<Budgets>("/api/v1/budgets", 10_000);
  const of = value?.pools.find((each) => each.pool === pool);
  const row = (label: string, text: string) => (
    <div key={label}>
      <dt>{label}</dt>
      <dd>{text}</dd>
    </div>
  );
  return (
    <Card title={t("budgets")}>
      {error && !value && <Failure error={error} />}
      {value && !of && <p class="note">{t("budgetsNone")}</p>}
      {of && (
        <dl class="facts-list">
          {row(t("breaker"), `${BREAKER_SHAPE[of.breaker.phase] ?? ""} ${t(`breaker_${of.breaker.phase}` as Key)}`)}
          {of.lastHour && row(t("budgetHour"), number(of.lastHour.used))}
          {of.lastHour && row(t("budgetBack"), number(of.lastHour.preempted))}
          {of.perNodeHour !== undefined && row(t("budgetNode"), number(of.perNodeHour))}
          {of.jobsExhausted.length > 0 && row(t("budgetJobs"), of.jobsExhausted.join(", "))}
        </dl>
      )}
      {of?.exhausted && <p class="stopped"><span aria-hidden="true">◆</span> {t("budgetUsedUp")}</p>}
    </Card>
  );
}

// A pool that evictions stopped, and the order to go on.
function Stopped({ pool }: { pool: string }) {
  const { value } = useRead<Budgets>("/api/v1/budgets", 10_000);
  const breaker = value?.pools.find((each) => each.pool === pool)?.breaker;
  if (breaker?.phase !== "open") return null;
  const resume = () => {
    change.value = {
      title: t("resumePoolTitle", { name: pool }),
      help: t("resumePoolHelp"),
      confirm: t("resumePoolConfirm"),
      path: `/api/v1/pools/${encodeURIComponent(pool)}/resume`,
      done: t("requestLeft"),
    };
  };
  return (
    <div class="title-line" role="status">
      <p class="stopped">
        <span aria-hidden="true">◆</span> {t("stoppedPool", { age: breaker.since ? age(Date.parse(breaker.since) / 1000) : "" })}
      </p>
      {summary.value?.readOnly === false && (
        <button type="button" class="order" onClick={resume}>
          {t("resumePool")}
        </button>
      )}
    </div>
  );
}

export function PoolPage({ name }: { name: string }) {
  const target: Target = { scope: "pool", pool: name };
  const { value, error } = useRead<PoolDetail>(`/api/v1/pools/${encodeURIComponent(name)}`, 10_000);
  const week = value?.week;
  const series = useMemo(
    () =>
      week
        ? [
            { label: t("memory"), colour: "var(--muted)", dashed: true, stepped: true, values: week.memory },
            { label: t("cpu"), colour: "var(--water)", fill: "var(--online-soft)", stepped: true, values: week.cpu },
          ]
        : [],
    [week, language.value],
  );
  return (
    <>
      <div class="title-line">
        <Title>{name}</Title>
        <OrderButtons target={target} />
      </div>
      <Evictions target={target} />
      <Stopped pool={name} />
      {error && !value && <Failure error={error} />}
      {!value && !error && <p class="note">{t("loading")}</p>}
      {value && (
        <>
          <PoolCard pool={value.pool} linked={false} />
          <OverrideButtons pool={value.pool} />
          <PoolOrders detail={value} />
          <Card title={t("week")}>
            {week ? (
              <>
                <Plot label={t("week")} at={week.at} series={series} height={180} max={100} days format={(each) => `${each} %`} />
                <h3>{t("changes")}</h3>
                <ol class="changes">
                  {week.changes.map((change) => (
                    <li key={change.from}>{change.text}</li>
                  ))}
                </ol>
              </>
            ) : (
              <p class="note">{t("lineUnknown")}</p>
            )}
          </Card>
          <Rollout pool={name} />
          <Day pool={name} />
          <Budget pool={name} />
        </>
      )}
    </>
  );
}
