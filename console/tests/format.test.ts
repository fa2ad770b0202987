import { describe, expect, test } from "vitest";
import { ago, bytes, clipped, duration, instant, money, nameParts, short } from "../src/format";

describe("how values read", () => {
  test("durations", () => {
    expect([0.004, 1.25, 42, 180, 7200, 400_000].map(duration)).toEqual(["4 ms", "1.3 s", "42 s", "3 min", "2 h", "5 d"]);
    expect(duration(null)).toBe("–");
  });
  test("instants are read with and without a zone", () => {
    expect(instant("2026-01-02 03:04:05.000+00:00")?.toISOString()).toBe("2026-01-02T03:04:05.000Z");
    expect(instant("2026-01-02 03:04:05.000")?.toISOString()).toBe("2026-01-02T03:04:05.000Z");
    expect(instant("soon")).toBeNull();
  });
  test("ages", () => {
    const now = Date.parse("2026-01-02T03:05:05Z");
    expect(ago("2026-01-02 03:04:05Z", now)).toBe("60 s ago");
    expect(ago("2026-01-02 03:06:05Z", now)).toBe("in 60 s");
    expect([1, 2, 4].map((seconds) => ago(new Date(now - 1000 * seconds).toISOString(), now))).toEqual(["just now", "2 s ago", "4 s ago"]);
  });
  test("names with dots and quotes in them", () => {
    expect(nameParts('SHOP.PUBLIC."a.""b"')).toEqual(["SHOP", "PUBLIC", 'a."b']);
  });
  test("names are cut where there is no more room: capitals need more", () => {
    expect(clipped("REVENUE", 8)).toBe("REVENUE");
    expect(clipped("REVENUE_BY_COUNTRY", 8)).toBe("REVENUE_BY…");
    expect(clipped("revenue_by_country", 8).length).toBeGreaterThan(clipped("REVENUE_BY_COUNTRY", 8).length);
  });
  test("counts and bytes", () => {
    expect(short(123_456)).toBe("123.5K");
    expect(bytes(1_500)).toBe("1.5 KB");
  });
});

test("money is as exact as it matters", () => {
  expect([0, 0.0003, 0.0312, 4.5, 1234.5].map(money)).toEqual(["0.000", "< 0.001", "0.031", "4.50", "1,235"]);
});
