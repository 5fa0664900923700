/** What the recording threads count, as metrics: unreadable messages, and what differed, came late or was missing. */
import type { Environment } from '../core/environment.ts'
import type { Counter, Metrics } from '../kit/metrics.ts'
import type { RecordMessage } from './record-worker.ts'

/** Takes what a thread reports from time to time; a thread that was started again counts from 0. */
export function ingestMetrics(metrics: Metrics, environment: Environment): (message: RecordMessage) => void {
  const letters = metrics.counter(
    'tapeline_dead_letters_total',
    'Messages of venues that could not be read, by venue and reason.',
    ['environment', 'venue', 'reason'],
  )
  const counts = metrics.counter(
    'tapeline_ingest_total',
    "What recording counts by source: trades, differences (candles of the stream that the venue's own answer contradicted), lateTrades, missedMinutes, emptyTrades (fills of nothing, left out), unlisted (windows of prediction markets that should have run and that the venue did not list), corrected and refused rows.",
    ['environment', 'source', 'kind'],
  )
  const last = new Map<string, number>()

  function raise(to: Counter, labels: Record<string, string>, value: number): void {
    const key = JSON.stringify(labels)
    const before = last.get(key) ?? 0
    last.set(key, value)
    to.inc({ environment, ...labels }, value >= before ? value - before : value)
  }

  return ({ sources, deadLetters }) => {
    for (const { venue, reason, count } of deadLetters) raise(letters, { venue, reason }, count)
    for (const { source, detail } of sources)
      for (const [kind, value] of Object.entries(detail.counts)) raise(counts, { source, kind }, value)
  }
}
