// Online services by workload and business: use by hour, and for one workload its pods with waiting, interference and
// what was done, as the record of the node's agent tells.
import { useMemo, useState } from "preact/hooks";
import type { Incident, Online as OnlineAnswer, OnlinePod, OnlineWorkload, Unknown } from "@api";
import { known, useRead } from "../api";
import { amount, cores, duration, language, moment, number, percent, t, type Key } from "../i18n";
import { Amount, Card, Failure, Title } from "../parts";
import { nodePath, query, setQuery } from "../router";
import { Table, type Column } from "../table";
import { tick } from "../store";

const LIST_MS = 30_000;
const INCIDENT_MS = 30_000;
const PODS_SHOWN = 20;
const HOURS = Array.from({ length: 24 }, (_, hour) => hour);

function peakHour(workload: OnlineWorkload): number | null {
  let best: number | null = null;
  workload.cpuP95.forEach((value, hour) => {
    if (value !== null && (best === null || value > workload.cpuP95[best]!)) best = hour;
  });
  return best;
}
const hourText = (hour: number) => `${String(hour).padStart(2, "0")}:00`;

// One bar for each hour of the day: p95, and the middle value in it. A gap is an hour that was not seen.
function Hours({ workload, large }: { workload: OnlineWorkload; large?: boolean }) {
  if (workload.hoursSeen === 0) return <span class="unknown">{t("unknown")}</span>;
  const most = Math.max(1, ...workload.cpuP95.map((value) => value ?? 0));
  const peak = peakHour(workload);
  const label = peak === null ? t("unknown") : t("hoursLabel", { hour: hourText(peak), cores: cores(workload.cpuP95[peak]!) });
  return (
    <div class={large ? "hours large" : "hours"} role="img" aria-label={label}>
      {HOURS.map((hour) => {
        const [p95, p50] = [workload.cpuP95[hour] ?? null, workload.cpuP50[hour] ?? null];
        return (
          <div key={hour} class={p95 === null ? "hour-bar unseen" : "hour-bar"}>
            {p95 !== null && <div class="hour-p95" style={{ height: `${(100 * p95) / most}%` }} />}
            {p50 !== null && <div class="hour-p50" style={{ height: `${(100 * p50) / most}%` }} />}
          </div>
        );
      })}
    </div>
  );
}

function HoursTable({ workload }: { workload: OnlineWorkload }) {
  return (
    <details>
      <summary>{t("asTable")}</summary>
      <div class="table" tabIndex={0} role="group" aria-label={t("asTable")}>
        <table>
          <thead>
            <tr>
              <th scope="col">{t("hourUtc")}</th>
              <th scope="col" class="number">{t("cpuMiddle")}</th>
              <th scope="col" class="number">{t("cpuP95")}</th>
              <th scope="col" class="number">{t("memoryP95")}</th>
            </tr>
          </thead>
          <tbody>
            {HOURS.map((hour) => (
              <tr key={hour}>
                <th scope="row">{hourText(hour)}</th>
                <td class="number"><Amount resource="cpu" value={workload.cpuP50[hour]} /></td>
                <td class="number"><Amount resource="cpu" value={workload.cpuP95[hour]} /></td>
                <td class="number"><Amount resource="memory" value={workload.memoryP95[hour]} /></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

// Pods that use most of their request first. Those without a report are last.
function mostUsed(pods: OnlinePod[]): OnlinePod[] {
  const share = (pod: OnlinePod) => (pod.cpuUsed === null ? -1 : pod.cpuUsed / Math.max(1, pod.cpuRequest));
  return [...pods].sort((a, b) => share(b) - share(a));
}

const VERDICT_SHAPE: Record<Incident["verdict"], string> = { notOurs: "✓", cannotTell: "?", likely: "◆", ours: "▲" };
const VERDICT_CLASS: Record<Incident["verdict"], string> = { notOurs: "severity-ok", cannotTell: "", likely: "severity-warn", ours: "severity-bad" };

// The longest wait of the pod in the recorded time, in thousandths of the time.
function worstWait(incident: Incident): number | null {
  const waits = incident.moments.filter((each) => each.there).map((each) => (each.task ? Math.max(each.task.cpuPressurePermille, each.task.runQueueWorstPermille, each.task.throttledPermille) : 0));
  return waits.length === 0 ? null : Math.max(...waits);
}

function Report({ incident }: { incident: Incident }) {
  return (
    <div class="incident">
      <h3 tabIndex={-1}>{t("incidentOf", { name: `${incident.namespace}/${incident.name}` })}</h3>
      <p>
        <strong>{incident.answer}</strong>
      </p>
      <p class="note">{t("incidentSpan", { from: moment(Date.parse(incident.from) / 1000), to: moment(Date.parse(incident.to) / 1000), seconds: number(incident.recordedSeconds) })}</p>
      <ul class="says">
        {incident.findings.map((finding, i) => (
          <li key={i}>
            <span class={`mark ${VERDICT_CLASS[finding.verdict as Incident["verdict"]] ?? ""}`}>{t(`verdict_${finding.verdict}` as Key)}</span> {finding.text}
          </li>
        ))}
      </ul>
      <h4>{t("deeds")}</h4>
      {incident.deeds.length === 0 ? (
        <p class="note">{t("deedsNone")}</p>
      ) : (
        <ul class="says">
          {incident.deeds.map((deed, i) => (
            <li key={i}>
              {moment(Date.parse(deed.last) / 1000)}: {deed.what} {deed.object}
              {deed.file && ` ${deed.file}`}
              {deed.after && `: ${deed.before || "–"} → ${deed.after}`} [{deed.reason}]{deed.times > 1 && ` × ${number(deed.times)}`}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Pod({ pod, open, toggle }: { pod: OnlinePod; open: boolean; toggle: () => void }) {
  const { value: answer, error } = useRead<Incident | Unknown>(`/api/v1/past/incident?${new URLSearchParams({ namespace: pod.namespace, name: pod.name, node: pod.node ?? "" })}`, INCIDENT_MS);
  const { value, why } = known<Incident>(answer);
  const unknown = <span class="unknown" title={why ?? error ?? ""}>{t("unknown")}</span>;
  const wait = value ? worstWait(value) : null;
  return (
    <>
      <tr>
        <th scope="row">{pod.name}</th>
        <td>{pod.node ? <a href={nodePath(pod.node)}>{pod.node}</a> : "–"}</td>
        <td class="number"><Amount resource="cpu" value={pod.cpuUsed} /></td>
        <td class="number">{amount("cpu", pod.cpuRequest)}</td>
        <td class="number">{wait === null ? unknown : percent(wait, 1000)}</td>
        <td>{value ? <span class={`mark ${VERDICT_CLASS[value.verdict]}`}><span aria-hidden="true">{VERDICT_SHAPE[value.verdict]}</span> {t(`verdict_${value.verdict}` as Key)}</span> : unknown}</td>
        <td class="number">{value ? number(value.deeds.length) : unknown}</td>
        <td>
          {value ? (
            <button type="button" class="order small" aria-expanded={open} aria-label={t("incidentLabel", { name: pod.name })} onClick={toggle}>
              {t("incident")}
            </button>
          ) : (
            <span class="note">{why ?? error ? t("incidentUnknown") : t("loading")}</span>
          )}
        </td>
      </tr>
      {open && value && (
        <tr>
          <td colSpan={8}>
            <Report incident={value} />
          </td>
        </tr>
      )}
    </>
  );
}

function Workload({ name }: { name: string }) {
  const { value, error } = useRead<OnlineAnswer>(`/api/v1/online?${new URLSearchParams({ workload: name })}`, LIST_MS);
  const [open, setOpen] = useState("");
  const workload = value?.workloads[0];
  return (
    <Card
      title={name}
      side={
        <button type="button" class="quiet" onClick={() => setQuery("workload", "")}>
          {t("close")}
        </button>
      }
    >
      {error && !value && <Failure error={error} />}
      {!value && !error && <p class="note">{t("loading")}</p>}
      {value && !workload && <p class="note">{t("workloadGone")}</p>}
      {workload && (
        <>
          <h3>{t("byHour")}</h3>
          <Hours workload={workload} large />
          <p class="note">{workload.hoursSeen === 0 ? t("hoursUnknown") : t("hoursSeen", { n: number(workload.hoursSeen) })}</p>
          {workload.hoursSeen > 0 && <HoursTable workload={workload} />}
          <h3>{t("podsOf", { n: number(workload.members.length) })}</h3>
          <p class="note">{t("podsOrder")} {t("incidentHelp")}</p>
          <div class="table" tabIndex={0} role="group" aria-label={t("podsOf", { n: number(workload.members.length) })}>
            <table>
              <thead>
                <tr>
                  <th scope="col">{t("pod")}</th>
                  <th scope="col">{t("node")}</th>
                  <th scope="col" class="number">{t("used")}</th>
                  <th scope="col" class="number">{t("requested")}</th>
                  <th scope="col" class="number">{t("waitedMost")}</th>
                  <th scope="col">{t("interference")}</th>
                  <th scope="col" class="number">{t("deeds")}</th>
                  <th scope="col">{t("report")}</th>
                </tr>
              </thead>
              <tbody>
                {mostUsed(workload.members).slice(0, PODS_SHOWN).map((pod) => (
                  <Pod key={pod.name} pod={pod} open={open === pod.name} toggle={() => setOpen(open === pod.name ? "" : pod.name)} />
                ))}
              </tbody>
            </table>
          </div>
          {workload.members.length > PODS_SHOWN && <p class="note">{t("more", { n: number(workload.members.length - PODS_SHOWN) })}</p>}
        </>
      )}
    </Card>
  );
}

function columns(open: (name: string) => void): Column<OnlineWorkload>[] {
  return [
    { key: "name", title: t("workload"), value: (each) => each.name, cell: (each) => <button type="button" class="link" onClick={() => open(each.name)}>{each.name}</button> },
    { key: "business", title: t("business"), value: (each) => each.business, cell: (each) => each.business ?? <span class="unknown">{t("none")}</span> },
    { key: "pods", title: t("pods"), number: true, value: (each) => each.pods, cell: (each) => number(each.pods) },
    { key: "cpuUsed", title: `${t("cpu")}: ${t("used")}`, number: true, value: (each) => each.cpuUsed, cell: (each) => <Amount resource="cpu" value={each.cpuUsed} /> },
    { key: "cpuRequest", title: `${t("cpu")}: ${t("requested")}`, number: true, value: (each) => each.cpuRequest, cell: (each) => amount("cpu", each.cpuRequest) },
    { key: "memoryUsed", title: `${t("memory")}: ${t("used")}`, number: true, value: (each) => each.memoryUsed, cell: (each) => <Amount resource="memory" value={each.memoryUsed} /> },
    { key: "reported", title: t("reportedPods"), number: true, value: (each) => each.reported, cell: (each) => `${number(each.reported)} / ${number(each.pods)}` },
    { key: "peak", title: t("byHour"), value: (each) => { const hour = peakHour(each); return hour === null ? null : each.cpuP95[hour]!; }, cell: (each) => <Hours workload={each} /> },
  ];
}

type Business = { name: string; workloads: number; pods: number; cpuUsed: number | null; cpuRequest: number };

function businesses(all: OnlineWorkload[]): Business[] {
  const by = new Map<string, Business>();
  for (const each of all) {
    const name = each.business ?? "";
    const sum = by.get(name) ?? { name, workloads: 0, pods: 0, cpuUsed: 0, cpuRequest: 0 };
    sum.workloads += 1;
    sum.pods += each.pods;
    sum.cpuRequest += each.cpuRequest;
    sum.cpuUsed = sum.cpuUsed === null || each.cpuUsed === null ? null : sum.cpuUsed + each.cpuUsed;
    by.set(name, sum);
  }
  return [...by.values()];
}

export function Online() {
  tick.value;
  const { value, error, at } = useRead<OnlineAnswer>("/api/v1/online", LIST_MS);
  const chosen = query.value.get("workload") ?? "";
  const business = query.value.get("business") ?? "";
  const text = query.value.get("q") ?? "";
  const shown = useMemo(() => (value?.workloads ?? []).filter((each) => (business === "" || (each.business ?? "-") === business) && each.name.includes(text)), [value, business, text]);
  const sums = useMemo(() => businesses(value?.workloads ?? []), [value]);
  const workloadColumns = useMemo(() => columns((name) => setQuery("workload", name)), [language.value]);
  const of: Column<Business>[] = [
    { key: "name", title: t("business"), value: (each) => each.name, cell: (each) => <button type="button" class="link" aria-pressed={business === (each.name || "-")} onClick={() => setQuery("business", business === (each.name || "-") ? "" : each.name || "-")}>{each.name || t("noBusiness")}</button> },
    { key: "workloads", title: t("workloads"), number: true, value: (each) => each.workloads, cell: (each) => number(each.workloads) },
    { key: "pods", title: t("pods"), number: true, value: (each) => each.pods, cell: (each) => number(each.pods) },
    { key: "cpuUsed", title: `${t("cpu")}: ${t("used")}`, number: true, value: (each) => each.cpuUsed, cell: (each) => <Amount resource="cpu" value={each.cpuUsed} /> },
    { key: "cpuRequest", title: `${t("cpu")}: ${t("requested")}`, number: true, value: (each) => each.cpuRequest, cell: (each) => amount("cpu", each.cpuRequest) },
  ];
  return (
    <>
      <Title>{t("onlineTitle")}</Title>
      {error && !value && <Failure error={error} />}
      {error && value && <p class="note" role="status">{t("lost", { age: duration((Date.now() - at) / 1000) })}</p>}
      {!value && !error && <p class="note">{t("loading")}</p>}
      {value?.notes.map((note) => <p key={note} class="note">{note}</p>)}
      {chosen && <Workload key={chosen} name={chosen} />}
      {value && (
        <>
          <Card title={t("byBusiness")}>{sums.length === 0 ? <p class="note">{t("noOnline")}</p> : <Table label={t("byBusiness")} columns={of} rows={sums} rowKey={(each) => each.name} sort="name" />}</Card>
          <Card
            title={t("workloads")}
            side={<input type="search" aria-label={t("filter")} placeholder={t("filter")} value={text} onInput={(event) => setQuery("q", event.currentTarget.value)} />}
          >
            <p class="note count">{t("shownWorkloads", { n: number(shown.length), total: number(value.workloads.length) })}</p>
            {shown.length > 0 && <Table label={t("workloads")} columns={workloadColumns} rows={shown} rowKey={(each) => each.name} sort="cpuUsed" descending />}
          </Card>
        </>
      )}
    </>
  );
}
