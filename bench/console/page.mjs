// The page of the console in Chromium, for run.py: one line of JSON on standard output for each line on standard input.
//
//   load N         opens the page N times, each in a fresh context; answers milliseconds from navigation until map and
//                  sums are on the screen, and the bytes that the browser received for the page itself, without and with
//                  what is loaded with the first chart
//   pixel N        switches N nodes off at the API server; answers milliseconds from the request until the map shows it
//   rows           filters and sorts the table; answers milliseconds from the input until the next frame is painted
//   heap SECONDS OF   records deltas for SECONDS, hands as many to the page as OF seconds have; answers bytes of its heap
//
// "On the screen" is the task after the frame in which the page shows it.
//
// TIDEMARK_CONSOLE_URL, TIDEMARK_KUBECONFIG, TIDEMARK_CHROMIUM, TIDEMARK_MODULES
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { request } from "node:https";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";

const { TIDEMARK_CONSOLE_URL, TIDEMARK_KUBECONFIG, TIDEMARK_CHROMIUM, TIDEMARK_MODULES } = process.env;
const CONSOLE = TIDEMARK_CONSOLE_URL.replace(/\/$/, "");
const { chromium } = createRequire(join(TIDEMARK_MODULES, "package.json"))("playwright-core");
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const PATIENCE_MS = 60_000;
const BATCH = 100; // deltas between two frames of the replay
const NODES = 10_000;
const FIRST_NODE = 10_000; // the number in its name

const browser = await chromium.launch({ executablePath: TIDEMARK_CHROMIUM, args: FLAGS });

const config = JSON.parse(readFileSync(TIDEMARK_KUBECONFIG, "utf8"));
const cluster = config.clusters[0].cluster;
const ca = Buffer.from(cluster["certificate-authority-data"], "base64");
function patchNode(name, body) {
  return new Promise((done, refuse) => {
    const headers = { authorization: `Bearer ${config.users[0].user.token}`, "content-type": "application/merge-patch+json" };
    const call = request(`${cluster.server}/api/v1/nodes/${name}`, { method: "PATCH", ca, headers }, (answer) => {
      answer.resume();
      answer.on("end", () => (answer.statusCode === 200 ? done() : refuse(new Error(`PATCH ${name}: ${answer.statusCode}`))));
    });
    call.on("error", refuse);
    call.end(JSON.stringify(body));
  });
}

async function open(path, script) {
  const context = await browser.newContext({ locale: "en-GB", viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  page.files = []; // of the page itself
  page.on("requestfinished", (request) => {
    const { pathname } = new URL(request.url());
    if (!pathname.startsWith("/api/")) page.files.push({ request, path: pathname });
  });
  if (script) await page.addInitScript(script);
  await page.goto(CONSOLE + path, { waitUntil: "commit" });
  return page;
}

// Runs in the page. Time since the navigation began, once all nodes are counted, the sums are there and the map is drawn.
const awaitMap = (nodes) =>
  new Promise((done) => {
    const channel = new MessageChannel();
    let shown = false;
    channel.port1.onmessage = () => (shown ? done(performance.now()) : requestAnimationFrame(look));
    const look = () => {
      const canvas = document.querySelector(".map canvas");
      const count = document.querySelector(".count")?.textContent.replace(/\D/g, "");
      shown = count === String(nodes) && !!document.querySelector(".tank-head strong") && !!canvas && canvas.width > 300 && canvas.getContext("2d").getImageData(1, 1, 1, 1).data[3] > 0;
      channel.port2.postMessage(0);
    };
    look();
  });

async function load(times) {
  const took = [];
  let [bytes, all] = [0, 0];
  for (let i = 0; i < times; ++i) {
    const page = await open("/");
    took.push(await page.evaluate(awaitMap, NODES));
    await page.locator(".uplot canvas").waitFor(); // the last file that the page loads
    const sum = async (files) => (await Promise.all(files.map((each) => each.request.sizes()))).reduce((before, each) => before + each.responseBodySize, 0);
    const first = page.files.filter((each) => !/\/assets\/further-/.test(each.path)); // the other pages are loaded behind it
    bytes = await sum(first.filter((each) => /\/($|assets\/(app|chunk|style)-)/.test(each.path)));
    all = await sum(first);
    await page.context().close();
  }
  return { took, bytes, all };
}

// Runs in the page: when the centre of this cell has the colour of a mark.
const awaitMark = ([index, nodes]) =>
  new Promise((done, refuse) => {
    const canvas = document.querySelector(".map canvas");
    let [columns, cell] = [0, 0];
    for (let size = 6; size <= 26; ++size) {
      const across = canvas.width / size;
      if (Number.isInteger(across) && Math.ceil(nodes / across) * size === canvas.height) [columns, cell] = [across, size];
    }
    if (columns === 0) return refuse(new Error(`no cells in a canvas of ${canvas.width} × ${canvas.height}`));
    const probe = document.createElement("span");
    probe.style.color = "var(--warn)";
    document.querySelector(".map").append(probe);
    const wanted = getComputedStyle(probe).color.match(/\d+/g).map(Number);
    probe.remove();
    const middle = Math.floor((cell - (cell < 10 ? 1 : 2)) / 2);
    const [x, y] = [(index % columns) * cell + middle, Math.floor(index / columns) * cell + middle];
    const marked = () => {
      const got = document.querySelector(".map canvas").getContext("2d").getImageData(x, y, 1, 1).data;
      return wanted.slice(0, 3).every((part, i) => Math.abs(part - got[i]) <= 2);
    };
    if (marked()) return refuse(new Error("the node has a mark already"));
    const channel = new MessageChannel();
    let shown = false;
    channel.port1.onmessage = () => (shown ? done(performance.timeOrigin + performance.now()) : requestAnimationFrame(look));
    const look = () => {
      shown = marked();
      channel.port2.postMessage(0);
    };
    requestAnimationFrame(look);
  });

let serial = 0; // each round marks other nodes
async function pixel(times) {
  const page = await open("/");
  await page.evaluate(awaitMap, NODES);
  const columns = (await (await fetch(`${CONSOLE}/api/v1/nodes?columns=name,pool`)).json()).columns;
  const collator = new Intl.Collator("en", { numeric: true });
  const order = columns.name.map((name, i) => ({ name, pool: columns.pool[i] }));
  order.sort((a, b) => collator.compare(a.pool, b.pool) || collator.compare(a.name, b.name));
  const took = [];
  for (let i = 0; i < times; ++i) {
    const index = (serial++ * 97 + 13) % order.length;
    const shown = page.evaluate(awaitMark, [index, order.length]);
    await new Promise((next) => setTimeout(next, 50 + Math.random() * 1000)); // at any moment between two passes
    const began = performance.timeOrigin + performance.now();
    await patchNode(order[index].name, { metadata: { labels: { "tidemark.io/state": "off" } } });
    took.push((await shown) - began);
  }
  await page.context().close();
  return { took };
}

// Runs in the page before it: what the page shows in the frame after each input, and when that frame was painted.
const timeInputs = () => {
  globalThis.inputs = [];
  for (const type of ["click", "input"]) {
    addEventListener(
      type,
      (event) => {
        requestAnimationFrame(() => {
          const channel = new MessageChannel();
          const count = document.querySelector(".count")?.textContent.replace(/\D/g, "");
          const sorted = document.querySelector("th[aria-sort$=ending]")?.textContent ?? "";
          channel.port1.onmessage = () => globalThis.inputs.push({ took: performance.now() - event.timeStamp, count, sorted });
          channel.port2.postMessage(0);
        });
      },
      true,
    );
  }
};

async function rows() {
  const page = await open("/?view=table", timeInputs);
  await page.locator(".count", { hasText: "10,000" }).waitFor();
  const took = { filter: [], sort: [] };
  const last = async (count) => {
    await page.waitForFunction((wanted) => globalThis.inputs.length >= wanted, count);
    return (await page.evaluate(() => globalThis.inputs)).at(-1);
  };
  let inputs = 0;
  for (const heading of ["CPU", "Online", "Offered", "Tasks", "Node", "Pool", "Sold", "Report"]) {
    await page.locator("th button", { hasText: heading }).first().click();
    const frame = await last(++inputs);
    assert.ok(frame.sorted.startsWith(heading), `sorted by ${frame.sorted}, not by ${heading}`);
    took.sort.push(frame.took);
  }
  const filter = page.locator("input[type=search]");
  await filter.focus();
  const has = (text) => Array.from({ length: NODES }, (_, i) => `node-${FIRST_NODE + i}.zone-${i % 3}.internal`).filter((name) => name.includes(text)).length;
  for (const [key, text] of [["1", "1"], ["9", "19"], ["7", "197"], ["Backspace", "19"], ["Backspace", "1"], ["Backspace", ""]]) {
    await page.keyboard.press(key);
    const frame = await last(++inputs);
    assert.equal(Number(frame.count), has(text), `rows for "${text}"`);
    took.filter.push(frame.took);
  }
  await page.context().close();
  return took;
}

// Runs in the page before it: keeps the stream and what it sends.
const keepStream = () => {
  globalThis.EventSource = class extends EventSource {
    constructor(...words) {
      super(...words);
      globalThis.stream = this;
      globalThis.deltas = [];
      this.addEventListener("delta", (event) => globalThis.deltas?.push(event.data));
    }
  };
};

async function heap(seconds, ofSeconds) {
  const page = await open("/", keepStream);
  await page.evaluate(awaitMap, NODES);
  const debug = await page.context().newCDPSession(page);
  const used = async () => {
    await debug.send("HeapProfiler.collectGarbage");
    return (await debug.send("Runtime.getHeapUsage")).usedSize;
  };
  const before = await used();
  await page.waitForTimeout(seconds * 1000);
  const replayed = await page.evaluate(
    async ([times, batch]) => {
      const kept = globalThis.deltas;
      const wanted = Math.round(kept.length * times);
      globalThis.deltas = null;
      const rowsOf = kept.map((each) => JSON.parse(each).rows.length);
      for (let i = 0; i < wanted; ++i) {
        globalThis.stream.dispatchEvent(new MessageEvent("delta", { data: kept[i % kept.length] }));
        if (i % batch === 0) await new Promise((next) => requestAnimationFrame(() => setTimeout(next)));
      }
      return { recorded: kept.length, deltas: wanted, rows: rowsOf.reduce((sum, each) => sum + each, 0) / kept.length };
    },
    [ofSeconds / seconds, BATCH],
  );
  await page.waitForTimeout(2000);
  const after = await used();
  await page.context().close();
  return { before, after, ...replayed };
}

const commands = { load: (times) => load(times), pixel: (times) => pixel(times), rows: () => rows(), heap: (seconds, ofSeconds) => heap(seconds, ofSeconds) };
for await (const line of createInterface({ input: process.stdin })) {
  const [word, ...numbers] = line.split(" ");
  process.stdout.write(`${JSON.stringify(await commands[word](...numbers.map(Number)))}\n`);
}
await browser.close();
