// How a page looks on a phone, a laptop and a 4k screen, in both languages and themes. Each page is loaded once: all of
// this changes while it is shown, as a person changes it.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

const SIZES = { 320: 700, 1280: 900, 3840: 2160 };
// What axe checks at which width, and what a person can look at afterwards.
const LOOKS = [
  { language: "en", theme: "light", axeAt: 1280, pictures: [320, 3840] },
  { language: "en", theme: "dark", axeAt: 320, pictures: [1280] },
  { language: "zh-CN", theme: "light", axeAt: 3840, pictures: [1280] },
  { language: "zh-CN", theme: "dark", axeAt: 1280, pictures: [320, 3840] },
];

// Runs in the page: no heading, wider than the window, or text that is cut off and in no title.
async function faults() {
  await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))); // charts follow the width a frame later
  const found = [];
  const heading = document.querySelector("main h1");
  if (!heading?.checkVisibility() || heading.innerText.trim() === "") found.push("no main heading");
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth) found.push(`${scrollWidth} px wide in ${clientWidth}`);
  const clips = new Map([[document.body, null]]);
  const clipOf = (element) => {
    if (!clips.has(element)) {
      const { overflowX } = getComputedStyle(element);
      clips.set(element, /hidden|clip/.test(overflowX) ? element : /auto|scroll/.test(overflowX) ? null : clipOf(element.parentElement));
    }
    return clips.get(element);
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  const SPARE_PX = 3;
  while (texts.nextNode()) {
    const { currentNode: text } = texts;
    const clip = text.data.trim() === "" ? null : clipOf(text.parentElement);
    if (!clip || clip.matches(".visually-hidden") || text.parentElement.closest("[title]")) continue;
    range.selectNodeContents(text);
    const [inner, outer] = [range.getBoundingClientRect(), clip.getBoundingClientRect()];
    if (inner.width === 0) continue;
    if (inner.left < outer.left - SPARE_PX || inner.right > outer.right + SPARE_PX || inner.top < outer.top - SPARE_PX || inner.bottom > outer.bottom + SPARE_PX) found.push(`cut off: ${text.data.trim()}`);
  }
  return found;
}

// `accessible` runs axe; `name` is of the page. The page is in English.
export async function looksGood(page, name, accessible) {
  const folder = join(process.env.TIDEMARK_SCREENSHOTS, "looks");
  mkdirSync(folder, { recursive: true });
  const found = [];
  for (const { language, theme, axeAt, pictures } of LOOKS) {
    await page.setViewportSize({ width: axeAt, height: SIZES[axeAt] });
    if (language !== (await page.locator("html").getAttribute("lang"))) await page.locator(".actions button[lang]").click();
    await page.locator(`html[lang=${language}]`).waitFor();
    await page.emulateMedia({ colorScheme: theme });
    await accessible(page, `${name} ${language} ${theme} ${axeAt}`);
    for (const [width, height] of Object.entries(SIZES)) {
      await page.setViewportSize({ width: Number(width), height });
      const here = `${name} ${language} ${theme} ${width}`;
      found.push(...(await page.evaluate(faults)).map((fault) => `${here}: ${fault}`));
      if (!pictures.includes(Number(width))) continue;
      await page.screenshot({ path: join(folder, `${here.replace(/\W+/g, "-").replace(/^-/, "")}.jpeg`), type: "jpeg", quality: 60, fullPage: width !== "3840" });
    }
  }
  assert.deepEqual(found, []);
}
