// A bank for the tests: it pays an order once per idempotency key, and takes a random time before and after.
import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import { Services } from "rawko-sdk";

const [, , paid, name] = process.argv;
const services = new Services({ name, concurrency: 4 });
const schemas = { input: { type: "integer" }, output: { type: "string" } };

async function pay(order, call) {
  await sleep(Math.random() * 20);
  try {
    writeFileSync(`${paid}/${order}@${encodeURIComponent(call.key)}`, "", { flag: "wx" });
  } catch (error) {
    if (error.code !== "EEXIST") throw error; // It was paid by an attempt whose answer was lost.
  }
  await sleep(Math.random() * 20);
  return call.key;
}

services.service("charge", schemas, pay).service("charge_once", schemas, pay);
await services.run();
