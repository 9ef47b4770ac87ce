// Settings: which revision is in force where, what differs between two, edit, undo, pause and resume.
import type { Revision, SettingsDiff, SettingsNow, SettingsUndone } from "@api";
import { useRead } from "../api";
import { change } from "../change";
import { age, moment, number, t, type Key } from "../i18n";
import { Card, Failure, Title } from "../parts";
import { query, setQuery } from "../router";
import { Editor, useEdit } from "../settings_edit";
import { summary, tick } from "../store";
import { Table, type Column } from "../table";
import { TextDiffs } from "../text_diff";

function columns(nodes: number, stored: number | null, writes: boolean): Column<Revision>[] {
  const shown: Column<Revision>[] = [
    { key: "number", title: t("revision"), value: (each) => each.number },
    { key: "hash", title: t("hash"), value: (each) => each.hash, cell: (each) => <code>{each.hash}</code> },
    { key: "taken", title: t("taken"), value: (each) => each.taken, cell: (each) => <>{moment(each.taken)} <span class="note">{age(each.taken)}</span></> },
    { key: "nodes", title: t("toRun"), number: true, value: (each) => each.nodes, cell: (each) => `${number(each.nodes)} / ${number(nodes)}` },
    { key: "confirmed", title: t("confirmed"), number: true, value: (each) => each.confirmed, cell: (each) => (each.nodes > 0 ? `${number(each.confirmed)} / ${number(each.nodes)}` : "–") },
    { key: "completed", title: t("wasEverywhere"), value: (each) => (each.completed ? 1 : 0), cell: (each) => t(each.completed ? "yes" : "no") },
  ];
  if (!writes) return shown;
  const undo: Column<Revision> = {
    key: "undo",
    title: t("undo"),
    value: () => null,
    cell: (each) =>
      each.number === stored ? null : (
        <button type="button" class="quiet" aria-label={t("undoTo", { n: each.number })} onClick={() => undoTo(each)}>
          {t("undo")}
        </button>
      ),
  };
  return [...shown, undo];
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

function Diff({ from, to }: { from: string; to: string }) {
  const { value, error } = useRead<SettingsDiff>(`/api/v1/settings/diff?${new URLSearchParams({ from, to })}`, 30_000);
  if (error && !value) return <Failure error={error} />;
  if (!value) return <p class="note">{t("loading")}</p>;
  if (value.changes.length === 0) return <p class="note" role="status">{t("sameTexts")}</p>;
  return <TextDiffs changes={value.changes} />;
}

// Nodes that confirmed the revision with this hash, once the manager took it, and the way back to the one before it.
export function Progress({ settings, hash }: { settings: SettingsNow; hash: string }) {
  const revision = settings.revisions.find((each) => each.hash === hash);
  const before = settings.revisions.find((each) => revision !== undefined && each.number < revision.number); // the newest is first
  const { rollout } = settings;
  return (
    <Card title={t("written")}>
      <div class="progress" role="status">
        {!revision ? (
          <p>{t("waitsForManager")}</p>
        ) : (
          <>
            <p>
              {t("revisionN", { n: revision.number })}
              {rollout?.target === hash && `, ${t(`rollout_${rollout.phase}` as Key)}`}
            </p>
            <progress aria-label={t("written")} value={revision.confirmed} max={Math.max(1, settings.nodes)} />
            <p>{t("inForceOn", { n: number(revision.confirmed), total: number(settings.nodes) })}</p>
            {before && (
              <p>
                <button type="button" class="order" onClick={() => undoTo(before)}>
                  {t("undoTo", { n: before.number })}
                </button>
              </p>
            )}
          </>
        )}
      </div>
    </Card>
  );
}

function undoTo(revision: Revision) {
  change.value = {
    title: t("undoTitle", { n: revision.number }),
    help: t("undoHelp"),
    confirm: t("undoConfirm"),
    path: "/api/v1/settings/undo",
    fixed: { to: revision.number },
    preview: (answer) => {
      const { changes, atOnce } = answer as SettingsUndone;
      return (
        <>
          <p>{t(changes.length === 0 ? "sameTexts" : atOnce ? "undoAtOnce" : "undoSteps")}</p>
          <TextDiffs changes={changes} />
        </>
      );
    },
    done: t("undoDone"),
  };
}

function pause() {
  change.value = { title: t("pauseTitle"), help: t("pauseHelp"), confirm: t("pauseConfirm"), path: "/api/v1/settings/pause", done: t("requestLeft") };
}
function resume() {
  change.value = {
    title: t("resumeTitle"),
    help: t("resumeHelp"),
    confirm: t("resumeConfirm"),
    path: "/api/v1/settings/resume",
    fields: [{ name: "now", label: t("resumeNow"), kind: "check" }],
    done: t("requestLeft"),
  };
}

// Pause a rollout under way, or resume it.
export function RolloutButtons({ rollout }: { rollout: SettingsNow["rollout"] }) {
  if (summary.value?.readOnly !== false || !rollout) return null;
  const paused = rollout.pausedSince != null;
  if (!paused && rollout.phase === "settled") return null;
  return (
    <>
      <button type="button" class="order" onClick={paused ? resume : pause}>
        {t(paused ? "resumeRollout" : "pauseRollout")}
      </button>
      {!paused && (
        <button type="button" class="order" onClick={resume}>
          {t("resumeRollout")}
        </button>
      )}
    </>
  );
}

export function Settings() {
  const { value, error } = useRead<SettingsNow>("/api/v1/settings", 5000);
  const { edit, failure, written, button, close, done } = useEdit(null);
  const writes = summary.value?.readOnly === false;
  tick.value;
  const buttons = writes && value && (
    <div class="orders" role="group" aria-label={t("settings")}>
      {button}
      <RolloutButtons rollout={value.rollout} />
    </div>
  );
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
      <div class="title-line">
        <Title>{t("settings")}</Title>
        {buttons}
      </div>
      {failure && <Failure error={failure} />}
      {edit && <Editor key={edit.texts.hash} first={edit.texts} title={t("editTitle")} close={close} done={done} />}
      {written && value && <Progress settings={value} hash={written} />}
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
              <Table label={t("revisions")} columns={columns(value.nodes, value.current.revision, writes)} rows={value.revisions} rowKey={(each) => String(each.number)} sort="number" descending />
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
