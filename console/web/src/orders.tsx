// Orders of the page: off in two steps with progress and proof, on and observe. What is shown of an eviction comes
// from the cluster, so every tab and the terminal show the same.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Eviction, EvictionOptions, NodeLeft, NodeRow, Order, OrderAnswer, OrderRequest, Platform, Preview } from "@api";
import { Refused, read, send, tryOut, useRead } from "./api";
import { age, amountWithUnit, bytes, cores, countdown, moment, number, serverNow, t, type Key } from "./i18n";
import { Card, Words, shortcuts, shortcutsWork } from "./parts";
import { nodePath, path } from "./router";
import { evictions, nodeByName, nodes, summary, tick } from "./store";

export type Target = { scope: "cluster"; workClass?: string } | { scope: "pool"; pool: string } | { scope: "node"; nodes: string[] };
type Verb = OrderRequest["verb"];
// `stopped`: the order to give again.
type Asked = { verb: Verb; target: Target; stopped?: Eviction };

const asked = signal<Asked | null>(null);

const PREVIEW_DELAY_MS = 250;
const POLL_MS = 1000;
const STOPPED_SECONDS = 20; // a running command stores its progress every five seconds
const FINISHED_SHOWN_SECONDS = 3600;
const NODES_LEFT_SHOWN = 20;
const NODES_NAMED = 3;
const LASTS_AS_STORED = "stored";
const MANAGER_LEASE = "koordinator-manager";
const LEASE_READ_MS = 10_000;
export const NODES_OF_ORDER_MAX = 1000; // the API takes no more names at once

export function ask(verb: Verb, target: Target) {
  asked.value = { verb, target };
}

function targetText(target: Target): string {
  if (target.scope === "pool") return t("scopePool", { name: target.pool });
  if (target.scope === "node") return target.nodes.length > NODES_NAMED ? t("scopeNodes", { n: number(target.nodes.length) }) : t("scopeNode", { name: target.nodes.join(" ") });
  return target.workClass ? t("scopeClass", { name: target.workClass }) : t("scopeCluster");
}

// As the cluster stores it: "cluster", "pool web", "node web-1 web-2".
function scopeWords(target: Target): string {
  if (target.scope === "pool") return `pool ${target.pool}`;
  if (target.scope === "node") return `node ${target.nodes.join(" ")}`;
  return "cluster";
}
function targetOf(scope: string): Target {
  const [kind, ...names] = scope.split(" ");
  if (kind === "pool") return { scope: "pool", pool: names.join(" ") };
  if (kind === "node") return { scope: "node", nodes: names };
  return { scope: "cluster" };
}
function rowsOf(target: Target): NodeRow[] {
  if (target.scope === "pool") return nodes.value.filter((row) => row.pool === target.pool);
  if (target.scope === "node") return nodes.value.filter((row) => target.nodes.includes(row.name));
  return nodes.value;
}

// The word to type before an order that concerns many nodes.
function wordToType(target: Target): string | null {
  if (target.scope === "cluster") return target.workClass ?? "cluster";
  if (target.scope === "pool") return target.pool;
  return target.nodes.length > NODES_NAMED ? String(target.nodes.length) : null;
}

const CLUSTER: Target = { scope: "cluster" };

// The node or the pool of the page that is shown; elsewhere the cluster.
function targetOfPage(): Target {
  const [, kind, name] = path.value.split("/").map(decodeURIComponent);
  if (kind === "nodes" && name && nodeByName(name)) return { scope: "node", nodes: [name] };
  return kind === "pools" && name ? { scope: "pool", pool: name } : CLUSTER;
}

function OffButton({ target }: { target: Target }) {
  const key = shortcuts.value && scopeWords(target) === scopeWords(targetOfPage());
  return (
    <button type="button" class="order danger" onClick={() => ask("off", target)} {...(key ? { "aria-keyshortcuts": "Alt+O" } : {})}>
      <span aria-hidden="true">■</span> {t("order_off")}
    </button>
  );
}

// Off… for the cluster, on pages without buttons of their own.
export function HeaderOff() {
  const hasOwn = path.value === "/" || path.value === "/nodes" || targetOfPage().scope !== "cluster";
  if (summary.value?.readOnly !== false || hasOwn) return null;
  return (
    <div class="orders" role="group" aria-label={targetText(CLUSTER)}>
      <OffButton target={CLUSTER} />
    </div>
  );
}

export function OrderButtons({ target }: { target: Target }) {
  if (summary.value?.readOnly !== false) return null;
  return (
    <div class="orders" role="group" aria-label={targetText(target)}>
      <OffButton target={target} />
      <button type="button" class="order" onClick={() => ask("observe", target)}>
        <span aria-hidden="true">◇</span> {t("order_observe")}
      </button>
      <OnButton target={target} />
    </div>
  );
}

// On…, and when the orders that it would end do so by themselves.
function OnButton({ target }: { target: Target }) {
  const rows = target.scope === "cluster" && target.workClass ? [] : rowsOf(target).filter((row) => row.state !== "on");
  const ends = rows.flatMap((row) => row.until ?? []);
  const first = Math.min(...ends);
  if (ends.length > 0) tick.value; // the time moves on
  return (
    <>
      <button type="button" class="order" onClick={() => ask("on", target)}>
        <span aria-hidden="true">●</span> {t("order_on")}
      </button>
      {ends.length > 0 && (
        <span class="note ends">{t(ends.length === rows.length && ends.every((each) => each === first) ? "endsIn" : "endsFirst", { time: countdown(first - serverNow()) })}</span>
      )}
    </>
  );
}

// Alt+O opens the same as the button Off… of the page. A key with Alt cannot be typed by accident.
export function listenToOrderKey() {
  window.addEventListener("keydown", (event) => {
    if (!event.altKey || event.ctrlKey || event.metaKey || event.code !== "KeyO") return;
    if (!shortcutsWork() || summary.value?.readOnly !== false) return;
    event.preventDefault();
    ask("off", targetOfPage());
  });
}

function Line({ done, children }: { done: boolean; children: ComponentChildren }) {
  return (
    <li class={done ? "step done" : "step"}>
      <span aria-hidden="true">{done ? "✓" : "◷"}</span> {children} <span class="visually-hidden">{done ? t("step_done") : t("step_going")}</span>
    </li>
  );
}

function leftWords(left: NodeLeft): string[] {
  const out: string[] = [];
  if (left.notMarked) out.push(t("leftNotMarked", { why: left.notMarked }));
  if (left.offers) out.push(t("leftOffers"));
  if (left.pods > 0) out.push(t("leftPods", { n: number(left.pods) }));
  if (left.staticPods > 0) out.push(t("leftStatic", { n: number(left.staticPods) }));
  if (left.yarnCpuMilli > 0 || left.yarnMemoryBytes > 0) out.push(t("leftYarn", { cores: cores(left.yarnCpuMilli), memory: bytes(left.yarnMemoryBytes) }));
  if (left.agent === "unconfirmed") out.push(t("leftUnconfirmed", { says: left.agentSays ?? "" }));
  if (left.agent === "inForce") out.push(t("leftInForce", { says: left.agentSays ?? "" }));
  if (left.silent) out.push(t("leftSilent"));
  return [...out, ...(left.refused ?? [])];
}

function endOf(options: EvictionOptions | undefined): number | null {
  return options?.until ? Date.parse(options.until) / 1000 : null;
}

function optionsText(options: EvictionOptions | undefined): string {
  if (!options) return t("optionsUnknown");
  const end = endOf(options);
  const limit = options.budgetPerMinute === null ? t("optionNoBudget") : t("optionBudget", { n: number(options.budgetPerMinute) });
  return [t("optionGrace", { n: number(options.graceSeconds) }), options.atOnce ? t("optionAtOnce") : limit, end === null ? t("lasts_0") : t("endsIn", { time: countdown(end - serverNow()) })].join("; ");
}

function EvictionSteps({ eviction }: { eviction: Eviction }) {
  const { counts } = eviction;
  const total = number(counts.nodes);
  return (
    <>
      <progress aria-label={t("progressTitle")} value={counts.done} max={Math.max(1, counts.nodes)} />
      <ol class="steps">
        <Line done={counts.marked === counts.nodes}>{t("stepMarked", { n: number(counts.marked), total })}</Line>
        <Line done={counts.offersAtZero === counts.nodes}>{t("stepOffers", { n: number(counts.offersAtZero), total })}</Line>
        <Line done={counts.podsLeft === 0}>
          {t("stepPods", { n: number(counts.podsLeft) })}
          {counts.refused > 0 && `; ${t("stepRefuse", { n: number(counts.refused) })}`}
        </Line>
        {counts.nodesWithYarn > 0 && <Line done={false}>{t("stepYarn", { n: number(counts.nodesWithYarn) })}</Line>}
        <Line done={counts.filesRestored === counts.nodes}>{t("stepFiles", { n: number(counts.filesRestored), total })}</Line>
        <Line done={eviction.finished}>
          <strong>{t("proof", { n: number(counts.done), total })}</strong>
        </Line>
      </ol>
      <p class="note">{t("evictedCount", { n: number(counts.evicted) })}</p>
      <p class="note">
        {t("orderOptions")}: {optionsText(eviction.options)}
      </p>
      {eviction.nodesLeft.length > 0 && (
        <details open={!eviction.running || eviction.nodesLeft.length <= 3}>
          <summary>{`${t("nodesLeft")}: ${number(counts.nodes - counts.done)}`}</summary>
          <ul class="says">
            {eviction.nodesLeft.slice(0, NODES_LEFT_SHOWN).map((left) => (
              <li key={left.node}>
                <a href={nodePath(left.node)}>{left.node}</a>: <Words text={leftWords(left).join("; ")} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function isStopped(eviction: Eviction): boolean {
  return !eviction.finished && (!eviction.running || serverNow() - Date.parse(eviction.updated) / 1000 > STOPPED_SECONDS);
}

function isOver(eviction: Eviction): boolean {
  const end = endOf(eviction.options);
  return end !== null && end <= serverNow();
}

// The stored evictions that concern the page: those that are not over, and those that ended lately.
export function Evictions({ target }: { target: Target }) {
  tick.value;
  const pool = target.scope === "node" ? rowsOf(target)[0]?.pool : target.scope === "pool" ? target.pool : undefined;
  const concerns = (of: Target) =>
    target.scope === "cluster" || of.scope === "cluster" || (of.scope === "pool" && of.pool === pool) ||
    (of.scope === "node" && (target.scope === "node" ? of.nodes.includes(target.nodes[0]!) : rowsOf(of).some((row) => row.pool === pool)));
  const shown = evictions.value.filter(
    (each) => concerns(targetOf(each.scope)) && (!each.finished || serverNow() - Date.parse(each.updated) / 1000 < FINISHED_SHOWN_SECONDS),
  );
  return (
    <>
      {shown.map((each) => (
        <Card key={each.scope} class="eviction" title={t("evictionOf", { scope: targetText(targetOf(each.scope)) })}>
          <p class="note">{t("evictionBy", { by: each.by, age: age(Date.parse(each.began) / 1000), why: each.why })}</p>
          <EvictionSteps eviction={each} />
          {isStopped(each) && (
            <>
              <p class="stopped" role="status">
                <span aria-hidden="true">◆</span> <Words text={t(isOver(each) ? "evictionOver" : "evictionStopped")} />
              </p>
              {summary.value?.readOnly === false && !isOver(each) && (
                <button type="button" class="order danger" onClick={() => (asked.value = { verb: "off", target: targetOf(each.scope), stopped: each })}>
                  {t("continueOrder")}
                </button>
              )}
            </>
          )}
        </Card>
      ))}
    </>
  );
}

function Affected({ preview, evict, verb }: { preview: Preview | null; evict: boolean; verb: Verb }) {
  if (!preview) return <p class="note">{t("loading")}</p>;
  const { work } = preview;
  const row = (label: string, value: string) => (
    <div key={label}>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  );
  const amounts = (of: { cpu: number; memory: number } | null) => (of ? `${amountWithUnit("cpu", of.cpu)}, ${bytes(of.memory)}` : t("unknown"));
  return (
    <>
      <dl class="facts-list affected">
        {row(t("affectedNodes"), number(work.nodes))}
        {row(t("affectedPods"), work.pods === null ? t("unknown") : number(work.pods))}
        {row(t("affectedRequest"), amounts(work.podsRequest))}
        {work.yarnNodes > 0 && row(t("affectedYarn", { n: number(work.yarnNodes) }), amounts(work.yarn))}
        {row(t("affectedWork"), work.coreSeconds === null ? t("unknown") : number(work.coreSeconds / 3600, 1))}
        {row(t("affectedOffered"), amounts(work.offered))}
      </dl>
      {verb === "off" && <p class={evict ? "lost" : "note"}>{evict ? t("affectedLost") : t("affectedKept")}</p>}
      <p class="note">
        <strong>{t("ordersNow")}:</strong> {preview.orders.length === 0 && t("ordersNone")}
      </p>
      {preview.orders.length > 0 && (
        <ul class="says">
          {preview.orders.map((each) => (
            <li key={each.text}>{t("ordersNodes", { text: `${each.state}: ${each.text}`, n: number(each.nodes) })}</li>
          ))}
        </ul>
      )}
      {preview.report.notes.map((note) => (
        <p key={note} class="note">
          {note}
        </p>
      ))}
    </>
  );
}

// Progress of an order without eviction, by the nodes themselves. Of an order that is lost, only they say something.
function PlainSteps({ order, lost, target }: { order: Order; lost: boolean; target: Target }) {
  const rows = rowsOf(target);
  const total = number(rows.length);
  const count = (test: (row: NodeRow) => boolean) => rows.filter(test).length;
  const written = lost ? null : (
    <>
      <Line done={order.phase === "done"}>{t("stepOrder")}</Line>
      <Line done={order.phase === "done" && order.failed === 0}>{t("stepMarked", { n: number(order.marked), total: number(order.nodes) })}</Line>
    </>
  );
  if (target.scope === "cluster" && target.workClass) return <ol class="steps">{written}</ol>;
  const off = order.verb === "off";
  const inState = count((row) => row.state === order.verb);
  const draining = count((row) => row.state === "draining");
  const atZero = count((row) => row.cpuOffered === 0 && row.memoryOffered === 0);
  const tasks = rows.some((row) => row.tasks === null) ? null : rows.reduce((sum, row) => sum + (row.tasks ?? 0), 0);
  return (
    <ol class="steps">
      {written}
      {off && <Line done={atZero === rows.length}>{t("stepOffers", { n: number(atZero), total })}</Line>}
      {off && draining > 0 && <Line done={false}>{t("stepDraining", { n: number(draining) })}</Line>}
      <Line done={inState === rows.length}>{t("stepState", { state: t(`state_${order.verb}` as Key), n: number(inState), total })}</Line>
      {off && <Line done={tasks === 0}>{t("stepTasks", { n: tasks === null ? t("unknown") : number(tasks) })}</Line>}
    </ol>
  );
}

function Progress({ first, target }: { first: Order; target: Target }) {
  const [order, setOrder] = useState(first);
  const [lost, setLost] = useState(false); // the console that answers was started after the order, or is another replica
  useEffect(() => {
    if (lost || order.phase === "done" || order.phase === "failed") return;
    const timer = setTimeout(async () => {
      try {
        setOrder((await read<OrderAnswer>(`/api/v1/orders/${order.id}`)).order);
      } catch (failure) {
        if (failure instanceof Refused && failure.status === 404) setLost(true);
        else setOrder({ ...order }); // the console is away: the stored progress still comes by the stream
      }
    }, POLL_MS);
    return () => clearTimeout(timer);
  }, [order, lost]);
  const stored = evictions.value.find((each) => order.evict && each.scope === scopeWords(target) && Date.parse(each.updated) / 1000 >= order.at);
  const eviction = stored ?? (lost ? null : order.eviction);
  const problems = order.report?.nodes ?? [];
  return (
    <>
      <div class="progress" aria-live="polite">
        {lost && !stored && <p class="note">{t("orderNotKnown")}</p>}
        {eviction ? (
          <EvictionSteps eviction={eviction} />
        ) : order.evict && !lost ? (
          <Line done={false}>{t("stepMarked", { n: number(order.marked), total: number(order.nodes) })}</Line>
        ) : (
          <PlainSteps order={order} lost={lost} target={target} />
        )}
        {order.error && (
          <p class="failure" role="alert">
            {t("refused", { why: order.error })}
          </p>
        )}
        {problems.length > 0 && (
          <ul class="says">
            {problems.slice(0, NODES_LEFT_SHOWN).map((each) => (
              <li key={each.name}>
                <a href={nodePath(each.name)}>{each.name}</a>: {each.problem ?? each.text ?? each.outcome}
              </li>
            ))}
          </ul>
        )}
        {(order.report?.notes ?? []).map((note) => (
          <p key={note} class="note">
            {note}
          </p>
        ))}
        {order.evict && (stored || !lost) && !eviction?.finished && <p class="note">{t("closeStays")}</p>}
      </div>
      {order.verb === "off" && (order.phase === "done" || eviction?.finished || lost) && (
        <div class="orders">
          <OnButton target={target} />
        </div>
      )}
    </>
  );
}

// What an off does without a manager. Says so if the manager's Lease shows that it does not run.
function Alone({ ofClass }: { ofClass: boolean }) {
  const { value } = useRead<Platform>("/api/v1/platform", LEASE_READ_MS);
  const lease = value?.leases.rows?.find((each) => each.name === MANAGER_LEASE);
  // Without a Lease, or without rights to read it, nothing is known.
  const renewed = lease?.renewed ?? null;
  const stopped = lease && renewed !== null && (lease.holder === "" || serverNow() - renewed > (lease.lastsSeconds ?? Infinity));
  if (!stopped) return ofClass ? null : <p class="note">{t("worksAlone")}</p>;
  return (
    <p class="lost" role="status">
      {t("managerStopped", { time: moment(renewed) })} {t(ofClass ? "missingForClass" : "missingWithoutManager")}
    </p>
  );
}

function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (each) => each.toString(16)).join("-");
}

function Form({ of, close }: { of: Asked; close: () => void }) {
  const { verb, target, stopped } = of;
  const workClass = target.scope === "cluster" ? target.workClass : undefined;
  // Of a stopped order; what is unknown of it is empty, and the form does not go on without it.
  const options = stopped?.options;
  const end = endOf(options);
  const [evict, setEvict] = useState(stopped !== undefined);
  const [reason, setReason] = useState(stopped?.why ?? "");
  const [drain, setDrain] = useState("15");
  const [grace, setGrace] = useState(stopped ? String(options?.graceSeconds ?? "") : "30");
  const [budget, setBudget] = useState(String(options?.budgetPerMinute ?? ""));
  const [atOnce, setAtOnce] = useState(options?.atOnce ?? false);
  const [lasts, setLasts] = useState(end !== null ? LASTS_AS_STORED : stopped && !options ? "" : "0");
  const [typed, setTyped] = useState("");
  const [step, setStep] = useState<"form" | "confirm">("form");
  const [preview, setPreview] = useState<Preview | null>(null);
  const [order, setOrder] = useState<Order | null>(null);
  const [error, setError] = useState<{ field: string; text: string } | null>(null);
  const [sending, setSending] = useState(false);
  const key = useRef("");
  const confirmed = useRef<OrderRequest | null>(null); // what the key is of: an end moves with the time
  // Ends the preview. A dry run after the order would find nothing left to change, which the API refuses.
  const endPreview = useRef(() => {});
  const ids = useId();
  const heading = useRef<HTMLHeadingElement>(null);

  const request = (): OrderRequest => ({
    verb,
    scope: target.scope,
    ...(target.scope === "pool" ? { pool: target.pool } : {}),
    ...(target.scope === "node" ? { nodes: target.nodes } : {}),
    ...(workClass ? { only: [`class=${workClass}`] } : {}),
    reason: reason.trim(),
    ...(verb === "off" && evict ? { evict: true, ...(grace ? { graceSeconds: Number(grace) } : {}), ...(atOnce ? { atOnce } : budget ? { budgetPerMinute: Number(budget) } : {}) } : {}),
    ...(verb === "off" && !evict ? { drainSeconds: Math.round(Number(drain) * 60) } : {}),
    ...(lasts === "0" || lasts === "" ? {} : { lastsSeconds: lasts === LASTS_AS_STORED ? Math.max(1, Math.ceil(end! - serverNow())) : Number(lasts) }),
  });
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(async () => {
      try {
        setPreview(await tryOut<Preview>("/api/v1/orders", request(), abort.signal));
        setError((before) => (before?.field === "" ? null : before));
      } catch (failure) {
        if (!abort.signal.aborted) setError({ field: "", text: t("refused", { why: (failure as Error).message }) });
      }
    }, PREVIEW_DELAY_MS);
    return (endPreview.current = () => {
      clearTimeout(timer);
      abort.abort();
    });
  }, [verb, evict]);
  // At once: a later focus would take it from a field that the person already types into.
  useLayoutEffect(() => heading.current?.focus(), [step, order !== null]);

  const next = () => {
    if (reason.trim() === "") {
      setError({ field: "reason", text: t("reasonMissing") });
      document.getElementById(`${ids}-reason`)?.focus();
      return;
    }
    setError(null);
    key.current = newKey();
    confirmed.current = request();
    setStep("confirm");
  };
  const give = async () => {
    endPreview.current();
    setSending(true);
    setError(null);
    try {
      setOrder((await send<OrderAnswer>("/api/v1/orders", confirmed.current, key.current)).order);
    } catch (failure) {
      const refused = failure instanceof Refused ? failure : null;
      setError({ field: refused?.field ?? "", text: t(refused ? "refused" : "notSent", { why: (failure as Error).message }) });
      if (refused) key.current = newKey();
    }
    setSending(false);
  };

  const word = wordToType(target);
  const title = t(`orderTitle_${verb}` as Key, { scope: targetText(target) });
  const failure = error && (
    <p class="failure" role="alert" id={`${ids}-error`}>
      {error.text}
    </p>
  );
  if (order) {
    return (
      <>
        <h2 ref={heading} tabIndex={-1}>{title}</h2>
        <Progress first={order} target={target} />
        <div class="buttons">
          <button type="button" class="order" onClick={close}>
            {t("close")}
          </button>
        </div>
      </>
    );
  }
  const affected = (
    <section aria-label={t("affected")}>
      <h3>{t("affected")}</h3>
      <Affected preview={preview} evict={evict} verb={verb} />
    </section>
  );
  if (step === "confirm") {
    return (
      <form
        key="confirm" // an input of the other step must not be used again with its limits
        onSubmit={(event) => {
          event.preventDefault();
          void give();
        }}
      >
        <h2 ref={heading} tabIndex={-1}>{title}</h2>
        <p>
          <strong>{verb === "off" ? t(evict ? "stopAndEvict" : "stopSelling") : t(`confirm_${verb}` as Key)}</strong>: {reason.trim()}
        </p>
        {affected}
        {word !== null && (
          <label>
            {t("typeName", { name: word })}
            <input type="text" autocomplete="off" spellcheck={false} value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
          </label>
        )}
        {failure}
        <div class="buttons">
          <button type="button" class="quiet" onClick={() => setStep("form")}>
            {t("back")}
          </button>
          <button type="submit" class={verb === "off" ? "order danger" : "order"} disabled={sending || (word !== null && typed !== word)}>
            {verb === "off" && evict ? t("confirm_evict") : t(`confirm_${verb}` as Key)}
          </button>
        </div>
      </form>
    );
  }
  return (
    <form
      key="form"
      onSubmit={(event) => {
        event.preventDefault();
        next();
      }}
    >
      <h2 ref={heading} tabIndex={-1}>{title}</h2>
      {verb === "off" && workClass ? (
        <p class="note">{t("classOffHelp")}</p>
      ) : verb === "off" ? (
        <fieldset>
          <legend>{t("what")}</legend>
          {([false, true] as const).map((value) => (
            <label key={String(value)} class="option">
              <input type="radio" name={`${ids}-evict`} checked={evict === value} onChange={() => setEvict(value)} />
              <span>
                {t(value ? "stopAndEvict" : "stopSelling")}
                <span class="note">{t(value ? "stopAndEvictHelp" : "stopSellingHelp")}</span>
              </span>
            </label>
          ))}
        </fieldset>
      ) : (
        <p class="note">{t(verb === "on" ? "onHelp" : "observeHelp")}</p>
      )}
      <label>
        {t("reasonLabel")}
        <input
          id={`${ids}-reason`}
          type="text"
          maxLength={256}
          aria-required="true"
          aria-invalid={error?.field === "reason"}
          {...(error?.field === "reason" ? { "aria-describedby": `${ids}-error` } : {})}
          value={reason}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
      </label>
      {stopped && !options && <p class="lost">{t("optionsUnknown")} {t("optionsAsk")}</p>}
      <div class="fields">
        {verb === "off" && !evict && (
          <label>
            {t("drainMinutes")}
            <input type="number" min="0" max="43200" step="1" required value={drain} onInput={(event) => setDrain(event.currentTarget.value)} />
          </label>
        )}
        {verb === "off" && evict && (
          <>
            <label>
              {t("graceSeconds")}
              <input type="number" min="1" max="3600" step="1" required value={grace} onInput={(event) => setGrace(event.currentTarget.value)} />
            </label>
            <label>
              {t("budget")}
              <input type="number" min="1" max="1000000" step="1" placeholder={t("budgetNone")} disabled={atOnce} value={budget} onInput={(event) => setBudget(event.currentTarget.value)} />
            </label>
          </>
        )}
        <label>
          {t("lasts")}
          <select required value={lasts} onChange={(event) => setLasts(event.currentTarget.value)}>
            {stopped && !options && <option value="">{t("choosePlease")}</option>}
            {end !== null && <option value={LASTS_AS_STORED}>{t("lasts_stored", { time: countdown(end - serverNow()) })}</option>}
            {["0", "3600", "7200", "28800", "86400"].map((each) => (
              <option key={each} value={each}>
                {t(`lasts_${each}` as Key)}
              </option>
            ))}
          </select>
        </label>
      </div>
      {verb === "off" && evict && (
        <label class="option">
          <input type="checkbox" checked={atOnce} onChange={(event) => setAtOnce(event.currentTarget.checked)} />
          <span>{t("atOnce")}</span>
        </label>
      )}
      {affected}
      {verb === "off" && <Alone ofClass={workClass !== undefined} />}
      {failure}
      <div class="buttons">
        <button type="button" class="quiet" onClick={close}>
          {t("cancel")}
        </button>
        <button type="submit" class="order">
          {t("next")}
        </button>
      </div>
    </form>
  );
}

export function OrderDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const of = asked.value;
  // At once, so that the close event of the order before, which may be late, finds this one open.
  useLayoutEffect(() => {
    if (of) dialog.current?.showModal();
    else dialog.current?.close();
  }, [of]);
  return (
    <dialog ref={dialog} class="order-dialog" {...(of ? { "aria-label": t(`orderTitle_${of.verb}` as Key, { scope: targetText(of.target) }) } : {})} onClose={() => { if (!dialog.current?.open) asked.value = null; }}>
      {of && <Form key={`${of.verb} ${scopeWords(of.target)}`} of={of} close={() => (asked.value = null)} />}
    </dialog>
  );
}
