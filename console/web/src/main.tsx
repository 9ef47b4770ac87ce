// The frame of the page: header, navigation, warnings about data that cannot be read, and the page of the path.
import { render, type ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { signal } from "@preact/signals";
import { ChangeDialog, change } from "./change";
import { duration, language, setLanguage, t, type Key } from "./i18n";
import { LoginForm, askSession, keepSession, logOut, mustLogIn, session } from "./login";
import { OrderDialog, asked, listenToOrderKey } from "./orders";
import { Calendar } from "./pages/calendar";
import { Decisions } from "./pages/decisions";
import { Join } from "./pages/join";
import { NodePage } from "./pages/node";
import { Now } from "./pages/now";
import { Offline } from "./pages/offline";
import { Online } from "./pages/online";
import { Platform } from "./pages/platform";
import { PoolPage, Pools } from "./pages/pools";
import { Settings } from "./pages/settings";
import { Spark } from "./pages/spark";
import { Yarn } from "./pages/yarn";
import { Title } from "./parts";
import { FURTHER, path, startRouter, type Further } from "./router";
import { Search, searching } from "./search";
import { EndDialog } from "./task_end";
import { connect, connection, lastFrame, summary, tick } from "./store";

const FURTHER_PAGES: Record<Further, ComponentType> = { "/online": Online, "/yarn": Yarn, "/spark": Spark, "/decisions": Decisions, "/settings": Settings, "/calendar": Calendar, "/join": Join, "/platform": Platform };

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
  const sources = summary.value?.sources ?? [];
  const lines: string[] = [];
  if (connection.value === "lost") {
    tick.value;
    lines.push(t("lost", { age: duration((Date.now() - lastFrame.value) / 1000) }));
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
        {!mustLogIn() && <span class={`connection connection-${connection.value}`}>
          <span aria-hidden="true">{connection.value === "live" ? "●" : "○"}</span>{" "}
          {connection.value === "live" ? t("live") : t("connecting")}
        </span>}
        {summary.value && <span class="readonly">{t(summary.value.readOnly ? "readOnly" : "writes")}</span>}
        {session.value?.login && session.value.user && (
          <>
            <span class="readonly">{session.value.user}</span>
            <button type="button" class="quiet" onClick={() => void logOut()}>
              {t("logout")}
            </button>
          </>
        )}
        <button type="button" class="quiet" onClick={() => (searching.value = true)}>
          {t("search")} <kbd aria-hidden="true">/</kbd>
        </button>
        <button type="button" class="quiet" lang={language.value === "zh" ? "en" : "zh"} aria-label={t("languageLabel")} onClick={() => setLanguage(language.value === "zh" ? "en" : "zh")}>
          {t("language")}
        </button>
        <button type="button" class="quiet" onClick={() => setTheme(theme === "dark" ? "light" : "dark")}>
          {theme === "dark" ? t("themeLight") : t("themeDark")}
        </button>
      </div>
    </header>
  );
}

function Page() {
  const here = path.value;
  const [, kind, name] = here.split("/");
  if (here === "/" || here === "/nodes") return <Now />;
  if (kind === "nodes" && name) return <NodePage key={name} name={decodeURIComponent(name)} />;
  if (here === "/pools") return <Pools />;
  if (kind === "pools" && name) return <PoolPage key={name} name={decodeURIComponent(name)} />;
  if (here === "/offline") return <Offline />;
  const Further = FURTHER_PAGES[here as Further];
  if (Further) return <Further />;
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
      <ChangeDialog />
      <EndDialog />
    </>
  );
}

window.addEventListener("keydown", (event) => {
  const target = event.target as HTMLElement;
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) || searching.value || asked.value || change.value) return;
  event.preventDefault();
  searching.value = true;
});
listenToOrderKey();
startRouter();
keepSession(() => connect(() => void askSession()));
render(<App />, document.getElementById("app")!);
