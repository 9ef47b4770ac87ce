// Edits of the settings by the page of the console in a real browser, on a real API server with a manager and six nodes
// of 32 cores, 2 of which are in use. Two of the nodes are canaries.
//
// TIDEMARK_CONSOLE_URL   a console with --write
// TIDEMARK_VIEWER_URL    another one, with the rights of a viewer
// TIDEMARK_CONTROL_URL   POST /at-once, /fast, /slow: the rollout of later edits; /report: agents; /kubectl-edit-N: a person at
//                        a terminal; /kill-manager, /start-manager
// TIDEMARK_CHROMIUM, TIDEMARK_MODULES, TIDEMARK_SCREENSHOTS   as in page.test.mjs
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { object } from "./api_server.mjs";
import { press, tabTo, type } from "./keyboard.mjs";

const { TIDEMARK_CONSOLE_URL: CONSOLE, TIDEMARK_VIEWER_URL: VIEWER, TIDEMARK_CONTROL_URL: CONTROL, TIDEMARK_CHROMIUM, TIDEMARK_MODULES, TIDEMARK_SCREENSHOTS } = process.env;
const require = createRequire(join(TIDEMARK_MODULES, "package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const PATIENCE_MS = 60_000;

let browser;
before(async () => {
  browser = await chromium.launch({ executablePath: TIDEMARK_CHROMIUM, args: FLAGS });
});
after(() => browser?.close());
beforeEach(async () => {
  await control("at-once");
  await control("report");
  await percentIs(60);
});

async function control(what) {
  const answer = await fetch(CONTROL + what, { method: "POST" });
  assert.equal(answer.status, 204, what);
}
async function open(path, { url = CONSOLE, locale = "en-GB", dark = false, width = 1280 } = {}) {
  const context = await browser.newContext({ locale, colorScheme: dark ? "dark" : "light", viewport: { width, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  page.problems = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && page.problems.push(message.text()));
  page.on("pageerror", (error) => page.problems.push(String(error)));
  await page.goto(url.replace(/\/$/, "") + path);
  return page;
}
async function close(page, expected = /^$/) {
  assert.deepEqual(page.problems.filter((each) => !expected.test(each)), []);
  await page.context().close();
}
async function accessible(page, what) {
  if (await page.evaluate(() => !("axe" in globalThis))) await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  assert.deepEqual(violations.map((each) => `${each.id}: ${each.nodes.map((node) => node.target.join(" ")).join(", ")}`), [], what);
}
async function screenshot(page, name) {
  await page.screenshot({ path: join(TIDEMARK_SCREENSHOTS, `settings-${name}.png`), fullPage: true });
}

async function api(path) {
  return (await fetch(new URL(`api/v1/${path}`, CONSOLE))).json();
}
async function until(test, what) {
  const deadline = Date.now() + PATIENCE_MS;
  while (Date.now() < deadline) {
    if (await test()) return;
    await new Promise((wake) => setTimeout(wake, 200));
  }
  assert.fail(what);
}
const map = async (name) => (await object(`/api/v1/namespaces/koordinator-system/configmaps/${name}`)).data;
async function stored() {
  const { texts } = await api("settings/texts");
  return JSON.parse(texts["slo-controller-config"]["colocation-config"]);
}
// Until all nodes confirmed a revision with this percentage, which a test before may have changed.
async function percentIs(percent) {
  if ((await stored()).cpuReclaimThresholdPercent !== percent) await control(`kubectl-edit-${percent}`);
  await inForce();
}
async function inForce() {
  const { hash } = await api("settings/texts"); // the other answer may be two seconds old
  await until(async () => {
    const { revisions, rollout, nodes } = await api("settings");
    const found = revisions.find((each) => each.hash === hash);
    return found && nodes === 6 && rollout.target === hash && rollout.phase === "settled" && found.confirmed === nodes;
  }, "the stored settings are in force on all nodes");
}

const field = (page, key) => page.locator(".text-field", { hasText: key }).locator("textarea");
const plan = (page) => page.getByRole("button", { name: "Check and plan" }).click();
const write = (page) => page.getByRole("button", { name: "Write these settings" }).click();
const reason = (page, text) => page.locator(".editor").getByRole("textbox", { name: /Reason/ }).fill(text);
const dialog = (page) => page.locator("dialog.order-dialog[open]");
async function reasonByKeyboard(page, text) {
  await type(dialog(page).getByRole("textbox", { name: /Reason/ }), text);
  await page.keyboard.press("Enter");
}
async function beginEdit(page) {
  await page.getByRole("button", { name: "Edit…" }).click();
  await field(page, "colocation-config").waitFor();
}
async function setPercent(page, percent) {
  const area = field(page, "colocation-config");
  await area.fill((await area.inputValue()).replace(/("cpuReclaimThresholdPercent": )\d+/, `$1${percent}`));
}

describe("an edit", () => {
  test("is planned, written, rolled out and undone", async () => {
    await control("fast");
    await inForce();
    const page = await open("/settings");
    await beginEdit(page);
    await setPercent(page, 50);
    await plan(page);
    await page.locator(".plan-sum", { hasText: "−19.2 cores, 6 of 6 nodes change" }).waitFor();
    assert.equal((await stored()).cpuReclaimThresholdPercent, 60, "a plan writes nothing");
    await screenshot(page, "plan");
    await accessible(page, "the plan");
    await write(page);
    await page.getByRole("alert").filter({ hasText: "A reason is required" }).waitFor();
    await reason(page, "less at night");
    await write(page);
    await page.getByText("In force on 6 of 6 nodes").waitFor();
    await screenshot(page, "in-force");
    await accessible(page, "the progress");
    assert.equal((await stored()).cpuReclaimThresholdPercent, 50);

    const { revisions } = await api("settings");
    const earlier = revisions[1].number;
    await page.locator("table").getByRole("button", { name: `Undo to revision ${earlier}…` }).click();
    await dialog(page).getByRole("heading", { name: `Restore revision ${earlier}` }).waitFor();
    await dialog(page).getByRole("button", { name: "Next" }).click();
    await dialog(page).getByRole("alert").filter({ hasText: "reason" }).waitFor();
    await dialog(page).getByRole("textbox", { name: /Reason/ }).fill("too little");
    await dialog(page).getByRole("button", { name: "Next" }).click();
    await dialog(page).locator(".diff-plus", { hasText: "60" }).waitFor();
    await dialog(page).getByText("holds everywhere at once").waitFor();
    await screenshot(page, "undo");
    await accessible(page, "the undo");
    await dialog(page).getByRole("button", { name: "Restore" }).click();
    await dialog(page).getByRole("status").filter({ hasText: "Written" }).waitFor();
    await dialog(page).getByRole("button", { name: "Close" }).click();
    assert.equal((await stored()).cpuReclaimThresholdPercent, 60);
    await inForce();
    await close(page, /400/);
  });

  test("with wrong input shows each error at its place, and writes nothing", async () => {
    const page = await open("/settings");
    await beginEdit(page);
    await setPercent(page, -1);
    const pools = field(page, "config.yaml");
    await pools.fill((await pools.inputValue()).replace("canary: true", "canary: perhaps").replace("mode: enforce", "mode: sometimes"));
    await plan(page);
    await page.getByText("Errors: 3").waitFor();
    const places = await page.locator(".faults code:first-child").allInnerTexts();
    assert.deepEqual(places.toSorted(), ["cpuReclaimThresholdPercent", "mode", "pools[0] (canary).canary"]);
    assert.equal(await pools.getAttribute("aria-invalid"), "true");
    await screenshot(page, "errors");
    await accessible(page, "the errors");
    await page.locator(".faults li", { hasText: "pools[0] (canary)" }).getByRole("button", { name: /Go to line/ }).click();
    const selected = await pools.evaluate((area) => area.value.slice(area.selectionStart, area.selectionEnd));
    assert.match(selected, /canary: perhaps/);
    await pools.fill("schema: 1\n  mode: [enforce\n");
    await plan(page);
    await page.locator(".faults").first().waitFor();
    assert.equal((await stored()).cpuReclaimThresholdPercent, 60);
    await page.getByRole("button", { name: "Cancel" }).click();
    await close(page, /400/);
  });

  test("of two persons and of kubectl edit shows the three versions", async () => {
    const ann = await open("/settings");
    const bob = await open("/settings");
    await beginEdit(ann);
    await beginEdit(bob);
    await control("kubectl-edit-55");
    const pools = field(ann, "config.yaml");
    await pools.fill((await pools.inputValue()).replace("mode: enforce", "mode: observe"));
    await plan(ann);
    const versions = ann.getByRole("alert").filter({ hasText: "The settings changed meanwhile" });
    await versions.waitFor();
    const texts = async (page, key) => page.locator(".versions > div", { hasText: key }).locator("pre").allInnerTexts();
    assert.deepEqual((await texts(ann, "colocation-config")).map((text) => JSON.parse(text).cpuReclaimThresholdPercent), [60, 55, 60]);
    assert.deepEqual((await texts(ann, "config.yaml")).map((text) => /mode: (\w+)/.exec(text)[1]), ["enforce", "enforce", "observe"]);
    await screenshot(ann, "three-versions");
    await accessible(ann, "three versions");
    await ann.getByRole("button", { name: "Continue on theirs" }).click();
    assert.match(await field(ann, "colocation-config").inputValue(), /55/, "the key that only they changed is theirs");
    assert.match(await field(ann, "config.yaml").inputValue(), /mode: observe/, "the key that Ann changed is Ann's");
    await reason(ann, "a look first");
    await plan(ann);
    await write(ann);
    await ann.getByText(/In force on \d of 6 nodes|has not taken/).first().waitFor();

    await setPercent(bob, 45);
    await plan(bob);
    await bob.getByRole("alert").filter({ hasText: "The settings changed meanwhile" }).waitFor();
    assert.deepEqual((await texts(bob, "colocation-config")).map((text) => JSON.parse(text).cpuReclaimThresholdPercent), [60, 55, 45]);
    await bob.getByRole("button", { name: "Continue on theirs" }).click();
    assert.match(await field(bob, "config.yaml").inputValue(), /mode: observe/);
    await reason(bob, "less");
    await plan(bob);
    await bob.locator(".plan-sum").waitFor();
    await write(bob);
    await bob.getByText(/In force on \d of 6 nodes|has not taken/).first().waitFor();
    assert.equal((await stored()).cpuReclaimThresholdPercent, 45);
    await close(ann, /412/);
    await close(bob, /412/);
  });

  test("of a viewer is planned, and the API server refuses the write", async () => {
    const page = await open("/settings", { url: VIEWER });
    await beginEdit(page);
    await setPercent(page, 50);
    await reason(page, "curious");
    await plan(page);
    await page.locator(".plan-sum").waitFor();
    await write(page);
    await page.getByRole("alert").filter({ hasText: /Refused.*forbidden.*viewer.*cannot patch/ }).waitFor();
    await screenshot(page, "viewer");
    assert.equal((await stored()).cpuReclaimThresholdPercent, 60);
    await close(page, /403/);
  });

  test("in Chinese, dark, by keyboard, on a small screen", async () => {
    const page = await open("/settings", { locale: "zh-CN", dark: true, width: 320 });
    await press(page.getByRole("button", { name: "编辑…" }));
    const area = field(page, "colocation-config");
    await type(area, (await area.inputValue()).replace(/("cpuReclaimThresholdPercent": )\d+/, "$150"));
    await press(page.getByRole("button", { name: "检查并生成计划" }));
    await page.locator(".plan-sum").waitFor();
    await accessible(page, "zh dark");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 320, `${wide} px wide`);
    await screenshot(page, "zh-dark-narrow");
    await type(page.locator(".editor").getByRole("textbox", { name: /原因/ }), "夜间减少");
    await page.keyboard.press("Enter");
    await until(async () => JSON.parse((await map("slo-controller-config"))["colocation-config"]).cpuReclaimThresholdPercent === 50, "the edit is written");
    await close(page);
  });
});

describe("the calendar of a pool", () => {
  const entries = (page) => page.locator(".calendar-form tbody tr");
  const yaml = async () => (await api("settings/texts")).texts["tidemark-config"]["config.yaml"];

  test("gets a window by a form, after a mistake is mended, and loses it by undo, by keyboard", async () => {
    const page = await open("/calendar?pool=canary");
    const before = await yaml();
    await press(page.getByRole("button", { name: "Edit…" }));
    await page.getByText("This pool follows no calendar").waitFor();
    await type(page.getByLabel("Name of the calendar"), "nights");
    await page.keyboard.press("Enter");
    await page.getByText("Calendar nights, times of UTC. Pools that follow it: canary").waitFor();
    await page.locator(".plan-sum").waitFor();
    await press(page.getByRole("button", { name: "Add a window…" }));
    assert.equal(await page.evaluate(() => document.activeElement.closest("label")?.textContent), "Name", "the focus goes into the form");
    await page.keyboard.type("night");
    await type(page.getByLabel("CPU, percent of capacity"), "140");
    await press(page.getByRole("checkbox", { name: "Fri" }), "Space");
    await type(page.getByLabel("Ramp up"), "30m");
    await page.keyboard.press("Enter");
    const fault = page.locator(".entry-form .faults", { hasText: "cpu: wanted a whole number in 0..100, found 140" });
    await fault.waitFor();
    assert.equal(await page.getByLabel("CPU, percent of capacity").evaluate((input) => input === document.activeElement), true, "the wrong field has the focus");
    await screenshot(page, "calendar-error");
    await accessible(page, "the error of an entry");
    await type(page.getByLabel("CPU, percent of capacity"), "80");
    await page.keyboard.press("Enter");
    await page.locator(".plan-sum").waitFor();
    await page.locator(".entry-form fieldset").waitFor({ state: "detached" });
    assert.match(await entries(page).innerText(), /night\s+window\s+22:00–07:00, Fri\s+all days\s+80 %/);
    assert.equal(await yaml(), before, "a plan writes nothing");
    const planned = page.getByRole("region", { name: "The week with this text" });
    await planned.locator(".day .span-open").first().waitFor();
    assert.equal(await page.locator(".day .span-open").count(), await planned.locator(".day .span-open").count(), "the stored week has no window yet");
    await screenshot(page, "calendar-plan");
    await accessible(page, "the plan of an entry");
    await type(page.locator(".editor").getByRole("textbox", { name: /Reason/ }), "more at night");
    await page.keyboard.press("Enter");
    await page.getByText("In force on 6 of 6 nodes").waitFor();
    const line = '- {name: night, cron: "0 22 * * 5", until: "0 7 * * *", cpu: 80, rampUp: 30m}';
    assert.ok((await yaml()).includes(line), await yaml());
    await page.locator(".day .span-open").first().waitFor();

    await page.getByRole("button", { name: "Edit…" }).click();
    await page.getByRole("button", { name: "Change night…" }).click();
    await page.getByLabel("Ends").fill("06:30");
    await page.keyboard.press("Enter");
    await page.locator(".diff-plus", { hasText: 'until: "30 6 * * *"' }).waitFor();
    await page.getByRole("button", { name: "Add a freeze…" }).click();
    await page.getByLabel("Name", { exact: true }).fill("sale");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.activeElement.textContent === "Add a freeze…"); // the focus returns
    await page.getByRole("button", { name: "Delete night" }).click();
    await page.getByText("The calendar has no entry.").waitFor();
    await page.locator(".diff-minus", { hasText: "name: night" }).waitFor();
    await page.locator(".editor").getByRole("button", { name: "Cancel" }).click();
    assert.ok((await yaml()).includes(line), "a cancelled edit writes nothing");

    const { revisions } = await api("settings");
    await page.goto(new URL("settings", CONSOLE).href);
    await press(page.getByRole("button", { name: `Undo to revision ${revisions[1].number}…` }));
    await reasonByKeyboard(page, "not yet");
    await press(dialog(page).getByRole("button", { name: "Restore" }));
    await dialog(page).getByRole("status").filter({ hasText: "Written" }).waitFor();
    await press(dialog(page).getByRole("button", { name: "Close" }));
    assert.equal((await map("tidemark-config"))["config.yaml"], before);
    await close(page, /400/);
  });
});

describe("the water line of a pool", () => {
  test("is overridden for a time, and follows the calendar again", async () => {
    const page = await open("/pools/canary");
    await page.getByRole("button", { name: "Override…" }).click();
    await dialog(page).getByRole("spinbutton", { name: /CPU/ }).fill("140");
    await dialog(page).getByRole("textbox", { name: /Reason/ }).fill("a fire drill");
    await dialog(page).getByRole("button", { name: "Next" }).click();
    await dialog(page).getByRole("alert").filter({ hasText: "0 to 100" }).waitFor();
    assert.equal(await dialog(page).getByRole("spinbutton", { name: /CPU/ }).evaluate((input) => input === document.activeElement), true, "the wrong field has the focus");
    await dialog(page).getByRole("spinbutton", { name: /CPU/ }).fill("40");
    await dialog(page).getByRole("button", { name: "Next" }).click();
    await dialog(page).getByText("CPU: 60 % → 40 %").waitFor();
    await screenshot(page, "override");
    await accessible(page, "the override");
    await dialog(page).getByRole("button", { name: "Override", exact: true }).click();
    await dialog(page).getByRole("status").waitFor();
    await dialog(page).getByRole("button", { name: "Close" }).click();
    await page.locator(".override", { hasText: "a fire drill" }).waitFor();
    await page.getByRole("button", { name: "End the override…" }).click();
    await dialog(page).getByRole("textbox", { name: /Reason/ }).fill("over");
    await dialog(page).getByRole("button", { name: "Next" }).click();
    await dialog(page).getByText("CPU: 40 % → 60 %").waitFor();
    await dialog(page).getByRole("button", { name: "End it" }).click();
    await dialog(page).getByRole("status").waitFor();
    await dialog(page).getByRole("button", { name: "Close" }).click();
    await page.locator(".override").waitFor({ state: "detached" });
    await close(page, /400/);
  });

  test("is overridden, and the override is ended, by keyboard", async () => {
    const override = async () => JSON.parse((await map("tidemark-state"))["overrides.json"]).pools?.find((each) => each.name === "canary");
    const offered = async () => Number((await object("/api/v1/nodes/browser-settings-0")).status.allocatable["kubernetes.io/batch-cpu"].replace(/k$/, "000"));
    await until(async () => (await offered()) > 12_800, "the node offers what is below 60 %");
    const page = await open("/pools/canary");
    await press(page.getByRole("button", { name: "Override…" }));
    await type(dialog(page).getByRole("spinbutton", { name: /CPU/ }), "-1");
    await reasonByKeyboard(page, "a drill without a mouse");
    await dialog(page).getByRole("alert").filter({ hasText: "0 to 100" }).waitFor();
    await type(dialog(page).getByRole("spinbutton", { name: /CPU/ }), "40");
    await tabTo(dialog(page).getByRole("combobox"));
    await page.keyboard.press("ArrowDown"); // two hours
    await press(dialog(page).getByRole("button", { name: "Next" }));
    await dialog(page).getByText("CPU: 60 % → 40 %").waitFor();
    await press(dialog(page).getByRole("button", { name: "Override", exact: true }));
    await press(dialog(page).getByRole("button", { name: "Close" }));
    const { cpu, why, since, until: end } = await override();
    assert.deepEqual([cpu, why, Math.round((Date.parse(end) - Date.parse(since)) / 60_000)], [40, "a drill without a mouse", 120]);
    await until(async () => (await offered()) <= 12_800, "the node offers what is below 40 %");
    await press(page.getByRole("button", { name: "End the override…" }));
    await reasonByKeyboard(page, "over");
    await press(dialog(page).getByRole("button", { name: "End it" }));
    await press(dialog(page).getByRole("button", { name: "Close" }));
    assert.equal(await override(), undefined);
    await until(async () => (await offered()) > 12_800, "the node offers again what is below 60 %");
    await close(page, /400/);
  });
});

describe("while the manager is dead", () => {
  test("an edit says that it waits, and off holds for the next manager", async () => {
    const offers = async () => (await api("nodes?columns=cpuOffered,state")).columns;
    await until(async () => (await offers()).cpuOffered.every((each) => each > 0), "all nodes sell");
    await control("kill-manager");
    const page = await open("/settings");
    await beginEdit(page);
    await setPercent(page, 47);
    await reason(page, "nobody takes it yet");
    await plan(page);
    await page.locator(".plan-sum").waitFor();
    await write(page);
    await page.getByText("The manager has not taken them yet").waitFor();
    await screenshot(page, "no-manager");

    await page.goto(CONSOLE);
    await page.getByRole("button", { name: "Off…" }).click();
    await dialog(page).getByText("works while the manager is down").waitFor();
    await dialog(page).getByRole("textbox", { name: /Reason/ }).fill("the manager is dead");
    await dialog(page).getByRole("button", { name: "Next" }).click();
    await dialog(page).getByRole("textbox", { name: /Type cluster/ }).fill("cluster");
    await dialog(page).getByRole("button", { name: "Switch off", exact: true }).click();
    await dialog(page).locator(".step.done", { hasText: "offer nothing: 6 of 6" }).waitFor();
    await dialog(page).locator(".step.done", { hasText: "Nodes marked: 6 of 6" }).waitFor();
    await dialog(page).getByRole("button", { name: "Close" }).click();

    await control("start-manager");
    await control("report");
    await inForce();
    const held = await offers();
    assert.deepEqual(new Set(held.cpuOffered), new Set([0]), "the next manager obeys the order");
    assert.ok(held.state.every((each) => each === "draining" || each === "off"), held.state.join());
    await page.getByRole("button", { name: "On…" }).click();
    await dialog(page).getByRole("textbox", { name: /Reason/ }).fill("it is back");
    await dialog(page).getByRole("button", { name: "Next" }).click();
    await dialog(page).getByRole("textbox", { name: /Type cluster/ }).fill("cluster");
    await dialog(page).getByRole("button", { name: "Switch on", exact: true }).click();
    await dialog(page).locator(".step.done", { hasText: "in state on: 6 of 6" }).waitFor();
    await dialog(page).getByRole("button", { name: "Close" }).click();
    await close(page);
  });
});

// Last: its slow rollout would also govern the edits of a test after it.
describe("a rollout", () => {
  test("is paused and resumed by keyboard, paused by clicks, and resumed at once", async () => {
    const paused = async () => JSON.parse((await map("tidemark-config-revisions")).state).hold !== undefined;
    await control("slow");
    await inForce();
    await control("kubectl-edit-50");
    const page = await open("/settings");
    await press(page.getByRole("button", { name: "Pause…" }));
    await reasonByKeyboard(page, "wait");
    await press(dialog(page).getByRole("button", { name: "Close" }));
    await until(paused, "the manager paused the rollout");
    await page.locator("dt", { hasText: "Paused" }).waitFor();
    await press(page.getByRole("button", { name: "Resume…" }));
    await reasonByKeyboard(page, "go on in steps");
    await press(dialog(page).getByRole("button", { name: "Close" }));
    await until(async () => !(await paused()), "the manager resumed the rollout");
    await page.getByRole("button", { name: "Pause…" }).click();
    await dialog(page).getByRole("textbox", { name: /Reason/ }).fill("look first");
    await dialog(page).getByRole("button", { name: "Pause", exact: true }).click();
    await dialog(page).getByRole("status").waitFor();
    await dialog(page).getByRole("button", { name: "Close" }).click();
    await page.locator("dt", { hasText: "Paused" }).waitFor();
    await screenshot(page, "paused");
    await page.goto(new URL("pools/canary", CONSOLE).href); // the page of a pool has the buttons as well
    await page.getByRole("button", { name: "Resume…" }).click();
    await dialog(page).getByRole("checkbox", { name: /At once/ }).check();
    await dialog(page).getByRole("textbox", { name: /Reason/ }).fill("it is fine");
    await dialog(page).getByRole("button", { name: "Resume", exact: true }).click();
    await dialog(page).getByRole("status").waitFor();
    await dialog(page).getByRole("button", { name: "Close" }).click();
    await inForce();
    assert.equal((await stored()).cpuReclaimThresholdPercent, 50);
    await close(page);
  });
});
