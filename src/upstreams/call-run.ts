/**
 * One call over several nodes, from its first attempt to its outcome.
 *
 *   choose a node ──▶ send ──answer──▶ done
 *        ▲              ├──fault, or a refusal about the node itself──▶ next node
 *        └──────────────┴──slow (reads)──▶ next node beside it, first answer wins
 *
 * Writes run one at a time: another node gets a write only after a transport fault, or after a refusal that
 * concerns the node and not the transaction. A hang is a fault. When every node has failed and none has refused,
 * one more round follows if time is left. A run finishes in the same turn of the event loop in which its answer
 * arrives. The requester's timer checks the deadlines of all runs (`checkDeadlines`), so that a call needs
 * neither a timer nor a signal.
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
import type { BreakerKind, NodeLink } from './node-link.ts'
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
  /** Makes the requester's timer check deadlines at this time. */
  readonly checkAt: (atMs: number) => void
}

interface Attempt {
  readonly node: NodeLink
  readonly sentMs: number
  /** If a write has no answer by then, another node gets it. */
  readonly limitAtMs: number
  ranOut: boolean
  /** After this time without an answer, a second node is asked as well. */
  readonly slowAfterMs: number
  /** Its number among the attempts of the call, starting at 1. */
  readonly place: number
  ticket: PendingCall | undefined
}

const NO_NODE: AttemptResult = {
  kind: 'fault',
  node: '',
  fault: 'not_connected',
  detail: 'no node is connected',
}
const NEVER = Number.POSITIVE_INFINITY
/**
 * The share of `slowAfterMs` that counts as slow, because the rest may have passed before the call reached the socket.
 */
const SLOW_SHARE = 0.5

export class CallRun {
  readonly #context: CallContext
  readonly #call: ValidCall
  readonly #options: CallOptions
  readonly #resolve: (outcome: CallOutcome) => void
  readonly #breakerKind: BreakerKind
  readonly #budgetMs: number
  readonly #endsAtMs: number
  readonly #tried = new Set<string>()
  readonly #losers: AttemptResult[] = []
  #running: Attempt[] = []
  #order: NodeLink[] = []
  #hedgeAtMs = NEVER
  #attempts = 0
  /** Writes that may have reached a node and got no answer. */
  #unanswered = 0
  #refusals = 0
  #waits: AbortController | undefined
  #secondRound = false
  #over = false
  #hasWinner = false

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
    const { connection } = call.method
    this.#breakerKind = options.isPriority === true && connection === 'heavy' ? 'priority' : connection
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

  /** When the next deadline of the call is due; 0 if the caller has to be polled for whether it still waits. */
  get nextCheckMs(): number {
    if (this.#options.isAbandoned !== undefined) return 0
    let next = Math.min(this.#endsAtMs, this.#hedgeAtMs)
    for (const { limitAtMs } of this.#running) next = Math.min(next, limitAtMs)
    return next
  }

  /** Called whenever a deadline is due, and possibly more often. */
  checkDeadlines(nowMs: number): void {
    const overdue = this.#running.find(({ limitAtMs }) => nowMs >= limitAtMs)
    if (nowMs >= this.#endsAtMs) this.#finish(undefined, 'deadline')
    else if (this.#options.isAbandoned?.()) this.#finish(undefined, 'caller')
    else if (overdue !== undefined) {
      overdue.ranOut = true
      overdue.ticket?.cancel()
    } else if (nowMs >= this.#hedgeAtMs) {
      this.#start(true)
    }
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
    const { needsUtxoIndex } = this.#call.method
    const views = nodes.map((node) => node.view(this.#breakerKind))
    const { prefer, avoid, stayOn, asConfigured } = this.#options
    const need = {
      ...{ utxoIndex: needsUtxoIndex, exclude: this.#tried, wellOnly },
      ...{ prefer, avoid, stayOn, asConfigured },
    }
    const found: NodeLink[] = []
    for (const name of orderOf(views, need)) {
      const link = links.get(name)
      if (link !== undefined) found.push(link)
    }
    return found
  }

  /**
   * Takes the first node whose breaker admits a call, or the node that the call stays on. If every breaker refuses,
   * takes the first node, so that a call always has a target.
   */
  #pick(from: readonly NodeLink[]): NodeLink | undefined {
    const { stayOn } = this.#options
    const mayAsk = (node: NodeLink) => node.breaker(this.#breakerKind).tryEnter() || node.name === stayOn
    const chosen = from.find(mayAsk) ?? from[0]
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

  /** Starts the next attempt. If no node is left and none is running, tries a second round or fails the call. */
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

  #hedgeAfterMs(): number {
    if (this.#call.method.write || this.#context.nodes.length < 2) return NEVER
    const stays = this.#options.stayOn !== undefined
    return hedgeAfterMs(this.#call.method, this.#order, this.#leftMs(), stays)
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
    const place = ++this.#attempts
    const sentMs = this.#nowMs()
    if (method.write) this.#unanswered++
    const slowAfterMs = this.#hedgeAfterMs()
    this.#hedgeAtMs = sentMs + slowAfterMs
    const limitAtMs = method.write ? sentMs + writeLimitMs(method, this.#leftMs()) : NEVER
    const one: Attempt = { node, sentMs, limitAtMs, slowAfterMs, place, ranOut: false, ticket: undefined }
    this.#running.push(one)
    this.#context.checkAt(this.nextCheckMs)
    const isPriority = this.#options.isPriority === true
    const ticket = node.ask({ method, paramsText, isPriority }, (answer) => this.#answered(one, answer))
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

  #judge({ node, sentMs, slowAfterMs, place, ranOut }: Attempt, answer: NodeAnswer): AttemptResult {
    const { method } = this.#call
    const { name } = node
    const breaker = node.breaker(this.#breakerKind)
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
      // An attempt that lost its race took at least this long. Without this sample the node would look faster than it
      // is.
      if (sent) node.took(method, tookMs, true)
      // Losing a heavy call cancels it, so slowness is the only sign of a hang that the breaker gets. The last attempt
      // is judged by the full time, because it may have lost only because it began later.
      const share = place < this.#attempts ? SLOW_SHARE : 1
      const isSlow = (answer.silentMs ?? tookMs) >= slowAfterMs * share
      if (isSlow && this.#hasWinner && fault === 'cancelled') breaker.failure()
      else breaker.release()
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
    this.#hasWinner = winner !== undefined
    this.#waits?.abort()
    this.#options.signal?.removeEventListener('abort', this.#onAbort)
    // A light read that lost its race keeps running, because otherwise the breaker would not notice a node that hangs.
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
