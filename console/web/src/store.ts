// What the page knows of the cluster: the snapshot and the deltas of the event stream, nodes as columns.
import { computed, signal } from "@preact/signals";
import { NODE_COLUMNS, type Delta, type Eviction, type NodeRow, type Problems, type Snapshot, type Summary } from "@api";
import { serverOffset } from "./i18n";

export const summary = signal<Summary | null>(null);
export const problems = signal<Problems | null>(null);
export const evictions = signal<Eviction[]>([]); // stored progress of off with eviction, the latest first
export type Connection = "connecting" | "live" | "lost";
export const connection = signal<Connection>("connecting");
export const lastFrame = signal(0); // on this machine's clock, in milliseconds
export const tick = signal(0); // each second: ages move on

// Rows by name, and the version by which views know that they changed.
const rows = new Map<string, NodeRow>();
export const nodesVersion = signal(0);

const order = computed(() => {
  nodesVersion.value;
  return [...rows.values()].sort((a, b) => compare(a.pool, b.pool) || compare(a.name, b.name));
});
// By pool, then by name.
export const nodes = order;

export const poolNames = computed(() => [...new Set(nodes.value.map((row) => row.pool))]);

export function nodeByName(name: string): NodeRow | undefined {
  nodesVersion.value;
  return rows.get(name);
}

const collator = new Intl.Collator("en", { numeric: true });
export function compare(a: string, b: string): number {
  return collator.compare(a, b);
}

function takeSummary(next: Summary) {
  summary.value = next;
  serverOffset.value = next.time - Date.now() / 1000;
}

function takeSnapshot(next: Snapshot) {
  rows.clear();
  const columns = next.nodes.columns as unknown as Record<string, unknown[]>;
  const names = columns["name"] as string[];
  for (let i = 0; i < names.length; ++i) {
    const row: Record<string, unknown> = {};
    for (const column of NODE_COLUMNS) row[column] = columns[column]![i];
    rows.set(names[i]!, row as NodeRow);
  }
  takeSummary(next.summary);
  problems.value = next.problems;
  evictions.value = next.evictions;
  nodesVersion.value += 1;
}

function takeDelta(next: Delta) {
  for (const values of next.rows) {
    const row: Record<string, unknown> = {};
    NODE_COLUMNS.forEach((column, i) => (row[column] = (values as unknown[])[i]));
    rows.set((row as NodeRow).name, row as NodeRow);
  }
  for (const name of next.gone) rows.delete(name);
  takeSummary(next.summary);
  if (next.problems) problems.value = next.problems;
  if (next.evictions) evictions.value = next.evictions;
  if (next.rows.length > 0 || next.gone.length > 0) nodesVersion.value += 1;
}

const SILENCE_MS = 40_000; // the server sends at least a comment each 15 s; the browser does not show comments
const RETRY_MS = 2_000;

// EventSource resumes by itself with Last-Event-ID. After a refusal (the console restarted) it gives up: then a new one
// is opened.
// A stream that is refused may mean that the session is over: `refused` finds out.
export function connect(refused: () => void) {
  let source: EventSource | null = null;
  const received = () => {
    lastFrame.value = Date.now();
    connection.value = "live";
  };
  const open = () => {
    source = new EventSource("/api/v1/stream");
    source.addEventListener("snapshot", (event) => {
      takeSnapshot(JSON.parse((event as MessageEvent<string>).data) as Snapshot);
      received();
    });
    source.addEventListener("delta", (event) => {
      takeDelta(JSON.parse((event as MessageEvent<string>).data) as Delta);
      received();
    });
    source.addEventListener("open", () => {
      if (lastFrame.value > 0) received();
    });
    source.addEventListener("error", () => {
      connection.value = lastFrame.value > 0 ? "lost" : "connecting";
      if (source?.readyState !== EventSource.CLOSED) return;
      refused();
      setTimeout(open, RETRY_MS);
    });
  };
  open();
  // After a sleep of the laptop the old connection may look open for minutes.
  let before = Date.now();
  setInterval(() => {
    const now = Date.now();
    if (now - before > SILENCE_MS) {
      source?.close();
      connection.value = "lost";
      open();
    }
    before = now;
    tick.value += 1;
  }, 1000);
}
