// What the search finds by the API: offline tasks, online workloads and Spark runs.
import type { Offline, Online } from "@api";
import { read } from "./api";
import { t } from "./i18n";
import { readRuns } from "./pages/spark";
import type { Hit } from "./search";

const OF_A_KIND_MAX = 5;

async function tasks(wanted: string, signal: AbortSignal): Promise<Hit[]> {
  const answer = await read<Offline>(`/api/v1/offline?${new URLSearchParams({ q: wanted, limit: String(OF_A_KIND_MAX) })}`, signal);
  return answer.tasks.map((task) => ({ text: `${task.namespace}/${task.name}`, kind: t("task"), path: `/offline?${new URLSearchParams({ q: `${task.namespace}/${task.name}` })}` }));
}

// The list of all workloads, kept while a person types.
const WORKLOADS_MS = 30_000; // as long as the console keeps it
let listed: { at: number; answer: Promise<Online> } | null = null;
function allWorkloads(): Promise<Online> {
  if (listed && Date.now() - listed.at < WORKLOADS_MS) return listed.answer;
  const own = { at: Date.now(), answer: read<Online>("/api/v1/online") };
  own.answer.catch(() => listed === own && (listed = null));
  return (listed = own).answer;
}

async function workloads(wanted: string): Promise<Hit[]> {
  const answer = await allWorkloads();
  const names = answer.workloads.map((each) => each.name).filter((name) => name.toLowerCase().includes(wanted));
  return names.slice(0, OF_A_KIND_MAX).map((name) => ({ text: name, kind: t("workload"), path: `/online?${new URLSearchParams({ workload: name })}` }));
}

// Of a gateway that needs the person's token, only once the page Spark has it.
async function runs(wanted: string, signal: AbortSignal): Promise<Hit[]> {
  const answer = await readRuns(signal);
  if (!("runs" in answer)) return [];
  const named = answer.runs.map((run) => `${run.id} ${run.name}`).filter((name) => name.toLowerCase().includes(wanted));
  return named.slice(0, OF_A_KIND_MAX).map((name) => ({ text: name, kind: t("sparkRun"), path: `/spark?${new URLSearchParams({ q: name })}` }));
}

// `wanted` is in lower case. Each kind of its own: a slow one does not delay the others.
export function find(wanted: string, signal: AbortSignal): Promise<Hit[]>[] {
  return [tasks, workloads, runs].map((each) => each(wanted, signal));
}
