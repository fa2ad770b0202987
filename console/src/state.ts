/** What all pages share: who is logged in, light or dark. */
import { signal } from "@preact/signals";
import type { Who } from "./api";

export const who = signal<Who | null | undefined>(undefined);
const KEY = "snowmelt.theme";

function preferred(): "light" | "dark" {
  const kept = localStorage.getItem(KEY);
  if (kept === "light" || kept === "dark") return kept;
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

export const theme = signal<"light" | "dark">(typeof localStorage === "undefined" ? "light" : preferred());

export function applyTheme(): void {
  document.documentElement.dataset["theme"] = theme.value;
}

export function switchTheme(): void {
  theme.value = theme.value === "dark" ? "light" : "dark";
  localStorage.setItem(KEY, theme.value);
  applyTheme();
}
