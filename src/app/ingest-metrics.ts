/** Counts of the recording threads as metrics: unreadable messages, and what differed, arrived late or was missing. */
import type { Environment } from '../core/environment.ts'
import type { Counter, Metrics } from '../kit/metrics.ts'
import type { RecordMessage } from './record-worker.ts'

/** Takes the periodic reports of a thread; a restarted thread counts from 0 again. */
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
  const audited = metrics.counter(
    'tapeline_audit_checked_total',
    'Ranges that the self-checks of recording examined, by source and check: sealed pages read again, coverage compared with rows, rows compared with the venue, limits of requests and sockets.',
    ['environment', 'source', 'check'],
  )
  const differences = metrics.counter(
    'tapeline_audit_differences_total',
    'What the self-checks found to be wrong: each became a correction or a gap, and a line of the log.',
    ['environment', 'source', 'check'],
  )
  const last = new Map<string, number>()

  function raise(name: string, to: Counter, labels: Record<string, string>, value: number): void {
    const key = [name, ...Object.values(labels)].join('\n')
    const before = last.get(key)
    if (value === before) return
    last.set(key, value)
    to.inc({ environment, ...labels }, before !== undefined && value >= before ? value - before : value)
  }

  return ({ sources, deadLetters }) => {
    for (const { venue, reason, count } of deadLetters) raise('letters', letters, { venue, reason }, count)
    for (const { source, detail } of sources) {
      for (const [kind, value] of Object.entries(detail.counts))
        raise('counts', counts, { source, kind }, value)
      for (const [check, found] of Object.entries(detail.audits)) {
        raise('audited', audited, { source, check }, found.checked)
        raise('differences', differences, { source, check }, found.differences)
      }
    }
  }
}
