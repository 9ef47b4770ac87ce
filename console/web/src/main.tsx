// The frame of the page: header, navigation, warnings about data that cannot be read, and the page of the path.
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { effect, signal } from "@preact/signals";
import { unanswered } from "./api";
import { duration, language, setLanguage, t, type Key } from "./i18n";
import { LoginForm, askSession, keepSession, logOut, mustLogIn, session } from "./login";
import { HeaderOff, OrderDialog, listenToOrderKey } from "./orders";
import { Now } from "./pages/now";
import { Failure, Title, setShortcuts, shortcuts, shortcutsWork } from "./parts";
import { FURTHER, path, startRouter } from "./router";
import { Search, searching } from "./search";
import { connect, connection, lastFrame, nodesVersion, summary, tick } from "./store";

// The other pages, once they are loaded, or why they cannot be.
const further = signal<typeof import("./further") | { failed: string } | null>(null);
async function loadFurther() {
  try {
    further.value = await import("./further");
  } catch (error) {
    further.value = { failed: (error as Error).message };
  }
}

type Theme = "light" | "dark";
const storedTheme = localStorage.getItem("tidemark-theme");
const system = matchMedia("(prefers-color-scheme: dark)");
const chosenTheme = signal<Theme | null>(storedTheme === "light" || storedTheme === "dark" ? storedTheme : null);
const systemTheme = signal<Theme>(system.matches ? "dark" : "light");
system.addEventListener("change", () => (systemTheme.value = system.matches ? "dark" : "light"));

function setTheme(next: Theme) {
  chosenTheme.value = next;
  localStorage.setItem("tidemark-theme", next);
}

const SILENT_SECONDS = 15; // an API server that misses one watch is no news

function Warnings() {
  tick.value;
  const sources = summary.value?.sources ?? [];
  const lines: string[] = [];
  if (connection.value === "lost") {
    lines.push(t("lost", { age: duration((Date.now() - lastFrame.value) / 1000) }));
  }
  if (connection.value === "live") {
    for (const [path, { since, why }] of unanswered.value) lines.push(t("unanswered", { path: path.replace(/\?.*/, ""), age: duration((Date.now() - since) / 1000), why }));
  }
  for (const source of sources) {
    const kind = t(`source_${source.name}` as Key);
    if (!source.read) lines.push(t("notRead", { kind }));
    else if (source.silentSeconds !== null && source.silentSeconds >= SILENT_SECONDS) lines.push(t("silent", { kind, age: duration(source.silentSeconds) }));
    if (source.incomplete) lines.push(t("incomplete", { kind }));
  }
  return (
    <div class="warnings" role="status">
      {lines.map((line) => (
        <p key={line}>
          <span aria-hidden="true">◆</span> {line}
        </p>
      ))}
    </div>
  );
}

function Header() {
  const here = path.value;
  const theme = chosenTheme.value ?? systemTheme.value;
  const link = (to: string, key: Key, active: boolean) => (
    <a href={to} {...(active ? { "aria-current": "page" as const } : {})}>
      {t(key)}
    </a>
  );
  return (
    <header>
      <a class="skip" href="#main">
        {t("skip")}
      </a>
      <div class="brand">
        <svg viewBox="0 0 16 16" width="20" height="20" aria-hidden="true">
          <rect width="16" height="16" rx="3" class="brand-tank" />
          <path d="M2 9q2-3 4 0t4 0 4 0v5H2z" class="brand-water" />
        </svg>
        <strong>Tidemark</strong>
        {summary.value && <span class="cluster" title={summary.value.cluster}>{summary.value.cluster}</span>}
      </div>
      <nav aria-label={t("pages")}>
        {link("/", "now", here === "/" || here.startsWith("/nodes"))}
        {link("/pools", "pools", here.startsWith("/pools"))}
        {link("/offline", "offline", here === "/offline")}
        {FURTHER.map(({ path: to, key }) => link(to, key, here === to))}
      </nav>
      <div class="actions">
        {!mustLogIn() && <HeaderOff />}
        {!mustLogIn() && <span class={`connection connection-${connection.value}`}>
          <span aria-hidden="true">{connection.value === "live" ? "●" : "○"}</span>{" "}
          {connection.value === "live" ? t("live") : t("connecting")}
        </span>}
        {summary.value && session.value?.login === false && <span class="readonly">{summary.value.readOnly ? t("readOnly") : t("writes", { user: session.value.user ?? "" })}</span>}
        {session.value?.login && session.value.user && (
          <>
            <span class="readonly">{t("loggedInAs", { user: session.value.user })}</span>
            <button type="button" class="quiet" onClick={() => void logOut()}>
              {t("logout")}
            </button>
          </>
        )}
        <button type="button" class="quiet" onClick={() => (searching.value = true)}>
          {t("search")} {shortcuts.value && <kbd aria-hidden="true">/</kbd>}
        </button>
        <button type="button" class="quiet" lang={language.value === "zh" ? "en" : "zh"} aria-label={t("languageLabel")} onClick={() => setLanguage(language.value === "zh" ? "en" : "zh")}>
          {t("language")}
        </button>
        <button type="button" class="quiet" onClick={() => setTheme(theme === "dark" ? "light" : "dark")}>
          {theme === "dark" ? t("themeLight") : t("themeDark")}
        </button>
        <button type="button" class="quiet" title={t("shortcutsHelp")} onClick={() => setShortcuts(!shortcuts.value)}>
          {t(shortcuts.value ? "shortcutsOn" : "shortcutsOff")}
        </button>
      </div>
    </header>
  );
}

function Page() {
  const here = path.value;
  if (here === "/" || here === "/nodes") return <Now />;
  const loaded = further.value;
  if (loaded === null) return <p class="note">{t("loading")}</p>;
  if ("failed" in loaded) {
    return (
      <>
        <Failure error={loaded.failed} />
        <p>
          <button type="button" class="order" onClick={() => location.reload()}>
            {t("reload")}
          </button>
        </p>
      </>
    );
  }
  const { NodePage, PoolPage } = loaded;
  const [, kind, name] = here.split("/");
  if (kind === "nodes" && name) return <NodePage key={name} name={decodeURIComponent(name)} />;
  if (kind === "pools" && name) return <PoolPage key={name} name={decodeURIComponent(name)} />;
  const Found = loaded.pageOf(here);
  if (Found) return <Found />;
  return (
    <>
      <Title>Tidemark</Title>
      <p>{t("notFound")}</p>
    </>
  );
}

function App() {
  const theme = chosenTheme.value;
  useEffect(() => {
    document.documentElement.lang = language.value === "zh" ? "zh-CN" : "en";
    if (theme) document.documentElement.dataset["theme"] = theme;
  }, [language.value, theme]);
  useEffect(() => {
    const [, kind, name] = path.value.split("/");
    const what = kind === "nodes" || kind === "pools" ? (name ? decodeURIComponent(name) : t(kind === "pools" ? "pools" : "now")) : kind === "offline" ? t("offline") : t(FURTHER.find((each) => each.path === path.value)?.key ?? "now");
    document.title = `${what} · Tidemark`;
  }, [path.value, language.value]);
  return (
    <>
      <Header />
      <Warnings />
      <main id="main" tabIndex={-1}>
        {mustLogIn() ? <LoginForm /> : <Page />}
      </main>
      <Search />
      <OrderDialog />
      {further.value && "Dialogs" in further.value && <further.value.Dialogs />}
    </>
  );
}

window.addEventListener("keydown", (event) => {
  const target = event.target as HTMLElement;
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) || !shortcutsWork()) return;
  event.preventDefault();
  searching.value = true;
});
listenToOrderKey();
startRouter();
keepSession(() => connect(() => void askSession()));
render(<App />, document.getElementById("app")!);
// The first page has the network and the processor for itself; then the others are loaded, before a click needs them.
const FURTHER_AFTER_MS = 500;
let furtherAsked = false;
effect(() => {
  const first = path.value === "/" || path.value === "/nodes";
  if (furtherAsked || (first && nodesVersion.value === 0)) return;
  furtherAsked = true;
  setTimeout(() => void loadFurther(), first ? FURTHER_AFTER_MS : 0);
});
