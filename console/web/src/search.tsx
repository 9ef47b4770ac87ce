// The search dialog: pages, pools and nodes by a part of their name, then what the API finds: tasks, online workloads and
// Spark runs.
import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { t } from "./i18n";
import { FURTHER, go, nodePath, poolPath } from "./router";
import { nodes, poolNames } from "./store";

export const searching = signal(false);
const HITS_MAX = 12;
const TYPED_MS = 200; // the API is asked when the typing pauses

export type Hit = { text: string; kind: string; path: string };

function hits(wanted: string): Hit[] {
  const out: Hit[] = [];
  const add = (name: string, kind: string, path: string) => {
    if (out.length < HITS_MAX && (wanted === "" || name.toLowerCase().includes(wanted))) out.push({ text: name, kind, path });
  };
  add(t("now"), t("pages"), "/");
  add(t("pools"), t("pages"), "/pools");
  add(t("offline"), t("pages"), "/offline");
  for (const each of FURTHER) add(t(each.key), t("pages"), each.path);
  for (const name of poolNames.value) add(name, t("pool"), poolPath(name));
  if (wanted !== "") for (const row of nodes.value) add(row.name, t("node"), nodePath(row.name));
  return out;
}

type Asked = { hits: Hit[]; open: number; errors: string[] };
const NOTHING_ASKED: Asked = { hits: [], open: 0, errors: [] };

// What the API finds, as its answers come.
function useAsked(wanted: string): Asked {
  const [asked, setAsked] = useState(NOTHING_ASKED);
  useEffect(() => {
    setAsked(wanted === "" ? NOTHING_ASKED : { ...NOTHING_ASKED, open: 1 });
    if (wanted === "") return;
    const abort = new AbortController();
    const take = (hits: Hit[], errors: string[], open: number) => {
      if (!abort.signal.aborted) setAsked((before) => ({ hits: [...before.hits, ...hits], errors: [...before.errors, ...errors], open: before.open + open }));
    };
    const timer = setTimeout(async () => {
      try {
        const answers = (await import("./further")).find(wanted, abort.signal);
        take([], [], answers.length - 1);
        for (const answer of answers) answer.then((found) => take(found, [], -1), (error: Error) => take([], [error.message], -1));
      } catch (error) {
        take([], [(error as Error).message], -1);
      }
    }, TYPED_MS);
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [wanted]);
  return asked;
}

export function Search() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const open = searching.value;
  // At once: what the person types behind `/` goes into the field.
  useLayoutEffect(() => {
    if (open) {
      setText("");
      setAt(0);
      dialog.current?.showModal();
    } else {
      dialog.current?.close();
    }
  }, [open]);
  const wanted = open ? text.trim().toLowerCase() : "";
  const asked = useAsked(wanted);
  const found = open ? [...hits(wanted), ...asked.hits] : [];
  const take = (hit: Hit | undefined) => {
    if (!hit) return;
    searching.value = false;
    go(hit.path);
  };
  return (
    <dialog ref={dialog} class="search" aria-label={t("search")} onClose={() => (searching.value = false)}>
      {open && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            take(found[at]);
          }}
        >
          <input
            type="text"
            role="combobox"
            aria-label={t("searchHint")}
            aria-expanded={found.length > 0}
            aria-controls="search-hits"
            aria-autocomplete="list"
            {...(found[at] ? { "aria-activedescendant": `hit-${at}` } : {})}
            placeholder={t("searchHint")}
            autocomplete="off"
            autofocus
            value={text}
            onInput={(event) => {
              setText(event.currentTarget.value);
              setAt(0);
            }}
            onKeyDown={(event) => {
              const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
              if (step === 0 || found.length === 0) return;
              event.preventDefault();
              setAt((at + step + found.length) % found.length);
            }}
          />
          <ul id="search-hits" role="listbox" aria-label={t("search")}>
            {found.map((hit, i) => (
              <li key={`${hit.kind} ${hit.path}`} id={`hit-${i}`} role="option" aria-selected={i === at} onClick={() => take(hit)} onMouseMove={() => setAt(i)}>
                <span>{hit.text}</span>
                <span class="note">{hit.kind}</span>
              </li>
            ))}
          </ul>
          <p class="note" role="status">
            {asked.open > 0 ? t("loading") : found.length === 0 ? t("searchNone") : ""}
          </p>
          {asked.errors.map((error) => (
            <p key={error} class="failure">
              {error}
            </p>
          ))}
          <button type="button" class="quiet" onClick={() => (searching.value = false)}>
            {t("close")}
          </button>
        </form>
      )}
    </dialog>
  );
}
