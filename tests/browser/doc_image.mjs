// Pictures of pages for docs/, if TIDEMARK_DOC_IMAGES names a directory.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const { TIDEMARK_DOC_IMAGES } = process.env;

// What the first screen of a page shows, as a small WebP. The browser itself converts it.
export async function docImage(page, name) {
  if (!TIDEMARK_DOC_IMAGES) return;
  mkdirSync(TIDEMARK_DOC_IMAGES, { recursive: true });
  const png = (await page.screenshot()).toString("base64");
  const blank = await page.context().newPage();
  const webp = await blank.evaluate(async (data) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width, image.height];
    canvas.getContext("2d").drawImage(image, 0, 0);
    return canvas.toDataURL("image/webp", 0.6).split(",")[1];
  }, png);
  await blank.close();
  writeFileSync(join(TIDEMARK_DOC_IMAGES, `${name}.webp`), Buffer.from(webp, "base64"));
}
