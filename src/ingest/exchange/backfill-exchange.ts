/** A manual backfill of an exchange: the given symbols, over whole days that have ended. */

import type { ExchangePlan } from '../shared/feeds.ts'
import type { BackfillResult, ManualBackfill } from '../shared/manual-backfill.ts'
import { openRowWriter } from '../shared/open-row-writer.ts'
import { createCoverageTracker } from '../shared/track-coverage.ts'
import { DERIVATIVES_KEPT_MS, loadDerivatives } from './join-derivatives.ts'
import { runBackfill } from './run-backfill.ts'
import { noCounts, type SymbolParts } from './symbol-parts.ts'

const DAY_MS = 86_400_000
const CANDLE_KINDS = ['funding', 'open_interest', 'candles']

export async function backfillRange(
  options: ManualBackfill & { plan: ExchangePlan },
): Promise<BackfillResult> {
  const { plan, venue, store, clock, random, log } = options
  const { series, coverage } = store
  const signal = options.signal ?? new AbortController().signal
  const writer = openRowWriter({ venue, store, clock, random, log })
  const tracker = createCoverageTracker({ feeds: [], coverage, writer })
  const fromMs = Math.floor(options.fromMs / DAY_MS) * DAY_MS
  // Today belongs to live recording, which has the minutes that today's longer candles are made of.
  const todayMs = Math.floor(clock.now() / DAY_MS) * DAY_MS
  const endMs = Math.min(Math.ceil(options.toMs / DAY_MS) * DAY_MS, todayMs)
  try {
    const targets = await Promise.all(
      options.symbols.map(async (symbol) => {
        const derivatives = plan.hasFunding
          ? await loadDerivatives({
              series,
              source: plan.source,
              symbol,
              fromMs: fromMs - DERIVATIVES_KEPT_MS,
            })
          : undefined
        const counts = noCounts()
        const parts: SymbolParts = {
          ...{ plan, venue, symbol, series, writer, tracker, derivatives, counts, clock, random, signal },
        }
        return { parts, endMs: () => endMs }
      }),
    )
    const { total, failed } = await runBackfill({
      steps: plan.backfill.filter((step) => CANDLE_KINDS.includes(step.kind)),
      targets,
      coverage,
      log,
      fromMs,
      onProgress: options.onProgress,
    })
    await writer.flush()
    const { inserted, corrected } = writer.stats()
    return { ranges: total, failed, rowsInserted: inserted, rowsCorrected: corrected }
  } finally {
    await writer.close()
  }
}
