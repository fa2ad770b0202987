import { expect, test } from "vitest";
import { pemBytes, signedToken } from "../src/keys";

test("a token names the user and the key's fingerprint, and the key verifies it", async () => {
  const pair = await crypto.subtle.generateKey(
    { name: "RSASSA-PKCS1-v1_5", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" }, true, ["sign", "verify"],
  );
  const bytes = new Uint8Array(await crypto.subtle.exportKey("pkcs8", pair.privateKey));
  const pem = `-----BEGIN PRIVATE KEY-----\n${btoa(String.fromCharCode(...bytes))}\n-----END PRIVATE KEY-----\n`;
  const [head = "", body = "", signature = ""] = (await signedToken("ann", pem, 1_700_000_000_000)).split(".");
  const decode = (part: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(part.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
  const claims = JSON.parse(new TextDecoder().decode(decode(body))) as Record<string, unknown>;
  expect(claims["sub"]).toBe("SNOWMELT.ANN");
  expect(claims["iss"]).toMatch(/^SNOWMELT\.ANN\.SHA256:[A-Za-z0-9+/]{43}=$/);
  expect(await crypto.subtle.verify("RSASSA-PKCS1-v1_5", pair.publicKey, decode(signature), new TextEncoder().encode(`${head}.${body}`))).toBe(true);
});

test("what is no key says so", () => {
  expect(() => pemBytes("-----BEGIN RSA PRIVATE KEY-----")).toThrow(/no private key/);
});
