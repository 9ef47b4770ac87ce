// Texts of the page in English and Chinese, and how numbers and times are written. Chinese has every key of English: the
// compiler checks it. Texts of pages that are loaded later come with them.
import { computed, signal } from "@preact/signals";
import { loginEn, loginZh } from "./texts_login";
import { ordersEn, ordersZh } from "./texts_orders";
import type { furtherEn } from "./texts_further";

const en = {
  ...loginEn,
  ...ordersEn,
  now: "Now",
  pools: "Pools",
  offline: "Offline",
  search: "Search",
  searchHint: "Node, pool, page, task, workload or run",
  searchNone: "Nothing found",
  language: "中文",
  languageLabel: "切换到中文",
  themeDark: "Dark",
  themeLight: "Light",
  skip: "Skip to content",
  close: "Close",
  pages: "Pages",
  readOnly: "read-only",
  live: "live",
  connecting: "connecting",
  lost: "connection lost, data is {age} old",
  unanswered: "{path} has not answered for {age}, and what is shown from it may be old: {why}",
  notRead: "{kind}: not read yet. Without them their numbers are unknown.",
  silent: "{kind}: the API server has not answered for {age}. Numbers may be old.",
  incomplete: "{kind}: more than this console can hold. Some are missing.",
  source_nodes: "Nodes",
  source_nodeMetrics: "Reports of agents (NodeMetric)",
  source_pods: "Offline pods",
  source_settings: "Settings",
  loading: "Loading…",
  unknown: "unknown",
  none: "none",
  cpu: "CPU",
  memory: "Memory",
  cores: "cores",
  online: "Online",
  offlineUse: "Offline",
  idle: "Idle below the line",
  waterLine: "Water line",
  capacity: "Capacity",
  offered: "Offered",
  sold: "Sold",
  ofCapacity: "of capacity",
  ofKnown: "{n} of {total} nodes report",
  overview: "Cluster",
  nodes: "Nodes",
  nodesCount: "Nodes: {n}",
  node: "Node",
  pool: "Pool",
  state: "State",
  report: "Report",
  tasks: "Tasks",
  view: "View",
  map: "Map",
  table: "Table",
  resource: "Resource",
  mapLabel: "Map of all nodes. Arrow keys move, Enter opens a node.",
  mapHelpNamed: "Each bar is a node: online use, then offline use. The mark is the water line.",
  mapHelp: "Each tank is a node: online use below, offline use above it. The light part is above the water line.",
  filter: "Filter by name",
  allPools: "All pools",
  state_on: "on",
  state_observe: "observe",
  state_draining: "draining",
  state_off: "off",
  report_fresh: "fresh",
  report_stale: "stale",
  report_missing: "no report",
  report_unread: "not readable",
  report_notReady: "not ready",
  problems: "Problems",
  noProblems: "No problems found.",
  problemsUnread: "Not checked yet: nodes, reports and settings are needed.",
  severity_bad: "error",
  severity_warn: "warning",
  severity_ok: "ok",
  fix: "Fix",
  more: "{n} more",
  lastHour: "Use in the last hour",
  historyStart: "The console measures since {time}.",
  historyEmpty: "The first points appear in a few seconds.",
  ago: "{age} ago",
  s: "{n} s",
  min: "{n} min",
  h: "{n} h",
  d: "{n} d",
  settings: "Settings",
  status: "Status",
  reason: "Reason",
  calendar: "Calendar",
  yarn: "YARN",
  decisions: "Decisions",
  platform: "Platform",
  inForce: "In force",
  cluster: "Cluster",
  unconfirmed: "Offers on their way",
  join: "Join, leave",
  failed: "Failed",
  notFound: "There is no such page.",
  error: "Cannot show this: {why}",
  reload: "Load the page again",
  gainToday: "Gain today",
  gainHours: "{n} core-hours of offline work",
  gainSince: "since {time}",
  gainUnknown: "Unknown: no node has a fresh report yet.",
  scopeClass: "class {name} in the whole cluster",
  classOffHelp: "No node sells to this class any more. Running tasks continue.",
  onlineServices: "Online services",
  spark: "Spark",
  asTable: "As a table",
  time: "Time",
  plotHelp: "Point at the chart, or use the arrow keys on it, to read its values.",
  poolDay: "The last day",
  poolDayEmpty: "The first points appear within two minutes.",
};

export type Key = keyof typeof en | keyof typeof furtherEn;

const zh: Record<keyof typeof en, string> = {
  ...loginZh,
  ...ordersZh,
  now: "现状",
  pools: "资源池",
  offline: "离线",
  search: "搜索",
  searchHint: "节点、资源池、页面、任务、工作负载或作业",
  searchNone: "没有结果",
  language: "English",
  languageLabel: "Switch to English",
  themeDark: "深色",
  themeLight: "浅色",
  skip: "跳到正文",
  close: "关闭",
  pages: "页面",
  readOnly: "只读",
  live: "实时",
  connecting: "连接中",
  lost: "连接已断开，数据是 {age} 前的",
  unanswered: "{path} 已 {age} 没有应答，显示的内容可能已过时：{why}",
  notRead: "{kind}：尚未读到，相关数字未知。",
  silent: "{kind}：API server 已 {age} 没有应答，数字可能已过时。",
  incomplete: "{kind}：数量超出控制台的上限，有缺失。",
  source_nodes: "节点",
  source_nodeMetrics: "节点代理的上报（NodeMetric）",
  source_pods: "离线 Pod",
  source_settings: "配置",
  loading: "加载中…",
  unknown: "未知",
  none: "无",
  cpu: "CPU",
  memory: "内存",
  cores: "核",
  online: "在线",
  offlineUse: "离线",
  idle: "水位线以下空闲",
  waterLine: "水位线",
  capacity: "容量",
  offered: "可售",
  sold: "已售",
  ofCapacity: "占容量",
  ofKnown: "{total} 个节点中 {n} 个有上报",
  overview: "集群",
  nodes: "节点",
  nodesCount: "{n} 个节点",
  node: "节点",
  pool: "资源池",
  state: "混部状态",
  report: "上报",
  tasks: "任务",
  view: "视图",
  map: "地图",
  table: "表格",
  resource: "资源",
  mapLabel: "全部节点的地图。方向键移动，回车打开节点。",
  mapHelpNamed: "每个条是一个节点：先在线用量，后离线用量，刻线为水位线。",
  mapHelp: "每个水箱是一个节点：下部为在线用量，上部为离线用量，浅色部分在水位线以上。",
  filter: "按名称筛选",
  allPools: "全部资源池",
  state_on: "开启",
  state_observe: "观察",
  state_draining: "排空中",
  state_off: "关闭",
  report_fresh: "正常",
  report_stale: "过期",
  report_missing: "无上报",
  report_unread: "不可读",
  report_notReady: "未就绪",
  problems: "问题",
  noProblems: "没有发现问题。",
  problemsUnread: "尚未检查：需要先读到节点、上报和配置。",
  severity_bad: "严重",
  severity_warn: "警告",
  severity_ok: "正常",
  fix: "处理",
  more: "另有 {n} 个",
  lastHour: "最近一小时的用量",
  historyStart: "控制台自 {time} 起记录。",
  historyEmpty: "几秒后出现第一批数据。",
  ago: "{age}前",
  s: "{n} 秒",
  min: "{n} 分钟",
  h: "{n} 小时",
  d: "{n} 天",
  settings: "配置",
  status: "状态",
  reason: "原因",
  calendar: "日历",
  yarn: "YARN",
  decisions: "决策记录",
  platform: "平台",
  inForce: "生效中",
  cluster: "集群",
  unconfirmed: "未确认的可售量",
  join: "加入与退出",
  failed: "失败",
  notFound: "没有这个页面。",
  error: "无法显示：{why}",
  reload: "重新加载页面",
  gainToday: "今日收益",
  gainHours: "离线任务使用 {n} 核时",
  gainSince: "自 {time} 起",
  gainUnknown: "未知：尚无节点的最新上报。",
  scopeClass: "整个集群的类别 {name}",
  classOffHelp: "所有节点不再向该类别售卖。正在运行的任务继续。",
  onlineServices: "在线服务",
  spark: "Spark",
  asTable: "以表格显示",
  time: "时间",
  plotHelp: "指向图表，或在图表上使用方向键，即可读取数值。",
  poolDay: "最近一天",
  poolDayEmpty: "两分钟内出现第一批数据。",
};

export type Language = "en" | "zh";
const stored = localStorage.getItem("tidemark-language");
export const language = signal<Language>(
  stored === "en" || stored === "zh" ? stored : navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en",
);

export function setLanguage(next: Language) {
  language.value = next;
  localStorage.setItem("tidemark-language", next);
}

type Texts = Partial<Record<Key, string>>;
const known: Record<Language, Texts> = { en, zh };
export function addTexts(more: Record<Language, Texts>) {
  Object.assign(known.en, more.en);
  Object.assign(known.zh, more.zh);
}

const locale = computed(() => (language.value === "zh" ? "zh-CN" : "en-GB"));

export function t(key: Key, values: Record<string, string | number> = {}): string {
  return known[language.value][key]!.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ""));
}

const formats = new Map<string, Intl.NumberFormat>();
export function number(value: number, digits = 0): string {
  const key = `${locale.value} ${digits}`;
  let format = formats.get(key);
  if (!format) {
    format = new Intl.NumberFormat(locale.value, { minimumFractionDigits: digits, maximumFractionDigits: digits });
    formats.set(key, format);
  }
  return format.format(value);
}

// Milli-cores as cores.
export function cores(milli: number): string {
  const value = milli / 1000;
  if (value === 0) return "0";
  return number(value, Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2);
}

export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let size = value;
  let unit = 0;
  while (Math.abs(size) >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${number(size, unit > 2 && Math.abs(size) < 100 ? 1 : 0)} ${units[unit]}`;
}

export type Resource = "cpu" | "memory";
export function amount(resource: Resource, value: number | null | undefined): string {
  if (value === null || value === undefined) return t("unknown");
  return resource === "cpu" ? cores(value) : bytes(value);
}
export function amountWithUnit(resource: Resource, value: number | null | undefined): string {
  if (value === null || value === undefined) return t("unknown");
  return resource === "cpu" ? `${cores(value)} ${t("cores")}` : bytes(value);
}

export function percent(part: number | null, whole: number): string {
  if (part === null || whole <= 0) return "–";
  return `${number((100 * part) / whole)} %`;
}

// The clock of the server, so that ages do not depend on this machine's clock.
export const serverOffset = signal(0);
export function serverNow(): number {
  return Date.now() / 1000 + serverOffset.value;
}

export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 90) return t("s", { n: whole });
  if (whole < 90 * 60) return t("min", { n: Math.round(whole / 60) });
  if (whole < 36 * 3600) return t("h", { n: Math.round(whole / 3600) });
  return t("d", { n: Math.round(whole / 86400) });
}

// The time until something, to the minute: "1 h 20 min".
export function countdown(seconds: number): string {
  const minutes = Math.round(seconds / 60);
  if (minutes < 60 || minutes >= 36 * 60) return duration(seconds);
  return `${t("h", { n: Math.floor(minutes / 60) })}${minutes % 60 === 0 ? "" : ` ${t("min", { n: minutes % 60 })}`}`;
}

export function age(since: number | null | undefined): string {
  if (since === null || since === undefined) return t("none");
  return t("ago", { age: duration(serverNow() - since) });
}

export function clock(seconds: number, withSeconds = false): string {
  return new Intl.DateTimeFormat(locale.value, { hour: "2-digit", minute: "2-digit", ...(withSeconds ? { second: "2-digit" } : {}) }).format(new Date(seconds * 1000));
}
export function inZone(zone: string, seconds: number, format: Intl.DateTimeFormatOptions): string {
  return new Intl.DateTimeFormat(locale.value, { ...format, timeZone: zone }).format(new Date(seconds * 1000));
}
export function moment(seconds: number): string {
  return new Intl.DateTimeFormat(locale.value, {
    weekday: "short", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit",
  }).format(new Date(seconds * 1000));
}
// The value of an input of type datetime-local: in the time of this browser.
export function localTime(at: number, to: "minute" | "second"): string {
  return new Date((at - new Date(at * 1000).getTimezoneOffset() * 60) * 1000).toISOString().slice(0, to === "minute" ? 16 : 19);
}
