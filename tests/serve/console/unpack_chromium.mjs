// Unpacks the parts of the package's browser: node unpack_chromium.mjs FOLDER TARGET
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";

const [folder, target] = process.argv.slice(2);
mkdirSync(target, { recursive: true });
for (const [packed, name] of [
  ["chromium.br", "chromium"],
  ["swiftshader.tar.br", "swiftshader.tar"],
  ["al2023.tar.br", "al2023.tar"],
  ["fonts.tar.br", "fonts.tar"],
]) {
  const source = join(folder, packed);
  if (existsSync(source)) writeFileSync(join(target, name), brotliDecompressSync(readFileSync(source)), { mode: 0o755 });
}
