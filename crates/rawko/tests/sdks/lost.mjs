// Starts runs with chosen ids while responses are lost; prints the results and errors.
import { ApiError, Client } from "rawko-sdk";

const client = new Client();
console.log("started", (await client.start("order", undefined, { id: "mine" })).id);
for (const chart of ["order", "article"]) {
  try {
    await client.start(chart, undefined, { id: "mine" });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    console.log(error.code, error.repeated);
  }
}
