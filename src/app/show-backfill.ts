/** Shows the progress of the first backfill: a progress bar on a terminal, otherwise occasional log lines. */
import { type ProgressBar, progressBar } from '../cli/progress-bar.ts'
import type { Environment } from '../core/environment.ts'
import type { Clock } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import { VENUES } from '../venues/list.ts'
import type { RecordMessage } from './record-worker.ts'

/** Logs a line at each tenth, but not sooner than this after the previous one. */
const PARTS = 10
const NOT_WITHIN_MS = 5_000

/** Prediction markets and the oracle backfill while they record. */
const FILLED = Object.values(VENUES).flatMap(({ plan }) => (plan.kind === 'exchange' ? [plan.source] : []))

type Progress = NonNullable<RecordMessage['sources'][number]['detail']['backfill']>

export function showBackfill(options: {
  environment: Environment
  clock: Clock
  log: Logger
  terminal?: { isTTY?: boolean; write(text: string): unknown }
}): (message: Pick<RecordMessage, 'sources'>) => void {
  const { environment, clock, log } = options
  const terminal = options.terminal ?? process.stderr
  const bar: ProgressBar | undefined = terminal.isTTY === true ? progressBar(terminal) : undefined
  const startedMs = clock.now()
  const known = new Map<string, Progress>()
  let loggedParts = 0
  let loggedMs = startedMs
  let isOver = false

  return ({ sources }) => {
    if (isOver) return
    for (const { source, detail } of sources) if (detail.backfill !== null) known.set(source, detail.backfill)
    const all = [...known.values()]
    const sum = (of: (progress: Progress) => number) => all.reduce((total, each) => total + of(each), 0)
    const [total, done, failed] = [
      sum((each) => each.total),
      sum((each) => each.done),
      sum((each) => each.failed),
    ]
    // The progress would jump back before every exchange has reported its total.
    const isAwaited = sources.some(({ source }) => !known.has(source) && FILLED.includes(source))
    if (isAwaited || total === 0) return
    const nowMs = clock.now()
    const seconds = Math.round((nowMs - startedMs) / 1_000)
    if (all.every(({ isFinished }) => isFinished)) {
      isOver = true
      bar?.show(total, total, `${environment}: the past is filled`)
      bar?.end()
      log.info({ environment, ranges: total, failed, seconds }, 'the past is filled')
      return
    }
    const share = (done + failed) / total
    const steps = [...known]
      .filter(([, { isFinished }]) => !isFinished)
      .map(([source, { step }]) => `${source} ${step}`)
    if (bar !== undefined) {
      bar.show(done + failed, total, `${environment}: filling the past (${steps.join(', ')})`)
      return
    }
    const parts = Math.floor(share * PARTS)
    if (parts <= loggedParts || nowMs - loggedMs < NOT_WITHIN_MS) return
    loggedParts = parts
    loggedMs = nowMs
    log.info(
      { environment, percent: Math.floor(share * 100), done, failed, total, seconds, steps },
      'filling the past',
    )
  }
}
