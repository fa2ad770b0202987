/** What the server tells: which kind of thing changed. Whoever shows it asks again. */
import { useEffect, useRef } from "preact/hooks";
import { eventsUrl } from "./api";

type Listener = (topics: ReadonlySet<string>) => void;
const listeners = new Set<Listener>();
let source: EventSource | null = null;

export function connect(over: () => void): void {
  disconnect();
  source = new EventSource(eventsUrl);
  source.addEventListener("changed", (event: MessageEvent<string>) => {
    const topics = new Set(JSON.parse(event.data) as string[]);
    for (const listener of listeners) listener(topics);
  });
  source.addEventListener("over", over);
}

export function disconnect(): void {
  source?.close();
  source = null;
}

/** Calls `again` when one of the topics changed, at most every `pause` milliseconds, and only while the page is seen. */
export function useLive(topics: string[], again: () => void, pause = 2000): void {
  const action = useRef(again);
  action.current = again;
  const key = topics.join();
  useEffect(() => {
    let last = Date.now();
    let timer: ReturnType<typeof setTimeout> | null = null;
    const wanted = new Set(key.split(","));
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
