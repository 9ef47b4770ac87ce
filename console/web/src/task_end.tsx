// Ends one offline task in two steps: the API server says what it would do, then the person confirms.
import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Task, TaskEnded } from "@api";
import { send } from "./api";
import { number, serverNow, t } from "./i18n";
import { summary } from "./store";

const ending = signal<Task | null>(null);

export function EndButton({ task }: { task: Task }) {
  if (summary.value?.readOnly !== false || !task.node || !/^(running|waiting)$/.test(task.state)) return null;
  return (
    <button type="button" class="order danger small" aria-label={t("endTaskLabel", { name: task.name })} onClick={() => (ending.value = task)}>
      {t("endTask")}
    </button>
  );
}

function coreHours(task: Task): string {
  if (task.started === null) return t("endUnknown");
  return number(((task.cpu / 1000) * Math.max(0, serverNow() - task.started)) / 3600, 1);
}

type Step = "asking" | "asked" | "ending" | "ended" | "refused";

function Form({ task, close }: { task: Task; close: () => void }) {
  const [step, setStep] = useState<Step>("asking");
  const [error, setError] = useState("");
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => heading.current?.focus(), []);
  const ask = async (dryRun: boolean) => {
    setError("");
    setStep(dryRun ? "asking" : "ending");
    try {
      await send<TaskEnded>("/api/v1/tasks/end", { namespace: task.namespace, name: task.name, ...(dryRun ? { dryRun } : {}) });
      setStep(dryRun ? "asked" : "ended");
    } catch (failure) {
      setError(t("refused", { why: (failure as Error).message }));
      setStep("refused");
    }
  };
  useEffect(() => void ask(true), []);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void ask(false);
      }}
    >
      <h2 ref={heading} tabIndex={-1}>
        {t("endTitle", { name: `${task.namespace}/${task.name}` })}
      </h2>
      <div aria-live="polite">
        {step === "asking" && <p class="note">{t("endAsks")}</p>}
        {(step === "asked" || step === "ending") && <p class="lost">{t("endWould", { hours: coreHours(task) })}</p>}
        {step === "ended" && <p>{t("ended")}</p>}
      </div>
      {error && (
        <p class="failure" role="alert">
          {error}
        </p>
      )}
      <div class="buttons">
        <button type="button" class="quiet" onClick={close}>
          {t(step === "ended" ? "close" : "cancel")}
        </button>
        {step !== "ended" && (
          <button type="submit" class="order danger" disabled={step !== "asked"}>
            {t("endConfirm")}
          </button>
        )}
      </div>
    </form>
  );
}

export function EndDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const task = ending.value;
  useEffect(() => {
    if (task) dialog.current?.showModal();
    else dialog.current?.close();
  }, [task]);
  return (
    <dialog ref={dialog} class="order-dialog" {...(task ? { "aria-label": t("endTitle", { name: task.name }) } : {})} onClose={() => (ending.value = null)}>
      {task && <Form key={`${task.namespace}/${task.name}`} task={task} close={() => (ending.value = null)} />}
    </dialog>
  );
}
