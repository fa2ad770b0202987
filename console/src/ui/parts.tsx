/** The parts that pages are made of. */
import type { ComponentChildren, JSX } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { ApiError } from "../api";

const PATHS: Record<string, string> = {
  home: "M3 9.5 10 4l7 5.500V16a1 1 0 0 1-1 1h-3.500v-5h-5v5H4a1 1 0 0 1-1-1z",
  graph: "M4.500 7a2 2 0 1 0 0-4 2 2 0 0 0 0 4zm0 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4zm11-5a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM6.400 5.600 13.600 9.200M6.400 14.400l7.200-3.600",
  table: "M3 5.500A1.500 1.500 0 0 1 4.500 4h11A1.500 1.500 0 0 1 17 5.500v9a1.500 1.500 0 0 1-1.500 1.500h-11A1.500 1.500 0 0 1 3 14.500zM3 8.500h14M8 8.500V16",
  worksheet: "m5 6 3.500 4L5 14m5.500 0H15",
  design: "m4 16 1-3.500 8.500-8.500 2.500 2.500L7.500 15zM11.500 6.500l2.500 2.500",
  task: "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zm0-11v4l2.700 1.600",
  connector: "M7 3v4m6-4v4M5 7h10v2.500a5 5 0 0 1-10 0zm5 7.500V17",
  channel: "M3 6h9l-2.500-2.500M12 6 9.500 8.500M17 14H8l2.500-2.500M8 14l2.500 2.500",
  alert: "M10 3a4.500 4.500 0 0 1 4.500 4.500c0 4 1.500 5 1.500 5H4s1.500-1 1.500-5A4.500 4.500 0 0 1 10 3zM8.500 15.500a1.700 1.700 0 0 0 3 0",
  query: "M9 15A6 6 0 1 0 9 3a6 6 0 0 0 0 12zm4.500-1.500L17 17",
  people: "M7.500 9.500a3 3 0 1 0 0-6 3 3 0 0 0 0 6zm-5 7a5 5 0 0 1 10 0M13 4a2.800 2.800 0 0 1 0 5.200M14.500 12a4.600 4.600 0 0 1 3 4.500",
  product: "m10 3 6.500 3.500v7L10 17l-6.500-3.500v-7zm0 7v7m0-7 6.500-3.500M10 10 3.500 6.500",
  check: "m4.500 10.500 3.500 3.500 7.500-8",
  play: "M6.500 4.500v11l9-5.500z",
  stop: "M6 6h8v8H6z",
  moon: "M16.500 11.700A6.700 6.700 0 0 1 8.300 3.500a6.700 6.700 0 1 0 8.200 8.200z",
  sun: "M10 13a3 3 0 1 0 0-6 3 3 0 0 0 0 6zm0-10.500V4m0 12v1.500M2.500 10H4m12 0h1.500M4.700 4.700l1 1m8.600 8.600 1 1m0-10.600-1 1m-8.600 8.600-1 1",
  search: "M9 15A6 6 0 1 0 9 3a6 6 0 0 0 0 12zm4.500-1.500L17 17",
  out: "M8 4H5a1 1 0 0 0-1 1v10a1 1 0 0 0 1 1h3m4-3 3-3-3-3m3 3H8",
  pause: "M7 5v10m6-10v10",
  refresh: "M16 8a6.300 6.300 0 0 0-11.500-1.500M4 3.500v3.500h3.500M4 12a6.300 6.300 0 0 0 11.500 1.500M16 16.500V13h-3.500",
  copy: "M7.500 7.500h8.500v8.500H7.500zM4 12.500V4h8.500",
  menu: "M3.500 5.500h13M3.500 10h13M3.500 14.500h13",
  plus: "M10 4.500v11M4.500 10h11",
  close: "m5.500 5.500 9 9m0-9-9 9",
  download: "M10 3.500v9m-3.500-3.500L10 12.500 13.500 9M4 16h12",
  history: "M4 10a6 6 0 1 1 1.800 4.300M4 15v-3.500h3.500M10 7v3.500l2.300 1.300",
  snow: "M10 2.500v8M4.500 4.800l11 6.300M15.500 4.800l-11 6.300M3 15c1.800-1.600 3-1.600 4.700 0s3 1.600 4.700 0 3-1.600 4.600 0",
  source: "M10 8c3.300 0 6-1.100 6-2.500S13.300 3 10 3 4 4.100 4 5.500 6.700 8 10 8zM4 5.500v9C4 15.900 6.700 17 10 17s6-1.100 6-2.500v-9M4 10c0 1.400 2.700 2.500 6 2.500s6-1.100 6-2.500",
  stream: "M3 7c2.300-2 4.700-2 7 0s4.700 2 7 0M3 13c2.300-2 4.700-2 7 0s4.700 2 7 0",
  view: "M2.500 10S5.200 5 10 5s7.500 5 7.500 5-2.700 5-7.500 5-7.500-5-7.500-5zM10 12a2 2 0 1 0 0-4 2 2 0 0 0 0 4z",
  dynamic: "M11 2.500 4.500 11H10l-1 6.500L15.500 9H10z",
};

export function Icon({ name, size = 16 }: { name: string; size?: number }): JSX.Element {
  return (
    <svg width={size} height={size} viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="1.6"
      stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      <path d={PATHS[name] ?? PATHS["table"]} />
    </svg>
  );
}

export const KIND_ICON: Record<string, string> = {
  TABLE: "table", VIEW: "view", DYNAMIC_TABLE: "dynamic", STREAM: "stream", TASK: "task", ALERT: "alert",
  CONNECTOR: "connector", CHANNEL: "channel", DATA_PRODUCT: "product", SOURCE: "source", STAGE: "download",
};

export const KIND_WORD: Record<string, string> = {
  TABLE: "Table", VIEW: "View", DYNAMIC_TABLE: "Dynamic table", STREAM: "Stream", TASK: "Task", ALERT: "Alert",
  CONNECTOR: "Connector", CHANNEL: "Channel", DATA_PRODUCT: "Data product", SOURCE: "Source", STAGE: "Stage",
};

const TONES: Record<string, string> = {
  ok: "ok", succeeded: "ok", success: "ok", active: "ok", started: "ok", streaming: "ok", fresh: "ok", passed: "ok",
  running: "running", executing: "running", snapshot: "running", scheduled: "running",
  late: "late", breached: "late", warning: "late", retrying: "late", quarantined: "late", warned: "late", costly: "late",
  failed: "failed", failed_with_error: "failed", upstream_failed: "failed", cancelled: "failed", error: "failed",
};

export function Badge({ state, children }: { state: string; children?: ComponentChildren }): JSX.Element {
  const tone = TONES[state.toLowerCase()] ?? "idle";
  return <span class={`badge ${tone}`}>{children ?? state.toLowerCase().replaceAll("_", " ")}</span>;
}

export function Head({ title, crumbs, children, badge }: {
  title: ComponentChildren; crumbs?: ComponentChildren; children?: ComponentChildren; badge?: ComponentChildren;
}): JSX.Element {
  return (
    <header class="head">
      <div>
        {crumbs ? <div class="crumbs">{crumbs}</div> : null}
        <div style={{ display: "flex", gap: "10px", alignItems: "center" }}>
          <h1>{title}</h1>
          {badge}
        </div>
      </div>
      <div class="actions">{children}</div>
    </header>
  );
}

export function Card({ title, more, children, body = true }: {
  title?: ComponentChildren; more?: ComponentChildren; children: ComponentChildren; body?: boolean;
}): JSX.Element {
  return (
    <section class="card">
      {title ? <header><h2>{title}</h2>{more ? <div class="more">{more}</div> : null}</header> : null}
      {body ? <div class="body">{children}</div> : children}
    </section>
  );
}

export function Empty({ icon, title, children }: {
  icon?: string; title: string; children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="empty">
      {icon ? <Icon name={icon} size={28} /> : null}
      <strong>{title}</strong>
      {children ? <div>{children}</div> : null}
    </div>
  );
}

/** What an error says, for a line of text. */
export const wordsOf = (error: unknown): string => (error instanceof ApiError ? error.error.message : error instanceof Error ? error.message : String(error));

export function Failure({ error }: { error: unknown }): JSX.Element {
  if (error instanceof ApiError) {
    const { code, message, hint } = error.error;
    return (
      <div class="error" role="alert">
        {code ? <b>{code} </b> : null}
        {message}
        {hint ? <div class="muted">{hint}</div> : null}
      </div>
    );
  }
  return <div class="error" role="alert">{wordsOf(error)}</div>;
}

export function Spinner({ label = "Loading" }: { label?: string }): JSX.Element {
  return <div class="empty"><div class="spinner" role="status" aria-label={label} /></div>;
}

interface Answer<T> { of: unknown[]; value: T | undefined; error: unknown }

/**
 * What an asynchronous question answered. Asked again by `again`, the old answer stays until the new one is there;
 * the answer for other inputs is never shown for these. While one is under way no second one is asked: a server that
 * answers slower than things change would get more and more of them.
 */
export function useAnswer<T>(ask: () => Promise<T>, inputs: unknown[]): {
  value: T | undefined; error: unknown; again: () => void; busy: boolean;
} {
  const [answer, setAnswer] = useState<Answer<T> | null>(null);
  const [busy, setBusy] = useState(true);
  const [turn, setTurn] = useState(0);
  const latest = useRef(0);
  const under = useRef<"way" | "way, and asked again" | null>(null);
  const isOf = (one: Answer<T> | null): one is Answer<T> => one !== null && one.of.every((input, index) => Object.is(input, inputs[index]));
  useEffect(() => {
    const mine = ++latest.current;
    setBusy(true);
    under.current = "way";
    const settled = (found: (before: Answer<T> | null) => Answer<T>): void => {
      if (mine !== latest.current) return;
      setAnswer(found);
      setBusy(false);
      if (under.current !== "way") setTurn((before) => before + 1);
      under.current = null;
    };
    ask().then(
      (value) => settled(() => ({ of: inputs, value, error: undefined })),
      (error: unknown) => settled((before) => ({ of: inputs, value: isOf(before) ? before.value : undefined, error })),
    );
    return () => { latest.current += 1; };
  }, [...inputs, turn]);
  const again = useCallback(() => {
    if (under.current) under.current = "way, and asked again";
    else setTurn((before) => before + 1);
  }, []);
  const found = isOf(answer) ? answer : null;
  return { value: found?.value, error: found?.error, busy, again };
}

const toast = signal<{ text: string; bad: boolean } | null>(null);
let toastTimer: ReturnType<typeof setTimeout> | undefined;

export function say(text: string, bad = false): void {
  toast.value = { text, bad };
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { toast.value = null; }, bad ? 8000 : 3500);
}

export function copy(text: string): void {
  const refused = (): void => say("The browser does not let this page copy.", true);
  // It has no clipboard for pages that are neither by https nor of this machine.
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(() => say("Copied."), refused);
  else refused();
}

export function Toast(): JSX.Element | null {
  const found = toast.value;
  return found ? <div class={found.bad ? "toast error" : "toast"} role="status">{found.text}</div> : null;
}

/** A button that does something on the server, and says how that went. While it does, it keeps the keyboard: what is disabled loses it. */
export function Action({ label, icon, act, done, kind = "", ask }: {
  label: string; icon?: string; act: () => Promise<unknown>; done?: string; kind?: string;
  /** What somebody should know before it is done. */
  ask?: () => Promise<boolean>;
}): JSX.Element {
  const [busy, setBusy] = useState(false);
  const start = async (event: Event): Promise<void> => {
    event.stopPropagation();
    if (busy) return;
    if (ask && !(await ask())) return;
    setBusy(true);
    try {
      await act();
      say(done ?? `${label}: done`);
    } catch (error) {
      say(wordsOf(error), true);
    }
    setBusy(false);
  };
  return (
    <button type="button" class={kind} aria-disabled={busy} onClick={(event) => void start(event)}>
      {busy ? <span class="spinner" /> : icon ? <Icon name={icon} size={14} /> : null}
      {label}
    </button>
  );
}
