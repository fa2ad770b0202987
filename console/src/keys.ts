/** A token signed with a user's private key, as Snowflake's drivers make it. The key stays in the page. */

const ACCOUNT = "SNOWMELT";
const SECONDS = 600;
const ALGORITHM = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };

function base64(content: ArrayBuffer | Uint8Array): string {
  const read = content instanceof Uint8Array ? content : new Uint8Array(content);
  let text = "";
  for (const one of read) text += String.fromCharCode(one);
  return btoa(text);
}

const url = (text: string): string => text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const part = (value: unknown): string => url(base64(new TextEncoder().encode(JSON.stringify(value))));

/** The bytes inside of a PEM file. */
export function pemBytes(pem: string): Uint8Array<ArrayBuffer> {
  const found = /-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END PRIVATE KEY-----/.exec(pem);
  if (!found?.[1]) {
    const encrypted = pem.includes("ENCRYPTED");
    throw new Error(encrypted ? "This key is encrypted. The page takes one that is not: openssl pkcs8 -in key.pem writes it."
      : "This is no private key in PEM form (PKCS #8). It begins with -----BEGIN PRIVATE KEY-----.");
  }
  return Uint8Array.from(atob(found[1].replaceAll(/\s/g, "")), (letter) => letter.charCodeAt(0));
}

export async function signedToken(user: string, pem: string, now = Date.now()): Promise<string> {
  // Browsers have it only where nobody on the way can change the page.
  if (!globalThis.crypto?.subtle) throw new Error("Browsers sign only on pages by https, or of this machine (localhost). Log in with a token, or open this page by https.");
  const key = await crypto.subtle.importKey("pkcs8", pemBytes(pem), ALGORITHM, true, ["sign"]);
  const { kty, n, e } = await crypto.subtle.exportKey("jwk", key);
  const open = await crypto.subtle.importKey("jwk", { kty: kty ?? "RSA", n: n ?? "", e: e ?? "" }, ALGORITHM, true, ["verify"]);
  const digest = await crypto.subtle.digest("SHA-256", await crypto.subtle.exportKey("spki", open));
  const subject = `${ACCOUNT}.${user.toUpperCase()}`;
  const issued = Math.floor(now / 1000);
  const body = `${part({ alg: "RS256", typ: "JWT" })}.${part({
    iss: `${subject}.SHA256:${base64(digest)}`, sub: subject, iat: issued, exp: issued + SECONDS,
  })}`;
  const signature = await crypto.subtle.sign(ALGORITHM.name, key, new TextEncoder().encode(body));
  return `${body}.${url(base64(signature))}`;
}
