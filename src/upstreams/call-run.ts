/**
 * One call over several nodes, from its first attempt to its outcome.
 *
 *   choose a node ──▶ send ──answer──▶ done
 *        ▲              ├──fault, or a refusal about the node itself──▶ next node
 *        └──────────────┴──slow (reads)──▶ next node beside it, first answer wins
 *
 * Writes run one at a time: another node gets one only after a transport fault, or after a refusal that
 * concerns the node and not the transaction. A hang is a fault. When every node has failed (none refused), one
 * more round follows if time is left. A run is done in the turn in which its answer arrives; its deadlines are
 * looked at by the requester's timer (`look`), so that a call costs no timer and no signal.
 */
import type { Breaker } from '../kit/breaker.ts'
import { type Clock, elapsedMs, runAfter } from '../kit/clock.ts'
import {
  hedgeAfterMs,
  isFinal,
  isUnfit,
  MAX_ATTEMPTS,
  NO_NODE_GRACE_MS,
  SECOND_ROUND_DELAY_MS,
  waitsForOthers,
  writeLimitMs,
} from './attempt-policy.ts'
import {
  type AttemptResult,
  type CallOptions,
  type CallOutcome,
  failureOf,
  refusedOutcome,
  type Stop,
} from './call-outcome.ts'
import { orderOf } from './choose.ts'
import { classifyRefusal } from './classify.ts'
import type { NodeLink } from './node-link.ts'
import type { NodeAnswer, PendingCall } from './open-calls.ts'
import type { ValidCall } from './validate-params.ts'

/** What all calls of a requester share. */
export interface CallContext {
  readonly nodes: readonly NodeLink[]
  readonly links: ReadonlyMap<string, NodeLink>
  readonly clock: Clock
  readonly nextChange: (signal: AbortSignal) => Promise<void>
  readonly onTrouble: (trouble: { node: string; method: string; what: string; detail: string }) => void
  /** Takes a token; false when hedges have used up their share. */
  readonly mayHedge: () => boolean
  readonly onEnd: (run: CallRun) => void
  /** A deadline of a call is at this time. */
  readonly checkAt: (atMs: number) => void
}

interface Attempt {
  readonly node: NodeLink
  readonly sentMs: number
  /** Until then a write may be unanswered before another node gets it. */
  readonly limitAtMs: number
  ranOut: boolean
  ticket: PendingCall | undefined
}

const NO_NODE: AttemptResult = {
  kind: 'fault',
  node: '',
  fault: 'not_connected',
  detail: 'no node is connected',
}
const NEVER = Number.POSITIVE_INFINITY

export class CallRun {
  readonly #context: CallContext
  readonly #call: ValidCall
  readonly #options: CallOptions
  readonly #resolve: (outcome: CallOutcome) => void
  readonly #budgetMs: number
  readonly #endsAtMs: number
  readonly #tried = new Set<string>()
  readonly #losers: AttemptResult[] = []
  #running: Attempt[] = []
  #order: NodeLink[] = []
  #hedgeAtMs = NEVER
  #attempts = 0
  /** Writes that may have reached a node and were not answered. */
  #unanswered = 0
  #refusals = 0
  #waits: AbortController | undefined
  #secondRound = false
  #over = false

  constructor(
    context: CallContext,
    call: ValidCall,
    options: CallOptions,
    resolve: (outcome: CallOutcome) => void,
  ) {
    this.#context = context
    this.#call = call
    this.#options = options
    this.#resolve = resolve
    this.#budgetMs = options.deadlineMs ?? call.method.timeoutMs * 2
    this.#endsAtMs = this.#nowMs() + this.#budgetMs
  }

  begin(): void {
    const { signal, isAbandoned } = this.#options
    if (signal?.aborted || isAbandoned?.()) {
      this.#finish(undefined, 'caller')
      return
    }
    signal?.addEventListener('abort', this.#onAbort, { once: true })
    this.#order = this.#candidates(false)
    if (this.#order.length > 0) this.#start(false)
    else void this.#awaitNode()
  }

  /** When the next deadline of the call is; at once for a caller that has to be asked whether it is still there. */
  get nextCheckMs(): number {
    if (this.#options.isAbandoned !== undefined) return 0
    let next = Math.min(this.#endsAtMs, this.#hedgeAtMs)
    for (const { limitAtMs } of this.#running) next = Math.min(next, limitAtMs)
    return next
  }

  /** Called when a deadline has come, and more often. */
  checkDeadlines(nowMs: number): void {
    const overdue = this.#running.find(({ limitAtMs }) => nowMs >= limitAtMs)
    if (nowMs >= this.#endsAtMs) this.#finish(undefined, 'deadline')
    else if (this.#options.isAbandoned?.()) this.#finish(undefined, 'caller')
    else if (overdue !== undefined) {
      overdue.ranOut = true
      overdue.ticket?.cancel()
    } else if (nowMs >= this.#hedgeAtMs) this.#start(true)
  }

  readonly #onAbort = () => this.#finish(undefined, 'caller')

  #nowMs(): number {
    return elapsedMs(this.#context.clock)
  }

  #leftMs(): number {
    return this.#endsAtMs - this.#nowMs()
  }

  #candidates(wellOnly: boolean): NodeLink[] {
    const { nodes, links } = this.#context
    const { connection, needsUtxoIndex } = this.#call.method
    const views = nodes.map((node) => node.view(connection))
    const { prefer, asConfigured } = this.#options
    const need = { utxoIndex: needsUtxoIndex, exclude: this.#tried, wellOnly, prefer, asConfigured }
    const found: NodeLink[] = []
    for (const name of orderOf(views, need)) {
      const link = links.get(name)
      if (link !== undefined) found.push(link)
    }
    return found
  }

  /** The first whose breaker lets a call through; when none does, the first: never all out. */
  #pick(from: readonly NodeLink[]): NodeLink | undefined {
    const chosen = from.find((node) => node.breaker.tryEnter()) ?? from[0]
    if (chosen !== undefined) this.#tried.add(chosen.name)
    return chosen
  }

  async #awaitNode(): Promise<void> {
    const waits = new AbortController()
    this.#waits = waits
    const graceMs = Math.min(NO_NODE_GRACE_MS, this.#budgetMs / 2)
    const cancel = runAfter(this.#context.clock, graceMs, () => waits.abort())
    while (this.#order.length === 0 && !waits.signal.aborted) {
      await this.#context.nextChange(waits.signal)
      this.#order = this.#candidates(false)
    }
    cancel()
    if (!this.#over) this.#start(false)
  }

  /** The next attempt. Without a node left, and none running, the call has failed. */
  #start(hedging: boolean): void {
    this.#hedgeAtMs = NEVER
    const node = this.#nextNode(hedging)
    if (node !== undefined) this.#attempt(node)
    else if (!hedging && this.#running.length === 0) this.#startAgain()
  }

  #startAgain(): void {
    const pointless = this.#refusals > 0 || this.#leftMs() < SECOND_ROUND_DELAY_MS * 2
    if (this.#secondRound || pointless || this.#attempts >= MAX_ATTEMPTS) this.#finish(undefined)
    else {
      this.#secondRound = true
      void this.#attemptLater()
    }
  }

  #nextNode(hedging: boolean): NodeLink | undefined {
    if (this.#attempts >= MAX_ATTEMPTS) return undefined
    if (!hedging) return this.#pick(this.#attempts === 0 ? this.#order : this.#candidates(false))
    const others = this.#candidates(true)
    return others.length > 0 && this.#context.mayHedge() ? this.#pick(others) : undefined
  }

  #armHedge(): void {
    this.#hedgeAtMs = this.#nowMs() + hedgeAfterMs(this.#call.method, this.#order, this.#leftMs())
  }

  async #attemptLater(): Promise<void> {
    this.#waits = new AbortController()
    try {
      await this.#context.clock.sleep(SECOND_ROUND_DELAY_MS, this.#waits.signal)
    } catch {
      return
    }
    this.#tried.clear()
    const node = this.#pick(this.#candidates(false))
    if (this.#over) return
    if (node !== undefined) this.#attempt(node)
    else {
      this.#losers.push(NO_NODE)
      this.#finish(undefined)
    }
  }

  #attempt(node: NodeLink): void {
    const { method, paramsText } = this.#call
    this.#attempts++
    const sentMs = this.#nowMs()
    if (method.write) this.#unanswered++
    else if (this.#context.nodes.length > 1) this.#armHedge()
    const limitAtMs = method.write ? sentMs + writeLimitMs(method, this.#leftMs()) : NEVER
    const one: Attempt = { node, sentMs, limitAtMs, ranOut: false, ticket: undefined }
    this.#running.push(one)
    this.#context.checkAt(this.nextCheckMs)
    const ticket = node.ask(method, paramsText, (answer) => this.#answered(one, answer))
    one.ticket = ticket
  }

  #answered(one: Attempt, answer: NodeAnswer): void {
    this.#running = this.#running.filter((running) => running !== one)
    if (this.#call.method.write && !(answer.kind === 'fault' && answer.sent)) this.#unanswered--
    const outcome = this.#judge(one, answer)
    if (this.#over) return
    const waits = waitsForOthers(outcome, this.#options.asConfigured === true, this.#running.length)
    if (!waits && isFinal(outcome, this.#call.method, this.#refusals)) this.#finish(outcome)
    else {
      this.#losers.push(outcome)
      this.#start(this.#running.length > 0)
    }
  }

  #judge({ node, sentMs, ranOut }: Attempt, answer: NodeAnswer): AttemptResult {
    const { method } = this.#call
    const { name, breaker } = node
    const tookMs = this.#nowMs() - sentMs
    if (answer.kind === 'result') {
      breaker.success()
      node.took(method, tookMs, false)
      return { kind: 'result', node: name, bytes: answer.bytes }
    }
    if (answer.kind === 'error') {
      node.took(method, tookMs, false)
      return this.#refused(name, breaker, answer.text)
    }
    const { fault, detail, sent } = answer
    if (ranOut) {
      node.took(method, tookMs, true)
      breaker.failure()
      this.#context.onTrouble({ node: name, method: method.name, what: 'timeout', detail })
    } else if (fault === 'cancelled' || fault === 'overloaded') {
      // An attempt that lost its race took at least this long: the node must not look faster than it is.
      if (sent) node.took(method, tookMs, true)
      breaker.release()
    } else {
      breaker.failure()
      this.#context.onTrouble({ node: name, method: method.name, what: fault, detail })
    }
    return { kind: 'fault', node: name, fault: ranOut ? 'timeout' : fault, detail }
  }

  #refused(name: string, breaker: Breaker, text: string): AttemptResult {
    const refusal = classifyRefusal(text)
    if (isUnfit(refusal.reason)) breaker.failure()
    else breaker.success()
    if (refusal.reason === 'unknown' || refusal.reason === 'rejected') {
      const method = this.#call.method.name
      this.#context.onTrouble({ node: name, method, what: 'unknown_refusal', detail: refusal.text })
    }
    this.#refusals++
    return { kind: 'refused', node: name, refusal }
  }

  #finish(winner: AttemptResult | undefined, stop?: Stop): void {
    if (this.#over) return
    this.#over = true
    this.#waits?.abort()
    this.#options.signal?.removeEventListener('abort', this.#onAbort)
    // A light read that lost its race continues: only then does the breaker notice a node that hangs.
    const watchLosers = winner !== undefined && this.#call.method.connection === 'light'
    if (!watchLosers) for (const { ticket } of this.#running) ticket?.cancel()
    this.#context.onEnd(this)
    this.#resolve(this.#outcome(winner, stop))
  }

  #outcome(winner: AttemptResult | undefined, stop: Stop | undefined): CallOutcome {
    const traits = { attempts: this.#attempts, inDoubt: this.#unanswered > 0 }
    if (winner?.kind === 'result') return { ok: true, node: winner.node, bytes: winner.bytes, ...traits }
    if (winner?.kind === 'refused') return refusedOutcome(this.#call, winner, traits)
    return { ok: false, failure: failureOf(this.#losers, stop, this.#budgetMs), ...traits }
  }
}
