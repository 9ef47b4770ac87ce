// A change with a reason: first the fields, then its effect by a dry run, then the write. What has no dry run is
// written after the first step.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Refused, send } from "./api";
import { t } from "./i18n";

export type Field = { name: string; label: string; kind: "percent" | "lasts" | "check" };
export type Change = {
  title: string;
  help: string;
  confirm: string;
  path: string;
  fixed?: Record<string, unknown>; // of the body
  fields?: Field[];
  preview?: (answer: unknown) => ComponentChildren; // of a dry run; absent: there is none
  done: string;
};

export const change = signal<Change | null>(null);

const LASTS = ["3600", "7200", "28800", "86400"];

function Form({ of, close }: { of: Change; close: () => void }) {
  const ids = useId();
  const heading = useRef<HTMLHeadingElement>(null);
  const [values, setValues] = useState<Record<string, string>>(Object.fromEntries((of.fields ?? []).map((each) => [each.name, each.kind === "lasts" ? LASTS[0]! : ""])));
  const [reason, setReason] = useState("");
  const [effect, setEffect] = useState<ComponentChildren>(null);
  const [step, setStep] = useState<"form" | "confirm" | "done">("form");
  const [error, setError] = useState<{ field: string; text: string } | null>(null);
  const [sending, setSending] = useState(false);
  useLayoutEffect(() => heading.current?.focus(), [step]);

  const body = () => {
    const out: Record<string, unknown> = { ...of.fixed, reason: reason.trim() };
    for (const { name, kind } of of.fields ?? []) {
      const value = values[name]!;
      if (value === "") continue;
      out[name] = kind === "check" ? true : Number(value);
    }
    return out;
  };
  const ask = async (dryRun: boolean) => {
    setSending(true);
    setError(null);
    try {
      const answer = await send<unknown>(of.path, dryRun ? { ...body(), dryRun } : body());
      if (dryRun) setEffect(of.preview!(answer));
      setStep(dryRun ? "confirm" : "done");
    } catch (failure) {
      const field = failure instanceof Refused ? failure.field : "";
      setStep("form");
      setError({ field, text: t("refused", { why: (failure as Error).message }) });
      document.getElementById(`${ids}-${field}`)?.focus();
    }
    setSending(false);
  };
  const submit = () => {
    if (reason.trim() === "") {
      setError({ field: "reason", text: t("reasonMissing") });
      document.getElementById(`${ids}-reason`)?.focus();
      return;
    }
    void ask(step === "form" && of.preview !== undefined);
  };
  const invalid = (name: string) => (error?.field === name ? { "aria-invalid": true, "aria-describedby": `${ids}-error` } : {});
  const input = ({ name, label, kind }: Field) => {
    const set = (value: string) => setValues((before) => ({ ...before, [name]: value }));
    if (kind === "check") {
      return (
        <label key={name} class="option">
          <input id={`${ids}-${name}`} type="checkbox" checked={values[name] !== ""} onChange={(event) => set(event.currentTarget.checked ? "1" : "")} />
          <span>{label}</span>
        </label>
      );
    }
    return (
      <label key={name}>
        {label}
        {kind === "lasts" ? (
          <select id={`${ids}-${name}`} value={values[name]} onChange={(event) => set(event.currentTarget.value)}>
            {LASTS.map((each) => (
              <option key={each} value={each}>
                {t(`lasts_${each}` as "lasts_3600")}
              </option>
            ))}
          </select>
        ) : (
          <input id={`${ids}-${name}`} type="number" step="1" {...invalid(name)} value={values[name]} onInput={(event) => set(event.currentTarget.value)} />
        )}
      </label>
    );
  };
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <h2 ref={heading} tabIndex={-1}>{of.title}</h2>
      {step === "done" ? (
        <p role="status">{of.done}</p>
      ) : (
        <>
          <p class="note">{of.help}</p>
          {step === "form" && (
            <>
              {(of.fields ?? []).length > 0 && <div class="fields">{of.fields!.map(input)}</div>}
              <label>
                {t("reasonLabel")}
                <input id={`${ids}-reason`} type="text" maxLength={256} aria-required="true" {...invalid("reason")} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
              </label>
            </>
          )}
          {step === "confirm" && (
            <section aria-label={t("preview")}>
              <h3>{t("preview")}</h3>
              {effect}
            </section>
          )}
        </>
      )}
      {error && (
        <p class="failure" role="alert" id={`${ids}-error`}>
          {error.text}
        </p>
      )}
      <div class="buttons">
        {step === "done" ? (
          <button type="button" class="order" onClick={close}>
            {t("close")}
          </button>
        ) : (
          <>
            <button type="button" class="quiet" onClick={step === "confirm" ? () => setStep("form") : close}>
              {t(step === "confirm" ? "back" : "cancel")}
            </button>
            <button type="submit" class="order" disabled={sending}>
              {step === "form" && of.preview ? t("next") : of.confirm}
            </button>
          </>
        )}
      </div>
    </form>
  );
}

export function ChangeDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const of = change.value;
  useEffect(() => {
    if (of) dialog.current?.showModal();
    else dialog.current?.close();
  }, [of]);
  return (
    <dialog ref={dialog} class="order-dialog" {...(of ? { "aria-label": of.title } : {})} onClose={() => (change.value = null)}>
      {of && <Form key={of.title} of={of} close={() => (change.value = null)} />}
    </dialog>
  );
}
