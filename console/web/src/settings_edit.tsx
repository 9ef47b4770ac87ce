// An edit of the settings: texts, all errors at their place, the plan, the write, and three versions if another person
// wrote meanwhile. A form may stand before the texts: it changes one of them.
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Plan, PlanNode, PlanSum, SettingsChanged, SettingsEdited, SettingsFault, SettingsInvalid, SettingsMaps, SettingsTexts } from "@api";
import { Refused, read, replace } from "./api";
import { bytes, cores, number, t } from "./i18n";
import { Card } from "./parts";
import { lineOf } from "./place";
import { Table, type Column } from "./table";
import { TextDiffs } from "./text_diff";

const TEXTS = "/api/v1/settings/texts";
const TIDEMARK = "tidemark-config";
const TIDEMARK_KEY = "config.yaml";

// JSON is laid out, so that an error has a line; a text that stays the same is sent as it was stored.
function laidOut(text: string): string {
  if (!text.trimStart().startsWith("{")) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

const each = <T,>(maps: SettingsMaps, make: (map: string, key: string, text: string) => T): T[] =>
  Object.entries(maps).flatMap(([map, texts]) => Object.entries(texts).map(([key, text]) => make(map, key, text)));

function shownOf(stored: SettingsMaps): SettingsMaps {
  const out: SettingsMaps = {};
  each(stored, (map, key, text) => ((out[map] ??= {})[key] = laidOut(text)));
  (out[TIDEMARK] ??= {})[TIDEMARK_KEY] ??= "";
  return out;
}

function toSend(stored: SettingsMaps, shown: SettingsMaps): SettingsMaps {
  const out: SettingsMaps = Object.fromEntries(Object.keys(shown).map((map) => [map, {}]));
  each(shown, (map, key, text) => {
    if (text.trim() === "") return;
    const before = stored[map]?.[key];
    out[map]![key] = before !== undefined && laidOut(before) === text ? before : text;
  });
  return out;
}

// Theirs, with the keys that `yours` changed since `base`.
function merged(base: SettingsMaps, theirs: SettingsMaps, yours: SettingsMaps): SettingsMaps {
  const out = shownOf(theirs);
  for (const map of new Set([...Object.keys(base), ...Object.keys(yours)])) {
    for (const key of new Set([...Object.keys(base[map] ?? {}), ...Object.keys(yours[map] ?? {})])) {
      const mine = yours[map]?.[key] ?? "";
      if (mine !== (base[map]?.[key] ?? "")) (out[map] ??= {})[key] = laidOut(mine);
    }
  }
  return out;
}

const signed = (value: number, text: (value: number) => string) => (value > 0 ? `+${text(value)}` : value < 0 ? `−${text(-value)}` : "±0");

function cpu(sum: PlanSum): string {
  const change = sum.end.batchCpuMilli + sum.end.midCpuMilli - sum.before.batchCpuMilli - sum.before.midCpuMilli;
  return `${signed(change, cores)} ${t("cores")}`;
}
function memory(sum: PlanSum): string {
  return signed(sum.end.batchMemoryBytes + sum.end.midMemoryBytes - sum.before.batchMemoryBytes - sum.before.midMemoryBytes, bytes);
}

function nodeColumns(): Column<PlanNode>[] {
  const delta = (of: PlanNode) => of.end.batchCpuMilli + of.end.midCpuMilli - of.before.batchCpuMilli - of.before.midCpuMilli;
  return [
    { key: "node", title: t("node"), value: (of) => of.node },
    { key: "pool", title: t("pool"), value: (of) => of.end.pool, cell: (of) => (of.before.pool === of.end.pool ? of.end.pool : `${of.before.pool} → ${of.end.pool}`) },
    { key: "cpu", title: t("planOffers"), number: true, value: delta, cell: (of) => `${cores(of.before.batchCpuMilli)} → ${cores(of.end.batchCpuMilli)}` },
    { key: "slo", title: "NodeSLO", value: (of) => of.nodeSlo.join(", ") || null },
  ];
}

function PlanView({ plan }: { plan: Plan }) {
  const pools = Object.entries(plan.pools);
  return (
    <>
      <p class="plan-sum">
        <strong class="number">{cpu(plan.all)}</strong>, <strong class="number">{t("planNodes", { changed: number(plan.all.changed), nodes: number(plan.all.nodes) })}</strong>
      </p>
      {plan.warnings.map((text) => (
        <p key={text} class="failure">
          {text}
        </p>
      ))}
      {pools.length > 0 && (
        <div class="table" tabIndex={0} role="group" aria-label={t("planTitle")}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t("pool")}</th>
                <th scope="col" class="number">{t("planChanged")}</th>
                <th scope="col" class="number">{t("planOffers")}</th>
                <th scope="col" class="number">{t("planMemory")}</th>
              </tr>
            </thead>
            <tbody>
              {[...pools, [t("planAll"), plan.all] as const].map(([name, sum]) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <td class="number">{`${number(sum.changed)} / ${number(sum.nodes)}`}</td>
                  <td class="number">{cpu(sum)}</td>
                  <td class="number">{memory(sum)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {plan.nodes.length > 0 && (
        <details>
          <summary>{`${t("planNodeList")}: ${number(plan.nodes.length)}`}</summary>
          <Table label={t("planNodeList")} columns={nodeColumns()} rows={plan.nodes} rowKey={(of) => of.node} />
        </details>
      )}
      <ul class="says">
        {plan.notes.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </>
  );
}

function Versions({ of, proceed }: { of: SettingsChanged; proceed: () => void }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => heading.current?.focus(), []);
  const keys = new Map<string, [string, string]>();
  for (const maps of [of.base ?? {}, of.theirs, of.yours]) each(maps, (map, key) => keys.set(`${map} ${key}`, [map, key]));
  const differing = [...keys.values()].filter(([map, key]) => {
    const [base, theirs, yours] = [of.base?.[map]?.[key], of.theirs[map]?.[key], of.yours[map]?.[key]];
    return theirs !== yours || (of.base !== null && base !== theirs);
  });
  return (
    <section class="versions" role="alert">
      <h3 ref={heading} tabIndex={-1}>{t("changedTitle")}</h3>
      <p>{t("changedHelp")}</p>
      {differing.map(([map, key]) => (
        <div key={`${map} ${key}`}>
          <h4>
            {map} <code>{key}</code>
          </h4>
          <div class="three">
            {([["versionBase", of.base], ["versionTheirs", of.theirs], ["versionYours", of.yours]] as const).map(([name, maps]) => (
              <figure key={name}>
                <figcaption>{t(name)}</figcaption>
                <pre class="diff" tabIndex={0} aria-label={`${t(name)} ${key}`}>
                  {maps === null ? t("versionUnknown") : maps[map]?.[key] === undefined ? t("versionNone") : laidOut(maps[map]![key]!)}
                </pre>
              </figure>
            ))}
          </div>
        </div>
      ))}
      <div class="buttons">
        <button type="button" class="order" onClick={proceed}>
          {t("continueTheirs")}
        </button>
      </div>
    </section>
  );
}

// The place stands before it already.
export function withoutPlace(fault: SettingsFault): string {
  const at = fault.place === "" ? -1 : fault.detail.indexOf(`${fault.place}: `);
  return at < 0 ? fault.detail : fault.detail.slice(at + fault.place.length + 2);
}

function Faults({ faults, text, jump }: { faults: SettingsFault[]; text: string; jump: (line: number) => void }) {
  return (
    <ul class="faults">
      {faults.map((fault) => {
        const line = lineOf(text, fault.place || fault.detail);
        return (
          <li key={fault.detail}>
            <code>{fault.place || t("wholeKey")}</code>: {withoutPlace(fault)}
            {line > 0 && (
              <button type="button" class="quiet" onClick={() => jump(line)}>
                {t("goToPlace", { n: line })}
              </button>
            )}
          </li>
        );
      })}
    </ul>
  );
}

// A form for the text of `tidemark-config`. `apply` takes a new text, plans it and answers its errors.
export type TextForm = (props: { text: string; faults: SettingsFault[]; apply: (text: string) => Promise<SettingsFault[]> }) => ComponentChildren;

function TextField(props: { map: string; name: string; text: string; faults: SettingsFault[]; change: (text: string) => void }) {
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  const { text, faults } = props;
  const jump = (line: number) => {
    const lines = text.split("\n");
    const start = lines.slice(0, line - 1).reduce((sum, of) => sum + of.length + 1, 0);
    const at = area.current!;
    at.focus();
    at.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
    at.scrollTop = ((line - 3) * at.scrollHeight) / lines.length;
  };
  return (
    <div class="text-field">
      <label for={id}>
        {props.map} <code>{props.name}</code>
      </label>
      <textarea
        id={id}
        ref={area}
        rows={Math.min(24, Math.max(4, text.split("\n").length + 1))}
        spellcheck={false}
        wrap="off"
        {...(faults.length > 0 ? { "aria-invalid": true, "aria-describedby": `${id}-faults` } : {})}
        value={text}
        onInput={(event) => props.change(event.currentTarget.value)}
      />
      {faults.length > 0 && (
        <div id={`${id}-faults`}>
          <Faults faults={faults} text={text} jump={jump} />
        </div>
      )}
    </div>
  );
}

export function Editor({ first, title, form: Form, close, done }: { first: SettingsTexts; title: string; form?: TextForm; close: () => void; done: (hash: string) => void }) {
  const [base, setBase] = useState({ hash: first.hash, texts: first.texts });
  const [shown, setShown] = useState(() => shownOf(first.texts));
  const [reason, setReason] = useState("");
  const [newKey, setNewKey] = useState("");
  const [plan, setPlan] = useState<SettingsEdited | null>(null);
  const [faults, setFaults] = useState<SettingsFault[]>([]);
  const [changed, setChanged] = useState<SettingsChanged | null>(null);
  const [error, setError] = useState("");
  const [sending, setSending] = useState(false);
  const ids = useId();
  const outcome = useRef<HTMLDivElement>(null);
  const slo = Object.keys(shown).find((map) => map !== TIDEMARK) ?? "";
  const dirty = () => {
    setPlan(null);
    setError("");
  };
  const put = (map: string, key: string, text: string) => {
    setShown((before) => ({ ...before, [map]: { ...before[map], [key]: text } }));
    dirty();
  };
  // Answers the errors of the texts.
  const ask = async (dryRun: boolean, texts = shown): Promise<SettingsFault[]> => {
    if (!dryRun && reason.trim() === "") {
      setError(t("reasonMissing"));
      document.getElementById(`${ids}-reason`)?.focus();
      return [];
    }
    let found: SettingsFault[] = [];
    setSending(true);
    setError("");
    setFaults([]);
    try {
      const answer = await replace<SettingsEdited>(TEXTS, { texts: toSend(base.texts, texts), reason: reason.trim(), dryRun }, base.hash);
      if (answer.written) {
        done(answer.hash);
        return [];
      }
      setPlan(answer);
    } catch (failure) {
      const refused = failure instanceof Refused ? failure : null;
      found = (refused?.problem as SettingsInvalid | null)?.errors ?? [];
      setPlan(null);
      if (refused?.status === 412) setChanged(refused.problem as SettingsChanged);
      else setError(t("refused", { why: (failure as Error).message }));
      setFaults(found);
    } finally {
      setSending(false);
    }
    return found;
  };
  const apply = (text: string) => {
    const texts = { ...shown, [TIDEMARK]: { ...shown[TIDEMARK], [TIDEMARK_KEY]: laidOut(text) } };
    setShown(texts);
    dirty();
    return ask(true, texts);
  };
  const proceed = () => {
    setShown(merged(changed!.base ?? base.texts, changed!.theirs, changed!.yours));
    setBase({ hash: changed!.hash, texts: changed!.theirs });
    setChanged(null);
    dirty();
  };
  if (changed) {
    return (
      <Card title={title}>
        <Versions of={changed} proceed={proceed} />
      </Card>
    );
  }
  const elsewhere = faults.filter((fault) => shown[fault.configMap]?.[fault.key] === undefined);
  const fields = (
    <>
      {each(shown, (map, key, text) => (
        <TextField key={`${map} ${key}`} map={map} name={key} text={text} faults={faults.filter((of) => of.configMap === map && of.key === key)} change={(next) => put(map, key, next)} />
      ))}
      {slo && (
        <div class="fields">
          <label class="field">
            {t("keyName")}
            <input type="text" autocomplete="off" spellcheck={false} value={newKey} onInput={(event) => setNewKey(event.currentTarget.value)} />
          </label>
          <button
            type="button"
            class="quiet"
            disabled={newKey.trim() === "" || shown[slo]?.[newKey.trim()] !== undefined}
            onClick={() => {
              put(slo, newKey.trim(), "");
              setNewKey("");
            }}
          >
            {t("addKey")}
          </button>
        </div>
      )}
    </>
  );
  return (
    <Card title={title}>
      {Form && <Form text={shown[TIDEMARK]?.[TIDEMARK_KEY] ?? ""} faults={faults.filter((of) => of.configMap === TIDEMARK)} apply={apply} />}
      <form
        class="editor"
        onSubmit={(event) => {
          event.preventDefault();
          void ask(plan === null).then(() => outcome.current?.focus());
        }}
      >
        {Form ? (
          <details open={faults.length > 0}>
            <summary>{t("asText")}</summary>
            <div class="editor">{fields}</div>
          </details>
        ) : (
          <>
            <p class="note">{t("editHelp")}</p>
            {fields}
          </>
        )}
        <label>
          {t("reasonLabel")}
          <input id={`${ids}-reason`} type="text" maxLength={256} aria-required="true" value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
        </label>
        <div ref={outcome} tabIndex={-1} class="outcome">
          {error && (
            <p class="failure" role="alert">
              {error}
            </p>
          )}
          {faults.length > 0 && <p role="status">{t("faults", { n: faults.length })}</p>}
          {elsewhere.length > 0 && <Faults faults={elsewhere} text="" jump={() => {}} />}
          {plan && (
            <section aria-label={t("planTitle")}>
              <h3>{t("planTitle")}</h3>
              {plan.changes.length === 0 ? (
                <p role="status">{t("nothingChanges")}</p>
              ) : (
                <>
                  <PlanView plan={plan.plan} />
                  <TextDiffs changes={plan.changes} />
                </>
              )}
            </section>
          )}
        </div>
        <div class="buttons">
          <button type="button" class="quiet" onClick={close}>
            {t("cancel")}
          </button>
          <button type="submit" class="order" disabled={sending || plan?.changes.length === 0}>
            {t(plan ? "apply" : "planButton")}
          </button>
        </div>
      </form>
    </Card>
  );
}

// An edit of a page: the texts that it began with and what it is about, why it could not begin, and the hash of what was
// written.
export function useEdit<About>(about: About) {
  const [edit, setEdit] = useState<{ texts: SettingsTexts; about: About } | null>(null);
  const [failure, setFailure] = useState("");
  const [written, setWritten] = useState("");
  const begin = async () => {
    setFailure("");
    try {
      setEdit({ texts: await read<SettingsTexts>(TEXTS), about });
      setWritten("");
    } catch (why) {
      setFailure((why as Error).message);
    }
  };
  const done = (hash: string) => {
    setEdit(null);
    setWritten(hash);
  };
  const button = edit === null && (
    <button type="button" class="order" onClick={() => void begin()}>
      {t("edit")}
    </button>
  );
  return { edit, failure, written, button, close: () => setEdit(null), done };
}
