// Types of the package as a user meets them. Each `@ts-expect-error` is a mistake that the compiler must find.
import { Client, Services, type Instance } from "rawko-sdk";
const services = new Services({ token: "x" });
services.service(
  "publish",
  { input: { type: "object", properties: { text: { type: "string" }, n: { type: "integer" } }, required: ["text"] }, output: { type: "object", properties: { url: { type: "string" } }, required: ["url"] } },
  async (draft, call) => {
    const t: string = draft.text;
    const n: number | undefined = draft.n;
    call.progress({ n });
    // @ts-expect-error no such field
    draft.nothing;
    return { url: t };
  },
);
// @ts-expect-error the result has another type
services.service("wrong", { output: { type: "string" } }, () => 7);
services.service("free", {}, (given) => given);
const client = new Client();
const run = await client.start("article", { topic: "x" });
for await (const event of run) if (event.text) console.log(event.text);
const instance: Instance = await client.call("GET /v1/instances/{id}", { path: { id: run.id } });
const list = await client.call("GET /v1/instances", { query: { status: ["running"], limit: 3 } });
list.instances[0]?.id.length;
await client.call("POST /v1/instances/{id}/events", { path: { id: "a" }, body: { type: "PAY" } });
// @ts-expect-error a body is required
await client.call("POST /v1/instances/{id}/events", { path: { id: "a" } });
// @ts-expect-error no such operation
await client.call("GET /v1/nothing");
const url: string = (await run.result<{ url: string }>()).url;
console.log(url, instance.output);
