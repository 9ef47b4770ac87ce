// Charts over time. uPlot is loaded with the first of them, not with the page.
import { useEffect, useRef } from "preact/hooks";
import type uPlot from "uplot";
import { clock, inZone, language, moment } from "./i18n";

export type Series = { label: string; colour: string; fill?: string; dashed?: boolean; stepped?: boolean; values: (number | null)[] };

let library: Promise<typeof uPlot> | null = null;
function load(): Promise<typeof uPlot> {
  library ??= import("uplot").then((found) => found.default);
  return library;
}

function resolve(element: HTMLElement, colour: string): string {
  const probe = document.createElement("span");
  probe.style.color = colour;
  element.append(probe);
  const out = getComputedStyle(probe).color;
  probe.remove();
  return out;
}

export function Plot(props: {
  label: string;
  at: number[];
  series: Series[];
  height?: number;
  max?: number;
  days?: boolean; // the axis shows days, not minutes
  zone?: string; // of the axis; that of the browser if absent
  format: (value: number) => string;
}) {
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const shape = JSON.stringify([props.series.map((each) => [each.label, each.colour, each.fill]), props.max, props.zone, language.value]);
  const data = () => [props.at, ...props.series.map((each) => each.values)] as uPlot.AlignedData;

  useEffect(() => {
    let gone = false;
    let observer: ResizeObserver | null = null;
    const make = async () => {
      const Library = await load();
      const element = holder.current;
      if (gone || !element) return;
      plot.current?.destroy();
      const axis = resolve(element, "var(--muted)");
      const grid = resolve(element, "var(--border)");
      const font = `12px ${getComputedStyle(element).fontFamily}`;
      plot.current = new Library(
        {
          width: element.clientWidth,
          height: props.height ?? 220,
          legend: { show: false },
          ...(props.zone ? { tzDate: (at: number) => Library.tzDate(new Date(at * 1000), props.zone!) } : {}),
          cursor: { show: false },
          scales: { x: { time: true }, y: { range: (_, __, max) => [0, (props.max ?? max) * 1.02 || 1] } },
          axes: [
            { stroke: axis, font, grid: { show: false }, ticks: { stroke: grid, size: 4 }, space: props.days ? 90 : 70,
              values: (_, splits) => splits.map((at) => (props.zone ? inZone(props.zone, at, { weekday: "short", month: "short", day: "numeric" }) : props.days ? moment(at).replace(/,? \d\d:\d\d$/, "") : clock(at))),
              ...(props.days ? { incrs: [86400] } : {}) },
            { stroke: axis, font, grid: { stroke: grid, width: 1 }, ticks: { show: false }, size: 64, space: 40,
              values: (_, splits) => splits.map(props.format) },
          ],
          series: [
            {},
            ...props.series.map((each) => ({
              label: each.label,
              stroke: resolve(element, each.colour),
              width: each.dashed ? 1.5 : 1,
              points: { show: false },
              ...(each.dashed ? { dash: [6, 4] } : {}),
              ...(each.fill ? { fill: resolve(element, each.fill) } : {}),
              ...(each.stepped ? { paths: Library.paths.stepped!({ align: 1 }) } : {}),
            })),
          ],
        },
        data(),
        element,
      );
      observer ??= new ResizeObserver(() =>
        plot.current?.setSize({ width: element.clientWidth, height: props.height ?? 220 }),
      );
      observer.observe(element);
    };
    void make();
    const repaint = () => void make();
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", repaint);
    const theme = new MutationObserver(repaint);
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return () => {
      gone = true;
      observer?.disconnect();
      dark.removeEventListener("change", repaint);
      theme.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape]);
  useEffect(() => {
    plot.current?.setData(data());
  }, [props.at, props.series]);
  return <div class="plot" ref={holder} role="img" aria-label={props.label} />;
}
