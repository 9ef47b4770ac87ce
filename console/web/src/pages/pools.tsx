// Pools: their water lines now, and for one pool the next seven days.
import { useMemo } from "preact/hooks";
import type { Line, Pool, PoolDetail, Pools as PoolsAnswer } from "@api";
import { useRead } from "../api";
import { amount, amountWithUnit, moment, number, percent, t, type Key } from "../i18n";
import { Bar, Card, Failure, State, Title } from "../parts";
import { Evictions, OrderButtons, useOrderKey, type Target } from "../orders";
import { Plot } from "../plot";
import { poolPath } from "../router";

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
          <dd>{pool.mode}</dd>
        </div>
        <div>
          <dt>{t("settings")}</dt>
          <dd>{pool.profile}</dd>
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

export function PoolPage({ name }: { name: string }) {
  const target: Target = { scope: "pool", pool: name };
  useOrderKey(target);
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
    [week],
  );
  return (
    <>
      <div class="title-line">
        <Title>{name}</Title>
        <OrderButtons target={target} />
      </div>
      <Evictions target={target} />
      {error && !value && <Failure error={error} />}
      {!value && !error && <p class="note">{t("loading")}</p>}
      {value && (
        <>
          <PoolCard pool={value.pool} linked={false} />
          <Card title={t("week")} side={<p class="states"><span><span class="swatch swatch-line" aria-hidden="true" /> {t("cpu")}</span><span><span class="swatch swatch-dashed" aria-hidden="true" /> {t("memory")}</span></p>}>
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
        </>
      )}
    </>
  );
}
