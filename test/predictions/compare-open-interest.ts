/** Compares the stored open interest of yes/no contracts with the truth. */

import { type CandleInterval, INTERVAL_MS } from '../../src/core/interval.ts'
import type { OpenInterestRow } from '../../src/core/rows/schemas.ts'
import type { AssetSymbol } from '../../src/core/symbol.ts'
import { feedOf } from '../../src/ingest/shared/feeds.ts'
import type { EnvironmentStore } from '../../src/store/environment.ts'
import type { PredictionTruth, TrueMarket } from '../sandbox/prediction-truth.ts'
import { readRows, type Slack } from './compare.ts'

/** If the stream may have lost a figure, the figure of a list is valid for this long. */
const LISTED_WITHIN_MS = 46_000

/** Compares the figure of each open contract, and their sum, at every point of the grid that is not in a gap. */
export async function compareOpenInterest(
  store: EnvironmentStore,
  truth: PredictionTruth,
  markets: readonly TrueMarket[],
  about: {
    readonly symbol: AssetSymbol
    readonly interval: CandleInterval
    readonly fromMs: number
    readonly toMs: number
    readonly slackAt: (atMs: number) => Slack
    readonly isGap: (atMs: number) => boolean
  },
): Promise<string[]> {
  const { symbol, interval, fromMs, toMs } = about
  const stepMs = INTERVAL_MS[interval]
  const feed = feedOf('open_interest', 'predmkt_b', symbol, interval)
  const names = ['', ...markets.map(({ name }) => name)]
  const rows = await readRows<OpenInterestRow>(store, feed, names, { from: fromMs, to: toMs })
  const byTime = Map.groupBy(rows, (row) => Date.parse(row.timestamp))
  const wrong: string[] = []
  for (let atMs = Math.ceil(fromMs / stepMs) * stepMs; atMs < toMs; atMs += stepMs) {
    if (about.isGap(atMs)) continue
    const at = `open interest ${interval} at ${new Date(atMs).toISOString()}`
    const figures = new Map(byTime.get(atMs)?.map((row) => [row.market_id, row.open_interest]))
    const { behindMs, aheadMs, isUnproven } = about.slackAt(atMs)
    let sum = 0
    for (const { name, startMs, endMs } of markets) {
      const figure = figures.get(name)
      sum += figure ?? 0
      if (atMs < startMs || atMs >= endMs) {
        if (figure !== undefined) wrong.push(`${at}: ${name} is not open`)
        continue
      }
      // Open interest only grows.
      const least = truth.openInterest(name, atMs - behindMs - LISTED_WITHIN_MS) ?? 0
      const most = truth.openInterest(name, atMs + aheadMs) ?? 0
      // A contract that opens at this very instant is listed after it.
      if (figure === undefined && startMs === atMs && most === 0) continue
      if (figure === undefined) wrong.push(`${at}: ${name} is missing`)
      else if (figure > most || (figure < least && isUnproven !== true))
        wrong.push(`${at}: ${name} has ${figure}, but ${least} to ${most}`)
    }
    const total = figures.get(undefined)
    if (total === undefined ? figures.size > 0 : Math.abs(total - sum) > 1e-6)
      wrong.push(`${at}: the sum is ${total}, but ${sum}`)
  }
  return wrong
}
