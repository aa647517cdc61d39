// Calls the services of `flaky.mjs`; prints one JSON object.
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import { Client } from "rawko-sdk";

const client = new Client();
const run = await client.start("slow");
const said = {};
for await (const event of run) {
  if (event.type === "progress" && event.data.name === "slow") {
    said.progress = event.data.data;
    await run.send("STOP", undefined, { key: "stop" });
  }
}
said.stopped = await run.result();
while (!(existsSync("cancelled") && readFileSync("cancelled", "utf8"))) await sleep(20);
const { services } = await client.call("GET /v1/services");
said.programs = Object.fromEntries(services.map(({ name, programs }) => [name, programs]));
said.keys = await (await client.start("flaky")).result();
console.log(JSON.stringify(said));
