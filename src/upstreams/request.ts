/**
 * One call over several nodes.
 *
 *   choose a node ──▶ send ──answer──▶ done
 *        ▲              ├──fault, or a refusal about the node itself──▶ next node
 *        └──────────────┴──slow (reads)──▶ next node beside it, first answer wins
 *
 * Reads are hedged after the time in which 95 of 100 calls of that method return on that node; a budget
 * keeps hedges from doubling the load when everything is slow. Writes run one at a time: another node gets
 * one only after a transport fault, or after a refusal that concerns the node and not the transaction.
 * A hang is a fault. When every node has failed (none refused), one more round follows if time is left.
 */
import type { Clock } from '../kit/clock.ts'
import { race } from '../kit/hedge.ts'
import { choose } from './choose.ts'
import { classify, type RefusalReason } from './classify.ts'
import { type Attempt, failureOf, refusedOutcome } from './conclude.ts'
import type { NodeLink } from './node-link.ts'
import type { CallOptions, RawOutcome } from './outcome.ts'
import type { ValidCall } from './validate-params.ts'
import type { WireAnswer } from './wrpc.ts'

export interface RequesterOptions {
  nodes: readonly NodeLink[]
  clock: Clock
  /** Resolves at the next change of any node's state or connection, or with the signal. */
  nextChange: (signal: AbortSignal) => Promise<void>
  /** Told about texts that no rule knows, and about every fault. */
  onTrouble?: (trouble: { node: string; method: string; what: string; detail: string }) => void
}

export type Requester = (call: ValidCall, options: CallOptions) => Promise<RawOutcome>

const MAX_ATTEMPTS = 4
const SECOND_ROUND_DELAY_MS = 100
/** How long a call waits for a node to come up when there is none. */
const GRACE_MS = 1_000
const MIN_WRITE_ATTEMPT_MS = 500
const HEDGE_QUANTILE = 0.95
/** A heavy answer may just be large: two copies of 50 MB on the way help nobody. */
const HEDGE_FLOOR_MS = { light: 25, heavy: 2_000 } as const
/** A backup is not asked for a hiccup of a healthy primary. */
const HEDGE_TO_BACKUP_FLOOR_MS = 300
const HEDGE_UNKNOWN_MS = { light: 250, heavy: 3_000 } as const
const HEDGE_BURST = 32
const HEDGE_SHARE = 0.2

/** Refusals after which a write may go elsewhere: the node said that it did not take the transaction. */
const WRITE_ELSEWHERE: ReadonlySet<RefusalReason> = new Set([
  'orphan',
  'mempool_full',
  'not_synced',
  'no_utxo_index',
  'node_fault',
])
/** Asking one more node about these settles it; asking all of them would make every wrong hash expensive. */
const SECOND_OPINION: ReadonlySet<RefusalReason> = new Set(['unknown', 'block_not_found', 'pruned'])
/** An answer that counts against the node although it came. */
const UNFIT: ReadonlySet<RefusalReason> = new Set(['not_synced', 'node_fault'])

/** One reason for all: an abort without one builds an exception with a stack each time. */
const ENDED = new Error('the call is over')

export function createRequester(options: RequesterOptions): Requester {
  const links = new Map(options.nodes.map((node) => [node.name, node]))
  let hedgeTokens = HEDGE_BURST

  return async function request(call, { deadlineMs, signal, prefer }) {
    const { method, paramsText } = call
    hedgeTokens = Math.min(HEDGE_BURST, hedgeTokens + HEDGE_SHARE)
    const startedMs = performance.now()
    const budgetMs = deadlineMs ?? method.timeoutMs * 2
    const leftMs = () => budgetMs - (performance.now() - startedMs)
    const stop = new AbortController()
    const end = () => stop.abort(ENDED)
    const timer = setTimeout(end, Math.max(0, budgetMs))
    signal?.addEventListener('abort', end, { once: true })
    if (signal?.aborted) end()

    const tried = new Set<string>()
    let attempts = 0
    /** Writes that may have reached a node and were not answered. */
    let unanswered = 0
    let secondRound = false
    let refusals = 0
    let first = candidates()

    function candidates(wellOnly = false): NodeLink[] {
      const views = options.nodes.map((node) => node.view(method.lane))
      const { order } = choose(views, { utxoIndex: method.needsUtxoIndex, exclude: tried, wellOnly, prefer })
      return order.flatMap((name) => links.get(name) ?? [])
    }

    /** The first whose breaker lets a call through; when none does, the first: never all out. */
    function pick(from: readonly NodeLink[]): NodeLink | undefined {
      const chosen = from.find((node) => node.breaker.tryEnter()) ?? from[0]
      if (chosen !== undefined) tried.add(chosen.name)
      return chosen
    }

    function next(hedging: boolean): ((stopped: AbortSignal) => Promise<Attempt>) | undefined {
      if (attempts >= MAX_ATTEMPTS || stop.signal.aborted) return undefined
      if (hedging && (method.write || hedgeTokens < 1)) return undefined
      const node = pick(attempts === 0 ? first : candidates(hedging))
      if (node !== undefined) {
        attempts++
        if (hedging) hedgeTokens--
        return (stopped) => attempt(node, stopped)
      }
      const pointless = refusals > 0 || leftMs() < SECOND_ROUND_DELAY_MS * 2
      if (hedging || secondRound || pointless) return undefined
      secondRound = true
      return againLater
    }

    async function againLater(stopped: AbortSignal): Promise<Attempt> {
      const none: Attempt = {
        kind: 'fault',
        node: '',
        fault: 'not_connected',
        detail: 'no node is connected',
      }
      try {
        await options.clock.sleep(SECOND_ROUND_DELAY_MS, stopped)
      } catch {
        return none
      }
      tried.clear()
      const node = pick(candidates())
      if (node === undefined) return none
      attempts++
      return attempt(node, stopped)
    }

    async function attempt(node: NodeLink, stopped: AbortSignal): Promise<Attempt> {
      const sentMs = performance.now()
      if (method.write) unanswered++
      const limit = method.write ? writeLimit(stopped, method.timeoutMs, leftMs()) : undefined
      const answer = await node.call(method, paramsText, {
        timeoutMs: method.timeoutMs,
        signal: limit?.signal ?? stopped,
      })
      limit?.clear()
      const tookMs = performance.now() - sentMs
      if (method.write && !(answer.kind === 'fault' && answer.sent)) unanswered--
      const outcome = judge(node, answer, tookMs)
      if (outcome.kind === 'fault' && limit?.ranOut()) return { ...outcome, fault: 'timeout' }
      return outcome
    }

    function judge(node: NodeLink, answer: WireAnswer, tookMs: number): Attempt {
      const { name, breaker } = node
      if (answer.kind === 'result') {
        breaker.success()
        node.took(method, tookMs, false)
        return { kind: 'result', node: name, bytes: answer.bytes }
      }
      if (answer.kind === 'error') {
        const refusal = classify(answer.text)
        if (UNFIT.has(refusal.reason)) breaker.failure()
        else breaker.success()
        node.took(method, tookMs, false)
        if (refusal.reason === 'unknown' || refusal.reason === 'rejected') {
          options.onTrouble?.({
            node: name,
            method: method.name,
            what: 'unknown_refusal',
            detail: refusal.text,
          })
        }
        refusals++
        return { kind: 'refused', node: name, refusal }
      }
      if (answer.fault === 'cancelled' || answer.fault === 'overloaded') {
        // A try that lost its race took at least this long: the node must not look faster than it is.
        if (answer.sent) node.took(method, tookMs, true)
        breaker.release()
      } else {
        breaker.failure()
        options.onTrouble?.({ node: name, method: method.name, what: answer.fault, detail: answer.detail })
      }
      return { kind: 'fault', node: name, fault: answer.fault, detail: answer.detail }
    }

    function accept(outcome: Attempt): boolean {
      if (outcome.kind !== 'refused') return outcome.kind === 'result'
      const { reason, elsewhere } = outcome.refusal
      if (method.write) return !WRITE_ELSEWHERE.has(reason)
      return !elsewhere || (refusals > 1 && SECOND_OPINION.has(reason))
    }

    function hedgeAfterMs(): number | undefined {
      if (method.write || options.nodes.length < 2) return undefined
      const usual = first[0]?.latency(method).quantile(HEDGE_QUANTILE)
      const wantedMs = usual === undefined ? HEDGE_UNKNOWN_MS[method.lane] : usual * 1.5
      const toBackup = first[0]?.tier === 'primary' && first[1]?.tier === 'backup'
      const floorMs = Math.max(HEDGE_FLOOR_MS[method.lane], toBackup ? HEDGE_TO_BACKUP_FLOOR_MS : 0)
      return Math.max(floorMs, Math.min(wantedMs, method.timeoutMs / 2, leftMs() / 3))
    }

    try {
      if (first.length === 0) {
        const grace = AbortSignal.any([stop.signal, AbortSignal.timeout(Math.min(GRACE_MS, budgetMs / 2))])
        while (first.length === 0 && !grace.aborted) {
          await options.nextChange(grace)
          first = candidates()
        }
      }
      const { winner, losers } = await race<Attempt>({
        next,
        accept,
        hedgeAfterMs: hedgeAfterMs(),
        signal: stop.signal,
      })
      const traits = { attempts, inDoubt: unanswered > 0 }
      if (winner?.kind === 'result') return { ok: true, node: winner.node, bytes: winner.bytes, ...traits }
      if (winner?.kind === 'refused') return refusedOutcome(call, winner, traits)
      return { ok: false, failure: failureOf(losers, stop.signal, signal, budgetMs), ...traits }
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
    }
  }
}

/** A write leaves half of the remaining time for another node; the socket itself waits the full limit. */
function writeLimit(stopped: AbortSignal, timeoutMs: number, leftMs: number) {
  const own = new AbortController()
  let ranOut = false
  const timer = setTimeout(
    () => {
      ranOut = true
      own.abort()
    },
    Math.min(timeoutMs, Math.max(leftMs / 2, MIN_WRITE_ATTEMPT_MS)),
  )
  return {
    signal: AbortSignal.any([stopped, own.signal]),
    ranOut: () => ranOut,
    clear: () => clearTimeout(timer),
  }
}
