// Everything that the client does besides starting: prints what happened, for the test to compare.
import { ApiError, Client, RunFailed, Services } from "rawko-sdk";

const services = new Services();
services.service("publish", {}, ({ text }) => ({ url: text }));
await services.start();
const client = new Client();

const article = await client.start("article", undefined, { id: "one" });
const collect = async () => {
  const steps = [];
  for await (const event of article) {
    if (event.type === "step" && event.data.instance === "one") steps.push(event.data.step);
  }
  return steps;
};
const [steps, again] = [await collect(), await collect()];
console.log((await article.get()).context.text);
console.log("steps", steps.length > 2 && String(steps) === String(again));
await client.start("order", undefined, { id: "one" }).catch((error) => {
  if (error instanceof ApiError) console.log("exists", error.code, error.status);
});
const order = await client.start("order");
const first = await order.send("PAY", undefined, { key: "pay-1" });
const second = await order.send("PAY", undefined, { key: "pay-1" });
console.log("handled", first.handled, "again", first.step === second.step);
const [pending] = (await client.approvals()).filter((asked) => asked.id === order.id);
console.log("pending", pending.input.title);
await order.approve(true, { comment: "go" });
console.log("result", JSON.stringify(await order.result()));
console.log("attached", (await client.attach(order.id).get()).outcome);
await client.start("nothing").catch((error) => console.log("refused", error.code));
const other = await client.start("order");
await other.cancel("enough");
await other.result().catch((error) => console.log("cancelled", error instanceof RunFailed ? "RunFailed" : error));
await services.stop();
