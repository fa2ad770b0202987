import { describe, expect, test } from "vitest";
import { moved, text, unfolded, visible } from "../src/ui/grid";

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

describe("the chosen cell", () => {
  const move = (row: number, column: number, key: string, ctrl = false): unknown => moved({ row, column }, key, ctrl, 10, 100, 3);
  test("moves by keys, and stays within the rows and columns", () => {
    expect(move(5, 1, "ArrowDown")).toEqual({ row: 6, column: 1 });
    expect(move(99, 1, "ArrowDown")).toEqual({ row: 99, column: 1 });
    expect(move(5, 0, "ArrowLeft")).toEqual({ row: 5, column: 0 });
    expect(move(5, 1, "End")).toEqual({ row: 5, column: 2 });
    expect(move(5, 1, "End", true)).toEqual({ row: 99, column: 2 });
    expect(move(5, 1, "PageDown")).toEqual({ row: 15, column: 1 });
    expect(move(5, 1, "x")).toBeNull();
  });
  test("is shown whole, JSON over several lines", () => {
    expect(unfolded('{"a":[1]}')).toBe('{\n  "a": [\n    1\n  ]\n}');
    expect(unfolded("{not json")).toBe("{not json");
    expect(unfolded(null)).toBe("NULL");
  });
});
