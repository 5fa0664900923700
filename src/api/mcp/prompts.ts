/** Common tasks, in the words that a user would give to a model. */
interface PromptForm {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly arguments: { readonly name: string; readonly description: string; readonly required: boolean }[]
}

const argument = (name: string, description: string, required = true) => ({ name, description, required })

export const PROMPTS: readonly PromptForm[] = [
  {
    name: 'price_history',
    title: 'Price history with its gaps',
    description: 'What a price did over a time, and where data is missing.',
    arguments: [
      argument('symbol', 'Asset, such as BTC.'),
      argument('source', 'Source, such as cexa.'),
      argument('start', 'Begin, ISO 8601.'),
    ],
  },
  {
    name: 'compare_sources',
    title: 'Compare sources',
    description: 'How far the prices of sources differ, and when.',
    arguments: [argument('symbol', 'Asset, such as BTC.'), argument('sources', 'Comma-separated sources.')],
  },
  {
    name: 'check_market',
    title: 'Check a prediction market',
    description: 'A prediction market against the recorded prices at its close.',
    arguments: [argument('market', 'Slug, ticker or condition id.')],
  },
  {
    name: 'explain_address',
    title: 'Explain a Kaspa address',
    description: 'What an address holds and did lately.',
    arguments: [argument('address', 'Kaspa address.')],
  },
  {
    name: 'plan_download',
    title: 'Plan a download',
    description: 'What a larger amount of history would cost, before it is fetched.',
    arguments: [argument('what', 'What is needed, in your own words.')],
  },
]

const TEXTS: Readonly<Record<string, string>> = {
  price_history:
    'Describe the price of {symbol} at {source} since {start}. Ask get_history for candles with buckets=24 and a fitting interval. Name every gap of the coverage and do not interpolate over it. End with the credits used.',
  compare_sources:
    'Compare the prices of {symbol} at {sources} with compare_sources. Say when the spread was largest and whether a gap in the coverage explains it. End with the credits used.',
  check_market:
    'Look at the prediction market {market}: market_proof for its record, result, reference prices, oracle and last book, then get_history (candles, market_id) for the probability of its legs. Say whether the recorded result fits the recorded prices, and what is not known. End with the credits used.',
  explain_address:
    'Explain the Kaspa address {address}: lookup_address with part balance, then transactions (limit 20). Amounts are in sompi (1 KAS = 100,000,000 sompi). End with the credits used.',
  plan_download:
    'Plan this download: {what}. Use find_sources and explain_cost, then the fitting tool with dry_run. Say rows, credits, requests and how long the rate limit makes it take, and give the HTTP request to use. Fetch nothing that costs credits.',
}

const MAX_VALUE_CHARS = 500

export function promptText(name: string, values: Readonly<Record<string, string>>): string {
  const form = PROMPTS.find((prompt) => prompt.name === name)
  const text = TEXTS[name]
  if (form === undefined || text === undefined)
    throw new RangeError(
      `There is no prompt "${name.slice(0, 60)}"; there are ${PROMPTS.map((each) => each.name).join(', ')}.`,
    )
  const missing = form.arguments
    .filter((each) => each.required && !values[each.name])
    .map((each) => each.name)
  if (missing.length > 0) throw new RangeError(`Missing: ${missing.join(', ')}.`)
  return text.replace(/\{(\w+)\}/g, (_all, word: string) =>
    String(values[word] ?? '').slice(0, MAX_VALUE_CHARS),
  )
}
