// What is loaded after the first page: the other pages, their texts and their dialogs, and what the search asks the API.
import type { ComponentType } from "preact";
import { ChangeDialog } from "./change";
import { find } from "./find";
import { addTexts } from "./i18n";
import { Calendar } from "./pages/calendar";
import { Decisions } from "./pages/decisions";
import { Join } from "./pages/join";
import { NodePage } from "./pages/node";
import { Offline } from "./pages/offline";
import { Online } from "./pages/online";
import { Platform } from "./pages/platform";
import { PoolPage, Pools } from "./pages/pools";
import { Settings } from "./pages/settings";
import { Spark } from "./pages/spark";
import { Yarn } from "./pages/yarn";
import type { Further } from "./router";
import { EndDialog } from "./task_end";
import { furtherEn, furtherZh } from "./texts_further";

addTexts({ en: furtherEn, zh: furtherZh });

const PAGES: Record<Further, ComponentType> = { "/online": Online, "/yarn": Yarn, "/spark": Spark, "/decisions": Decisions, "/settings": Settings, "/calendar": Calendar, "/join": Join, "/platform": Platform };

export { NodePage, PoolPage, find };

// The page of a path without a name in it.
export function pageOf(path: string): ComponentType | undefined {
  if (path === "/pools") return Pools;
  if (path === "/offline") return Offline;
  return PAGES[path as Further];
}

export function Dialogs() {
  return (
    <>
      <ChangeDialog />
      <EndDialog />
    </>
  );
}
