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

function orderBy(value: string | number | null): string | number | null {
  return typeof value === "string" ? sortKey(value) : value;
}

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
  const sorted = useMemo(() => {
    const column = props.columns.find((each) => each.key === sort.key);
    if (!column) return props.rows;
    const sign = sort.descending ? -1 : 1;
    return props.rows
      .map((row) => ({ row, by: orderBy(column.value(row)) }))
      .sort(({ by: x }, { by: y }) => {
        if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1; // unknown last
        return x === y ? 0 : x < y ? -sign : sign;
      })
      .map((each) => each.row);
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
