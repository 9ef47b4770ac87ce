// The platform: components and versions, leaders, certificates, what the console holds, kernels with what their agents
// report and what a newer kernel lost; and a bundle of all this for support.
import type { ComponentPods, KernelFamily, LeaderLease, ManagerQueue, Platform as PlatformAnswer, RequestTimes, Source, TrustedAuthority } from "@api";
import { signal } from "@preact/signals";
import { read, useRead } from "../api";
import { age, duration, moment, number, serverNow, t, type Key } from "../i18n";
import { Card, Failure, Title } from "../parts";
import { nodePath } from "../router";
import { summary, tick } from "../store";
import { PartTable, Table, type Column } from "../table";

const SOON_SECONDS = 30 * 86400;

function Good({ good, children }: { good: boolean; children: string }) {
  return (
    <span class={`mark ${good ? "report-fresh" : "report-stale"}`}>
      <span aria-hidden="true">{good ? "✓" : "◆"}</span> {children}
    </span>
  );
}

function componentColumns(): Column<ComponentPods>[] {
  return [
    { key: "component", title: t("component"), value: (each) => each.component },
    { key: "version", title: t("version"), value: (each) => each.version || null, cell: (each) => each.version || <span class="unknown">{t("unknown")}</span> },
    { key: "ready", title: t("readyPods"), number: true, value: (each) => each.ready, cell: (each) => <Good good={each.ready === each.pods}>{`${number(each.ready)} / ${number(each.pods)}`}</Good> },
    { key: "restarts", title: t("restarts"), number: true, value: (each) => each.restarts, cell: (each) => number(each.restarts) },
    { key: "youngest", title: t("lastStart"), value: (each) => each.youngest, cell: (each) => age(each.youngest) },
    { key: "notReady", title: t("notReadyPods"), value: (each) => each.notReady.join(" ") || null },
  ];
}

function leaseColumns(): Column<LeaderLease>[] {
  const leads = (each: LeaderLease) => each.holder !== "" && each.renewed !== null && each.lastsSeconds !== null && serverNow() - each.renewed <= each.lastsSeconds;
  return [
    { key: "name", title: t("lease"), value: (each) => each.name },
    { key: "holder", title: t("leader"), value: (each) => each.holder || null, cell: (each) => <Good good={leads(each)}>{each.holder || t("none")}</Good> },
    { key: "renewed", title: t("renewed"), value: (each) => each.renewed, cell: (each) => age(each.renewed) },
    { key: "acquired", title: t("since"), value: (each) => each.acquired, cell: (each) => age(each.acquired) },
    { key: "transitions", title: t("transitions"), number: true, value: (each) => each.transitions, cell: (each) => number(each.transitions) },
  ];
}

function queueColumns(): Column<ManagerQueue>[] {
  return [
    { key: "name", title: t("queue"), value: (each) => each.name },
    { key: "length", title: t("queueLength"), number: true, value: (each) => each.length, cell: (each) => (each.length === null ? <span class="unknown">{t("unknownSince", { age: age(each.reported) })}</span> : number(each.length)) },
    { key: "oldest", title: t("queueOldest"), value: (each) => each.oldestSince, cell: (each) => (each.oldestSince === null ? "–" : duration(serverNow() - each.oldestSince)) },
  ];
}

function authorityColumns(): Column<TrustedAuthority>[] {
  return [
    { key: "object", title: t("object"), value: (each) => each.object },
    {
      key: "until",
      title: t("expires"),
      value: (each) => each.until,
      cell: (each) =>
        each.until === null ? <span class="unknown">{t("unknownWhy", { why: each.problem })}</span> : until(each.until),
    },
  ];
}

function sourceColumns(): Column<Source>[] {
  return [
    { key: "name", title: t("object"), value: (each) => each.name, cell: (each) => t(`source_${each.name}` as Key) },
    { key: "objects", title: t("held"), number: true, value: (each) => (each.read ? each.objects : null), cell: (each) => (each.read ? number(each.objects) : <span class="unknown">{t("unknown")}</span>) },
    { key: "silent", title: t("lastAnswer"), value: (each) => each.silentSeconds, cell: (each) => (!each.read ? <span class="unknown">{t("neverRead")}</span> : each.silentSeconds === null ? <Good good>{t("live")}</Good> : <Good good={false}>{t("ago", { age: duration(each.silentSeconds) })}</Good>) },
    { key: "incomplete", title: t("complete"), value: (each) => (each.incomplete ? 0 : 1), cell: (each) => t(each.incomplete ? "no" : "yes") },
  ];
}

// A time is the upper bound of its bucket; null is longer than the largest bound.
function millis(each: RequestTimes, value: number | null): string {
  if (each.requests === 0) return "–";
  return value === null ? `> ${duration(60)}` : `≤ ${t("ms", { n: number(value) })}`;
}

function requestColumns(): Column<RequestTimes>[] {
  return [
    { key: "verb", title: t("request"), value: (each) => each.verb },
    { key: "requests", title: t("requestCount"), number: true, value: (each) => each.requests, cell: (each) => number(each.requests) },
    { key: "p50", title: "p50", number: true, value: (each) => each.p50Millis ?? Infinity, cell: (each) => millis(each, each.p50Millis) },
    { key: "p99", title: "p99", number: true, value: (each) => each.p99Millis ?? Infinity, cell: (each) => millis(each, each.p99Millis) },
  ];
}

function Requests({ requests }: { requests: PlatformAnswer["requests"] }) {
  return (
    <Card title={t("requestTimes")} side={requests.since !== null && <span class="note">{t("gainSince", { time: moment(requests.since) })}</span>}>
      {requests.rows.length === 0 ? <p class="note">{t("requestsNone")}</p> : <Table label={t("requestTimes")} columns={requestColumns()} rows={requests.rows} rowKey={(each) => each.verb} />}
      <p class="note">{t("requestTimesHelp")}</p>
    </Card>
  );
}

function until(at: number) {
  return <Good good={at - serverNow() > SOON_SECONDS}>{`${moment(at)} (${duration(at - serverNow())})`}</Good>;
}

// The end of the certificate that the console serves with.
function OwnCertificate({ of }: { of: PlatformAnswer["certificate"] }) {
  return (
    <p>
      {t("ownCertificate")}: {of === null ? <span class="note">{t("ownCertificateNone")}</span> : of.until === null ? <span class="unknown">{t("unknown")}</span> : until(of.until)}
    </p>
  );
}

function Kernel({ family }: { family: KernelFamily }) {
  return (
    <section class="kernel" aria-label={family.family}>
      <h3>
        {family.family || t("unknown")} <span class="note">{t("nodesCount", { n: number(family.nodes) })}</span>
      </h3>
      <p class="note">{family.releases.map((each) => `${each.release || t("unknown")} (${number(each.nodes)})`).join(", ")}</p>
      <ul class="says">
        {family.agents.map((group) => (
          <li key={`${group.reason} ${group.kernelFiles}`}>
            {group.reason === null ? <span class="unknown">{t("agentNever")}</span> : <strong>{group.reason}</strong>} {t("nodesCount", { n: number(group.nodes) })}
            {group.changed !== null && <span class="note"> {t("changedAgo", { age: duration(serverNow() - group.changed) })}</span>}
            {group.kernelFiles && (
              <p>
                {t("kernelFiles")}: {group.kernelFiles}
              </p>
            )}
            <p class="names">
              {group.names.map((name) => (
                <a key={name} href={nodePath(name)}>
                  {name}
                </a>
              ))}
              {group.nodes > group.names.length && <span>{t("more", { n: number(group.nodes - group.names.length) })}</span>}
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}

// "effective: cpu.idle; accepted: cpu.weight; no effect: memory.low" → the files that the agent can use.
function usableFiles(text: string): string[] {
  return text.split("; ").flatMap((part) => /^(?:effective|accepted): (.*)$/.exec(part)?.[1]?.split(", ") ?? []);
}

// Kernel files that no agent of a newer kernel family can use, and agents of the family before it can. A family counts if
// an agent reports its files.
export function lostFiles(kernels: KernelFamily[]): { newer: string; older: string; files: string[] }[] | null {
  const reporting = kernels
    .filter((family) => family.agents.some((group) => group.kernelFiles !== ""))
    .sort((a, b) => a.family.localeCompare(b.family, "en", { numeric: true }))
    .map((family) => ({ family: family.family, usable: new Set(family.agents.flatMap((group) => usableFiles(group.kernelFiles))) }));
  if (reporting.length < 2) return null;
  return reporting
    .slice(1)
    .map((newer, i) => ({ newer: newer.family, older: reporting[i]!.family, files: [...reporting[i]!.usable].filter((file) => !newer.usable.has(file)) }))
    .filter((each) => each.files.length > 0);
}

function LostFiles({ kernels }: { kernels: KernelFamily[] }) {
  const lost = lostFiles(kernels);
  return (
    <Card title={t("lostFiles")}>
      {lost === null && <p class="note">{t("lostFilesOne")}</p>}
      {lost === null &&
        kernels
          .filter((family) => family.lacks.length > 0)
          .map((family) => (
            <p key={family.family}>
              <strong>{family.lacks.join(", ")}</strong> <span class="note">{t("lostFilesLacks", { family: family.family })}</span>
            </p>
          ))}
      {lost?.length === 0 && <p class="note">{t("lostFilesNone")}</p>}
      {lost?.map((each) => (
        <p key={each.newer}>
          <strong>{each.files.join(", ")}</strong> <span class="note">{t("lostFilesHelp", { newer: each.newer, older: each.older })}</span>
        </p>
      ))}
    </Card>
  );
}

// Answers of the API that hold no Secret, no token and no text of a pod.
const BUNDLED = ["summary", "problems", "platform", "pools", "settings", "budgets", "orders", "yarn", "history", "decisions?limit=500"];
const bundle = signal<{ missing: string[] } | "making" | null>(null);

async function makeBundle() {
  bundle.value = "making";
  const parts: Record<string, unknown> = {};
  const missing: string[] = [];
  for (const path of BUNDLED) {
    const name = path.replace(/\?.*/, "");
    try {
      parts[name] = await read<unknown>(`/api/v1/${path}`);
    } catch (error) {
      parts[name] = { unknown: (error as Error).message };
      missing.push(name);
    }
  }
  const url = URL.createObjectURL(new Blob([JSON.stringify({ schema: 1, made: new Date(serverNow() * 1000).toISOString(), ...parts }, null, 1)], { type: "application/json" }));
  const link = Object.assign(document.createElement("a"), { href: url, download: "tidemark-support.json" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
  bundle.value = { missing };
}

function SupportBundle() {
  const made = bundle.value;
  return (
    <Card
      title={t("supportBundle")}
      side={
        <button type="button" class="order" disabled={made === "making"} onClick={() => void makeBundle()}>
          {t("supportBundleMake")}
        </button>
      }
    >
      <p class="note">{t("supportBundleHelp")}</p>
      <p role="status">{made === "making" ? t("loading") : made ? (made.missing.length > 0 ? t("supportBundleMissing", { what: made.missing.join(", ") }) : t("supportBundleMade")) : ""}</p>
    </Card>
  );
}

export function Platform() {
  const { value, error } = useRead<PlatformAnswer>("/api/v1/platform", 10_000);
  tick.value;
  return (
    <>
      <Title>{t("platform")}</Title>
      {error && !value && <Failure error={error} />}
      {!value && !error && <p class="note">{t("loading")}</p>}
      {value && (
        <>
          <PartTable title={t("components")} part={value.components} none={t("noComponents")} columns={componentColumns()} rowKey={(each) => `${each.component} ${each.version}`} />
          <PartTable title={t("leaders")} part={value.leases} none={t("noLeases")} columns={leaseColumns()} rowKey={(each) => each.name} />
          <PartTable title={t("queues")} part={value.queues} none={t("noQueues")} columns={queueColumns()} rowKey={(each) => each.name} />
          <PartTable title={t("certificates")} part={value.authorities} none={t("noAuthorities")} columns={authorityColumns()} rowKey={(each) => each.object} />
          <Requests requests={value.requests} />
          <Card title={t("kernels")}>
            {value.kernels.length === 0 && <p class="note">{t("none")}</p>}
            {value.kernels.map((family) => (
              <Kernel key={family.family} family={family} />
            ))}
          </Card>
          <LostFiles kernels={value.kernels} />
          <SupportBundle />
          <Card title={t("consoleItself")} side={<span class="note">{value.version}</span>}>
            <Table label={t("consoleItself")} columns={sourceColumns()} rows={summary.value?.sources ?? []} rowKey={(each) => each.name} />
            <OwnCertificate of={value.certificate} />
          </Card>
        </>
      )}
    </>
  );
}
