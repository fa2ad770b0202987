/** What the server tells: which kind of thing changed. Whoever shows it asks again. */
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { eventsUrl, session, ApiError } from "./api";

type Listener = (topics: ReadonlySet<string>) => void;
const listeners = new Set<Listener>();
const RETRY = 2000;
/** A table becomes late although nothing happens: what shows how late things are asks that often by itself. */
const PULSE = 20_000;
/** Everybody is told of this topic. */
const ALL = "*";
let source: EventSource | null = null;
let pulse: ReturnType<typeof setInterval> | undefined;
let retry: ReturnType<typeof setTimeout> | undefined;

/** Whether the server can tell what changes. Without that the page shows how things were. */
export const connected = signal(true);

function tell(topics: string[]): void {
  const told = new Set(topics);
  for (const listener of listeners) listener(told);
}

/** A browser tries again by itself when a connection breaks, and never after a refusal: that is what a restarted server gives. */
async function lookAgain(over: () => void): Promise<void> {
  try {
    await session.current();
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) { over(); return; }
  }
  if (source) connect(over);
}

export function connect(over: () => void): void {
  disconnect();
  const mine = new EventSource(eventsUrl);
  source = mine;
  let broken = !connected.value;
  mine.addEventListener("changed", (event: MessageEvent<string>) => tell(JSON.parse(event.data) as string[]));
  mine.addEventListener("hello", () => {
    connected.value = true;
    // Nobody told what changed meanwhile.
    if (broken) tell([ALL]);
    broken = false;
  });
  mine.addEventListener("over", over);
  mine.addEventListener("error", () => {
    broken = true;
    connected.value = false;
    if (mine.readyState === EventSource.CLOSED && source === mine) retry = setTimeout(() => void lookAgain(over), RETRY);
  });
  pulse = setInterval(() => tell(["time"]), PULSE);
}

export function disconnect(): void {
  source?.close();
  source = null;
  clearInterval(pulse);
  clearTimeout(retry);
}

/** Calls `again` when one of the topics changed, at most every `pause` milliseconds, and only while the page is seen. */
export function useLive(topics: string[], again: () => void, pause = 2000): void {
  const action = useRef(again);
  action.current = again;
  const key = topics.join();
  useEffect(() => {
    let last = Date.now();
    let timer: ReturnType<typeof setTimeout> | null = null;
    const wanted = new Set([...key.split(","), ALL]);
    const fire = (): void => {
      timer = null;
      if (document.hidden) {
        document.addEventListener("visibilitychange", fire, { once: true });
        return;
      }
      last = Date.now();
      action.current();
    };
    const listener: Listener = (changed) => {
      if (timer !== null || ![...changed].some((topic) => wanted.has(topic))) return;
      timer = setTimeout(fire, Math.max(0, last + pause - Date.now()));
    };
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (timer !== null) clearTimeout(timer);
      document.removeEventListener("visibilitychange", fire);
    };
  }, [key, pause]);
}
