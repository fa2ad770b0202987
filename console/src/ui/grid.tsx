/** Rows of a result. Only those that are seen are in the page; others are asked for while somebody scrolls. */
import "./grid.css";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Column, Value } from "../api";
import { typeName } from "../format";

const ROW = 28;
const HEADER = 32;
const PAGE = 500;
const BEYOND = 8;
/** Browsers draw nothing below some 33 million pixels; far fewer are enough to scroll in. */
const TALLEST = 15_000_000;
const NUMBERS = new Set(["NUMBER", "FLOAT"]);

export interface Source {
  columns: Column[];
  count: number;
  first: Value[][];
  fetch: (offset: number, limit: number) => Promise<Value[][]>;
}

/** The rows to draw for a scroll position: positions are scaled where there are more rows than pixels. */
export function visible(scrollTop: number, height: number, count: number): { first: number; last: number; total: number; top: (index: number) => number } {
  const whole = count * ROW;
  const total = Math.min(whole, TALLEST);
  const room = Math.max(total - height, 1);
  const share = Math.min(Math.max(scrollTop / room, 0), 1);
  const offset = total === whole ? scrollTop : share * (whole - height);
  const first = Math.max(0, Math.floor(offset / ROW) - BEYOND);
  const last = Math.min(count, Math.ceil((offset + height) / ROW) + BEYOND);
  const shift = scrollTop - offset;
  return { first, last, total, top: (index) => index * ROW + shift };
}

export function text(value: Value | undefined): string {
  if (value === null || value === undefined) return "NULL";
  return typeof value === "boolean" ? (value ? "TRUE" : "FALSE") : String(value);
}

export function widths(columns: Column[], rows: Value[][]): number[] {
  return columns.map((column, index) => {
    let longest = column.name.length + typeName(column.type).length + 2;
    for (const row of rows.slice(0, 60)) longest = Math.max(longest, Math.min(text(row[index]).length, 44));
    return Math.max(72, Math.round(longest * 7.4 + 24));
  });
}

export function ResultGrid({ source, label = "Result" }: { source: Source; label?: string }): JSX.Element {
  const holder = useRef<HTMLDivElement>(null);
  const [scroll, setScroll] = useState({ top: 0, height: 400 });
  const [, setLoaded] = useState(0);
  const pages = useRef(new Map<number, Value[][] | null>());
  const { columns, count } = source;
  useLayoutEffect(() => {
    pages.current = new Map();
    for (let page = 0; page * PAGE < source.first.length; page += 1) {
      const rows = source.first.slice(page * PAGE, (page + 1) * PAGE);
      if (rows.length === PAGE || page * PAGE + rows.length === count) pages.current.set(page, rows);
    }
    setLoaded((before) => before + 1);
    if (holder.current) holder.current.scrollTop = 0;
    setScroll((before) => ({ ...before, top: 0 }));
  }, [source]);
  useEffect(() => {
    const element = holder.current;
    if (!element) return undefined;
    const watch = new ResizeObserver(() => setScroll((before) => ({ ...before, height: element.clientHeight - HEADER })));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  const seen = visible(scroll.top, scroll.height, count);
  useEffect(() => {
    const timer = setTimeout(() => {
      for (let page = Math.floor(seen.first / PAGE); page * PAGE < seen.last; page += 1) {
        if (pages.current.has(page)) continue;
        const mine = pages.current;
        mine.set(page, null);
        source.fetch(page * PAGE, PAGE).then(
          (rows) => { mine.set(page, rows); setLoaded((before) => before + 1); },
          () => mine.delete(page),
        );
      }
    }, 40);
    return () => clearTimeout(timer);
  }, [seen.first, seen.last, source]);
  const wide = useMemo(() => widths(columns, source.first), [source]);
  const digits = Math.max(String(count).length * 8 + 20, 44);
  const total = wide.reduce((left, width) => left + width, digits);
  const rows: JSX.Element[] = [];
  for (let index = seen.first; index < seen.last; index += 1) {
    const row = pages.current.get(Math.floor(index / PAGE))?.[index % PAGE];
    rows.push(
      <div class={index % 2 ? "row" : "row even"} role="row" aria-rowindex={index + 2} key={index}
        style={{ top: `${seen.top(index)}px`, width: `${total}px`, minWidth: "100%" }}>
        <div class="cell index" role="rowheader" style={{ width: `${digits}px` }}>{(index + 1).toLocaleString("en-US")}</div>
        {columns.map((column, at) => {
          const value = row?.[at];
          const kind = row && value === null ? "null" : NUMBERS.has(column.kind) ? "number" : "";
          return (
            <div class={`cell ${kind}`} role="cell" key={at} style={{ width: `${wide[at] ?? 80}px` }}
              title={row && typeof value === "string" && value.length > 40 ? value.slice(0, 2000) : undefined}>
              {row ? text(value) : "…"}
            </div>
          );
        })}
      </div>,
    );
  }
  return (
    <div class="result" ref={holder} tabIndex={0} role="table" aria-label={label} aria-rowcount={count + 1} aria-colcount={columns.length + 1}
      onScroll={(event) => setScroll({ top: event.currentTarget.scrollTop, height: event.currentTarget.clientHeight - HEADER })}>
      <div class="header" role="row" style={{ width: `${total}px` }}>
        <div class="cell index" role="columnheader" style={{ width: `${digits}px` }}>#</div>
        {columns.map((column, at) => (
          <div class="cell" role="columnheader" key={at} style={{ width: `${wide[at] ?? 80}px` }} title={`${column.name} ${column.type}`}>
            <span class="ellipsis">{column.name}</span><small>{typeName(column.type)}</small>
          </div>
        ))}
      </div>
      <div class="sizer" role="rowgroup" style={{ height: `${seen.total}px`, width: `${total}px` }}>{rows}</div>
    </div>
  );
}
