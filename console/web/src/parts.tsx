// Small parts that several pages use.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import type { NodeRow, NodeState, Report } from "@api";
import { amount, amountWithUnit, percent, t, type Key, type Resource } from "./i18n";
import { focusOpened } from "./router";

const STATE_SHAPE: Record<NodeState, string> = { on: "●", observe: "◇", draining: "▼", off: "■" };

// A state by shape, word and colour.
export function State({ state }: { state: NodeState }) {
  return (
    <span class={`mark state-${state}`}>
      <span aria-hidden="true">{STATE_SHAPE[state]}</span> {t(`state_${state}` as Key)}
    </span>
  );
}

const REPORT_SHAPE: Record<Report, string> = { fresh: "✓", stale: "◷", missing: "?", unread: "?", notReady: "!" };
export function ReportMark({ report }: { report: Report }) {
  return (
    <span class={`mark report-${report}`}>
      <span aria-hidden="true">{REPORT_SHAPE[report]}</span> {t(`report_${report}` as Key)}
    </span>
  );
}

export function Card(props: { title: string; side?: ComponentChildren; class?: string; children: ComponentChildren }) {
  const id = useId();
  return (
    <section class={`card ${props.class ?? ""}`} aria-labelledby={id}>
      <div class="card-head">
        <h2 id={id}>{props.title}</h2>
        {props.side}
      </div>
      {props.children}
    </section>
  );
}

export function Choice<T extends string>(props: {
  label: string;
  value: T | null; // null: none of them
  options: { value: T; text: string }[];
  onChange: (value: T) => void;
}) {
  return (
    <div class="choice" role="group" aria-label={props.label}>
      {props.options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === props.value}
          onClick={() => props.onChange(option.value)}
        >
          {option.text}
        </button>
      ))}
    </div>
  );
}

export type BarValues = { capacity: number; online: number | null; offline: number | null; line: number | null };

// Capacity as one bar: online use, offline use, idle below the water line, and what is above it.
export function Bar({ values, resource, label, thin }: { values: BarValues; resource: Resource; label: string; thin?: boolean }) {
  const { capacity, online, offline, line } = values;
  const share = (value: number) => `${Math.max(0, Math.min(100, (100 * value) / Math.max(1, capacity)))}%`;
  const text =
    online === null || offline === null
      ? `${label}: ${t("unknown")}`
      : `${label}: ${t("online")} ${percent(online, capacity)}, ${t("offlineUse")} ${percent(offline, capacity)}, ` +
        `${t("waterLine")} ${percent(line, capacity)}, ${t("capacity")} ${amountWithUnit(resource, capacity)}`;
  return (
    <div class={thin ? "bar thin" : "bar"} role="img" aria-label={text}>
      {line !== null && <div class="bar-above" style={{ left: share(line), right: "0" }} />}
      {online === null || offline === null ? (
        <div class="bar-unknown" />
      ) : (
        <>
          <div class="bar-online" style={{ width: share(online) }} />
          <div class="bar-offline" style={{ left: share(online), width: share(offline) }} />
        </>
      )}
      {line !== null && <div class="bar-line" style={{ left: share(line) }} />}
    </div>
  );
}

export function rowBar(row: NodeRow, resource: Resource): BarValues {
  const cpu = resource === "cpu";
  const capacity = cpu ? row.cpuCapacity : row.memoryCapacity;
  const line = cpu ? row.cpuLine : row.memoryLine;
  return {
    capacity,
    online: cpu ? row.cpuOnline : row.memoryOnline,
    offline: cpu ? row.cpuOffline : row.memoryOffline,
    line: line === null ? null : (capacity * line) / 100,
  };
}

export function Legend({ items }: { items: { kind: string; label: string; value: string; note?: string | undefined }[] }) {
  return (
    <dl class="legend">
      {items.map((item) => (
        <div key={item.kind}>
          <dt>
            <span class={`swatch swatch-${item.kind}`} aria-hidden="true" />
            {item.label}
          </dt>
          <dd>
            {item.value}
            {item.note && <span class="note"> {item.note}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

export function Amount({ resource, value }: { resource: Resource; value: number | null | undefined }) {
  const unknown = value === null || value === undefined;
  return <span class={unknown ? "unknown" : undefined}>{amount(resource, value)}</span>;
}

export function Failure({ error }: { error: string }) {
  return (
    <p class="failure" role="alert">
      {t("error", { why: error })}
    </p>
  );
}

// A text of the API, with commands in backticks.
export function Words({ text }: { text: string }) {
  return <>{text.split("`").map((part, i) => (i % 2 === 1 ? <code key={i}>{part}</code> : part))}</>;
}

// A heading that takes the focus when a page opens.
export function Title({ children }: { children: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => focusOpened(heading.current!), []);
  return (
    <h1 tabIndex={-1} ref={heading}>
      {children}
    </h1>
  );
}

// Whether `/` and Alt+O do something (WCAG 2.1.4), in this browser.
export const shortcuts = signal(localStorage.getItem("tidemark-shortcuts") !== "off");
export function setShortcuts(next: boolean) {
  shortcuts.value = next;
  localStorage.setItem("tidemark-shortcuts", next ? "on" : "off");
}

// Shortcuts do nothing while a dialog is open.
export function shortcutsWork(): boolean {
  return shortcuts.value && document.querySelector("dialog[open]") === null;
}
