// Starts many runs and waits for all of them, whatever happens to the server meanwhile.
import { Client } from "rawko-sdk";

const client = new Client({ retryFor: 300_000 });
const orders = Array.from({ length: Number(process.argv[2]) }, (_, order) => order);

async function work() {
  for (let order = orders.pop(); order !== undefined; order = orders.pop()) {
    // Every third has an id of its own.
    const id = order % 3 ? undefined : `order-${order}`;
    const run = await client.start(order % 2 ? "pay" : "pay_once", { order }, { id });
    console.log(`${order} ${await run.result()}`);
  }
}

await Promise.all(Array.from({ length: 16 }, work));
