/** Rows of a result. Only those that are seen are in the page; others are asked for while somebody scrolls. */
import "./grid.css";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Column, Value } from "../api";
import { typeName } from "../format";
import { Dialog, DialogHead } from "./dialog";
import { copy, Icon } from "./parts";

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

/** The cell that an element belongs to. */
function cellOf(target: EventTarget | null): Cell | null {
  const cell = target instanceof Element ? target.closest<HTMLElement>("[data-column]") : null;
  const row = cell?.closest<HTMLElement>("[data-row]");
  return cell && row ? { row: Number(row.dataset["row"]), column: Number(cell.dataset["column"]) } : null;
}

interface Cell { row: number; column: number }

const MOVES: Record<string, (at: Cell, page: number) => Cell> = {
  ArrowDown: ({ row, column }) => ({ row: row + 1, column }), ArrowUp: ({ row, column }) => ({ row: row - 1, column }),
  ArrowLeft: ({ row, column }) => ({ row, column: column - 1 }), ArrowRight: ({ row, column }) => ({ row, column: column + 1 }),
  PageDown: ({ row, column }, page) => ({ row: row + page, column }), PageUp: ({ row, column }, page) => ({ row: row - page, column }),
  Home: ({ row }) => ({ row, column: 0 }), End: ({ row }) => ({ row, column: Number.MAX_SAFE_INTEGER }),
};

/** The cell that a key leads to; with Ctrl, Home and End lead to the first and the last row. */
export function moved(at: Cell, key: string, ctrl: boolean, page: number, rows: number, columns: number): Cell | null {
  const to = MOVES[key]?.(at, page);
  if (!to) return null;
  if (ctrl && key === "Home") to.row = 0;
  if (ctrl && key === "End") to.row = rows - 1;
  return { row: Math.min(Math.max(to.row, 0), rows - 1), column: Math.min(Math.max(to.column, 0), columns - 1) };
}

/** JSON over several lines, anything else as it is. */
export function unfolded(value: Value | undefined): string {
  const whole = text(value);
  if (!/^\s*[[{]/.test(whole)) return whole;
  try {
    return JSON.stringify(JSON.parse(whole), null, 2);
  } catch {
    return whole;
  }
}

function WholeValue({ column, row, value, close }: { column: Column; row: number; value: Value | undefined; close: () => void }): JSX.Element {
  return (
    <Dialog label={`${column.name} of row ${row + 1}`} close={close}>
      <DialogHead title={column.name} close={close}><span class="faint">{typeName(column.type)}, row {(row + 1).toLocaleString("en-US")}</span></DialogHead>
      <div class="body">
        <pre class="code wrap value" tabIndex={0}>{unfolded(value)}</pre>
        <div class="row-end"><button type="button" class="small" onClick={() => copy(value === null || value === undefined ? "" : text(value))}><Icon name="copy" size={14} />Copy</button></div>
      </div>
    </Dialog>
  );
}

export function ResultGrid({ source, label = "Result" }: { source: Source; label?: string }): JSX.Element {
  const holder = useRef<HTMLDivElement>(null);
  const [scroll, setScroll] = useState({ top: 0, height: 400 });
  const [, setLoaded] = useState(0);
  const pages = useRef(new Map<number, Value[][] | null>());
  const { columns, count } = source;
  const [active, setActive] = useState<Cell | null>(null);
  const [whole, setWhole] = useState(false);
  const valueAt = (cell: Cell): Value | undefined => pages.current.get(Math.floor(cell.row / PAGE))?.[cell.row % PAGE]?.[cell.column];
  useLayoutEffect(() => {
    pages.current = new Map();
    for (let page = 0; page * PAGE < source.first.length; page += 1) {
      const rows = source.first.slice(page * PAGE, (page + 1) * PAGE);
      if (rows.length === PAGE || page * PAGE + rows.length === count) pages.current.set(page, rows);
    }
    setLoaded((before) => before + 1);
    if (holder.current) holder.current.scrollTop = 0;
    setScroll((before) => ({ ...before, top: 0 }));
    setActive(null);
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
  const show = (cell: Cell): void => {
    const element = holder.current;
    if (!element) return;
    setActive(cell);
    // Where rows are more than pixels, a row's place depends on where one looks from.
    const room = Math.max(seen.total - scroll.height, 1);
    const top = seen.total === count * ROW ? cell.row * ROW : (cell.row * ROW / (count * ROW - scroll.height)) * room;
    if (top < element.scrollTop || top + ROW > element.scrollTop + scroll.height) element.scrollTop = top < element.scrollTop ? top : top + ROW - scroll.height;
    const left = wide.slice(0, cell.column).reduce((sum, width) => sum + width, 0);
    const width = wide[cell.column] ?? 0;
    if (left < element.scrollLeft) element.scrollLeft = left;
    else if (left + width + digits > element.scrollLeft + element.clientWidth) element.scrollLeft = left + width + digits - element.clientWidth;
  };
  const key = (event: KeyboardEvent): void => {
    if (event.target !== event.currentTarget || !count) return;
    const ctrl = event.ctrlKey || event.metaKey;
    if (active && ctrl && event.key.toLowerCase() === "c" && !String(getSelection() ?? "")) copy(text(valueAt(active)));
    else if (active && event.key === "Enter") setWhole(true);
    else {
      const to = active ? moved(active, event.key, ctrl, Math.max(1, Math.floor(scroll.height / ROW) - 1), count, columns.length) : MOVES[event.key] ? { row: seen.first === 0 ? 0 : seen.first + BEYOND, column: 0 } : null;
      if (!to) return;
      show(to);
    }
    event.preventDefault();
  };
  const rows: JSX.Element[] = [];
  for (let index = seen.first; index < seen.last; index += 1) {
    const row = pages.current.get(Math.floor(index / PAGE))?.[index % PAGE];
    rows.push(
      <div class={index % 2 ? "row" : "row even"} role="row" aria-rowindex={index + 2} key={index} data-row={index}
        style={{ top: `${seen.top(index)}px`, width: `${total}px`, minWidth: "100%" }}>
        <div class="cell index" role="rowheader" style={{ width: `${digits}px` }}>{(index + 1).toLocaleString("en-US")}</div>
        {columns.map((column, at) => {
          const value = row?.[at];
          const kind = row && value === null ? "null" : NUMBERS.has(column.kind) ? "number" : "";
          return (
            <div class={`cell ${kind}${active?.row === index && active.column === at ? " active" : ""}`} role="cell" key={at} data-column={at} style={{ width: `${wide[at] ?? 80}px` }}
              title={row && typeof value === "string" && value.length > 40 ? value.slice(0, 2000) : undefined}>
              {row ? text(value) : "…"}
            </div>
          );
        })}
      </div>,
    );
  }
  return (
    <>
    <div class="result" ref={holder} tabIndex={0} role="table" aria-label={label} aria-rowcount={count + 1} aria-colcount={columns.length + 1}
      onKeyDown={key}
      onClick={(event) => { const cell = cellOf(event.target); if (cell) setActive(cell); }}
      onDblClick={(event) => { const cell = cellOf(event.target); if (cell) { setActive(cell); setWhole(true); } }}
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
    <div class="visually-hidden" aria-live="polite">{active ? `${columns[active.column]?.name}, row ${active.row + 1}: ${text(valueAt(active)).slice(0, 200)}` : ""}</div>
    {whole && active && columns[active.column] ? <WholeValue column={columns[active.column] as Column} row={active.row} value={valueAt(active)} close={() => { setWhole(false); holder.current?.focus(); }} /> : null}
    </>
  );
}
