// Paths of the page. Links are ordinary links; a click on one changes the path without a load.
import { signal } from "@preact/signals";

// Pages with a path of their own and no parts, in the order of the navigation.
export const FURTHER = [
  { path: "/online", key: "onlineServices" },
  { path: "/yarn", key: "yarn" },
  { path: "/spark", key: "spark" },
  { path: "/decisions", key: "decisions" },
  { path: "/settings", key: "settings" },
  { path: "/calendar", key: "calendar" },
  { path: "/join", key: "join" },
  { path: "/platform", key: "platform" },
] as const;
export type Further = (typeof FURTHER)[number]["path"];

export const path = signal(location.pathname);
export const query = signal(new URLSearchParams(location.search));

function follow() {
  path.value = location.pathname;
  query.value = new URLSearchParams(location.search);
}

// go() opened a page, and its heading is not there yet: the code of the page may have to load.
let awaitsHeading = false;
export function focusOpened(heading: HTMLElement) {
  if (!awaitsHeading) return;
  awaitsHeading = false;
  heading.focus();
}

export function go(to: string) {
  if (to === location.pathname + location.search) return;
  awaitsHeading = true;
  history.pushState(null, "", to);
  follow();
  window.scrollTo(0, 0);
  requestAnimationFrame(() => document.querySelector<HTMLElement>("main h1")?.focus());
}

// Puts a filter into the address without a new entry in the history.
export function setQuery(name: string, value: string) {
  const next = new URLSearchParams(location.search);
  if (value) next.set(name, value);
  else next.delete(name);
  const text = next.toString();
  history.replaceState(null, "", location.pathname + (text ? `?${text}` : ""));
  query.value = next;
}

export function startRouter() {
  window.addEventListener("popstate", follow);
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const link = (event.target as Element).closest?.("a[href^='/']");
    if (!link || link.hasAttribute("target")) return;
    event.preventDefault();
    go(link.getAttribute("href")!);
  });
}

export function nodePath(name: string): string {
  return `/nodes/${encodeURIComponent(name)}`;
}
export function poolPath(name: string): string {
  return `/pools/${encodeURIComponent(name)}`;
}
