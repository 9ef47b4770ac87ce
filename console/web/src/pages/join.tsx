// Join and leave: nodes whose agent never reported, nodes that are only observed, and nodes that drain or are off with
// what is left on them; and what the doctor found that prevents offline work.
import type { NodeRow } from "@api";
import { age, number, t } from "../i18n";
import { Amount, Card, ReportMark, State, Title } from "../parts";
import { nodePath, poolPath } from "../router";
import { nodes, summary, tick } from "../store";
import { Table, type Column } from "../table";
import { Problems } from "./now";

function common(): Column<NodeRow>[] {
  return [
    { key: "name", title: t("node"), value: (row) => row.name, cell: (row) => <a href={nodePath(row.name)}>{row.name}</a> },
    { key: "pool", title: t("pool"), value: (row) => row.pool, cell: (row) => <a href={poolPath(row.pool)}>{row.pool}</a> },
    { key: "state", title: t("state"), value: (row) => row.state, cell: (row) => <State state={row.state} /> },
    { key: "report", title: t("report"), value: (row) => row.report, cell: (row) => <><ReportMark report={row.report} /> {row.reported !== null && <span class="note">{age(row.reported)}</span>}</> },
    { key: "cpu", title: `${t("capacity")} ${t("cpu")}`, number: true, value: (row) => row.cpuCapacity, cell: (row) => <Amount resource="cpu" value={row.cpuCapacity} /> },
    { key: "memory", title: `${t("capacity")} ${t("memory")}`, number: true, value: (row) => row.memoryCapacity, cell: (row) => <Amount resource="memory" value={row.memoryCapacity} /> },
  ];
}

// Whether no offline work is left and none is offered; null: unknown.
function isEmpty(row: NodeRow): boolean | null {
  if (row.tasks === null || row.cpuSold === null || row.memorySold === null) return null;
  return row.tasks === 0 && row.cpuSold === 0 && row.memorySold === 0 && row.cpuOffered === 0 && row.memoryOffered === 0;
}

function leaving(): Column<NodeRow>[] {
  return [
    ...common().slice(0, 4),
    { key: "offered", title: t("offered"), number: true, value: (row) => row.cpuOffered, cell: (row) => <Amount resource="cpu" value={row.cpuOffered} /> },
    { key: "sold", title: t("sold"), number: true, value: (row) => row.cpuSold, cell: (row) => <Amount resource="cpu" value={row.cpuSold} /> },
    { key: "tasks", title: t("tasks"), number: true, value: (row) => row.tasks, cell: (row) => (row.tasks === null ? <span class="unknown">{t("unknown")}</span> : number(row.tasks)) },
    {
      key: "empty",
      title: t("isEmpty"),
      value: (row) => (isEmpty(row) === null ? null : isEmpty(row) ? 1 : 0),
      cell: (row) => {
        const empty = isEmpty(row);
        if (empty === null) return <span class="unknown">{t("unknown")}</span>;
        return (
          <span class={`mark ${empty ? "report-fresh" : "report-stale"}`}>
            <span aria-hidden="true">{empty ? "✓" : "◷"}</span> {t(empty ? "yes" : "no")}
          </span>
        );
      },
    },
  ];
}

function Group(props: { title: string; help: string; rows: NodeRow[]; columns: Column<NodeRow>[]; known: boolean }) {
  return (
    <Card title={props.title} side={props.known && <span class="note">{t("nodesCount", { n: number(props.rows.length) })}</span>}>
      <p class="note lead">{props.help}</p>
      {!props.known && <p class="unknown">{t("unknown")}</p>}
      {props.known && props.rows.length > 0 && <Table label={props.title} columns={props.columns} rows={props.rows} rowKey={(row) => row.name} />}
    </Card>
  );
}

export function Join() {
  tick.value;
  const all = nodes.value;
  const read = (name: string) => summary.value?.sources.some((source) => source.name === name && source.read) ?? false;
  return (
    <>
      <Title>{t("join")}</Title>
      <Group title={t("notIn")} help={t("notInHelp")} rows={all.filter((row) => row.report === "missing" && row.state !== "off")} columns={common()} known={read("nodes") && read("nodeMetrics")} />
      <Group title={t("observed")} help={t("observedHelp")} rows={all.filter((row) => row.state === "observe")} columns={common()} known={read("nodes") && read("settings")} />
      <Group title={t("leaving")} help={t("leavingHelp")} rows={all.filter((row) => row.state === "draining" || row.state === "off")} columns={leaving()} known={read("nodes") && read("settings")} />
      <Problems title={t("preflight")} />
    </>
  );
}
