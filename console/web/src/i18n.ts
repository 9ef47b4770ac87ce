// Texts of the page in English and Chinese, and how numbers and times are written. `zh` has every key of `en`: the
// compiler checks it.
import { computed, signal } from "@preact/signals";

const en = {
  now: "Now",
  pools: "Pools",
  offline: "Offline",
  search: "Search",
  searchHint: "Node, pool or page",
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
  why: "Why it offers this",
  whyHelp: "Every term of the formula, with its value now. The same as `tidemark explain node {name}`.",
  noExplanation: "The terms are unknown: {why}",
  resourceChoice: "Resource to explain",
  term_capacity: "Capacity",
  term_margin: "Margin above the water line",
  term_reserved: "Reserved: system, kubelet, host applications",
  term_highPriority: "Online pods",
  term_left: "Left below the water line",
  term_cap: "Limit of the settings",
  term_ratio: "Share that is offered",
  term_origin: "Can be offered",
  term_thirdParty: "Held by YARN and third parties",
  term_published: "Offered to Kubernetes",
  term_onNode: "On the node now",
  term_prodReclaimable: "Requested by online pods, not used",
  term_nodeUnused: "Not used on the node",
  term_base: "Smaller of the two",
  term_prodRequest: "Requested by online pods",
  term_unallocated: "Not requested",
  term_unallocatedShare: "Share of what is not requested",
  term_staticShare: "Fixed share",
  midCpu: "Mid CPU",
  midMemory: "Mid memory",
  otherTerms: "Further terms",
  sources: "What the numbers rest on",
  object: "Object",
  gives: "Gives",
  age: "Age",
  notes: "Notes",
  settings: "Settings",
  conditions: "Conditions",
  agentSays: "What the agent enforces",
  agentSilent: "No agent has reported what it enforces on this node.",
  kernel: "Kernel",
  osImage: "System",
  runtime: "Runtime",
  kubelet: "Kubelet",
  address: "Address",
  since: "Since",
  status: "Status",
  reason: "Reason",
  tasksOf: "Offline tasks",
  noTasks: "No offline task here.",
  task: "Task",
  class: "Class",
  noClass: "without class",
  used: "Uses",
  requested: "Requests",
  started: "Started",
  whyTask: "Why",
  task_waiting: "waiting",
  task_running: "running",
  task_terminating: "terminating",
  task_succeeded: "succeeded",
  task_failed: "failed",
  task_evicted: "evicted",
  poolsTitle: "Pools",
  business: "Business",
  mode: "Mode",
  calendar: "Calendar",
  week: "Water line for 7 days",
  changes: "Changes",
  override: "Override",
  overrideBy: "CPU {cpu}, memory {memory}, until {until}, by {by}: {why}",
  lineUnknown: "The line is unknown: the settings cannot be read.",
  phase_base: "base line",
  phase_rampingUp: "rising",
  phase_open: "window open",
  phase_rampingDown: "falling",
  phase_frozen: "frozen",
  phase_overridden: "overridden",
  offlineTitle: "Offline work",
  byClass: "By class",
  waiting: "Waiting",
  running: "Running",
  succeeded: "Succeeded",
  failed: "Failed",
  evicted: "Evicted",
  phase: "Phase",
  all: "All",
  over: "Over",
  shown: "{n} of {total} tasks",
  notFound: "There is no such page.",
  error: "Cannot show this: {why}",
};

export type Key = keyof typeof en;
type Texts = Record<Key, string>;

const zh: Texts = {
  now: "现状",
  pools: "资源池",
  offline: "离线",
  search: "搜索",
  searchHint: "节点、资源池或页面",
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
  why: "为什么是这个可售量",
  whyHelp: "公式的每一项及其当前值，与 `tidemark explain node {name}` 相同。",
  noExplanation: "各项未知：{why}",
  resourceChoice: "要解释的资源",
  term_capacity: "容量",
  term_margin: "水位线以上的余量",
  term_reserved: "预留：系统、kubelet、主机应用",
  term_highPriority: "在线 Pod",
  term_left: "水位线以下剩余",
  term_cap: "配置的上限",
  term_ratio: "可售比例",
  term_origin: "可以出售",
  term_thirdParty: "YARN 和第三方占用",
  term_published: "提供给 Kubernetes",
  term_onNode: "节点上的现值",
  term_prodReclaimable: "在线 Pod 申请而未用",
  term_nodeUnused: "节点未用",
  term_base: "两者取小",
  term_prodRequest: "在线 Pod 的申请",
  term_unallocated: "未被申请",
  term_unallocatedShare: "未申请部分的比例",
  term_staticShare: "固定比例",
  midCpu: "Mid CPU",
  midMemory: "Mid 内存",
  otherTerms: "其他项",
  sources: "数字的来源",
  object: "对象",
  gives: "提供",
  age: "时间",
  notes: "说明",
  settings: "配置",
  conditions: "状况",
  agentSays: "节点代理正在执行的限制",
  agentSilent: "没有节点代理报告本节点上的限制。",
  kernel: "内核",
  osImage: "系统",
  runtime: "运行时",
  kubelet: "Kubelet",
  address: "地址",
  since: "自",
  status: "状态",
  reason: "原因",
  tasksOf: "离线任务",
  noTasks: "这里没有离线任务。",
  task: "任务",
  class: "类别",
  noClass: "无类别",
  used: "用量",
  requested: "申请",
  started: "开始",
  whyTask: "原因",
  task_waiting: "等待",
  task_running: "运行",
  task_terminating: "终止中",
  task_succeeded: "成功",
  task_failed: "失败",
  task_evicted: "被驱逐",
  poolsTitle: "资源池",
  business: "业务",
  mode: "模式",
  calendar: "日历",
  week: "未来 7 天的水位线",
  changes: "变化",
  override: "临时调整",
  overrideBy: "CPU {cpu}，内存 {memory}，至 {until}，操作人 {by}：{why}",
  lineUnknown: "水位线未知：配置不可读。",
  phase_base: "基准",
  phase_rampingUp: "上升中",
  phase_open: "窗口开启",
  phase_rampingDown: "下降中",
  phase_frozen: "冻结",
  phase_overridden: "临时调整",
  offlineTitle: "离线任务",
  byClass: "按类别",
  waiting: "等待",
  running: "运行",
  succeeded: "成功",
  failed: "失败",
  evicted: "驱逐",
  phase: "阶段",
  all: "全部",
  over: "已结束",
  shown: "共 {total} 个任务，显示 {n} 个",
  notFound: "没有这个页面。",
  error: "无法显示：{why}",
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

const texts = computed(() => (language.value === "zh" ? zh : en));
const locale = computed(() => (language.value === "zh" ? "zh-CN" : "en-GB"));

export function t(key: Key, values: Record<string, string | number> = {}): string {
  return texts.value[key].replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ""));
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

export function age(since: number | null | undefined): string {
  if (since === null || since === undefined) return t("none");
  return t("ago", { age: duration(serverNow() - since) });
}

export function clock(seconds: number): string {
  return new Intl.DateTimeFormat(locale.value, { hour: "2-digit", minute: "2-digit" }).format(new Date(seconds * 1000));
}
export function moment(seconds: number): string {
  return new Intl.DateTimeFormat(locale.value, {
    weekday: "short", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit",
  }).format(new Date(seconds * 1000));
}
