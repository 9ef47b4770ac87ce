// The values that the agent wants in the kernel files of offline tasks, and what became of them: a table for each task.
import type { TaskLimit } from "@api";
import { amountWithUnit, t, type Key } from "./i18n";

const SHAPE: Record<TaskLimit["state"], string> = { inForce: "✓", refused: "✕", left: "◇", notWritten: "○" };
const QUOTA_US_PER_MILLI = 100; // of a period of 100 ms

function State({ state }: { state: TaskLimit["state"] }) {
  return (
    <span class={`mark limit-${state}`}>
      <span aria-hidden="true">{SHAPE[state]}</span> {t(`limit_${state}` as Key)}
    </span>
  );
}

function wanted({ file, value }: TaskLimit): string {
  const quota = file === "cpu.cfs_quota_us";
  const memory = file.startsWith("memory.");
  if ((quota || memory) && value === "-1") return t("limitNone");
  if (quota) return amountWithUnit("cpu", Number(value) / QUOTA_US_PER_MILLI);
  return memory ? amountWithUnit("memory", Number(value)) : value;
}

function Limits({ name, limits }: { name: string; limits: TaskLimit[] }) {
  return (
    <div class="table" tabIndex={0} role="group" aria-label={t("limitsOf", { name })}>
      <table>
        <thead>
          <tr>
            {(["limitFile", "container", "limitWanted", "status", "reason"] as const).map((key) => (
              <th key={key} scope="col">{t(key)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {limits.map((each, i) => (
            <tr key={i}>
              <th scope="row">{each.file}</th>
              <td>{each.container || t("limitOfTask")}</td>
              <td>{wanted(each)}</td>
              <td><State state={each.state} /></td>
              <td><span class="wrap">{each.reason.text} [{each.reason.id}]</span></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function TaskLimits({ tasks }: { tasks: { name: string; class: string; limits: TaskLimit[] }[] }) {
  return (
    <>
      {tasks.map(({ name, class: of, limits }) => (
        <details key={name}>
          <summary>
            {name} <span class="note">{of || t("noClass")}</span>{" "}
            {(Object.keys(SHAPE) as TaskLimit["state"][]).map((state) => {
              const count = limits.filter((each) => each.state === state).length;
              return count > 0 && <span key={state} class="nowrap"><State state={state} />: {count} </span>;
            })}
          </summary>
          {limits.length === 0 ? <p class="note">{t("limitsUnset")}</p> : <Limits name={name} limits={limits} />}
        </details>
      ))}
    </>
  );
}
