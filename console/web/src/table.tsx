// A table of many rows: sorted by a click or Enter on a heading, and only the visible rows are in the document.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { t } from "./i18n";
import { Card } from "./parts";
import { sortKey } from "./store";

export type Column<T> = {
  key: string;
  title: string;
  number?: boolean;
  value: (row: T) => string | number | null;
  cell?: (row: T) => ComponentChildren;
};

const ROW_PX = 36;
const SPARE_ROWS = 8;
const ALL_ROWS_MAX = 100; // up to so many all rows are in the document

// By column: the place of each text in the order of all that it has shown. A place is compared faster than a text.
type Places = Map<string, Map<string, number>>;

// What a row is sorted by, as a number. An unknown value is last in both orders.
function sortBy<T>(column: Column<T>, rows: T[], descending: boolean, places: Places): Float64Array {
  const values = rows.map(column.value);
  let known = places.get(column.key);
  if (values.some((value) => typeof value === "string" && !known?.has(value))) {
    const texts = [...new Set(values.filter((value) => typeof value === "string"))].map((text) => ({ text, by: sortKey(text) }));
    texts.sort((x, y) => (x.by < y.by ? -1 : x.by > y.by ? 1 : 0));
    known = new Map(texts.map(({ text }, place) => [text, place]));
    places.set(column.key, known);
  }
  const sign = descending ? -1 : 1;
  return Float64Array.from(values, (value) => (value === null ? Infinity : sign * (typeof value === "string" ? known!.get(value)! : value)));
}

// A table of many rows keeps its columns and rows between two renders: it is sorted anew if one of them is new.
export function Table<T>(props: {
  label: string;
  columns: Column<T>[];
  rows: T[];
  rowKey: (row: T) => string;
  sort?: string;
  descending?: boolean;
}) {
  const [sort, setSort] = useState({ key: props.sort ?? "", descending: props.descending ?? false });
  const [top, setTop] = useState(0);
  const holder = useRef<HTMLDivElement>(null);
  const places = useRef<Places>(new Map());
  const sorted = useMemo(() => {
    const column = props.columns.find((each) => each.key === sort.key);
    if (!column) return props.rows;
    const by = sortBy(column, props.rows, sort.descending, places.current);
    const order = [...props.rows.keys()].sort((i, j) => by[i]! - by[j]! || i - j);
    return order.map((i) => props.rows[i]!);
  }, [props.rows, props.columns, sort.key, sort.descending]);

  const virtual = sorted.length > ALL_ROWS_MAX;
  const height = 560;
  const first = virtual ? Math.max(0, Math.floor(top / ROW_PX) - SPARE_ROWS) : 0;
  const count = virtual ? Math.ceil(height / ROW_PX) + 2 * SPARE_ROWS : sorted.length;
  const shown = sorted.slice(first, first + count);
  useEffect(() => {
    if (holder.current) holder.current.scrollTop = 0;
    setTop(0);
  }, [sort.key, sort.descending]);

  return (
    <div
      class={virtual ? "table virtual" : "table"}
      ref={holder}
      tabIndex={0}
      role="group"
      aria-label={props.label}
      onScroll={(event) => virtual && setTop(event.currentTarget.scrollTop)}
    >
      <table aria-rowcount={sorted.length + 1}>
        <thead>
          <tr>
            {props.columns.map((column) => (
              <th
                key={column.key}
                scope="col"
                class={column.number ? "number" : undefined}
                aria-sort={sort.key !== column.key ? "none" : sort.descending ? "descending" : "ascending"}
              >
                <button
                  type="button"
                  onClick={() =>
                    setSort((before) => ({
                      key: column.key,
                      descending: before.key === column.key ? !before.descending : !!column.number,
                    }))
                  }
                >
                  {column.title}
                  <span class="sort" aria-hidden="true">
                    {sort.key === column.key ? (sort.descending ? "▾" : "▴") : ""}
                  </span>
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {first > 0 && <tr class="space" style={{ height: `${first * ROW_PX}px` }} />}
          {shown.map((row, i) => (
            <tr key={props.rowKey(row)} aria-rowindex={first + i + 2}>
              {props.columns.map((column, at) => {
                const content = column.cell ? column.cell(row) : (column.value(row) ?? "–");
                return at === 0 ? (
                  <th key={column.key} scope="row">
                    {content}
                  </th>
                ) : (
                  <td key={column.key} class={column.number ? "number" : undefined}>
                    {content}
                  </td>
                );
              })}
            </tr>
          ))}
          {first + count < sorted.length && (
            <tr class="space" style={{ height: `${(sorted.length - first - count) * ROW_PX}px` }} />
          )}
        </tbody>
      </table>
    </div>
  );
}

type Part<Row> = { error: string | null; rows: Row[] | null };

// A part of an answer that may be unknown, with the reason.
export function PartTable<Row>(props: { title: string; part: Part<Row>; none: string; columns: Column<Row>[]; rowKey: (row: Row) => string }) {
  const { part } = props;
  return (
    <Card title={props.title}>
      {part.rows === null && <p class="unknown">{t("unknownWhy", { why: part.error ?? "" })}</p>}
      {part.rows?.length === 0 && <p class="note">{props.none}</p>}
      {part.rows && part.rows.length > 0 && <Table label={props.title} columns={props.columns} rows={part.rows} rowKey={props.rowKey} />}
    </Card>
  );
}
