// Costs as text. Apart, because costs are shown in lists, in heads and on agents alike.
import { compact, cost } from './words.js';

/** `$0.42`, or tokens if the price is unknown; nothing if nothing was spent. */
export function spentBrief(spent) {
  if (!spent) return '';
  if (spent.cost_usd > 0) return cost(spent.cost_usd);
  return spent.tokens ? `${compact(spent.tokens)} tokens` : '';
}
