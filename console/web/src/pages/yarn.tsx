// YARN's side of the nodes: what it is offered, what its ResourceManager confirmed, what its containers hold; and the
// state of each ResourceManager.
import { useMemo } from "preact/hooks";
import type { Yarn as YarnAnswer, YarnAmount, YarnCluster, YarnManager, YarnNode } from "@api";
import { useRead } from "../api";
import { age, amount, language, number, t, type Key } from "../i18n";
import { Amount, Card, Failure, Title } from "../parts";
import { NODES_OF_ORDER_MAX, OrderButtons } from "../orders";
import { nodePath, query, setQuery } from "../router";
import { summary, tick } from "../store";
import { PartTable, Table, type Column } from "../table";

const clusterName = (name: string) => name || t("unknown");

// CPU and memory of an amount as two columns.
function pair<Row>(key: string, title: string, of: (row: Row) => YarnAmount | null): Column<Row>[] {
  return (["cpu", "memory"] as const).map((resource) => ({
    key: `${key}-${resource}`,
    title: `${title} ${t(resource)}`,
    number: true,
    value: (row) => of(row)?.[resource] ?? null,
    cell: (row) => <Amount resource={resource} value={of(row)?.[resource]} />,
  }));
}

function clusterColumns(): Column<YarnCluster>[] {
  return [
    { key: "name", title: t("cluster"), value: (each) => each.name, cell: (each) => <a href={`/yarn?cluster=${encodeURIComponent(each.name)}`}>{clusterName(each.name)}</a> },
    { key: "nodes", title: t("nodes"), number: true, value: (each) => each.nodes, cell: (each) => number(each.nodes) },
    ...pair("offered", t("offered"), (each: YarnCluster) => each.offered),
    ...pair("held", t("heldByYarn"), (each: YarnCluster) => each.held),
    { key: "unconfirmed", title: t("unconfirmed"), number: true, value: (each) => each.unconfirmed, cell: (each) => number(each.unconfirmed) },
    { key: "withoutHeld", title: t("heldUnknown"), number: true, value: (each) => each.withoutHeld, cell: (each) => number(each.withoutHeld) },
    { key: "contested", title: t("contested"), number: true, value: (each) => each.contested, cell: (each) => (each.contested === null ? <span class="unknown">{t("unknown")}</span> : number(each.contested)) },
  ];
}

const RM_STATES: Record<string, { shape: string; report: string }> = {
  active: { shape: "●", report: "fresh" },
  standby: { shape: "○", report: "fresh" },
  initializing: { shape: "◷", report: "stale" },
  away: { shape: "▲", report: "missing" },
};

function ManagerState({ of }: { of: YarnManager }) {
  if (of.state === null) return <span class="unknown">{t("unknownSince", { age: age(of.reported) })}</span>;
  const known = RM_STATES[of.state];
  return (
    <span class={`mark report-${known?.report ?? "stale"}`}>
      <span aria-hidden="true">{known?.shape ?? "◆"}</span> {known ? t(`rm_${of.state}` as Key) : of.state}
    </span>
  );
}

function managerColumns(): Column<YarnManager>[] {
  return [
    { key: "cluster", title: t("cluster"), value: (each) => each.cluster },
    { key: "id", title: "ResourceManager", value: (each) => each.id || each.address, cell: (each) => (each.id ? `${each.id} (${each.address})` : each.address) },
    { key: "state", title: t("status"), value: (each) => each.state, cell: (each) => <ManagerState of={each} /> },
    { key: "since", title: t("since"), value: (each) => (each.state === null ? null : each.since), cell: (each) => (each.state === null ? "–" : age(each.since)) },
  ];
}

function nodeColumns(): Column<YarnNode>[] {
  return [
    { key: "node", title: t("node"), value: (each) => each.node, cell: (each) => <a href={nodePath(each.node)}>{each.node}</a> },
    { key: "manager", title: "NodeManager", value: (each) => each.nodeManager || null, cell: (each) => each.nodeManager || <span class="unknown">{t("unknown")}</span> },
    ...pair("offered", t("offered"), (each: YarnNode) => each.offered),
    ...pair("held", t("heldByYarn"), (each: YarnNode) => each.held),
    {
      key: "confirmed",
      title: t("confirmedByRm"),
      value: (each) => (each.isConfirmed === null ? null : each.isConfirmed ? 1 : 0),
      cell: (each) =>
        each.isConfirmed === null ? (
          <span class="unknown">{t("unknown")}</span>
        ) : (
          <span class={`mark ${each.isConfirmed ? "report-fresh" : "report-stale"}`}>
            <span aria-hidden="true">{each.isConfirmed ? "✓" : "◷"}</span> {each.isConfirmed ? t("yes") : t("onItsWay", { cpu: amount("cpu", each.confirmed?.cpu) })}
          </span>
        ),
    },
    { key: "waiting", title: t("waitingClass"), value: (each) => each.waiting || null },
    {
      key: "contested",
      title: t("contested"),
      value: (each) => each.contestedAt,
      cell: (each) =>
        each.contestedAt === null ? (
          each.problem ? <span class="wrap">{each.problem}</span> : "–"
        ) : (
          <span class="wrap">
            <span class="mark report-missing"><span aria-hidden="true">▲</span> {age(each.contestedAt)}</span> {each.contest}
          </span>
        ),
    },
  ];
}

export function Yarn() {
  const { value, error } = useRead<YarnAnswer>("/api/v1/yarn", 5000);
  tick.value;
  const writes = summary.value?.readOnly === false;
  const chosen = query.value.get("cluster");
  const rows = useMemo(() => value?.nodes.filter((each) => chosen === null || each.cluster === chosen) ?? [], [value, chosen]);
  const columns = useMemo(nodeColumns, [language.value]);
  return (
    <>
      <Title>YARN</Title>
      {error && !value && <Failure error={error} />}
      {!value && !error && <p class="note">{t("loading")}</p>}
      {value && (
        <>
          <Card title={t("clusters")}>
            {value.clusters.length === 0 ? <p class="note">{t("noYarn")}</p> : <Table label={t("clusters")} columns={clusterColumns()} rows={value.clusters} rowKey={(each) => each.name} sort="name" />}
            {value.eventsError && <p class="failure">{t("contestUnknown", { why: value.eventsError })}</p>}
          </Card>
          <PartTable title={t("resourceManagers")} part={value.managers} none={t("rmNone")} columns={managerColumns()} rowKey={(each) => `${each.cluster} ${each.address}`} />
          {value.nodes.length > 0 && (
            <Card
              title={t("nodes")}
              side={
                chosen !== null && (
                 <div class="tools">
                  {rows.length <= NODES_OF_ORDER_MAX && <OrderButtons target={{ scope: "node", nodes: rows.map((each) => each.node) }} />}
                  <button type="button" class="quiet" onClick={() => setQuery("cluster", "")}>
                    {t("allClusters")}
                  </button>
                 </div>
                )
              }
            >
              <p class="note count">{t("nodesCount", { n: number(rows.length) })}</p>
              {chosen !== null && writes && <p class="note">{t(rows.length <= NODES_OF_ORDER_MAX ? "yarnOrders" : "yarnOrdersMany", { n: number(NODES_OF_ORDER_MAX) })}</p>}
              <Table label={t("nodes")} columns={columns} rows={rows} rowKey={(each) => each.node} sort="node" />
            </Card>
          )}
        </>
      )}
    </>
  );
}
