import { describe, expect, test } from "vitest";
import { text, visible } from "../src/ui/grid";

describe("the rows that are drawn", () => {
  test("few at a time, from the first to the last", () => {
    expect(visible(0, 280, 100_000).first).toBe(0);
    expect(visible(0, 280, 100_000).last).toBeLessThan(40);
    const end = visible(100_000 * 28 - 280, 280, 100_000);
    expect(end.last).toBe(100_000);
  });
  test("more rows than a browser has pixels for are scaled, and the last one is reached", () => {
    const seen = visible(0, 280, 5_000_000);
    expect(seen.total).toBe(15_000_000);
    const end = visible(15_000_000 - 280, 280, 5_000_000);
    expect(end.last).toBe(5_000_000);
    expect(end.top(4_999_999) + 28).toBeLessThanOrEqual(15_000_000);
  });
  test("values", () => expect([null, true, 12, "x"].map((value) => text(value))).toEqual(["NULL", "TRUE", "12", "x"]));
});
