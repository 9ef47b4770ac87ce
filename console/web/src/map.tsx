// The map of all nodes on a canvas: each node is a tank with online use below, offline use above it, and the water line
// as a mark. Shapes tell states apart without colour. Arrow keys move, Enter opens; the table has the same data.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { NodeRow } from "@api";
import { amountWithUnit, language, percent, t, type Key, type Resource } from "./i18n";
import { rowBar } from "./parts";
import { go, nodePath } from "./router";

type Layout = { columns: number; rows: number; width: number; height: number; gap: number; named: boolean };

const NAMED_MAX = 60; // up to so many nodes the tanks carry names

function layOut(count: number, width: number): Layout {
  if (count <= NAMED_MAX) {
    const columns = Math.max(1, Math.min(count, Math.floor(width / 150)));
    return { columns, rows: Math.ceil(count / columns), width: Math.min(260, width / columns), height: 64, gap: 8, named: true };
  }
  const area = width * Math.min(Math.max(460, window.innerHeight * 0.4), Math.max(160, count / 4));
  const cell = Math.max(6, Math.min(26, Math.floor(Math.sqrt(area / count))));
  const columns = Math.max(1, Math.floor(width / cell));
  return { columns, rows: Math.ceil(count / columns), width: cell, height: cell, gap: cell < 10 ? 1 : 2, named: false };
}

function describe(row: NodeRow, resource: Resource): string {
  const bar = rowBar(row, resource);
  const parts = [row.name, `${t("pool")} ${row.pool}`, t(`state_${row.state}` as Key)];
  if (row.report !== "fresh") parts.push(t(`report_${row.report}` as Key));
  else {
    parts.push(`${t("online")} ${percent(bar.online, bar.capacity)}`, `${t("offlineUse")} ${percent(bar.offline, bar.capacity)}`);
  }
  parts.push(`${t("offered")} ${amountWithUnit(resource, resource === "cpu" ? row.cpuOffered : row.memoryOffered)}`);
  return parts.join(" · ");
}

type Colours = Record<"tank" | "above" | "online" | "offline" | "line" | "text" | "muted" | "focus" | "warn", string>;
function colours(element: Element): Colours {
  const style = getComputedStyle(element);
  const value = (name: string) => style.getPropertyValue(name).trim();
  // light-dark() is resolved only in properties that are colours, so each is read from a probe.
  const probe = document.createElement("span");
  element.append(probe);
  const resolved = (name: string) => {
    probe.style.color = value(name);
    return getComputedStyle(probe).color;
  };
  const out = {
    tank: resolved("--tank"), above: resolved("--above"), online: resolved("--online"), offline: resolved("--offline"), line: resolved("--water"),
    text: resolved("--text"), muted: resolved("--muted"), focus: resolved("--focus"), warn: resolved("--warn"),
  };
  probe.remove();
  return out;
}

function draw(canvas: HTMLCanvasElement, nodes: NodeRow[], layout: Layout, resource: Resource, selected: number, focused: boolean) {
  const ratio = window.devicePixelRatio || 1;
  const width = layout.columns * layout.width;
  const height = layout.rows * layout.height;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d")!;
  pen.scale(ratio, ratio);
  const c = colours(canvas.parentElement!);
  const font = getComputedStyle(canvas).fontFamily;
  nodes.forEach((row, i) => {
    const x = (i % layout.columns) * layout.width;
    const y = Math.floor(i / layout.columns) * layout.height;
    const w = layout.width - layout.gap;
    const h = layout.height - layout.gap;
    const bar = rowBar(row, resource);
    const known = bar.online !== null && bar.offline !== null && bar.capacity > 0;
    const share = (value: number) => Math.max(0, Math.min(1, value / bar.capacity));
    pen.fillStyle = layout.named ? c.above : c.tank;
    pen.fillRect(x, y, w, h);
    if (!layout.named && bar.line !== null && bar.capacity > 0) {
      pen.fillStyle = c.above;
      pen.fillRect(x, y, w, h - Math.round(h * share(bar.line)));
    }
    if (layout.named) {
      const top = y + 30;
      const tall = h - 38;
      const inner = w - 16;
      pen.fillStyle = c.tank;
      pen.fillRect(x + 8, top, inner, tall);
      if (known) {
        pen.fillStyle = c.online;
        pen.fillRect(x + 8, top, inner * share(bar.online!), tall);
        pen.fillStyle = c.offline;
        pen.fillRect(x + 8 + inner * share(bar.online!), top, Math.min(inner * share(bar.offline!), inner * (1 - share(bar.online!))), tall);
      }
      if (bar.line !== null && bar.capacity > 0) {
        pen.fillStyle = c.line;
        pen.fillRect(x + 8 + inner * share(bar.line) - 1, top - 3, 2, tall + 6);
      }
      pen.fillStyle = c.text;
      pen.font = `600 13px ${font}`;
      pen.textBaseline = "middle";
      const shape = { on: "●", observe: "◇", draining: "▼", off: "■" }[row.state];
      let name = row.name;
      while (name.length > 4 && pen.measureText(name).width > w - 40) name = `${name.slice(0, -2)}…`;
      pen.fillText(name, x + 8, y + 16);
      pen.fillStyle = row.state === "on" ? c.muted : c.warn;
      pen.textAlign = "right";
      pen.fillText(known ? shape : "?", x + w - 8, y + 16);
      pen.textAlign = "left";
    } else {
      if (known) {
        const online = Math.round(h * share(bar.online!));
        const offline = Math.min(h - online, Math.round(h * share(bar.offline!)));
        pen.fillStyle = c.online;
        pen.fillRect(x, y + h - online, w, online);
        pen.fillStyle = c.offline;
        pen.fillRect(x, y + h - online - offline, w, offline);
      } else {
        pen.strokeStyle = c.muted; // a cross-hatch: unknown
        pen.lineWidth = 1;
        pen.beginPath();
        pen.moveTo(x, y + h);
        pen.lineTo(x + w, y);
        pen.moveTo(x, y + h / 2);
        pen.lineTo(x + w / 2, y);
        pen.moveTo(x + w / 2, y + h);
        pen.lineTo(x + w, y + h / 2);
        pen.stroke();
      }
      if (row.state !== "on") {
        pen.fillStyle = c.warn;
        pen.beginPath();
        if (row.state === "off") pen.rect(x + w / 4, y + h / 4, w / 2, h / 2);
        else if (row.state === "draining") {
          pen.moveTo(x + w / 5, y + h / 4);
          pen.lineTo(x + (4 * w) / 5, y + h / 4);
          pen.lineTo(x + w / 2, y + (4 * h) / 5);
        } else {
          pen.moveTo(x + w / 2, y + h / 6);
          pen.lineTo(x + (5 * w) / 6, y + h / 2);
          pen.lineTo(x + w / 2, y + (5 * h) / 6);
          pen.lineTo(x + w / 6, y + h / 2);
        }
        pen.fill();
      }
    }
    if (i === selected) {
      pen.strokeStyle = focused ? c.focus : c.text;
      pen.lineWidth = focused ? 3 : 1.5;
      pen.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
    }
  });
}

export function NodeMap({ nodes, resource }: { nodes: NodeRow[]; resource: Resource }) {
  const holder = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(600);
  const [selected, setSelected] = useState(-1);
  const [focused, setFocused] = useState(false);
  const [scheme, setScheme] = useState(0);
  const layout = useMemo(() => layOut(nodes.length, width), [nodes.length, width]);

  useEffect(() => {
    const observer = new ResizeObserver((entries) => setWidth(Math.floor(entries[0]!.contentRect.width)));
    observer.observe(holder.current!);
    const repaint = () => setScheme((before) => before + 1);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", repaint);
    const theme = new MutationObserver(repaint);
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return () => {
      observer.disconnect();
      dark.removeEventListener("change", repaint);
      theme.disconnect();
    };
  }, []);
  useEffect(() => {
    if (canvas.current) draw(canvas.current, nodes, layout, resource, selected, focused);
  }, [nodes, layout, resource, selected, focused, scheme]);

  const at = (event: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left) / layout.width);
    const row = Math.floor((event.clientY - box.top) / layout.height);
    const i = row * layout.columns + column;
    return column >= 0 && column < layout.columns && i < nodes.length ? i : -1;
  };
  const onKey = (event: KeyboardEvent) => {
    const last = nodes.length - 1;
    const from = selected < 0 ? 0 : selected;
    const to: Record<string, number> = {
      ArrowRight: from + 1, ArrowLeft: from - 1, ArrowDown: from + layout.columns, ArrowUp: from - layout.columns, Home: 0, End: last,
    };
    if (event.key in to) {
      event.preventDefault();
      setSelected(Math.max(0, Math.min(last, selected < 0 ? 0 : to[event.key]!)));
    } else if (event.key === "Enter" && selected >= 0 && nodes[selected]) {
      go(nodePath(nodes[selected]!.name));
    }
  };
  const shown = selected >= 0 && nodes[selected] ? describe(nodes[selected]!, resource) : t(layout.named ? "mapHelpNamed" : "mapHelp");
  language.value;
  return (
    <div class="map" ref={holder}>
      <canvas
        ref={canvas}
        role="application"
        tabIndex={0}
        aria-label={t("mapLabel")}
        aria-describedby="map-detail"
        onKeyDown={onKey}
        onFocus={() => {
          setFocused(true);
          if (selected < 0 && nodes.length > 0) setSelected(0);
        }}
        onBlur={() => setFocused(false)}
        onMouseMove={(event) => {
          const i = at(event);
          if (i >= 0 && i !== selected) setSelected(i);
        }}
        onClick={(event) => {
          const i = at(event);
          if (i >= 0) go(nodePath(nodes[i]!.name));
        }}
      />
      <p id="map-detail" class="map-detail" role="status">
        {shown}
      </p>
    </div>
  );
}
