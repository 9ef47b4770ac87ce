// Offline work: sums by class, and the tasks of one class and phase.
import type { Offline as OfflineAnswer, TaskClass } from "@api";
import { useRead } from "../api";
import { amount, number, t } from "../i18n";
import { Card, Choice, Failure, Title } from "../parts";
import { query, setQuery } from "../router";
import { Table, type Column } from "../table";
import { tick } from "../store";
import { taskColumns } from "./node";

type Phase = "" | "waiting" | "running" | "over";

export function Offline() {
  const phase = (query.value.get("phase") ?? "") as Phase;
  const chosen = query.value.get("class");
  const wanted = new URLSearchParams({ limit: "500" });
  if (phase) wanted.set("phase", phase);
  if (chosen !== null) wanted.set("class", chosen === "-" ? "" : chosen);
  const { value, error } = useRead<OfflineAnswer>(`/api/v1/offline?${wanted}`, 3000);
  tick.value;
  const columns: Column<TaskClass>[] = [
    { key: "name", title: t("class"), value: (each) => each.name, cell: (each) => each.name || <span class="note">{t("noClass")}</span> },
    { key: "running", title: t("running"), number: true, value: (each) => each.running, cell: (each) => number(each.running) },
    { key: "runningCpu", title: t("cpu"), number: true, value: (each) => each.runningCpu, cell: (each) => amount("cpu", each.runningCpu) },
    { key: "runningMemory", title: t("memory"), number: true, value: (each) => each.runningMemory, cell: (each) => amount("memory", each.runningMemory) },
    { key: "waiting", title: t("waiting"), number: true, value: (each) => each.waiting, cell: (each) => number(each.waiting) },
    { key: "succeeded", title: t("succeeded"), number: true, value: (each) => each.succeeded, cell: (each) => number(each.succeeded) },
    { key: "failed", title: t("failed"), number: true, value: (each) => each.failed, cell: (each) => number(each.failed) },
    { key: "evicted", title: t("evicted"), number: true, value: (each) => each.evicted, cell: (each) => number(each.evicted) },
  ];
  return (
    <>
      <Title>{t("offlineTitle")}</Title>
      {error && !value && <Failure error={error} />}
      {!value && !error && <p class="note">{t("loading")}</p>}
      {value && !value.known && <p class="note">{t("notRead", { kind: t("source_pods") })}</p>}
      {value && value.known && (
        <>
          <Card title={t("byClass")}>
            {value.classes.length === 0 ? <p class="note">{t("noTasks")}</p> : <Table label={t("byClass")} columns={columns} rows={value.classes} rowKey={(each) => each.name} sort="running" descending />}
          </Card>
          <Card
            title={t("tasks")}
            side={
              <div class="tools">
                {value.classes.length > 1 && (
                  <select aria-label={t("class")} value={chosen ?? ""} onChange={(event) => setQuery("class", event.currentTarget.value)}>
                    <option value="">{t("all")}</option>
                    {value.classes.map((each) => (
                      <option key={each.name} value={each.name || "-"}>
                        {each.name || t("noClass")}
                      </option>
                    ))}
                  </select>
                )}
                <Choice
                  label={t("phase")}
                  value={phase}
                  onChange={(next) => setQuery("phase", next)}
                  options={[{ value: "", text: t("all") }, { value: "running", text: t("running") }, { value: "waiting", text: t("waiting") }, { value: "over", text: t("over") }]}
                />
              </div>
            }
          >
            <p class="note count">{t("shown", { n: number(value.tasks.length), total: number(value.total) })}</p>
            {value.tasks.length > 0 && <Table label={t("tasks")} columns={taskColumns(true, false)} rows={value.tasks} rowKey={(task) => `${task.namespace}/${task.name}`} />}
          </Card>
        </>
      )}
    </>
  );
}
