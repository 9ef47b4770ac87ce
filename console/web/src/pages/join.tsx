// Join and leave: nodes whose agent never reported, nodes that are only observed, nodes that sell, and nodes that drain
// or are off with what is left on them. Several nodes can be chosen for one order.
import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { NodeRow, PoolLabelled, Pools } from "@api";
import { send, useRead } from "../api";
import { age, language, number, t, type Key } from "../i18n";
import { Evictions, NODES_OF_ORDER_MAX, OrderButtons } from "../orders";
import { Amount, Card, ReportMark, State, Title, Words } from "../parts";
import { nodePath, poolPath } from "../router";
import { findingsOf, nodes, problems, summary, tick } from "../store";
import { Table, type Column } from "../table";
import { Problems } from "./now";

const chosen = signal<ReadonlySet<string>>(new Set());

function choose(names: string[], on: boolean) {
  const next = new Set(chosen.value);
  for (const name of names) {
    if (!on) next.delete(name);
    else if (next.size < NODES_OF_ORDER_MAX) next.add(name);
  }
  chosen.value = next;
}

function DoctorOf({ name }: { name: string }) {
  if (!problems.value) return <span class="unknown">{t("unknown")}</span>;
  const found = findingsOf(name);
  if (found.length === 0) return <span class="note">{t("doctorNone")}</span>;
  return (
    <span class="wrap">
      {found.map((each) => (
        <span key={each.fact} class={`mark severity-${each.severity}`}>
          <span aria-hidden="true">{each.severity === "bad" ? "▲" : "◆"}</span> {t(`severity_${each.severity}` as Key)}: {each.what}{" "}
        </span>
      ))}
    </span>
  );
}

function common(): Column<NodeRow>[] {
  const picked = chosen.value;
  const writes = summary.value?.readOnly === false;
  return [
    {
      key: "name", title: t("node"), value: (row) => row.name,
      cell: (row) => (
        <span class="choose">
          {writes && <input type="checkbox" aria-label={t("choose", { name: row.name })} checked={picked.has(row.name)} onChange={(event) => choose([row.name], event.currentTarget.checked)} />}
          <a href={nodePath(row.name)}>{row.name}</a>
        </span>
      ),
    },
    { key: "pool", title: t("pool"), value: (row) => row.pool, cell: (row) => <a href={poolPath(row.pool)}>{row.pool}</a> },
    { key: "state", title: t("state"), value: (row) => row.state, cell: (row) => <State state={row.state} /> },
    { key: "report", title: t("report"), value: (row) => row.report, cell: (row) => <><ReportMark report={row.report} /> {row.reported !== null && <span class="note">{age(row.reported)}</span>}</> },
  ];
}

function joining(): Column<NodeRow>[] {
  return [
    ...common(),
    { key: "doctor", title: t("doctorSays"), value: (row) => findingsOf(row.name).length, cell: (row) => <DoctorOf name={row.name} /> },
    { key: "cpu", title: `${t("capacity")} ${t("cpu")}`, number: true, value: (row) => row.cpuCapacity, cell: (row) => <Amount resource="cpu" value={row.cpuCapacity} /> },
    { key: "memory", title: `${t("capacity")} ${t("memory")}`, number: true, value: (row) => row.memoryCapacity, cell: (row) => <Amount resource="memory" value={row.memoryCapacity} /> },
  ];
}

// Whether no offline work is left and none is offered; null: unknown.
function isEmpty(row: NodeRow): boolean | null {
  if (row.tasks === null || row.cpuSold === null || row.memorySold === null) return null;
  return row.tasks === 0 && row.cpuSold === 0 && row.memorySold === 0 && row.cpuOffered === 0 && row.memoryOffered === 0;
}

const amounts = (): Column<NodeRow>[] => [
  { key: "offered", title: t("offered"), number: true, value: (row) => row.cpuOffered, cell: (row) => <Amount resource="cpu" value={row.cpuOffered} /> },
  { key: "sold", title: t("sold"), number: true, value: (row) => row.cpuSold, cell: (row) => <Amount resource="cpu" value={row.cpuSold} /> },
  { key: "tasks", title: t("tasks"), number: true, value: (row) => row.tasks, cell: (row) => (row.tasks === null ? <span class="unknown">{t("unknown")}</span> : number(row.tasks)) },
];

function leaving(): Column<NodeRow>[] {
  return [
    ...common(),
    ...amounts(),
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
  const writes = summary.value?.readOnly === false;
  return (
    <Card
      title={props.title}
      side={
        props.known && (
          <div class="tools">
            <span class="note">{t("nodesCount", { n: number(props.rows.length) })}</span>
            {writes && props.rows.length > 0 && (
              <button type="button" class="quiet" onClick={() => choose(props.rows.map((row) => row.name), true)}>
                {t("chooseAll", { n: number(props.rows.length) })}
              </button>
            )}
          </div>
        )
      }
    >
      <p class="note lead">{props.help}</p>
      {!props.known && <p class="unknown">{t("unknown")}</p>}
      {props.known && props.rows.length > 0 && <Table label={props.title} columns={props.columns} rows={props.rows} rowKey={(row) => row.name} />}
    </Card>
  );
}

const labelling = signal<string[] | null>(null); // nodes whose pool the dialog sets
const POOL_NODES_MAX = 200; // the API takes no more names at once
const LISTED = 20; // nodes that the dialog names

// First the pool, then what the API server says each node would be in, then the write.
function PoolForm({ names, close }: { names: string[]; close: () => void }) {
  const pools = useRead<Pools>("/api/v1/pools", 60_000).value?.pools.map((each) => each.name) ?? [];
  const [pool, setPool] = useState("");
  const [tried, setTried] = useState<PoolLabelled | null>(null);
  const [error, setError] = useState("");
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => heading.current?.focus(), []);
  const wanted = pool || pools[0] || "";
  const ask = async (dryRun: boolean) => {
    setError("");
    try {
      setTried(await send<PoolLabelled>("/api/v1/pool-labels", { nodes: names, pool: wanted, dryRun }));
    } catch (failure) {
      setError(t("refused", { why: (failure as Error).message }));
    }
  };
  const over = tried?.dryRun === false;
  const wrong = tried?.nodes.filter((each) => each.problem) ?? [];
  const listed = [...wrong, ...(tried?.nodes.filter((each) => !each.problem) ?? [])]; // a problem is never left off for another node
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void ask(tried === null);
      }}
    >
      <h2 ref={heading} tabIndex={-1}>{t("poolOfChosen", { n: number(names.length) })}</h2>
      <p class="note"><Words text={t("poolLabelHelp")} /></p>
      <label>
        {t("pool")}
        <select value={wanted} disabled={over} onChange={(event) => { setPool(event.currentTarget.value); setTried(null); }}>
          {pools.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <div aria-live="polite">
        {over && <p>{t("poolLabelDone")}</p>}
        {wrong.length > 0 && <p class="failure">{t("poolLabelWrong", { n: number(wrong.length), total: number(listed.length) })}</p>}
        {tried && (
          <ul class="says">
            {listed.slice(0, LISTED).map((each) => (
              <li key={each.name}>
                {each.name}: {each.before} → {each.after}
                {each.problem && <p class="failure">{each.problem}</p>}
              </li>
            ))}
          </ul>
        )}
        {listed.length > LISTED && <p class="note">{t("more", { n: number(listed.length - LISTED) })}</p>}
      </div>
      {error && <p class="failure" role="alert">{error}</p>}
      <div class="buttons">
        <button type="button" class="quiet" onClick={close}>
          {t(over ? "close" : "cancel")}
        </button>
        {!over && (
          <button type="submit" class="order" disabled={wanted === "" || wrong.length > 0}>
            {t(tried ? "poolLabelSet" : "next")}
          </button>
        )}
      </div>
    </form>
  );
}

function PoolDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const names = labelling.value;
  useEffect(() => {
    if (names) dialog.current?.showModal();
    else dialog.current?.close();
  }, [names]);
  return (
    <dialog ref={dialog} class="order-dialog" {...(names ? { "aria-label": t("poolOfChosen", { n: number(names.length) }) } : {})} onClose={() => (labelling.value = null)}>
      {names && <PoolForm names={names} close={() => (labelling.value = null)} />}
    </dialog>
  );
}

// Orders for the chosen nodes, and the stored progress of what drains.
function Chosen() {
  const names = [...chosen.value].filter((name) => nodes.value.some((row) => row.name === name)).sort();
  if (summary.value?.readOnly !== false) return null;
  return (
    <Card
      title={t("chosen", { n: number(names.length) })}
      side={
        names.length > 0 && (
          <div class="tools">
            {names.length > POOL_NODES_MAX ? (
              <span class="note">{t("poolLabelMany", { n: number(POOL_NODES_MAX) })}</span>
            ) : (
              <button type="button" class="order" onClick={() => (labelling.value = names)}>
                {t("poolLabel")}
              </button>
            )}
            <OrderButtons target={{ scope: "node", nodes: names }} />
            <button type="button" class="quiet" onClick={() => (chosen.value = new Set())}>
              {t("clearChoice")}
            </button>
          </div>
        )
      }
    >
      <p class="note"><Words text={t("chosenHelp")} /></p>
    </Card>
  );
}

export function Join() {
  tick.value;
  const all = nodes.value;
  const groups = useMemo(
    () => ({
      notIn: all.filter((row) => row.report === "missing" && row.state !== "off"),
      observed: all.filter((row) => row.state === "observe"),
      leaving: all.filter((row) => row.state === "draining" || row.state === "off"),
      selling: all.filter((row) => row.state === "on" && row.report !== "missing"),
    }),
    [all],
  );
  const columns = useMemo(
    () => ({ joining: joining(), leaving: leaving(), selling: [...common(), ...amounts()] }),
    [chosen.value, problems.value, summary.value?.readOnly, language.value],
  );
  const read = (name: string) => summary.value?.sources.some((source) => source.name === name && source.read) ?? false;
  const known = read("nodes") && read("settings");
  return (
    <>
      <Title>{t("join")}</Title>
      <p class="note lead">{t("joinSteps")} {t("leaveSteps")}</p>
      <Chosen />
      <PoolDialog />
      <Evictions target={{ scope: "cluster" }} />
      <Group title={t("notIn")} help={t("notInHelp")} rows={groups.notIn} columns={columns.joining} known={read("nodes") && read("nodeMetrics")} />
      <Group title={t("observed")} help={t("observedHelp")} rows={groups.observed} columns={columns.joining} known={known} />
      <Group title={t("leaving")} help={t("leavingHelp")} rows={groups.leaving} columns={columns.leaving} known={known} />
      <Group title={t("selling")} help={t("sellingHelp")} rows={groups.selling} columns={columns.selling} known={known} />
      <Problems title={t("preflight")} />
    </>
  );
}
