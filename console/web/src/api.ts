// Reads of the API, repeated while a page is open.
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { Problem, Unknown } from "@api";

// A refusal of the server, with the field that is wrong and the whole answer.
export class Refused extends Error {
  constructor(message: string, readonly field: string, readonly status: number, readonly problem: Problem | null) {
    super(message);
  }
}

export async function read<T>(path: string, signal?: AbortSignal, headers: Record<string, string> = {}): Promise<T> {
  const answer = await fetch(path, { headers: { accept: "application/json", ...headers }, signal: signal ?? null });
  if (!answer.ok) {
    let detail = `${answer.status} ${answer.statusText}`;
    try {
      detail = ((await answer.json()) as Problem).detail || detail;
    } catch {
      // not a problem document: the status says enough
    }
    throw new Refused(detail, "", answer.status, null);
  }
  return (await answer.json()) as T;
}

// A write. The header shows the server that the page itself sends it.
async function write<T>(method: string, path: string, body: unknown, more: Record<string, string>, signal: AbortSignal | null = null): Promise<T> {
  const headers = { "content-type": "application/json", accept: "application/json", "x-tidemark-console": "1", ...more };
  const answer = await fetch(path, { method, headers, body: JSON.stringify(body), signal });
  if (answer.ok) return (await answer.json()) as T;
  let problem: Problem | null = null;
  try {
    problem = (await answer.json()) as Problem;
  } catch {
    // not a problem document: the status says enough
  }
  throw new Refused(problem?.detail ?? `${answer.status} ${answer.statusText}`, problem?.field ?? "", answer.status, problem);
}
export const send = <T>(path: string, body: unknown, key?: string) => write<T>("POST", path, body, key ? { "idempotency-key": key } : {});
// A dry run that `signal` ends.
export const tryOut = <T>(path: string, body: object, signal: AbortSignal) => write<T>("POST", path, { ...body, dryRun: true }, {}, signal);
// Only if what `path` answers still has this hash.
export const replace = <T>(path: string, body: unknown, hash: string) => write<T>("PUT", path, body, { "if-match": `"${hash}"` });

// Separates an answer from "the files beside the console do not reach".
export function known<T extends object>(answer: T | Unknown | null): { value: T | null; why: string | null } {
  if (answer === null) return { value: null, why: null };
  return "unknown" in answer ? { value: null, why: String(answer.unknown) } : { value: answer as T, why: null };
}

// Reads that fail while an earlier answer is shown: since when, in milliseconds, and why.
export const unanswered = signal<ReadonlyMap<string, { since: number; why: string }>>(new Map());
function setUnanswered(path: string, why: string | null) {
  const before = unanswered.value.get(path);
  if (why === null ? !before : before?.why === why) return;
  const next = new Map(unanswered.value);
  if (why === null) next.delete(path);
  else next.set(path, { since: before?.since ?? Date.now(), why });
  unanswered.value = next;
}

export type Loaded<T> = { value: T | null; error: string | null; at: number };

// What `path` answers, read again each `every` ms. The last good answer stays while a later read fails.
export function useRead<T>(path: string, every: number, headers?: Record<string, string>): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T> & { path: string }>({ value: null, error: null, at: 0, path });
  useEffect(() => {
    let answered = false;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    const next = async () => {
      try {
        const value = await read<T>(path, abort.signal, headers);
        setLoaded({ value, error: null, at: Date.now(), path });
        answered = true;
        setUnanswered(path, null);
      } catch (error) {
        if (abort.signal.aborted) return;
        setLoaded((before) => ({ ...before, error: (error as Error).message, path }));
        if (answered) setUnanswered(path, (error as Error).message);
      }
      if (!abort.signal.aborted) timer = setTimeout(next, document.hidden ? every * 5 : every);
    };
    setLoaded((before) => (before.path === path ? before : { value: null, error: null, at: 0, path }));
    void next();
    return () => {
      abort.abort();
      setUnanswered(path, null);
      clearTimeout(timer);
    };
  }, [path, every, headers]);
  return loaded;
}
