import type { Feed } from '../../../core/feed.ts'
import type { OpenInterestRow } from '../../../core/rows/schemas.ts'
import type { AssetSymbol } from '../../../core/symbol.ts'
import type { EnvironmentStore } from '../../../store/environment.ts'

/** The finest series contains every observation of the venue. */
const FINEST = '5m'
/** The beginning and end of a perpetual's text. A venue's question cannot match, because its quotes are escaped. */
const PERPETUAL = /("source":"perpdex","symbol":"([A-Z]+)".*?"open_interest":)(?:null|[-+.\deE]+)(?=\})/g

/** Adds the last recorded open interest of each perpetual to the texts of markets. */
export async function withOpenInterest(
  store: EnvironmentStore,
  text: string,
  nowMs: number,
): Promise<string> {
  const symbols = new Set([...text.matchAll(PERPETUAL)].map((match) => match[2] as AssetSymbol))
  if (symbols.size === 0) return text
  const known = new Map<string, number | null>()
  for (const symbol of symbols) known.set(symbol, await lastOpenInterest(store, symbol, nowMs))
  return text.replace(
    PERPETUAL,
    (_all, head: string, symbol: string) => `${head}${known.get(symbol) ?? null}`,
  )
}

async function lastOpenInterest(
  store: EnvironmentStore,
  symbol: AssetSymbol,
  nowMs: number,
): Promise<number | null> {
  const feed: Feed = { dataset: 'open_interest', source: 'perpdex', symbol, interval: FINEST }
  const found = await store.series.at({ feeds: [feed], time: nowMs })
  return found === undefined ? null : (JSON.parse(found.text) as OpenInterestRow).open_interest
}
