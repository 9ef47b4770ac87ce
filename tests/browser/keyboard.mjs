// What a person does without a mouse: Tab, Enter, Space, arrows and typing.
import assert from "node:assert/strict";

const STOPS_MAX = 300; // more than a page has

// Presses Tab until the one element of the locator has the focus.
export async function tabTo(wanted) {
  let element = await wanted.elementHandle();
  for (let i = 0; i < STOPS_MAX; ++i) {
    const found = await element.evaluate((at) => (at === document.activeElement ? "focused" : at.isConnected ? "there" : "gone"));
    if (found === "focused") return;
    if (found === "gone") element = await wanted.elementHandle();
    await wanted.page().keyboard.press("Tab");
  }
  assert.fail(`Tab does not reach ${wanted}`);
}

export async function press(wanted, key = "Enter") {
  await tabTo(wanted);
  await wanted.page().keyboard.press(key);
}

// Over what the field holds; `delay` milliseconds from key to key.
export async function type(wanted, text, delay = 0) {
  await press(wanted, "Control+A");
  await wanted.page().keyboard.type(text, { delay });
}
