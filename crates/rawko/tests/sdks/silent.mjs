// Waits for a run over a connection that falls silent without closing; prints the result.
import { Client, RunFailed } from "rawko-sdk";

const client = new Client({ silence: 500 });
const run = await client.start("order");
await run.cancel("enough");
const late = setTimeout(() => process.exit(1), 60_000);
try {
  await run.result();
} catch (error) {
  if (!(error instanceof RunFailed)) throw error;
  console.log("failed", error.instance.id === run.id);
}
clearTimeout(late);
