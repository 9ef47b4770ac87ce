// What the page knows of the cluster: the snapshot and the deltas of the event stream, nodes as columns.
import { computed, signal } from "@preact/signals";
import { NODE_COLUMNS, type Delta, type Eviction, type Finding, type NodeRow, type Orders, type Problems, type Snapshot, type Summary } from "@api";
import { read, Refused } from "./api";
import { serverOffset } from "./i18n";

export const summary = signal<Summary | null>(null);
export const problems = signal<Problems | null>(null);
export const evictions = signal<Eviction[]>([]); // stored progress of off with eviction, the latest first
export type Connection = "connecting" | "live" | "lost";
export const connection = signal<Connection>("connecting");
export const lastFrame = signal(0); // on this machine's clock, in milliseconds
export const tick = signal(0); // each second: ages move on
const RETRY_MS = 2_000;

// Rows by name, and the version by which views know that they changed.
const rows = new Map<string, NodeRow>();
export const nodesVersion = signal(0);

let sorted: string[] | null = null; // their names in order; null: to be sorted
const order = computed(() => {
  nodesVersion.value;
  sorted ??= [...rows.values()].sort((a, b) => compare(a.pool, b.pool) || compare(a.name, b.name)).map((row) => row.name);
  return sorted.map((name) => rows.get(name)!);
});
function keep(row: NodeRow) {
  if (rows.get(row.name)?.pool !== row.pool) sorted = null;
  rows.set(row.name, row);
}
// By pool, then by name.
export const nodes = order;

export const poolNames = computed(() => [...new Set(nodes.value.map((row) => row.pool))]);

export function nodeByName(name: string): NodeRow | undefined {
  nodesVersion.value;
  return rows.get(name);
}

// A number in a name counts as a number: web-9 before web-10. A collator does that too, but takes 0.3 s for 10,000 names.
const sortKeys = new Map<string, string>();
const SORT_KEYS_MAX = 50_000;
export function sortKey(text: string): string {
  let key = sortKeys.get(text);
  if (key === undefined) {
    key = text.toLowerCase().replace(/\d+/g, (digits) => digits.padStart(16, "0"));
    if (sortKeys.size >= SORT_KEYS_MAX) sortKeys.clear();
    sortKeys.set(text, key);
  }
  return key;
}

// Findings of the doctor that name the node and need attention. A finding about many nodes names some of them.
export function findingsOf(node: string): Finding[] {
  return (problems.value?.findings ?? []).filter((each) => each.severity !== "ok" && each.groups.some((group) => group.names.includes(node)));
}

function compare(a: string, b: string): number {
  const [x, y] = [sortKey(a), sortKey(b)];
  return x < y ? -1 : x > y ? 1 : 0;
}

function takeSummary(next: Summary) {
  summary.value = next;
  serverOffset.value = next.time - Date.now() / 1000;
}

// The stream does not have them: a person may be allowed to read nodes and pods only. Then none are shown.
let evictionsAsked = 0;
async function readEvictions() {
  const own = ++evictionsAsked;
  try {
    const next = (await read<Orders>("/api/v1/orders")).evictions;
    if (own === evictionsAsked) evictions.value = next;
  } catch (error) {
    if (error instanceof Refused && error.status < 500) evictions.value = [];
    else setTimeout(() => own === evictionsAsked && void readEvictions(), RETRY_MS);
  }
}

function takeSnapshot(next: Snapshot) {
  rows.clear();
  sorted = null;
  const columns = next.nodes.columns as unknown as Record<string, unknown[]>;
  const names = columns["name"] as string[];
  for (let i = 0; i < names.length; ++i) {
    const row: Record<string, unknown> = {};
    for (const column of NODE_COLUMNS) row[column] = columns[column]![i];
    keep(row as NodeRow);
  }
  takeSummary(next.summary);
  problems.value = next.problems;
  void readEvictions();
  nodesVersion.value += 1;
}

function takeDelta(next: Delta) {
  for (const values of next.rows) {
    const row: Record<string, unknown> = {};
    NODE_COLUMNS.forEach((column, i) => (row[column] = (values as unknown[])[i]));
    keep(row as NodeRow);
  }
  for (const name of next.gone) rows.delete(name);
  if (next.gone.length > 0) sorted = null;
  takeSummary(next.summary);
  if (next.problems) problems.value = next.problems;
  if (next.evictions) void readEvictions();
  if (next.rows.length > 0 || next.gone.length > 0) nodesVersion.value += 1;
}

const SILENCE_MS = 40_000; // the server sends at least a ping each 15 s
const LOST_MS = 5_000; // without a stream; a browser needs up to three seconds to resume one

// EventSource resumes by itself with Last-Event-ID. After a refusal (the console restarted) it gives up: then a new one
// is opened. A hidden tab has no stream, because a browser opens only six connections to one host over HTTP/1.1.
// A stream that is refused may mean that the session is over: `refused` finds out.
export function connect(refused: () => void) {
  let source: EventSource | null = null; // null: the tab is hidden
  let heard = 0; // or opened
  let missing = 0; // since when there is no stream; 0: there is one
  let last = ""; // id of the last frame
  const received = () => {
    heard = lastFrame.value = Date.now();
    missing = 0;
    connection.value = "live";
  };
  const open = () => {
    heard = Date.now();
    missing ||= heard;
    const own = (source = new EventSource(last ? `/api/v1/stream?${new URLSearchParams({ after: last })}` : "/api/v1/stream"));
    const take = <T>(type: string, use: (frame: T) => void) =>
      own.addEventListener(type, (event: MessageEvent<string>) => {
        use(JSON.parse(event.data) as T);
        last = event.lastEventId;
        received();
      });
    take("snapshot", takeSnapshot);
    take("delta", takeDelta);
    for (const type of ["ping", "open"]) own.addEventListener(type, () => lastFrame.value > 0 && received());
    own.addEventListener("again", () => {
      own.close();
      open();
    });
    own.addEventListener("error", () => {
      missing ||= Date.now();
      if (own.readyState !== EventSource.CLOSED) return;
      refused();
      setTimeout(() => source === own && open(), RETRY_MS);
    });
  };
  const show = () => {
    if (!document.hidden) {
      if (source === null) open();
      return;
    }
    source?.close();
    source = null;
    missing = 0;
  };
  document.addEventListener("visibilitychange", show);
  show();
  // After a sleep of the laptop, or in a network that drops packets, the old connection may look open for minutes.
  setInterval(() => {
    if (source !== null && source.readyState !== EventSource.CLOSED && Date.now() - heard > SILENCE_MS) {
      source.close();
      missing ||= heard;
      open();
    }
    if (missing > 0 && Date.now() - missing > LOST_MS) connection.value = lastFrame.value > 0 ? "lost" : "connecting";
    tick.value += 1;
  }, 1000);
}
