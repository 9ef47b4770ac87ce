// Offline work: sums by class, the most evicted jobs, and the tasks of one class and phase. A class can be switched off,
// and a task ended.
import { useMemo } from "preact/hooks";
import type { EvictedJob, Offline as OfflineAnswer, Task, TaskClass } from "@api";
import { useRead } from "../api";
import { age, amount, language, moment, number, t, type Key } from "../i18n";
import { ask, type Target } from "../orders";
import { Amount, Card, Choice, Failure, Title } from "../parts";
import { query, setQuery } from "../router";
import { Table, type Column } from "../table";
import { EndButton } from "../task_end";
import { summary, tick } from "../store";
import { taskColumns } from "./node";

type Phase = "" | "waiting" | "running" | "over" | "abnormal";

function coreHours(seconds: number): string {
  return number(seconds / 3600, 1);
}

// What evicted YARN containers lost is unknown.
function lost(of: { evicted: number; lostCoreSeconds: number; lostUnknown: number }): string {
  if (of.lostUnknown === 0) return coreHours(of.lostCoreSeconds);
  return of.lostUnknown === of.evicted ? t("unknown") : `≥ ${coreHours(of.lostCoreSeconds)}`;
}

function ClassActions({ of }: { of: TaskClass }) {
  if (!of.name) return <>–</>;
  const target: Target = { scope: "cluster", workClass: of.name };
  return (
    <span class="orders">
      <button type="button" class="order danger small" aria-label={t("classOffLabel", { name: of.name })} onClick={() => ask("off", target)}>
        {t("classOff")}
      </button>
      {of.nodesOff > 0 && (
        <button type="button" class="order small" aria-label={t("classOnLabel", { name: of.name })} onClick={() => ask("on", target)}>
          {t("classOn")}
        </button>
      )}
    </span>
  );
}

function classColumns(): Column<TaskClass>[] {
  const all: (Column<TaskClass> | null)[] = [
    {
      key: "name", title: t("class"), value: (each) => each.name,
      cell: (each) => (
        <>
          {each.name || <span class="note">{t("noClass")}</span>}
          {each.nodesOff > 0 && <span class="note"> ■ {t("offOnNodes", { n: number(each.nodesOff) })}</span>}
        </>
      ),
    },
    { key: "availableCpu", title: `${t("available")}: ${t("cpu")}`, number: true, value: (each) => each.availableCpu, cell: (each) => <Amount resource="cpu" value={each.availableCpu} /> },
    { key: "availableMemory", title: `${t("available")}: ${t("memory")}`, number: true, value: (each) => each.availableMemory, cell: (each) => <Amount resource="memory" value={each.availableMemory} /> },
    { key: "waiting", title: t("waiting"), number: true, value: (each) => each.waiting, cell: (each) => number(each.waiting) },
    { key: "running", title: t("running"), number: true, value: (each) => each.running, cell: (each) => number(each.running) },
    { key: "runningCpu", title: t("cpu"), number: true, value: (each) => each.runningCpu, cell: (each) => amount("cpu", each.runningCpu) },
    { key: "runningMemory", title: t("memory"), number: true, value: (each) => each.runningMemory, cell: (each) => amount("memory", each.runningMemory) },
    { key: "evicted", title: t("evicted"), number: true, value: (each) => each.evicted, cell: (each) => number(each.evicted) },
    { key: "lost", title: t("lostHours"), number: true, value: (each) => each.lostCoreSeconds, cell: lost },
    { key: "abnormal", title: t("abnormal"), number: true, value: (each) => each.abnormal, cell: (each) => number(each.abnormal) },
    { key: "succeeded", title: t("succeeded"), number: true, value: (each) => each.succeeded, cell: (each) => number(each.succeeded) },
    { key: "failed", title: t("failed"), number: true, value: (each) => each.failed, cell: (each) => number(each.failed) },
    summary.value?.readOnly === false ? { key: "action", title: t("action"), value: (each) => each.name, cell: (each) => <ClassActions of={each} /> } : null,
  ];
  return all.filter((column) => column !== null);
}

function jobColumns(): Column<EvictedJob>[] {
  return [
    { key: "job", title: t("job"), value: (each) => each.job, cell: (each) => <span>{each.job || "–"}<span class="note"> {each.namespace}</span></span> },
    { key: "class", title: t("class"), value: (each) => each.class || "–" },
    { key: "evicted", title: t("evicted"), number: true, value: (each) => each.evicted, cell: (each) => number(each.evicted) },
    { key: "lost", title: t("lostHours"), number: true, value: (each) => each.lostCoreSeconds, cell: lost },
    { key: "last", title: t("last"), number: true, value: (each) => each.last, cell: (each) => <span class="nowrap">{age(each.last)}</span> },
  ];
}

function columnsOfTasks(): Column<Task>[] {
  const columns = taskColumns(true, false);
  const at = columns.findIndex((column) => column.key === "why");
  columns.splice(at, 0, {
    key: "abnormal", title: t("abnormal"), value: (task) => task.abnormal ?? "",
    cell: (task) => (task.abnormal ? <span class="mark severity-warn"><span aria-hidden="true">◆</span> {t(`abnormal_${task.abnormal}` as Key)}</span> : <>–</>),
  });
  if (summary.value?.readOnly === false) columns.push({ key: "action", title: t("action"), value: () => null, cell: (task) => <EndButton task={task} /> });
  return columns;
}

export function Offline() {
  const phase = (query.value.get("phase") ?? "") as Phase;
  const chosen = query.value.get("class");
  const text = query.value.get("q") ?? "";
  const wanted = new URLSearchParams({ limit: "500" });
  if (phase) wanted.set("phase", phase);
  if (chosen !== null) wanted.set("class", chosen === "-" ? "" : chosen);
  if (text) wanted.set("q", text);
  const { value, error } = useRead<OfflineAnswer>(`/api/v1/offline?${wanted}`, 3000);
  tick.value;
  const columns = useMemo(columnsOfTasks, [summary.value?.readOnly, language.value]);
  const since = value?.since == null ? t("unknown") : moment(value.since);
  return (
    <>
      <Title>{t("offlineTitle")}</Title>
      {error && !value && <Failure error={error} />}
      {!value && !error && <p class="note">{t("loading")}</p>}
      {value && !value.known && <p class="note">{t("notRead", { kind: t("source_pods") })}</p>}
      {value && value.known && (
        <>
          <Card title={t("byClass")}>
            {value.classes.length === 0 ? <p class="note">{t("noTasks")}</p> : <Table label={t("byClass")} columns={classColumns()} rows={value.classes} rowKey={(each) => each.name} sort="running" descending />}
            <p class="note">{t("available")}: {t("availableHelp")}. {t("evictedSince", { time: since })}</p>
          </Card>
          <Card title={t("mostEvicted")}>
            {value.mostEvicted.length === 0 ? <p class="note">{t("noneEvicted", { time: since })}</p> : <Table label={t("mostEvicted")} columns={jobColumns()} rows={value.mostEvicted} rowKey={(each) => `${each.namespace}/${each.job}/${each.class}`} sort="evicted" descending />}
          </Card>
          <Card
            title={t("tasks")}
            side={
              <div class="tools">
                <input type="search" aria-label={t("filter")} placeholder={t("filter")} value={text} onInput={(event) => setQuery("q", event.currentTarget.value)} />
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
                  options={[{ value: "", text: t("all") }, { value: "running", text: t("running") }, { value: "waiting", text: t("waiting") }, { value: "abnormal", text: t("abnormal") }, { value: "over", text: t("over") }]}
                />
              </div>
            }
          >
            <p class="note count">{t("shown", { n: number(value.tasks.length), total: number(value.total) })}</p>
            {value.tasks.length > 0 && <Table label={t("tasks")} columns={columns} rows={value.tasks} rowKey={(task) => `${task.namespace}/${task.name}`} />}
          </Card>
        </>
      )}
    </>
  );
}
