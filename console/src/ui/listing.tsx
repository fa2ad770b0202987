/** A table of things: sorted by any column, with the details of one beside it. */
import type { ComponentChildren, JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Row, Value } from "../api";
import { count } from "../format";
import { Icon } from "./parts";

export interface ListColumn {
  label: string;
  show: (row: Row) => ComponentChildren;
  /** What rows are sorted by; the column is not sorted by without it. */
  by?: (row: Row) => Value | undefined;
  right?: boolean;
  /** What there is no room for in a narrow window. */
  minor?: boolean;
}

interface Order { label: string; down: boolean }

const classOf = (column: ListColumn, base: string): string => (column.minor ? `${base} minor` : base);

const FIRST = 200;

/** Numbers by size, everything else by its letters; nothing comes last in both directions. */
export function sortedBy(rows: Row[], by: (row: Row) => Value | undefined, down: boolean): Row[] {
  const compare = (a: Value | undefined, b: Value | undefined): number => {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), "en", { numeric: true });
  };
  const none = (value: Value | undefined): boolean => value === null || value === undefined || value === "";
  return rows.map((row) => [row, by(row)] as const).sort(([, a], [, b]) => {
    if (none(a) || none(b)) return Number(none(a)) - Number(none(b));
    return down ? compare(b, a) : compare(a, b);
  }).map(([row]) => row);
}

export function Listing({ rows, columns, keyOf, picked, pick, label }: {
  rows: Row[]; columns: ListColumn[]; keyOf: (row: Row) => string; label: string;
  picked?: string | null | undefined; pick?: (key: string) => void;
}): JSX.Element {
  const [order, setOrder] = useState<Order | null>(null);
  const [most, setMost] = useState(FIRST);
  const shown = useMemo(() => {
    const by = columns.find((column) => column.label === order?.label)?.by;
    return order && by ? sortedBy(rows, by, order.down) : rows;
  }, [rows, order]);
  const sort = (of: string): void => setOrder((before) => (before?.label !== of ? { label: of, down: false } : before.down ? null : { label: of, down: true }));
  return (
    <>
      <div class="scroll-x"><table class="list" aria-label={label}>
        <thead><tr>{columns.map((column) => (
          <th key={column.label} class={classOf(column, column.right ? "number" : "")} aria-sort={order?.label === column.label ? (order.down ? "descending" : "ascending") : undefined}>
            {column.by ? <button type="button" class="sort" onClick={() => sort(column.label)}>{column.label}<span aria-hidden="true">{order?.label === column.label ? (order.down ? "↓" : "↑") : ""}</span></button>
              : column.label ? column.label : <span class="visually-hidden">Actions</span>}
          </th>
        ))}</tr></thead>
        <tbody>{shown.slice(0, most).map((row) => {
          const key = keyOf(row);
          return (
            <tr key={key} class={pick ? `pickable${picked === key ? " lit" : ""}` : ""} onClick={pick ? () => pick(key) : undefined}>
              {columns.map((column) => <td key={column.label} class={classOf(column, column.right ? "number" : "clip ellipsis")}>{column.show(row)}</td>)}
            </tr>
          );
        })}</tbody>
      </table></div>
      {rows.length > most ? (
        <p class="more-rows"><span class="muted">{count(most)} of {count(rows.length)}</span><button type="button" class="small" onClick={() => setMost(most === FIRST ? 1000 : rows.length)}>Show more</button></p>
      ) : null}
    </>
  );
}

/** What names a row of a list, as a button that shows its details. */
export function PickName({ name, picked, pick, mono = false }: { name: string; picked: boolean; pick: () => void; mono?: boolean }): JSX.Element {
  return (
    <button type="button" class={`name${mono ? " mono" : ""}`} aria-expanded={picked} onClick={(event) => { event.stopPropagation(); pick(); }}>{name}</button>
  );
}

/** A list, and beside it the details of what was picked; above it where there is no room. */
export function Beside({ children, detail }: { children: ComponentChildren; detail: JSX.Element | null }): JSX.Element {
  return <div class={detail ? "beside" : ""}><div>{children}</div>{detail}</div>;
}

export function Detail({ title, acts, close, children }: { title: string; acts?: ComponentChildren; close: () => void; children: ComponentChildren }): JSX.Element {
  return (
    <aside class="card beside-detail" aria-label={title} onKeyDown={(event) => { if (event.key === "Escape") close(); }}>
      <header><h2 class="ellipsis" title={title}>{title}</h2><button type="button" class="plain small" aria-label="Close" onClick={close}><Icon name="close" size={14} /></button></header>
      <div class="body">
        {acts ? <div class="acts">{acts}</div> : null}
        {children}
      </div>
    </aside>
  );
}
