// The platform: components and versions, leaders, certificates, what the console holds, and kernels with what their
// agents report.
import type { ComponentPods, KernelFamily, LeaderLease, Platform as PlatformAnswer, Source, TrustedAuthority } from "@api";
import { useRead } from "../api";
import { age, duration, moment, number, serverNow, t, type Key } from "../i18n";
import { Card, Failure, Title } from "../parts";
import { nodePath } from "../router";
import { summary, tick } from "../store";
import { Table, type Column } from "../table";

const SOON_SECONDS = 30 * 86400;

type Part<Row> = { error: string | null; rows: Row[] | null };

function PartTable<Row>(props: { title: string; part: Part<Row>; none: string; columns: Column<Row>[]; rowKey: (row: Row) => string }) {
  const { part } = props;
  return (
    <Card title={props.title}>
      {part.rows === null && <p class="unknown">{t("unknownWhy", { why: part.error ?? "" })}</p>}
      {part.rows?.length === 0 && <p class="note">{props.none}</p>}
      {part.rows && part.rows.length > 0 && <Table label={props.title} columns={props.columns} rows={part.rows} rowKey={props.rowKey} />}
    </Card>
  );
}

function Good({ good, children }: { good: boolean; children: string }) {
  return (
    <span class={`mark ${good ? "report-fresh" : "report-stale"}`}>
      <span aria-hidden="true">{good ? "✓" : "◆"}</span> {children}
    </span>
  );
}

function componentColumns(): Column<ComponentPods>[] {
  return [
    { key: "component", title: t("component"), value: (each) => each.component },
    { key: "version", title: t("version"), value: (each) => each.version || null, cell: (each) => each.version || <span class="unknown">{t("unknown")}</span> },
    { key: "ready", title: t("readyPods"), number: true, value: (each) => each.ready, cell: (each) => <Good good={each.ready === each.pods}>{`${number(each.ready)} / ${number(each.pods)}`}</Good> },
    { key: "restarts", title: t("restarts"), number: true, value: (each) => each.restarts, cell: (each) => number(each.restarts) },
    { key: "youngest", title: t("lastStart"), value: (each) => each.youngest, cell: (each) => age(each.youngest) },
    { key: "notReady", title: t("notReadyPods"), value: (each) => each.notReady.join(" ") || null },
  ];
}

function leaseColumns(): Column<LeaderLease>[] {
  const leads = (each: LeaderLease) => each.holder !== "" && each.renewed !== null && each.lastsSeconds !== null && serverNow() - each.renewed <= each.lastsSeconds;
  return [
    { key: "name", title: t("lease"), value: (each) => each.name },
    { key: "holder", title: t("leader"), value: (each) => each.holder || null, cell: (each) => <Good good={leads(each)}>{each.holder || t("none")}</Good> },
    { key: "renewed", title: t("renewed"), value: (each) => each.renewed, cell: (each) => age(each.renewed) },
    { key: "acquired", title: t("since"), value: (each) => each.acquired, cell: (each) => age(each.acquired) },
    { key: "transitions", title: t("transitions"), number: true, value: (each) => each.transitions, cell: (each) => number(each.transitions) },
  ];
}

function authorityColumns(): Column<TrustedAuthority>[] {
  return [
    { key: "object", title: t("object"), value: (each) => each.object },
    {
      key: "until",
      title: t("expires"),
      value: (each) => each.until,
      cell: (each) =>
        each.until === null ? <span class="unknown">{t("unknownWhy", { why: each.problem })}</span> : <Good good={each.until - serverNow() > SOON_SECONDS}>{`${moment(each.until)} (${duration(each.until - serverNow())})`}</Good>,
    },
  ];
}

function sourceColumns(): Column<Source>[] {
  return [
    { key: "name", title: t("object"), value: (each) => each.name, cell: (each) => t(`source_${each.name}` as Key) },
    { key: "objects", title: t("held"), number: true, value: (each) => (each.read ? each.objects : null), cell: (each) => (each.read ? number(each.objects) : <span class="unknown">{t("unknown")}</span>) },
    { key: "silent", title: t("lastAnswer"), value: (each) => each.silentSeconds, cell: (each) => (!each.read ? <span class="unknown">{t("neverRead")}</span> : each.silentSeconds === null ? <Good good>{t("live")}</Good> : <Good good={false}>{t("ago", { age: duration(each.silentSeconds) })}</Good>) },
    { key: "incomplete", title: t("complete"), value: (each) => (each.incomplete ? 0 : 1), cell: (each) => t(each.incomplete ? "no" : "yes") },
  ];
}

function Kernel({ family }: { family: KernelFamily }) {
  return (
    <section class="kernel" aria-label={family.family}>
      <h3>
        {family.family || t("unknown")} <span class="note">{t("nodesCount", { n: number(family.nodes) })}</span>
      </h3>
      <p class="note">{family.releases.map((each) => `${each.release || t("unknown")} (${number(each.nodes)})`).join(", ")}</p>
      <ul class="says">
        {family.agents.map((group) => (
          <li key={`${group.reason} ${group.kernelFiles}`}>
            {group.reason === null ? <span class="unknown">{t("agentNever")}</span> : <strong>{group.reason}</strong>} {t("nodesCount", { n: number(group.nodes) })}
            {group.changed !== null && <span class="note"> {t("changedAgo", { age: duration(serverNow() - group.changed) })}</span>}
            {group.kernelFiles && (
              <p>
                {t("kernelFiles")}: {group.kernelFiles}
              </p>
            )}
            <p class="names">
              {group.names.map((name) => (
                <a key={name} href={nodePath(name)}>
                  {name}
                </a>
              ))}
              {group.nodes > group.names.length && <span>{t("more", { n: number(group.nodes - group.names.length) })}</span>}
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function Platform() {
  const { value, error } = useRead<PlatformAnswer>("/api/v1/platform", 10_000);
  tick.value;
  return (
    <>
      <Title>{t("platform")}</Title>
      {error && !value && <Failure error={error} />}
      {!value && !error && <p class="note">{t("loading")}</p>}
      {value && (
        <>
          <PartTable title={t("components")} part={value.components} none={t("noComponents")} columns={componentColumns()} rowKey={(each) => `${each.component} ${each.version}`} />
          <PartTable title={t("leaders")} part={value.leases} none={t("noLeases")} columns={leaseColumns()} rowKey={(each) => each.name} />
          <PartTable title={t("certificates")} part={value.authorities} none={t("noAuthorities")} columns={authorityColumns()} rowKey={(each) => each.object} />
          <Card title={t("kernels")}>
            {value.kernels.length === 0 && <p class="note">{t("none")}</p>}
            {value.kernels.map((family) => (
              <Kernel key={family.family} family={family} />
            ))}
          </Card>
          <Card title={t("consoleItself")} side={<span class="note">{value.version}</span>}>
            <Table label={t("consoleItself")} columns={sourceColumns()} rows={summary.value?.sources ?? []} rowKey={(each) => each.name} />
          </Card>
        </>
      )}
    </>
  );
}
