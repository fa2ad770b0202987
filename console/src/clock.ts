/** The time by which ages are told. Who reads it while rendering renders again when it moves on. */
import { signal } from "@preact/signals";

const STEP = 10_000;
const tick = signal(0);

export function now(): number {
  void tick.value;
  return Date.now();
}

if (typeof document !== "undefined") {
  setInterval(() => { if (!document.hidden) tick.value += 1; }, STEP);
}
