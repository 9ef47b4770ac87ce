// Orders by the page of the console in a real browser, on a real API server with 12 nodes that sell and one offline pod
// on each.
//
// TIDEMARK_CONSOLE_URL   a console with --write
// TIDEMARK_VIEWER_URL    another one, with the rights of a viewer
// TIDEMARK_CLUSTER_URL   a third one, behind TLS and a login
// TIDEMARK_TOKENS        of the viewer and of an operator
// TIDEMARK_CONTROL_URL   POST /reset, /hold, /release, /kill, /start: the cluster and the first console;
//                        /agent-dies, /agent-starts: of the node browser-web-3;
//                        /stopped-earlier: an eviction of browser-web-2 that an earlier version stored;
//                        /forget: what is stored of evictions; /manager-stops, /manager-runs: its Lease
// TIDEMARK_CHROMIUM, TIDEMARK_MODULES, TIDEMARK_SCREENSHOTS   as in page.test.mjs
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { object } from "./api_server.mjs";
import { press, tabTo, type } from "./keyboard.mjs";
import { looksGood } from "./looks.mjs";
import { NAMES_FLAG, openOtherSite } from "./other_site.mjs";

const { TIDEMARK_CONSOLE_URL: CONSOLE, TIDEMARK_VIEWER_URL: VIEWER, TIDEMARK_CLUSTER_URL: CLUSTER, TIDEMARK_TOKENS, TIDEMARK_CONTROL_URL: CONTROL, TIDEMARK_CHROMIUM, TIDEMARK_MODULES, TIDEMARK_SCREENSHOTS } = process.env;
const require = createRequire(join(TIDEMARK_MODULES, "package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const FLAGS = [NAMES_FLAG, "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const PATIENCE_MS = 60_000;

let browser;
before(async () => {
  browser = await chromium.launch({ executablePath: TIDEMARK_CHROMIUM, args: FLAGS });
});
after(() => browser?.close());
beforeEach(() => control("reset"));

async function control(what) {
  const answer = await fetch(CONTROL + what, { method: "POST" });
  assert.equal(answer.status, 204, what);
}

async function open(path, { url = CONSOLE, locale = "en-GB", dark = false, width = 1280 } = {}) {
  const context = await browser.newContext({ locale, colorScheme: dark ? "dark" : "light", viewport: { width, height: 900 }, ignoreHTTPSErrors: true });
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
  await page.screenshot({ path: join(TIDEMARK_SCREENSHOTS, `orders-${name}.png`) });
}
// Until the console shows all nodes on, and the pods of the reset.
async function fresh() {
  const deadline = Date.now() + PATIENCE_MS;
  while (Date.now() < deadline) {
    const { sums } = await (await fetch(new URL("api/v1/summary", CONSOLE))).json();
    if (sums.on === 12 && sums.tasks === 12 && sums.cpu.offered > 0) return;
    await new Promise((wake) => setTimeout(wake, 200));
  }
  assert.fail("the console does not show the reset cluster");
}
async function states() {
  const { columns } = await (await fetch(new URL("api/v1/nodes?columns=name,state,tasks,cpuOffered", CONSOLE))).json();
  return columns;
}
// The stored options of the only eviction.
async function storedOptions() {
  const { evictions } = await (await fetch(new URL("api/v1/orders", CONSOLE))).json();
  assert.equal(evictions.length, 1);
  return evictions[0].options;
}
const focused = (page) => page.evaluate(() => document.activeElement.tagName);
const dialog = (page) => page.locator("dialog.order-dialog");

describe("off with proof", () => {
  test("by clicks, and a second tab shows the same", async () => {
    await fresh();
    const page = await open("/");
    const second = await open("/pools/web");
    await page.getByRole("button", { name: "Off…" }).click();
    await dialog(page).getByRole("radio", { name: /evict running/ }).check();
    await dialog(page).locator(".affected dd").first().filter({ hasText: /^12$/ }).waitFor();
    const affected = await dialog(page).locator(".affected").innerText();
    assert.match(affected, /offline pods\s*12/);
    assert.match(affected, /They request\s*48\S* cores/);
    await screenshot(page, "1-form");
    await accessible(page, "the form");

    await dialog(page).getByRole("button", { name: "Next" }).click();
    await dialog(page).getByRole("alert").filter({ hasText: "reason" }).waitFor();
    const reason = dialog(page).getByRole("textbox", { name: /Reason/ });
    assert.equal(await reason.evaluate((element) => element === document.activeElement), true, "the wrong field has the focus");
    await reason.fill("kernel update");
    await dialog(page).getByRole("button", { name: "Next" }).click();

    const confirm = dialog(page).getByRole("button", { name: "Switch off and evict" });
    await confirm.waitFor();
    assert.equal(await confirm.isDisabled(), true, "until the scope is typed");
    await dialog(page).getByRole("textbox", { name: /Type cluster/ }).fill("cluster");
    await screenshot(page, "2-confirm");
    await accessible(page, "the confirmation");
    await confirm.click();
    await dialog(page).locator(".step").first().waitFor();
    await second.locator(".eviction .step").first().waitFor();
    await screenshot(page, "3-progress");
    await dialog(page).locator(".step.done", { hasText: "Proof: on 12 of 12 nodes" }).waitFor();
    await second.locator(".step.done", { hasText: "Proof: on 12 of 12 nodes" }).waitFor();
    await screenshot(page, "4-proof");
    await accessible(page, "the proof");
    assert.match(await second.locator(".eviction").innerText(), /Evicted pods: 12/);
    await screenshot(second, "second-tab");
    await dialog(page).getByRole("button", { name: "Close" }).click();
    await page.locator(".eviction", { hasText: "the whole cluster" }).waitFor();

    const found = await states();
    assert.deepEqual(new Set(found.state), new Set(["off"]));
    assert.deepEqual(new Set(found.cpuOffered), new Set([0]));
    assert.deepEqual(new Set(found.tasks), new Set([0]));
    await close(page);
    await close(second);
  });

  test("by keyboard, for a pool", async () => {
    await fresh();
    const page = await open("/pools/web");
    await page.getByRole("button", { name: "Off…" }).waitFor();
    await page.keyboard.press("Alt+o");
    await dialog(page).getByRole("heading", { name: /pool web/ }).waitFor();
    await press(dialog(page).getByRole("radio").first(), "ArrowDown");
    assert.equal(await dialog(page).getByRole("radio", { name: /evict running/ }).isChecked(), true);
    await type(dialog(page).getByRole("textbox", { name: /Reason/ }), "planned work");
    await page.keyboard.press("Enter");
    await type(dialog(page).getByRole("textbox", { name: /Type web/ }), "web");
    await page.keyboard.press("Enter");
    await dialog(page).locator(".step.done", { hasText: "Proof: on 8 of 8 nodes" }).waitFor();
    await page.keyboard.press("Escape");
    await dialog(page).locator("h2").waitFor({ state: "detached" });
    const orders = page.locator(".card", { has: page.locator("h2", { hasText: "Orders" }) });
    await orders.locator("tbody tr", { hasText: /off with eviction\s*this pool\s*8\s*✓ in force\s*\d+ s ago\s*until the next order.*planned work/ }).waitFor();
    await accessible(page, "the orders of a pool");
    const found = await states();
    found.name.forEach((name, i) => assert.equal(found.state[i], name.includes("web") ? "off" : "on", name));
    await close(page);
  });

  test("goes on with the same options after the console was killed in the middle", async () => {
    await fresh();
    await control("hold");
    const page = await open("/nodes/browser-web-1");
    await page.getByRole("button", { name: "Off…" }).click();
    await dialog(page).getByRole("radio", { name: /evict running/ }).check();
    await dialog(page).getByRole("textbox", { name: /Reason/ }).fill("disk change");
    await dialog(page).getByLabel("Grace, seconds").fill("40");
    await dialog(page).getByLabel("Evictions per minute at most").fill("5");
    await dialog(page).getByLabel("Lasts").selectOption("2 hours");
    await dialog(page).getByRole("button", { name: "Next" }).click();
    await dialog(page).getByRole("button", { name: "Switch off and evict" }).click();
    await dialog(page).locator(".step", { hasText: "Offline pods left: 1" }).waitFor();
    await page.keyboard.press("Escape");
    await page.locator(".eviction .step", { hasText: "Offline pods left: 1" }).waitFor();
    await page.locator(".eviction .note", { hasText: /grace 40 s; at most 5 evictions per minute; ends in (2 h|1 h \d+ min)/ }).waitFor();
    const given = await storedOptions();
    assert.deepEqual({ ...given, until: "" }, { graceSeconds: 40, budgetPerMinute: 5, atOnce: false, until: "" });
    await control("kill");
    await page.locator(".warnings", { hasText: "connection lost" }).waitFor();
    await screenshot(page, "killed");
    await control("start");
    await page.locator(".eviction .stopped").waitFor();
    await screenshot(page, "stopped");
    await page.getByRole("button", { name: "Continue…" }).click();
    assert.equal(await dialog(page).getByRole("textbox", { name: /Reason/ }).inputValue(), "disk change");
    assert.equal(await dialog(page).getByRole("radio", { name: /evict running/ }).isChecked(), true);
    assert.equal(await dialog(page).getByLabel("Grace, seconds").inputValue(), "40");
    assert.equal(await dialog(page).getByLabel("Evictions per minute at most").inputValue(), "5");
    assert.match(await dialog(page).getByLabel("Lasts").locator("option:checked").innerText(), /as ordered: ends in 1 h 5\d min|as ordered: ends in 2 h/);
    await screenshot(page, "continue");
    await accessible(page, "the form that continues");
    await dialog(page).getByRole("button", { name: "Next" }).click();
    await dialog(page).getByRole("button", { name: "Switch off and evict" }).click();
    await control("release");
    await dialog(page).locator(".step.done", { hasText: "Proof: on 1 of 1 nodes" }).waitFor();
    const again = await storedOptions();
    assert.deepEqual({ ...again, until: "" }, { ...given, until: "" });
    assert.ok(Math.abs(Date.parse(again.until) - Date.parse(given.until)) < 5000, `${given.until} and ${again.until}`);
    await close(page, /ERR_|net::|Failed to load/);
  });

  test("says that a console does not know an order from before its start", async () => {
    await fresh();
    await control("hold");
    const page = await open("/nodes/browser-web-1");
    await page.getByRole("button", { name: "Off…" }).click();
    await dialog(page).getByRole("radio", { name: /evict running/ }).check();
    await dialog(page).getByRole("textbox", { name: /Reason/ }).fill("disk change");
    await dialog(page).getByRole("button", { name: "Next" }).click();
    await dialog(page).getByRole("button", { name: "Switch off and evict" }).click();
    await dialog(page).locator(".step", { hasText: "Offline pods left: 1" }).waitFor();
    await control("kill");
    await control("forget");
    await control("start");
    await dialog(page).getByText("This console does not know the order. The nodes show what was written.").waitFor();
    await dialog(page).locator(".step.done", { hasText: "in state off: 1 of 1" }).waitFor();
    await dialog(page).locator(".step", { hasText: "Offline pods that continue: 1" }).waitFor();
    assert.equal(await dialog(page).locator(".step", { hasText: "Order written" }).count(), 0);
    let asked = 0;
    page.on("request", (request) => (asked += /\/api\/v1\/orders\/\d/.test(request.url()) ? 1 : 0));
    await page.waitForTimeout(2500);
    assert.equal(asked, 0, "it asks no more");
    await screenshot(page, "not-known");
    await close(page, /ERR_|net::|Failed to load/);
  });

  test("asks for options that an earlier version did not store", async () => {
    await fresh();
    await control("stopped-earlier");
    const page = await open("/nodes/browser-web-2");
    await page.locator(".eviction .note", { hasText: "are unknown" }).waitFor();
    await page.getByRole("button", { name: "Continue…" }).click();
    const [grace, lasts] = [dialog(page).getByLabel("Grace, seconds"), dialog(page).getByLabel("Lasts")];
    assert.deepEqual([await grace.inputValue(), await lasts.inputValue()], ["", ""]);
    await dialog(page).getByText("Choose them again.").waitFor();
    await dialog(page).getByRole("button", { name: "Next" }).click();
    await grace.fill("10");
    await dialog(page).getByRole("button", { name: "Next" }).click();
    assert.equal(await dialog(page).getByRole("button", { name: "Switch off and evict" }).count(), 0, "without an answer to how long it lasts");
    await lasts.selectOption("until the next order");
    await dialog(page).getByRole("button", { name: "Next" }).click();
    await dialog(page).getByRole("button", { name: "Switch off and evict" }).click();
    await dialog(page).locator(".step.done", { hasText: "Proof: on 1 of 1 nodes" }).waitFor();
    assert.deepEqual(await storedOptions(), { graceSeconds: 10, budgetPerMinute: null, atOnce: false, until: null });
    await close(page);
  });
});

describe("off on a node whose agent is dead", () => {
  test("is proven only when an agent reports that its files are restored", async () => {
    await control("agent-dies");
    await fresh();
    const page = await open("/nodes/browser-web-3");
    await page.getByRole("button", { name: "Off…" }).click();
    await dialog(page).getByRole("radio", { name: /evict running/ }).check();
    await dialog(page).getByRole("textbox", { name: /Reason/ }).fill("its machine is ill");
    await dialog(page).getByRole("button", { name: "Next" }).click();
    await dialog(page).getByRole("button", { name: "Switch off and evict" }).click();
    await dialog(page).locator(".step.done", { hasText: "Offline pods left: 0" }).waitFor();
    const left = dialog(page).locator(".says li", { hasText: "browser-web-3" });
    await left.filter({ hasText: /the agent has not confirmed \(Enforcing: batchLimits[\s\S]*tidemark off --local/ }).waitFor();
    assert.equal(await dialog(page).locator(".step.done", { hasText: "Proof" }).count(), 0);
    await screenshot(page, "dead-agent");
    await control("agent-starts");
    await dialog(page).locator(".step.done", { hasText: "Proof: on 1 of 1 nodes" }).waitFor();
    await close(page);
  });
});

describe("off on every page", () => {
  test("by the button of the header and by Alt+O, and shortcuts can be switched off", async () => {
    await fresh();
    const page = await open("/decisions");
    const header = page.locator("header");
    await header.getByRole("button", { name: "Off…" }).click();
    await dialog(page).getByRole("heading", { name: /the whole cluster/ }).waitFor();
    await page.keyboard.press("Escape");
    await dialog(page).locator("h2").waitFor({ state: "detached" });
    await page.keyboard.press("Alt+o");
    await dialog(page).getByRole("heading", { name: /the whole cluster/ }).waitFor();
    await page.keyboard.press("Escape");
    await dialog(page).locator("h2").waitFor({ state: "detached" });

    await press(page.getByRole("button", { name: "Shortcuts: on" }));
    await header.getByRole("button", { name: "Shortcuts: off" }).waitFor();
    await page.keyboard.press("Alt+o");
    await page.keyboard.press("/");
    await page.reload();
    await header.getByRole("button", { name: "Shortcuts: off" }).waitFor();
    await header.getByRole("button", { name: "Off…" }).waitFor();
    await page.keyboard.press("Alt+o");
    await page.keyboard.press("/");
    assert.equal(await page.locator("dialog[open]").count(), 0);
    await accessible(page, "shortcuts are off");
    await screenshot(page, "header");
    await page.setViewportSize({ width: 320, height: 900 });
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 320);
    await screenshot(page, "header-narrow");
    await press(page.getByRole("button", { name: "Shortcuts: off" }));
    await page.keyboard.press("/");
    await page.locator("dialog.search[open]").waitFor();
    await page.keyboard.press("Escape");
    for (const path of ["/", "/pools/web", "/nodes/browser-web-1"]) {
      await page.goto(CONSOLE.replace(/\/$/, "") + path);
      await page.locator("main").getByRole("button", { name: "Off…" }).waitFor();
      assert.equal(await header.getByRole("button", { name: "Off…" }).count(), 0, `${path} has its own`);
    }
    await page.goto(CONSOLE.replace(/\/$/, "") + "/nodes/no-such-node");
    await header.getByRole("button", { name: "Off…" }).waitFor();
    await close(page, /404/);
  });

  test("the dialog says what is missing while the manager does not run", async () => {
    await fresh();
    const page = await open("/nodes/browser-web-1");
    const opened = async (button) => {
      await page.getByRole("button", { name: button }).click();
      await dialog(page).getByRole("textbox", { name: /Reason/ }).waitFor();
    };
    await control("manager-stops");
    await opened("Off…");
    await dialog(page).getByText(/The manager does not run: its Lease was last renewed on \w/).waitFor();
    await dialog(page).getByText("nodes that join later get no mark").waitFor();
    await screenshot(page, "no-manager");
    await accessible(page, "without a manager");
    await page.setViewportSize({ width: 320, height: 900 });
    await dialog(page).getByText("The manager does not run").scrollIntoViewIfNeeded();
    await screenshot(page, "no-manager-narrow");
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.keyboard.press("Escape");
    await page.goto(new URL("offline", CONSOLE).href);
    await opened("Switch class spark off");
    await dialog(page).getByText("An order for a class needs a manager that runs.").waitFor();
    await page.keyboard.press("Escape");
    await control("manager-runs");
    await opened("Off…");
    await dialog(page).getByText("This works while the manager is down").waitFor();
    await page.waitForTimeout(1000);
    // The console may give the Lease as it read it some seconds ago; the dialog reads again.
    await dialog(page).getByText("The manager does not run").waitFor({ state: "detached" });
    await close(page);
  });
});

describe("other orders", () => {
  test("observe and on, with a reason", async () => {
    await fresh();
    const page = await open("/nodes/browser-database-1");
    for (const [button, confirm, state] of [["Observe…", "Observe", "observe"], ["On…", "Switch on", "on"]]) {
      await page.getByRole("button", { name: button }).click();
      await dialog(page).getByRole("textbox", { name: /Reason/ }).fill("a trial");
      await dialog(page).getByRole("button", { name: "Next" }).click();
      await dialog(page).getByRole("button", { name: confirm, exact: true }).click();
      await dialog(page).locator(".step.done", { hasText: `in state ${state}: 1 of 1` }).waitFor();
      await dialog(page).getByRole("button", { name: "Close" }).click();
      await page.locator(`.facts .state-${state}`).waitFor();
    }
    await close(page);
  });

  test("an order with an end shows the time that is left, where On is", async () => {
    await fresh();
    const page = await open("/nodes/browser-database-1");
    await page.getByRole("button", { name: "Off…" }).click();
    await dialog(page).getByRole("textbox", { name: /Reason/ }).fill("a short test");
    await dialog(page).getByLabel("Lasts").selectOption("2 hours");
    await dialog(page).getByRole("button", { name: "Next" }).click();
    await dialog(page).getByRole("button", { name: "Switch off", exact: true }).click();
    const left = /ends in (2 h|1 h 5\d min)/;
    await dialog(page).locator(".ends", { hasText: left }).waitFor();
    await page.locator(".title-line .ends", { hasText: left }).waitFor();
    await screenshot(page, "ends");
    await page.setViewportSize({ width: 320, height: 900 });
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 320);
    await screenshot(page, "ends-narrow");
    await dialog(page).getByRole("button", { name: "On…" }).click();
    await dialog(page).getByRole("textbox", { name: /Reason/ }).fill("the test is over");
    await dialog(page).getByRole("button", { name: "Next" }).click();
    await dialog(page).getByRole("button", { name: "Switch on", exact: true }).click();
    await dialog(page).locator(".step.done", { hasText: "in state on: 1 of 1" }).waitFor();
    await dialog(page).getByRole("button", { name: "Close" }).click();
    assert.equal(await page.locator(".ends").count(), 0);
    await close(page);
  });

  test("off without eviction leaves the pods and names what continues", async () => {
    await fresh();
    const page = await open("/pools/database");
    await page.getByRole("button", { name: "Off…" }).click();
    await dialog(page).getByRole("textbox", { name: /Reason/ }).fill("promotion");
    await dialog(page).getByRole("button", { name: "Next" }).click();
    await dialog(page).getByRole("textbox", { name: /Type database/ }).fill("database");
    await dialog(page).getByRole("button", { name: "Switch off", exact: true }).click();
    await dialog(page).locator(".step.done", { hasText: "offer nothing: 4 of 4" }).waitFor();
    await dialog(page).locator(".step", { hasText: "Offline pods that continue: 4" }).waitFor();
    await screenshot(page, "plain-off");
    await close(page);
  });

  test("the API server refuses the order of a viewer", async () => {
    await fresh();
    const page = await open("/nodes/browser-web-2", { url: VIEWER });
    await page.getByRole("button", { name: "Off…" }).click();
    await dialog(page).getByRole("textbox", { name: /Reason/ }).fill("curious");
    await dialog(page).getByRole("button", { name: "Next" }).click();
    await dialog(page).getByRole("button", { name: "Switch off", exact: true }).click();
    await dialog(page).getByRole("alert").filter({ hasText: /Refused.*forbidden.*viewer.*cannot patch/ }).waitFor();
    await screenshot(page, "viewer");
    const found = await states();
    assert.equal(found.state[found.name.indexOf("browser-web-2")], "on");
    await close(page, /403/);
  });

  test("the dialog in Chinese and dark, on a small screen", async () => {
    await fresh();
    const page = await open("/", { locale: "zh-CN", dark: true, width: 320 });
    await page.getByRole("button", { name: "快捷键：开" }).waitFor();
    await page.getByRole("button", { name: "关闭…" }).click();
    await dialog(page).getByRole("radio", { name: /驱逐/ }).check();
    await dialog(page).locator(".affected dd").first().filter({ hasText: /^12$/ }).waitFor();
    await accessible(page, "zh dark");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 320, `${wide} px wide`);
    await screenshot(page, "zh-dark-narrow");
    await close(page);
  });
});

describe("the console in a cluster", () => {
  const tokens = JSON.parse(TIDEMARK_TOKENS);

  async function logIn(page, token) {
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Log in" }).click();
  }

  test("shows nothing before a login, and refuses a wrong token", async () => {
    const page = await open("/pools", { url: CLUSTER });
    await page.getByRole("heading", { name: "Log in to Tidemark" }).waitFor();
    await screenshot(page, "login");
    const answer = await page.evaluate(() => fetch("/api/v1/summary").then((got) => got.status));
    assert.equal(answer, 401);
    await logIn(page, "wrong");
    await page.getByRole("alert").filter({ hasText: "does not accept this token" }).waitFor();
    assert.deepEqual(await page.context().cookies(), []);
    await looksGood(page, "login", accessible);
    await close(page, /401/);
  });

  test("a person's order carries the person's token", async () => {
    await fresh();
    const page = await open("/nodes/browser-database-2", { url: CLUSTER });
    await logIn(page, tokens.operator);
    await page.getByRole("button", { name: "Off…" }).click();
    await dialog(page).getByRole("textbox", { name: /Reason/ }).fill("from the cluster");
    await dialog(page).getByRole("button", { name: "Next" }).click();
    await dialog(page).getByRole("button", { name: "Switch off", exact: true }).click();
    await dialog(page).locator(".step.done", { hasText: "Nodes marked: 1 of 1" }).waitFor();
    await dialog(page).getByRole("button", { name: "Close" }).click();
    const [cookie] = await page.context().cookies();
    assert.deepEqual([cookie.name, cookie.httpOnly, cookie.secure, cookie.sameSite], ["__Host-tidemark", true, true, "Strict"]);
    assert.ok(!cookie.value.includes(tokens.operator.split(".")[1].slice(0, 40)), "the cookie is sealed");
    await page.reload();
    await page.getByRole("button", { name: "Off…" }).waitFor();
    await screenshot(page, "in-cluster");
    await page.getByRole("link", { name: "Platform" }).click();
    await page.getByText(/Certificate of this console:\s*◆.*\(2 d\)/).waitFor();
    const times = page.locator(".card", { has: page.locator("h2", { hasText: "Answers of the API server" }) });
    assert.match(await times.locator("tbody").innerText(), /get\s+\d+\s+≤ [\d,]+ ms\s+≤ [\d,]+ ms/);
    await screenshot(page, "platform");
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByRole("heading", { name: "Log in to Tidemark" }).waitFor();
    assert.deepEqual(await page.context().cookies(), []);
    await close(page, /401/);
  });

  test("a viewer reads, and the API server refuses the viewer's order", async () => {
    await fresh();
    const page = await open("/nodes/browser-web-3", { url: CLUSTER });
    await logIn(page, tokens.viewer);
    await page.getByRole("button", { name: "Off…" }).click();
    await dialog(page).getByRole("textbox", { name: /Reason/ }).fill("curious");
    await dialog(page).getByRole("button", { name: "Next" }).click();
    await dialog(page).getByRole("button", { name: "Switch off", exact: true }).click();
    await dialog(page).getByRole("alert").filter({ hasText: /Refused.*forbidden.*viewer.*cannot patch/ }).waitFor();
    await close(page, /401|403/);
  });
});

describe("several nodes", () => {
  const card = (page, title) => page.locator(".card", { has: page.locator("h2", { hasText: title }) });

  test("leave at once: chosen, off, with proof on each; and are on again", async () => {
    await fresh();
    const page = await open("/join");
    for (const name of ["browser-web-4", "browser-web-5", "browser-web-6", "browser-database-4"]) await card(page, "Not in yet").getByRole("checkbox", { name: `Choose ${name}` }).check();
    await accessible(page, "chosen nodes");
    await card(page, "Chosen: 4").getByRole("button", { name: "Off…" }).click();
    await dialog(page).getByRole("radio", { name: /evict running/ }).check();
    await dialog(page).getByRole("textbox", { name: /Reason/ }).fill("these machines leave");
    await dialog(page).getByRole("button", { name: "Next" }).click();
    await dialog(page).getByRole("textbox", { name: /Type 4/ }).fill("4");
    await dialog(page).getByRole("button", { name: "Switch off and evict" }).click();
    await dialog(page).locator(".step.done", { hasText: "Proof: on 4 of 4 nodes" }).waitFor();
    await dialog(page).getByRole("button", { name: "Close" }).click();
    await page.locator(".eviction", { hasText: "4 nodes" }).waitFor();
    assert.equal(await card(page, "Draining and off").locator("tbody tr", { hasText: "yes" }).count(), 4, "nothing is left on each");
    await screenshot(page, "several-left");
    await card(page, "Chosen: 4").getByRole("button", { name: "On…" }).click();
    await dialog(page).getByRole("textbox", { name: /Reason/ }).fill("they are back");
    await dialog(page).getByRole("button", { name: "Next" }).click();
    await dialog(page).getByRole("textbox", { name: /Type 4/ }).fill("4");
    await dialog(page).getByRole("button", { name: "Switch on", exact: true }).click();
    await dialog(page).locator(".step.done", { hasText: "in state on: 4 of 4" }).waitFor();
    await close(page);
  });
});

describe("joining", () => {
  const labels = async (name) => (await object(`/api/v1/nodes/${name}`)).metadata.labels;
  const row = (page, name) => page.locator("tbody tr", { hasText: name });

  test("several nodes get a pool, and the API server says first in which they would be", async () => {
    await fresh();
    const page = await open("/join");
    for (const name of ["browser-web-6", "browser-web-7"]) await row(page, name).getByRole("checkbox").check();
    await page.getByRole("button", { name: "Pool…" }).click();
    await dialog(page).getByLabel("Pool").selectOption("database");
    await dialog(page).getByRole("button", { name: "Next" }).click();
    await dialog(page).getByText('would be in pool "web"').first().waitFor();
    await dialog(page).getByText("Nothing can be set: 2 of 2 nodes have a problem.").waitFor();
    assert.equal(await dialog(page).getByRole("button", { name: "Set the label" }).isDisabled(), true);
    await dialog(page).getByLabel("Pool").selectOption("night");
    await dialog(page).getByRole("button", { name: "Next" }).click();
    await dialog(page).getByText("browser-web-7: web → night").waitFor();
    await accessible(page, "the pool of nodes");
    assert.equal((await labels("browser-web-7"))["tidemark.io/pool"], undefined, "a dry run changes nothing");
    await dialog(page).getByRole("button", { name: "Set the label" }).click();
    await dialog(page).getByText("The label is set.").waitFor();
    await dialog(page).getByRole("button", { name: "Close" }).click();
    await row(page, "browser-web-6").locator("a", { hasText: "night" }).waitFor();
    for (const name of ["browser-web-6", "browser-web-7"]) assert.equal((await labels(name))["tidemark.io/pool"], "night");
    await close(page);
  });

  test("a node gets its pool, is observed and switched on, by keyboard", async () => {
    await fresh();
    const page = await open("/join");
    const [name, button] = ["browser-web-8", (text) => page.getByRole("button", { name: text, exact: true })];
    const inDialog = (text) => dialog(page).getByRole("button", { name: text, exact: true });
    await press(row(page, name).getByRole("checkbox"), "Space");
    const options = dialog(page).locator("option", { hasText: "night" });
    await press(button("Pool…"));
    await options.waitFor({ state: "attached" });
    assert.equal(await focused(page), "H2", "the focus goes into the dialog");
    await page.keyboard.press("Escape");
    await dialog(page).locator("h2").waitFor({ state: "detached" });
    assert.equal(await button("Pool…").evaluate((element) => element === document.activeElement), true, "the focus returns");
    await page.keyboard.press("Enter");
    await options.waitFor({ state: "attached" });
    await tabTo(dialog(page).getByLabel("Pool"));
    await page.keyboard.type("database");
    await press(inDialog("Next"));
    await dialog(page).getByText('would be in pool "web"').first().waitFor();
    await tabTo(dialog(page).getByLabel("Pool"));
    await page.keyboard.type("night");
    await press(inDialog("Next"));
    await press(inDialog("Set the label"));
    await press(inDialog("Close"));
    assert.equal((await labels(name))["tidemark.io/pool"], "night");
    for (const [order, confirm, state] of [["Observe…", "Observe", "observe"], ["On…", "Switch on", "on"]]) {
      await press(button(order));
      await type(dialog(page).getByRole("textbox", { name: /Reason/ }), "it joins");
      await page.keyboard.press("Enter");
      await press(inDialog(confirm));
      await dialog(page).locator(".step.done", { hasText: `in state ${state}: 1 of 1` }).waitFor();
      await press(inDialog("Close"));
      assert.equal((await labels(name))["tidemark.io/state"], state);
    }
    await close(page);
  });
});

describe("offline work", () => {
  test("a class is switched off by keyboard and on again", async () => {
    await fresh();
    const page = await open("/offline");
    await press(page.getByRole("button", { name: "Switch class spark off" }));
    await dialog(page).locator(".affected dd").first().filter({ hasText: /^12$/ }).waitFor();
    await type(dialog(page).getByRole("textbox", { name: /Reason/ }), "bad input");
    await page.keyboard.press("Enter");
    await type(dialog(page).getByRole("textbox", { name: /Type spark/ }), "spark");
    await accessible(page, "the confirmation of a class");
    await press(dialog(page).getByRole("textbox", { name: /Type spark/ }));
    await dialog(page).locator(".step.done", { hasText: "Nodes marked: 12 of 12" }).waitFor();
    await press(dialog(page).getByRole("button", { name: "Close" }));
    const spark = page.locator(".card").first().locator("tbody tr", { hasText: "spark" });
    await spark.filter({ hasText: "off on 12 nodes" }).waitFor();
    assert.deepEqual(new Set((await states()).state), new Set(["on"]), "the nodes sell to other classes");
    // A person may be faster than the preview: it is not asked for once the order is given.
    const previews = [];
    await page.route("**/api/v1/orders", (route) => {
      const { dryRun, verb } = route.request().postDataJSON();
      if (!dryRun || verb !== "on") return route.continue();
      previews.push(route);
    });
    await page.getByRole("button", { name: "Switch class spark on" }).click();
    for (const deadline = Date.now() + PATIENCE_MS; previews.length === 0 && Date.now() < deadline; ) await page.waitForTimeout(50);
    await dialog(page).getByRole("textbox", { name: /Reason/ }).fill("mended");
    await dialog(page).getByRole("button", { name: "Next" }).click();
    await dialog(page).getByRole("textbox", { name: /Type spark/ }).fill("spark");
    await dialog(page).getByRole("button", { name: "Switch on", exact: true }).click();
    await dialog(page).locator(".step.done", { hasText: "Nodes marked: 12 of 12" }).waitFor();
    await dialog(page).getByRole("button", { name: "Close" }).click();
    await spark.filter({ hasNotText: "off on" }).waitFor();
    for (const each of previews) {
      await each.continue().catch(() => {}); // the page has given it up
      assert.equal(await each.request().response(), null, "no preview after the order");
    }
    await close(page);
  });

  test("one task is ended in two steps, by keyboard and by clicks, and counted with the core-hours that it loses", async () => {
    await fresh();
    const page = await open("/offline?phase=running");
    const running = async (name) => {
      const pod = await object(`/api/v1/namespaces/browser-jobs/pods/${name}`);
      return pod !== null && pod.metadata.deletionTimestamp === undefined;
    };
    const endTask = dialog(page).getByRole("button", { name: "End task", exact: true });
    await press(page.getByRole("button", { name: "End task task-browser-web-1", exact: true }));
    await dialog(page).getByText("The API server would evict the pod").waitFor();
    await accessible(page, "the end of a task");
    assert.equal(await running("task-browser-web-1"), true, "a dry run ends nothing");
    assert.equal(await focused(page), "H2", "the focus goes into the dialog");
    await page.keyboard.press("/");
    assert.equal(await page.locator("dialog[open]").count(), 1, "keys of the page have no meaning there");
    await press(endTask);
    await dialog(page).getByText("The API server accepted").waitFor();
    await page.keyboard.press("Escape");
    await dialog(page).locator("h2").waitFor({ state: "detached" });
    assert.equal(await running("task-browser-web-1"), false);
    await page.getByRole("button", { name: "End task task-browser-web-2", exact: true }).click();
    await endTask.click();
    await dialog(page).getByText("The API server accepted").waitFor();
    await dialog(page).getByRole("button", { name: "Close" }).click();
    assert.equal(await running("task-browser-web-2"), false);
    await page.locator(".count", { hasText: /^10 of 10/ }).waitFor();
    const { classes } = await (await fetch(new URL("api/v1/offline", CONSOLE))).json();
    assert.ok(classes.find((each) => each.name === "spark").evicted >= 2);
    await close(page);
  });

  test("a viewer is refused by the API server before anything is ended", async () => {
    await fresh();
    const page = await open("/offline?phase=running", { url: VIEWER });
    await page.getByRole("button", { name: "End task task-browser-web-2", exact: true }).click();
    await dialog(page).getByRole("alert").filter({ hasText: /Refused.*forbidden/ }).waitFor();
    assert.equal(await dialog(page).getByRole("button", { name: "End task", exact: true }).isDisabled(), true);
    await close(page, /403/);
  });
});

describe("the server", () => {
  test("refuses a write of another site", async () => {
    const other = await openOtherSite(browser);
    await other.page.goto(other.url);
    const failures = [];
    other.page.on("requestfailed", (request) => failures.push(request.failure().errorText));
    const own = await other.page.evaluate(async (url) => {
      const body = JSON.stringify({ verb: "off", scope: "cluster", reason: "attack" });
      await fetch(url, { method: "POST", mode: "no-cors", headers: { "content-type": "text/plain" }, body }).catch(() => {});
      return fetch(url, { method: "POST", headers: { "content-type": "application/json", "x-tidemark-console": "1", "idempotency-key": "k" }, body }).then(() => "sent", () => "refused");
    }, `${CONSOLE.replace(/\/$/, "")}/api/v1/orders`);
    assert.equal(own, "refused", "the browser asks first, and gets no permission");
    for (const deadline = Date.now() + PATIENCE_MS; failures.length < 2 && Date.now() < deadline; ) await other.page.waitForTimeout(50); // they are told late
    assert.deepEqual(failures, ["net::ERR_BLOCKED_BY_RESPONSE.NotSameOrigin", "net::ERR_FAILED"], "the console answered what a form can send");
    const { orders } = await (await fetch(new URL("api/v1/orders", CONSOLE))).json();
    assert.deepEqual(orders.filter((each) => each.reason === "attack"), []);
    assert.ok((await states()).state.every((state) => state === "on"));
    await other.close();
  });
});
