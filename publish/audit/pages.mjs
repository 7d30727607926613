// node pages.mjs CHROMIUM < [{"name": …, "url": …}, …]: a line of JSON for each page and form, as it is done.
//
// {"name", "form", "scores": {"performance": 0…100, "accessibility", "best-practices", "seo"}, "bytes": sent, gzipped,
//  "faults": [what keeps a score other than performance below 100], "axe": [rule and place, light and dark]}
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import lighthouse, { desktopConfig } from "lighthouse";
import puppeteer from "puppeteer-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const pages = JSON.parse(readFileSync(0, "utf8"));
const forms = { phone: { width: 390, height: 844 }, desktop: { width: 1350, height: 940 } };
const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];
const browser = await puppeteer.launch({ executablePath: process.argv[2], headless: true, args: flags });

async function scored(url, form) {
  const options = { port: Number(new URL(browser.wsEndpoint()).port), output: "json", logLevel: "silent" };
  const { lhr } = await lighthouse(url, options, form === "desktop" ? desktopConfig : undefined);
  if (lhr.runtimeError) throw new Error(lhr.runtimeError.message);
  const scores = {}, faults = [];
  for (const [name, category] of Object.entries(lhr.categories)) {
    scores[name] = Math.round(100 * category.score);
    for (const { id, weight } of name === "performance" ? [] : category.auditRefs) {
      const { score, title } = lhr.audits[id];
      if (weight > 0 && score !== null && score < 1) faults.push(title);
    }
  }
  const requests = lhr.audits["network-requests"].details.items;
  return { scores, faults, bytes: requests.reduce((sum, { transferSize }) => sum + transferSize, 0) };
}

async function violations(url, form) {
  const page = await browser.newPage(), found = [];
  await page.setViewport(forms[form]);
  for (const scheme of ["light", "dark"]) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await page.goto(url, { waitUntil: "load" });
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
    for (const { id, nodes } of violations) found.push(`${id} (${scheme}): ${nodes[0].target.join(" ")}`);
  }
  await page.close();
  return found;
}

try {
  for (const { name, url } of pages)
    for (const form of Object.keys(forms))
      console.log(JSON.stringify({ name, form, ...await scored(url, form), axe: await violations(url, form) }));
} finally {
  await browser.close();
}
