// Registrations that the server refuses: prints the codes.
import { Services } from "rawko-sdk";

for (const [name, input] of [["publish", { type: "string" }], ["other", undefined]]) {
  await new Services().service(name, { input }, (given) => given).run().catch((error) => console.log(error.code));
}
