/** Where the page is, in the part of the address behind `#`. */
import { signal } from "@preact/signals";

export interface Place {
  page: string;
  parts: string[];
  query: URLSearchParams;
}

/** A part as it was meant; as it stands where somebody typed an address that means nothing. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function parse(hash: string): Place {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decoded);
  return { page: parts[0] ?? "home", parts: parts.slice(1), query: new URLSearchParams(search) };
}

export const place = signal<Place>(parse(typeof location === "undefined" ? "" : location.hash));

export function href(page: string, ...parts: string[]): string {
  return `#/${[page, ...parts].map(encodeURIComponent).join("/")}`;
}

export function go(address: string): void {
  location.hash = address;
}

/** Another address for what is shown, without a step to go back to. */
export function replace(address: string): void {
  history.replaceState(null, "", address);
  place.value = parse(address);
}

if (typeof window !== "undefined") {
  window.addEventListener("hashchange", () => {
    place.value = parse(location.hash);
  });
}
