// A model that proposes a refund, then says what came of it. It needs no network.
import { defineAgent } from "eve";
import { mockModel } from "eve/evals";

export default defineAgent({
  model: mockModel(({ toolResults }) =>
    toolResults.length === 0
      ? { toolCalls: [{ name: "refund", input: { chargeId: "ch_1", amount: 12.5 } }] }
      : `It came to ${JSON.stringify(toolResults[0].output)}`,
  ),
});
