/** How values read: durations, ages, counts. */
import type { Value } from "./api";
import { now as clockNow } from "./clock";

export function duration(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return "–";
  if (seconds < 0.0995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 100) return `${Math.round(seconds)} s`;
  const minutes = seconds / 60;
  if (minutes < 100) return `${Math.round(minutes)} min`;
  const hours = minutes / 60;
  if (hours < 48) return `${Math.round(hours)} h`;
  return `${Math.round(hours / 24)} d`;
}

/** An instant of the server: SQL's form or ISO's. */
export function instant(value: Value | undefined): Date | null {
  if (typeof value !== "string" || value === "") return null;
  const text = value.replace(" ", "T");
  const zoned = /(Z|[+-]\d\d:?\d\d)$/.test(text);
  const date = new Date(zoned ? text : `${text}Z`);
  return Number.isNaN(date.getTime()) ? null : date;
}

export function ago(value: Value | undefined, now = clockNow()): string {
  const at = instant(value);
  if (at === null) return "–";
  const seconds = (now - at.getTime()) / 1000;
  if (seconds < 1.5 && seconds > -5) return "just now";
  // Nobody wants to know in tenths how long ago it was.
  const about = (whole: number): string => (whole < 10 ? `${whole} s` : duration(whole));
  return seconds >= 0 ? `${about(Math.round(seconds))} ago` : `in ${about(Math.round(-seconds))}`;
}

export function clock(value: Value | undefined): string {
  const at = instant(value);
  return at === null ? "–" : at.toLocaleTimeString("en-GB");
}

export function dayAndClock(value: Value | undefined): string {
  const at = instant(value);
  if (at === null) return "–";
  return at.toLocaleString("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit" });
}

export function count(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  return value.toLocaleString("en-US");
}

export function short(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (Math.abs(value) < 10_000) return count(value);
  return new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 }).format(value);
}

export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  const units = ["B", "KB", "MB", "GB", "TB"];
  let left = value;
  let unit = 0;
  while (left >= 1000 && unit < units.length - 1) {
    left /= 1000;
    unit += 1;
  }
  return `${unit === 0 || left >= 100 ? Math.round(left) : left.toFixed(1)} ${units[unit] ?? ""}`;
}

/** Money: as exact as it matters. */
export function money(value: number): string {
  if (value > 0 && value < 0.001) return "< 0.001";
  return value >= 100 ? count(Math.round(value)) : value.toFixed(value >= 1 ? 2 : 3);
}

/** A type as people say it: without the length that every text has. */
export function typeName(type: string): string {
  return type.replace("VARCHAR(16777216)", "VARCHAR").replace("BINARY(8388608)", "BINARY").replace("NUMBER(38,0)", "NUMBER").replace(/^(TIMESTAMP_\w+|TIME)\(\d\)$/, "$1");
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** The last part of a qualified name, and what stands before it. */
export function nameParts(full: string): string[] {
  const parts: string[] = [];
  const pattern = /"((?:[^"]|"")*)"|([^."]+)/g;
  for (const match of full.matchAll(pattern)) parts.push(match[1] !== undefined ? match[1].replaceAll('""', '"') : (match[2] ?? ""));
  return parts;
}

/** About how wide a letter is, in the size of the type: capitals are wider, and M and W widest. */
const widthOf = (letter: string): number => (/[MW@%]/.test(letter) ? 0.9 : /[A-Z_]/.test(letter) ? 0.7 : /[ijlt.,:·'| ]/.test(letter) ? 0.36 : 0.6);

/** As much of a text as there is room for, in the size of the type. */
export function clipped(text: string, room: number): string {
  let wide = 0;
  for (let at = 0; at < text.length; at += 1) {
    wide += widthOf(text[at] ?? "");
    if (wide <= room) continue;
    let [end, left] = [at, wide];
    while (end > 0 && left > room - 0.9) { left -= widthOf(text[end] ?? ""); end -= 1; }
    return `${text.slice(0, end + 1).trimEnd()}…`;
  }
  return text;
}
