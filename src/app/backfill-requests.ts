/**
 * Lets a command request a backfill from the process that records the venue, if several processes share a store. This
 * way a single process writes the data of a venue, under its lease.
 *
 *   command ──▶ `backfill/<id>`: the request, every second        ──▶ leader: runs requests one after another
 *   command ◀── `backfill/<id>/answer`: progress, then the result ◀── every second
 *
 * Both are rows of the heartbeats, so each side sees whether the other is still alive: a request that is no longer
 * repeated is abandoned, and after a change of leaders the next one starts with what is still missing.
 */
import { randomUUID } from 'node:crypto'
import type { Environment } from '../core/environment.ts'
import type { Source } from '../core/source.ts'
import type { AssetSymbol } from '../core/symbol.ts'
import type { BackfillResult, ManualBackfill } from '../ingest/shared/manual-backfill.ts'
import { type Clock, runEvery } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { Heartbeats } from '../store/heartbeats.ts'

export interface BackfillOrder {
  readonly source: Source
  readonly symbols: readonly AssetSymbol[]
  readonly fromMs: number
  readonly toMs: number
}

type Progress = Parameters<ManualBackfill['onProgress']>[0]

interface Request {
  /** The part whose leader is asked. */
  readonly part: string
  readonly order: BackfillOrder
}

interface Answer {
  readonly progress: Progress | null
  readonly result: BackfillResult | null
  readonly failure: string | null
}

const EVERY_MS = 1_000
/** Longer than a change of leaders takes. */
const SILENT_MS = 20_000
/** Rows of a command that died are removed after this time. */
const FORGOTTEN_MS = 120_000
const NO_ANSWER_MS = 60_000

const PREFIX = 'backfill/'
const ANSWER = '/answer'

export const SANDBOX_PART = 'record:sandbox/test'

/** The part of the service that records a source; its leader is asked. */
export function recordPart(environment: Environment, source: Source): string {
  return environment === 'test' ? SANDBOX_PART : `record:${source}/live`
}

/** The leader did not carry out the backfill, or did not answer. */
export class BackfillRefusedError extends Error {
  override readonly name = 'BackfillRefusedError'
}

/** Resolves with the result of the leader; undefined if nobody leads any more. */
export async function askForBackfill({
  store,
  part,
  order,
  clock,
  isLed,
  onProgress,
}: {
  store: Heartbeats
  part: string
  order: BackfillOrder
  clock: Clock
  isLed: () => Promise<boolean>
  onProgress: (progress: Progress) => void
}): Promise<BackfillResult | undefined> {
  const name = `${PREFIX}${randomUUID()}`
  const request = textOf({ part, order } satisfies Request)
  let heardAtMs = clock.now()
  try {
    for (;;) {
      await store.putHeartbeat({ part: name, text: request })
      const found = (await store.listHeartbeats()).find((row) => row.part === `${name}${ANSWER}`)
      if (found !== undefined && found.ageMs < SILENT_MS) heardAtMs = clock.now()
      const { progress, result, failure } = (found && read<Answer>(found.text)) ?? {}
      if (failure) throw new BackfillRefusedError(failure)
      if (result) return result
      if (progress) onProgress(progress)
      if (!(await isLed())) return undefined
      if (clock.now() - heardAtMs > NO_ANSWER_MS)
        throw new BackfillRefusedError(`The process that leads ${part} does not answer.`)
      await clock.sleep(EVERY_MS)
    }
  } finally {
    await store.removeHeartbeat(name).catch(() => {})
    await store.removeHeartbeat(`${name}${ANSWER}`).catch(() => {})
  }
}

/** Carries out what commands request of a part, while this process leads it. */
export function answerBackfills({
  store,
  part,
  clock,
  log,
  run,
}: {
  store: Heartbeats
  part: string
  clock: Clock
  log: Logger
  run: (
    order: BackfillOrder,
    progress: Pick<ManualBackfill, 'signal' | 'onProgress'>,
  ) => Promise<BackfillResult>
}): { close(): Promise<void> } {
  const answered = new Set<string>()
  let current: { name: string; stop: AbortController; done: Promise<void> } | undefined
  let looking: Promise<void> | undefined
  let isClosed = false

  async function carryOut(name: string, order: BackfillOrder, signal: AbortSignal): Promise<void> {
    log.info({ part, ...order }, 'a command asked for a backfill')
    let progress: Progress | null = null
    const answer = (rest: Partial<Answer>) =>
      store.putHeartbeat({
        part: `${name}${ANSWER}`,
        text: textOf({ progress, result: null, failure: null, ...rest } satisfies Answer),
      })
    let reporting: Promise<void> | undefined
    const stopReports = runEvery(clock, EVERY_MS, () => {
      reporting ??= answer({})
        .catch(() => {})
        .finally(() => {
          reporting = undefined
        })
    })
    const ended = await run(order, {
      signal,
      onProgress: (next) => {
        progress = next
      },
    }).then(
      (result): Partial<Answer> => ({ result }),
      (error: unknown): Partial<Answer> => ({
        failure: error instanceof Error ? error.message : String(error),
      }),
    )
    stopReports()
    // A late progress report uses another connection and would overwrite the result.
    await reporting
    // The command is gone, or another process leads, so nobody waits for this answer.
    if (signal.aborted) return
    await answer(ended).catch((err) => log.warn({ err, part }, 'a backfill could not be answered'))
  }

  const look = async () => {
    const rows = await store.listHeartbeats()
    const alive = new Map<string, Request>()
    for (const { part: name, text, ageMs } of rows) {
      if (!name.startsWith(PREFIX)) continue
      if (ageMs > FORGOTTEN_MS) await store.removeHeartbeat(name)
      const request = name.endsWith(ANSWER) ? undefined : read<Request>(text)
      if (request?.part === part && ageMs < SILENT_MS) alive.set(name, request)
    }
    for (const name of answered) if (!alive.has(name)) answered.delete(name)
    if (current !== undefined && !alive.has(current.name)) current.stop.abort()
    if (current !== undefined || isClosed) return
    const [next] = [...alive].filter(([name]) => !answered.has(name))
    if (next === undefined) return
    const [name, { order }] = next
    answered.add(name)
    const stop = new AbortController()
    const done = carryOut(name, order, stop.signal).finally(() => {
      current = undefined
    })
    current = { name, stop, done }
  }
  const stopLooking = runEvery(clock, EVERY_MS, () => {
    looking ??= look()
      // The recorder itself reports that the store is unavailable.
      .catch(() => {})
      .finally(() => {
        looking = undefined
      })
  })

  return {
    async close() {
      isClosed = true
      stopLooking()
      await looking
      current?.stop.abort()
      await current?.done
    },
  }
}

/** Uses the form of all part reports. */
function textOf(report: Request | Answer): string {
  return JSON.stringify({ report, problem: null })
}

function read<R>(text: string): R | undefined {
  try {
    return (JSON.parse(text) as { report: R }).report
  } catch {
    return undefined
  }
}
