// The page Spark in a real browser: a run of ann that has ended on Kubernetes, and one of bob that waits, at a real
// gateway with an access file.
//
// TIDEMARK_CONSOLE_URL   a console that was given no token
// TIDEMARK_OWN_URL       another one, with ann's token
// TIDEMARK_TOKENS        of ann, bob, and eve, who may see all runs
// TIDEMARK_RUNS, TIDEMARK_DRIVER   the numbers of both runs; the driver pod of the first
// TIDEMARK_CONTROL_URL   POST /stop ends the gateway
// TIDEMARK_CHROMIUM, TIDEMARK_MODULES, TIDEMARK_SCREENSHOTS, TIDEMARK_DOC_IMAGES   as in page.test.mjs
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { docImage } from "./doc_image.mjs";
import { type } from "./keyboard.mjs";
import { looksGood } from "./looks.mjs";

const { TIDEMARK_CONSOLE_URL: CONSOLE, TIDEMARK_OWN_URL: OWN, TIDEMARK_TOKENS, TIDEMARK_RUNS, TIDEMARK_DRIVER, TIDEMARK_CONTROL_URL: CONTROL, TIDEMARK_CHROMIUM, TIDEMARK_MODULES, TIDEMARK_SCREENSHOTS } = process.env;
const require = createRequire(join(TIDEMARK_MODULES, "package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const PATIENCE_MS = 60_000;
const tokens = JSON.parse(TIDEMARK_TOKENS);
const [first, second] = JSON.parse(TIDEMARK_RUNS);

let browser;
before(async () => {
  browser = await chromium.launch({ executablePath: TIDEMARK_CHROMIUM, args: FLAGS });
});
after(() => browser?.close());

async function open(url = CONSOLE) {
  const context = await browser.newContext({ locale: "en-GB", viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  page.problems = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && page.problems.push(message.text()));
  page.on("pageerror", (error) => page.problems.push(String(error)));
  await page.goto(`${url.replace(/\/$/, "")}/spark`);
  return page;
}
async function close(page) {
  assert.deepEqual(page.problems, []);
  await page.context().close();
}
const rows = (page, title) => page.locator(".card", { has: page.locator("h2", { hasText: title }) }).locator("tbody tr");

async function accessible(page, what) {
  if (await page.evaluate(() => !("axe" in globalThis))) await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  assert.deepEqual(violations.map((each) => `${each.id}: ${each.nodes.map((node) => node.target.join(" ")).join(", ")}`), [], what);
}

test("the gateway shows runs by the person's own token, typed by keyboard", async () => {
  const page = await open();
  const field = page.getByLabel("Your token of the gateway");
  await type(field, "wrong");
  await page.keyboard.press("Enter");
  await page.getByText("the gateway shows runs to its users only").waitFor();
  await accessible(page, "the form");
  await type(field, tokens.ann);
  await page.keyboard.press("Enter");
  const run = rows(page, "Spark runs").filter({ hasText: "report of ann" });
  await run.waitFor();
  const text = await run.innerText();
  assert.match(text, new RegExp(`${first} report of ann[\\s\\S]*ads[\\s\\S]*succeeded[\\s\\S]*Kubernetes`));
  assert.match(text, /\[TM-[A-Z]+-\d+\]/, "why this side, with the id of the reason");
  assert.ok(text.includes(TIDEMARK_DRIVER), text);
  assert.equal(await rows(page, "Spark runs").count(), 1, "bob's run is not ann's");
  assert.ok(!page.url().includes(tokens.ann) && !(await page.evaluate(() => JSON.stringify([localStorage, sessionStorage, document.cookie]))).includes(tokens.ann), "the token stays in the memory of the page");
  await page.locator("h1").focus();
  await page.keyboard.press("/");
  await page.keyboard.type("report of");
  await page.locator("[role=option]", { hasText: `${first} report of ann` }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/q=/);
  await run.waitFor();
  await close(page);
});

test("an admin of the gateway sees what each business saved in core-hours and money", async () => {
  const page = await open();
  await page.getByLabel("Your token of the gateway").fill(tokens.eve);
  await page.getByRole("button", { name: "Show runs" }).click();
  await rows(page, "Spark runs").filter({ hasText: "report of bob" }).waitFor();
  const { runs } = await (await fetch(new URL("api/v1/spark", CONSOLE), { headers: { "x-tidemark-gateway-token": tokens.eve } })).json();
  const [attempt] = runs.find((each) => each.id === first).attempts;
  assert.ok(attempt.ended - attempt.runningSince >= 2, "it ran two seconds");
  const saved = (4 * (attempt.ended - attempt.runningSince)) / 3600; // a driver and three executors of one core
  const ads = await rows(page, "Saved by business").filter({ hasText: "ads" }).locator("td").allInnerTexts();
  assert.deepEqual(ads.slice(0, 3), ["1", saved.toFixed(2), `${(360 * saved).toFixed(2)} EUR`]);
  const search = await rows(page, "Saved by business").filter({ hasText: "search" }).locator("td").allInnerTexts();
  assert.equal(search[1], "0.00", `run ${second} has not run`);
  await page.screenshot({ path: join(TIDEMARK_SCREENSHOTS, "spark.png"), fullPage: true });
  await docImage(page, "spark");
  await looksGood(page, "runs of Spark", accessible);
  await close(page);
});

test("a console with the token of its one person asks for none, and a gateway that is away is unknown", async () => {
  const page = await open(OWN);
  await rows(page, "Spark runs").filter({ hasText: "report of ann" }).waitFor();
  assert.equal(await page.getByLabel("Your token of the gateway").count(), 0);
  await fetch(`${CONTROL}stop`, { method: "POST" });
  await page.getByText("the gateway does not answer").waitFor();
  await close(page);
});
