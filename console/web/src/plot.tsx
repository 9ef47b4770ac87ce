// Charts over time, with a legend, the values at one time, and the same data as a table. The mouse and the arrow keys
// choose the time. uPlot is loaded with the first chart, not with the page.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import { clock, inZone, language, moment, t } from "./i18n";
import { Table, type Column } from "./table";

type Values = (number | null)[];
// `own`: the values to read, if the series is drawn on top of another.
export type Series = { label: string; colour: string; fill?: string; dashed?: boolean; stepped?: boolean; values: Values; own?: Values };

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

type PlotProps = {
  label: string;
  at: number[];
  series: Series[];
  height?: number;
  max?: number;
  days?: boolean; // the axis shows days, not minutes
  zone?: string; // of the times; that of the browser if absent
  format: (value: number) => string; // of the axis
  amount?: (value: number) => string; // of a value that is read; `format` if absent
};

function timeText({ at, zone }: PlotProps, i: number): string {
  if (zone) return inZone(zone, at[i]!, { weekday: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
  return at[1]! - at[0]! < 60 ? clock(at[i]!, true) : moment(at[i]!);
}
function valueText({ amount, format }: PlotProps, of: Series, i: number): string {
  const value = (of.own ?? of.values)[i] ?? null;
  return value === null ? t("unknown") : (amount ?? format)(value);
}

function AsTable(props: PlotProps) {
  const rows = useMemo(() => [...props.at.keys()], [props.at]);
  const columns = useMemo((): Column<number>[] => [
    { key: "at", title: t("time"), value: (i) => props.at[i]!, cell: (i) => timeText(props, i) },
    ...props.series.map((of) => ({ key: of.label, title: of.label, number: true, value: (i: number) => (of.own ?? of.values)[i] ?? null, cell: (i: number) => valueText(props, of, i) })),
  ], [props.at, props.series, language.value]);
  return <Table label={props.label} columns={columns} rows={rows} rowKey={String} />;
}

export function Plot(props: PlotProps) {
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [chosen, setChosen] = useState<number | null>(null); // the time of the values below
  const [open, setOpen] = useState(false);
  const chosenNow = useRef(chosen);
  chosenNow.current = chosen;
  const last = props.at.length - 1;
  const later = chosen === null ? 0 : props.at.findIndex((at) => at > chosen);
  const index = chosen === null ? -1 : later < 0 ? last : Math.max(0, later - 1);
  const showCursor = () => {
    const left = chosenNow.current === null ? -10 : plot.current?.valToPos(chosenNow.current, "x");
    if (left !== undefined) plot.current?.setCursor({ left, top: 0 }, false);
  };
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
          cursor: { y: false, drag: { setScale: false, x: false, y: false } },
          hooks: {
            draw: [showCursor], // after new data and after a change of the width
            setCursor: [
              ({ cursor, data }) => {
                if (cursor.event) setChosen(cursor.idx == null ? null : data[0][cursor.idx]!);
                delete cursor.event;
              },
            ],
          },
          scales: { x: { time: true }, y: { range: (_, __, max) => [0, (props.max ?? max) * 1.02 || 1] } },
          axes: [
            { stroke: axis, font, grid: { show: false }, ticks: { stroke: grid, size: 4 }, size: 36, space: props.days ? 90 : 70,
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
  useEffect(showCursor, [chosen]);
  const onKey = (event: KeyboardEvent) => {
    const from = index < 0 ? last : index;
    const page = Math.ceil(props.at.length / 10);
    const to: Record<string, number> = {
      ArrowRight: from + 1, ArrowUp: from + 1, ArrowLeft: from - 1, ArrowDown: from - 1, PageUp: from + page, PageDown: from - page, Home: 0, End: last,
    };
    if (!(event.key in to)) return;
    event.preventDefault();
    setChosen(props.at[Math.max(0, Math.min(last, index < 0 ? from : to[event.key]!))]!);
  };
  const shown = index < 0 ? t("plotHelp") : [timeText(props, index), ...props.series.map((of) => `${of.label} ${valueText(props, of, index)}`)].join(" · ");
  return (
    <>
      <div
        class="plot"
        ref={holder}
        role="slider"
        tabIndex={0}
        aria-label={props.label}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={index < 0 ? last : index}
        aria-valuetext={shown}
        onKeyDown={onKey}
      />
      <p class="states">
        {props.series.map((of) => (
          <span key={of.label}>
            <span class={`swatch swatch-${of.fill ? "area" : of.dashed ? "dashed" : "stroke"}`} style={{ color: of.colour, background: of.fill ?? "none" }} aria-hidden="true" /> {of.label}
          </span>
        ))}
      </p>
      <p class="map-detail">{shown}</p>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>{t("asTable")}</summary>
        {open && <AsTable {...props} />}
      </details>
    </>
  );
}
