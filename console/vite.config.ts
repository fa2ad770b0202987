import { defineConfig } from "vitest/config";

export default defineConfig({
  build: {
    outDir: "../src/snowmelt/serve/console/static",
    emptyOutDir: true,
    // Fonts stay files: a policy that allows fonts of this server alone does not allow them inside of styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
  },
  server: { proxy: { "/api": "http://127.0.0.1:8085" } },
  test: { environment: "node", include: ["tests/**/*.test.ts"] },
});
