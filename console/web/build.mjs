// Builds the page of the console: types from the OpenAPI file, one bundle, compressed files, and a C++ file that
// embeds them. Packages come from the lock file and are kept in the cache directory, by the hash of that file.
//
//   node build.mjs --openapi FILE --out DIR [--npm PROGRAM]
//
// Without packages (no registry) it writes a C++ file without a page, says so, and succeeds, except in CI.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const WEB = dirname(fileURLToPath(import.meta.url));
const FIRST_PAGE_BYTES_MAX = 60 * 1024; // brotli, without data

function argument(name, otherwise) {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? otherwise : process.argv[at + 1];
}

const out = resolve(argument("out", "page"));
const openapi = resolve(argument("openapi", join(WEB, "..", "openapi.json")));
const npm = argument("npm", "npm");

// The directory with node_modules. Made next to its final name, so that two builds at once do not disturb each other.
function packages() {
  const files = ["package.json", "package-lock.json"];
  const hash = createHash("sha256");
  for (const file of files) hash.update(readFileSync(join(WEB, file)));
  const cache = join(process.env.TIDEMARK_CACHE ?? join(homedir(), ".cache", "tidemark"));
  const folder = join(cache, `console-web-${hash.digest("hex").slice(0, 12)}`);
  if (existsSync(join(folder, "node_modules"))) return folder;
  mkdirSync(cache, { recursive: true });
  const made = mkdtempSync(join(cache, "console-web-"));
  for (const file of files) cpSync(join(WEB, file), join(made, file));
  const done = spawnSync(npm, ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: made, encoding: "utf8" });
  if (done.status !== 0) {
    rmSync(made, { recursive: true, force: true });
    throw new Error(`npm ci failed: ${done.stderr || done.error || done.stdout}`);
  }
  try {
    renameSync(made, folder);
  } catch {
    rmSync(made, { recursive: true, force: true }); // another build was faster
  }
  return folder;
}

// TypeScript for a schema of the OpenAPI file.
function typeOf(schema, pad = "") {
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.oneOf) return schema.oneOf.map((one) => typeOf(one, pad)).join(" | ");
  if (schema.enum) return schema.enum.map((word) => JSON.stringify(word)).join(" | ");
  if (Array.isArray(schema.type)) return schema.type.map((type) => typeOf({ ...schema, type }, pad)).join(" | ");
  switch (schema.type) {
    case "string":
      return "string";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    case "null":
      return "null";
    case "array":
      return schema.items ? `(${typeOf(schema.items, pad)})[]` : "unknown[]";
    case "object": {
      if (!schema.properties) return typeof schema.additionalProperties === "object" ? `Record<string, ${typeOf(schema.additionalProperties, pad)}>` : "Record<string, unknown>";
      const required = new Set(schema.required ?? []);
      const lines = Object.entries(schema.properties).map(
        ([name, of]) => `${pad}  ${name}${required.has(name) ? "" : "?"}: ${typeOf(of, pad + "  ")};`,
      );
      return `{\n${lines.join("\n")}\n${pad}}`;
    }
    case undefined:
      return "unknown"; // any JSON
    default:
      throw new Error(`openapi.json: no TypeScript for ${JSON.stringify(schema)}`);
  }
}

function writeTypes() {
  const document = JSON.parse(readFileSync(openapi, "utf8"));
  const types = Object.entries(document.components.schemas).map(([name, schema]) => `export type ${name} = ${typeOf(schema)};\n`);
  const columns = Object.keys(document.components.schemas.NodeRow.properties);
  types.push(`export const NODE_COLUMNS = ${JSON.stringify(columns)} as const;\n`);
  mkdirSync(join(out, "gen"), { recursive: true });
  writeFileSync(join(out, "gen", "api.ts"), `// Generated from console/openapi.json.\n${types.join("\n")}`);
}

async function bundle(folder) {
  const esbuild = createRequire(join(folder, "package.json"))("esbuild");
  const assets = join(out, "assets");
  rmSync(assets, { recursive: true, force: true });
  const { metafile } = await esbuild.build({
    metafile: true,
    entryPoints: { app: join(WEB, "src", "main.tsx"), style: join(WEB, "src", "style.css") },
    outdir: assets,
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    target: ["es2022"],
    minify: true,
    legalComments: "none",
    jsx: "automatic",
    jsxImportSource: "preact",
    alias: { "@api": join(out, "gen", "api.ts") },
    nodePaths: [join(folder, "node_modules")],
    logLevel: "warning",
  });
  const names = readdirSync(assets).sort();
  const named = (pattern) => {
    const found = names.find((name) => pattern.test(name));
    if (!found) throw new Error(`esbuild wrote no file like ${pattern}`);
    return `/assets/${found}`;
  };
  const [app, style] = [named(/^app-.*\.js$/), named(/^style-.*\.css$/)];
  const shared = importedAtOnce(metafile, basename(app)).map((name) => `/assets/${name}`);
  const html = readFileSync(join(WEB, "src", "index.html"), "utf8")
    .replace("{{app}}", app)
    .replace("{{style}}", style)
    .replace("{{shared}}", shared.map((path) => `<link rel="modulepreload" href="${path}" />`).join("\n    "));
  writeFileSync(join(out, "index.html"), html);
  const first = new Set(["/index.html", app, style, ...shared]);
  return [
    ["/index.html", "text/html; charset=utf-8", join(out, "index.html")],
    ...names.map((name) => [
      `/assets/${name}`,
      name.endsWith(".css") ? "text/css; charset=utf-8" : "text/javascript; charset=utf-8",
      join(assets, name),
    ]),
  ].map((file) => [...file, first.has(file[0])]);
}

// The files that the browser needs to run this one, without what is loaded later.
function importedAtOnce(metafile, name) {
  const imports = new Map(Object.entries(metafile.outputs).map(([path, of]) => [basename(path), of.imports]));
  const found = new Set();
  const add = (file) => {
    for (const each of imports.get(file)) {
      const next = basename(each.path);
      if (each.kind !== "import-statement" || found.has(next)) continue;
      found.add(next);
      add(next);
    }
  };
  add(name);
  return [...found].sort();
}

function compress(files) {
  const folder = join(out, "compressed");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  return files.map(([path, type, file, first]) => {
    const bytes = readFileSync(file);
    const br = brotliCompressSync(bytes, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
    });
    const gz = gzipSync(bytes, { level: 9 });
    const at = join(folder, basename(file));
    writeFileSync(`${at}.br`, br);
    writeFileSync(`${at}.gz`, gz);
    return { path, type, at, br: br.length, first };
  });
}

function source(files) {
  const lines = ['#include "console/page.h"', ""];
  for (const [i, file] of files.entries()) {
    for (const coding of ["br", "gz"]) {
      const name = `tidemark_page_${i}_${coding}`;
      lines.push(
        `asm(".section .rodata\\n.hidden ${name}\\n.global ${name}\\n${name}:\\n.incbin \\"${file.at}.${coding}\\"\\n"`,
        `    ".hidden ${name}_end\\n.global ${name}_end\\n${name}_end:\\n.byte 0\\n.previous\\n");`,
        `extern "C" const char ${name}[], ${name}_end[];`,
      );
    }
  }
  lines.push("", "namespace tidemark::console {", "", "std::span<const PageFile> page_files() {");
  if (files.length === 0) {
    lines.push("  return {};");
  } else {
    const view = (i, coding) => `{tidemark_page_${i}_${coding}, static_cast<std::size_t>(tidemark_page_${i}_${coding}_end - tidemark_page_${i}_${coding})}`;
    lines.push("  static const PageFile kFiles[] = {");
    for (const [i, file] of files.entries()) lines.push(`      {"${file.path}", "${file.type}", ${view(i, "br")}, ${view(i, "gz")}},`);
    lines.push("  };", "  return kFiles;");
  }
  lines.push("}", "", "}  // namespace tidemark::console", "");
  return lines.join("\n");
}

mkdirSync(out, { recursive: true });
rmSync(join(out, "page.stamp"), { force: true });
let folder;
try {
  folder = packages();
} catch (error) {
  console.log(`console: the program has no web page: ${error.message}`);
  writeFileSync(join(out, "page_data.cc"), source([]));
  process.exit(process.env.CI ? 1 : 0);
}
writeFileSync(join(out, "packages.txt"), `${folder}\n`); // for the type check of the tests
writeTypes();
const files = compress(await bundle(folder));
const first = files.filter((file) => file.first).reduce((sum, file) => sum + file.br, 0);
if (first > FIRST_PAGE_BYTES_MAX) {
  console.error(`console: the first page has ${first} bytes (brotli), more than ${FIRST_PAGE_BYTES_MAX}`);
  process.exit(1);
}
writeFileSync(join(out, "page_data.cc"), source(files));
writeFileSync(join(out, "page.stamp"), files.map((file) => `${file.br} ${file.path}`).join("\n") + `\n${first} first page\n`);
