// Settings: which revision is in force where, and what differs between two.
import type { Revision, SettingsDiff, SettingsNow } from "@api";
import { useRead } from "../api";
import { age, moment, number, t, type Key } from "../i18n";
import { Card, Failure, Title } from "../parts";
import { query, setQuery } from "../router";
import { tick } from "../store";
import { Table, type Column } from "../table";

function columns(nodes: number): Column<Revision>[] {
  return [
    { key: "number", title: t("revision"), value: (each) => each.number },
    { key: "hash", title: t("hash"), value: (each) => each.hash, cell: (each) => <code>{each.hash}</code> },
    { key: "taken", title: t("taken"), value: (each) => each.taken, cell: (each) => <>{moment(each.taken)} <span class="note">{age(each.taken)}</span></> },
    { key: "nodes", title: t("toRun"), number: true, value: (each) => each.nodes, cell: (each) => `${number(each.nodes)} / ${number(nodes)}` },
    { key: "confirmed", title: t("confirmed"), number: true, value: (each) => each.confirmed, cell: (each) => (each.nodes > 0 ? `${number(each.confirmed)} / ${number(each.nodes)}` : "–") },
    { key: "completed", title: t("wasEverywhere"), value: (each) => (each.completed ? 1 : 0), cell: (each) => t(each.completed ? "yes" : "no") },
  ];
}

function InForce({ settings }: { settings: SettingsNow }) {
  const { rollout, current } = settings;
  const target = settings.revisions.find((each) => each.hash === rollout?.target);
  return (
    <dl class="info">
      <div>
        <dt>{t("inForce")}</dt>
        <dd>
          {rollout === null ? (
            <span class="unknown">{t("unknown")}</span>
          ) : (
            <>
              {t("revisionN", { n: target?.number ?? rollout.target })}, {t(`rollout_${rollout.phase}` as Key)}, {age(rollout.began)}
            </>
          )}
        </dd>
      </div>
      {rollout && (
        <div>
          <dt>{t("managerLooked")}</dt>
          <dd>{age(rollout.looked)}</dd>
        </div>
      )}
      <div>
        <dt>{t("storedNow")}</dt>
        <dd>
          {current.revision === null ? (
            <span class="mark severity-warn">
              <span aria-hidden="true">◆</span> {t("notTaken")}
            </span>
          ) : (
            t("revisionN", { n: current.revision })
          )}
        </dd>
      </div>
      {rollout?.pausedSince != null && (
        <div>
          <dt>{t("paused")}</dt>
          <dd>
            {age(rollout.pausedSince)}: {rollout.pauseText} [{rollout.pauseReason}]
          </dd>
        </div>
      )}
    </dl>
  );
}

// A line of the API begins with two blanks, its sign and a blank.
function DiffLine({ line }: { line: string }) {
  const sign = line.slice(2, 3);
  const kind = sign === "+" ? "plus" : sign === "-" ? "minus" : "same";
  return <span class={`diff-${kind}`}>{line + "\n"}</span>;
}

function Diff({ from, to }: { from: string; to: string }) {
  const { value, error } = useRead<SettingsDiff>(`/api/v1/settings/diff?${new URLSearchParams({ from, to })}`, 30_000);
  if (error && !value) return <Failure error={error} />;
  if (!value) return <p class="note">{t("loading")}</p>;
  if (value.changes.length === 0) return <p class="note" role="status">{t("sameTexts")}</p>;
  return (
    <>
      {value.changes.map((change) => (
        <div key={`${change.configMap} ${change.key}`}>
          <h3>
            {change.configMap} <code>{change.key}</code>
          </h3>
          <pre class="diff" tabIndex={0} aria-label={`${change.configMap} ${change.key}`}>
            {change.diff.replace(/\n$/, "").split("\n").map((line, i) => (
              <DiffLine key={i} line={line} />
            ))}
          </pre>
        </div>
      ))}
    </>
  );
}

export function Settings() {
  const { value, error } = useRead<SettingsNow>("/api/v1/settings", 5000);
  tick.value;
  const names = ["now", ...(value?.revisions.map((each) => String(each.number)) ?? [])];
  const to = query.value.get("to") ?? "now";
  const from = query.value.get("from") ?? (names[2] ?? names[1] ?? "now");
  const name = (each: string) => (each === "now" ? t("storedNow") : t("revisionN", { n: each }));
  const select = (key: "from" | "to", chosen: string) => (
    <label class="field">
      {t(key === "from" ? "diffFrom" : "diffTo")}
      <select value={chosen} onChange={(event) => setQuery(key, event.currentTarget.value)}>
        {names.map((each) => (
          <option key={each} value={each}>
            {name(each)}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <>
      <Title>{t("settings")}</Title>
      {error && !value && <Failure error={error} />}
      {!value && !error && <p class="note">{t("loading")}</p>}
      {value && (
        <>
          <Card title={t("inForce")}>
            {!value.stored && <p class="note">{t("noRevisions")}</p>}
            <InForce settings={value} />
            {value.current.problems.map((problem) => (
              <p key={problem} class="failure">
                {problem}
              </p>
            ))}
            {value.problem && <p class="failure">{value.problem}</p>}
          </Card>
          {value.revisions.length > 0 && (
            <Card title={t("revisions")}>
              <Table label={t("revisions")} columns={columns(value.nodes)} rows={value.revisions} rowKey={(each) => String(each.number)} sort="number" descending />
            </Card>
          )}
          {value.revisions.length > 0 && (
            <Card title={t("compare")} side={<div class="tools">{select("from", from)} {select("to", to)}</div>}>
              <Diff from={from} to={to} />
            </Card>
          )}
        </>
      )}
    </>
  );
}
