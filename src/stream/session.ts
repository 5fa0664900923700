import type { Network } from '../core/chain/network.ts'
import type { InputFault } from '../core/errors.ts'
import type { Plan } from '../core/plan.ts'
import { GAP_KIND, readGapEvent } from '../events/gap-event.ts'
import type { EventSelection } from '../events/match.ts'
import { filtersOf, parseSelection } from '../events/selection.ts'
import type { AccountSteps } from '../kit/account-steps.ts'
import { backoffMs } from '../kit/backoff.ts'
import { type Clock, elapsedMs } from '../kit/clock.ts'
import { isTurnSpent, nextTurn } from '../kit/time-slices.ts'
import type { EventStore, StoredEvent } from '../store/events.ts'
import {
  CLOSE_CODES,
  type ClientMessage,
  chainGapFrame,
  eventFrame,
  MAX_DRAIN_MS,
  MAX_MESSAGE_BYTES,
  MAX_OPS_PER_SECOND,
  MAX_STALLED_MS,
  MAX_SUBSCRIPTIONS,
  MAX_UNSENT_BYTES,
  RESUME_UNSENT_BYTES,
  type ReadMessage,
  readMessage,
} from './protocol.ts'
import { isLive, newSubscription, type StreamSubscription, wasSentByAnother } from './subscription.ts'

/** The transport of one client. */
export interface StreamConnection {
  send(frame: string | Buffer): void
  readonly unsentBytes: number
  /** Holds back sent frames until `flush`. */
  hold(): void
  flush(): void
  close(code: number, reason: string): void
  pong(data: Buffer): void
  /** Closes without a close frame, for a peer that does not answer or does not read. */
  terminate(): void
  ping(): void
}

/** What a session needs from its hub. */
export interface SessionHost {
  readonly network: Network
  readonly events: Pick<EventStore, 'after' | 'bounds'>
  /** Everything up to this sequence number was sent to the live subscriptions. */
  readonly seq: number
  /** From now on the session gets the events of this selection. The returned function ends that. */
  attach(session: StreamSession, selection: EventSelection): () => void
  watch(addresses: readonly string[]): () => void
  /** Run new subscriptions, and reading the log for them, one step at a time per account. */
  readonly steps: { readonly subscribe: AccountSteps; readonly sync: AccountSteps }
  readonly clock: Clock
  random(): number
  onFault(error: unknown): void
}

const PAGE_EVENTS = 256
const PAGE_BYTES = 256 * 1024
const STALL_CHECK_MS = 10
/** While a client reads nothing, it is looked at less and less often. */
const MAX_STALL_CHECK_MS = 160
const RETRY = { baseMs: 200, capMs: 5_000 }
const MAX_WAITING_MESSAGES = 64
const INTERNAL_ERROR = 1011

/**
 * `over`: live or ended. `more`: there is more to read. `ahead`: the hub has to reach the subscription's position
 * first.
 */
type SyncOutcome = 'over' | 'more' | 'ahead'

/** One client of the stream, with its subscriptions. */
export class StreamSession {
  readonly #host: SessionHost
  readonly #connection: StreamConnection
  readonly #accountId: string
  readonly #plan: Plan
  readonly #subscriptions = new Map<string, StreamSubscription>()
  /** Messages that arrived while another one was being handled; at most as many as may arrive in a few seconds. */
  readonly #waiting: string[] = []
  #waitingChars = 0
  #isHandling = false
  #ended = false
  #nextNumber = 1
  #opsWindowMs = 0
  #opsInWindow = 0
  /** Shared by all subscriptions that wait for the client to read. */
  #draining: Promise<boolean> | undefined

  constructor(host: SessionHost, connection: StreamConnection, client: { accountId: string; plan: Plan }) {
    this.#host = host
    this.#connection = connection
    this.#accountId = client.accountId
    this.#plan = client.plan
  }

  get ended(): boolean {
    return this.#ended
  }

  receive(text: string): void {
    if (this.#ended || this.#closedAsTooBusy()) return
    this.#waiting.push(text)
    this.#waitingChars += text.length
    if (!this.#isHandling) void this.#handleWaiting()
  }

  /** The client's WebSocket ping counts like any other operation. */
  ping(data: Buffer): void {
    if (this.#ended || this.#closedAsTooBusy()) return
    if (this.#connection.unsentBytes > MAX_UNSENT_BYTES) this.#connection.terminate()
    else this.#connection.pong(data)
  }

  /** Solicited or not, a pong counts, because a flood of pongs costs as much as any other. */
  pong(): void {
    if (!this.#ended) this.#closedAsTooBusy()
  }

  /** A live event that at least one subscription selects. */
  deliver(frame: Buffer): void {
    if (!this.#ended && !this.#closedAsTooSlow()) this.#connection.send(frame)
  }

  /**
   * A position in the log where the chain could not be read. Subscriptions that are still syncing find it in the log.
   */
  sendGap(event: StoredEvent): void {
    for (const sub of this.#live()) this.#sendGapTo(sub, event)
  }

  /** Events that the log dropped before the hub read them. */
  sendMissed(afterSeq: number, upToSeq: number): void {
    for (const sub of this.#live()) this.#sendMissedTo(sub, afterSeq, upToSeq)
  }

  hold(): void {
    this.#connection.hold()
  }

  flush(): void {
    this.#connection.flush()
  }

  /** The connection is closed. */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#waiting.length = 0
    this.#waitingChars = 0
    void this.#removeAll()
  }

  /** Releasing many addresses takes milliseconds, and all connections of an account can end at the same moment. */
  async #removeAll(): Promise<void> {
    for (const sub of [...this.#subscriptions.values()]) {
      if (isTurnSpent()) await nextTurn()
      this.#remove(sub)
    }
  }

  #live(): StreamSubscription[] {
    return [...this.#subscriptions.values()].filter(isLive)
  }

  // Messages of the client

  /** Messages take effect in order, even while a long one is being checked. */
  async #handleWaiting(): Promise<void> {
    this.#isHandling = true
    try {
      for (
        let text = this.#waiting.shift();
        text !== undefined && !this.#ended;
        text = this.#waiting.shift()
      ) {
        this.#waitingChars -= text.length
        const read = readMessage(text)
        await this.#handle(read instanceof Promise ? await read : read)
      }
    } catch (error) {
      this.#host.onFault(error)
      this.#closeAndEnd(INTERNAL_ERROR, 'internal error')
    } finally {
      this.#isHandling = false
    }
  }

  #handle(read: ReadMessage): void | Promise<void> {
    if (this.#ended) return
    if (!read.ok) return this.#sendError('invalid_param', read.faults, undefined)
    const { message } = read
    if (message.op === 'subscribe') {
      return this.#host.steps.subscribe.run(this.#accountId, () => this.#subscribe(message))
    }
    if (message.op === 'unsubscribe') this.#unsubscribe(message.id)
    else this.#send({ type: 'pong', ...(message.id ? { id: message.id } : {}) })
  }

  async #subscribe(message: ClientMessage & { op: 'subscribe' }): Promise<void> {
    if (this.#ended) return
    const id = message.id ?? this.#freeId()
    const replaced = this.#subscriptions.get(id)
    if (replaced === undefined && this.#subscriptions.size >= MAX_SUBSCRIPTIONS) {
      const text = `A connection has at most ${MAX_SUBSCRIPTIONS} subscriptions.`
      this.#sendError('too_many_subscriptions', [{ param: 'op', error: 'invalid_param', message: text }], id)
      return
    }
    const parsed = await parseSelection(message, {
      network: this.#host.network,
      maxAddresses: this.#plan.streamAddresses,
      usedAddresses: this.#addressCount(id),
    })
    if (this.#ended) return
    if (!parsed.ok) {
      this.#sendError('invalid_param', parsed.faults, id)
      return
    }
    const { selection } = parsed
    // Watching many addresses takes milliseconds, so other work may run before and after it.
    await nextTurn()
    if (this.#ended) return
    const unwatch = selection.addresses.length > 0 ? this.#host.watch(selection.addresses) : () => {}
    await nextTurn()
    if (this.#ended) return unwatch()
    if (replaced !== undefined) this.#remove(replaced)
    const sub = newSubscription(id, selection, message.resumeAfter ?? this.#host.seq)
    sub.stops.push(unwatch)
    this.#begin(sub)
  }

  #begin(sub: StreamSubscription): void {
    this.#subscriptions.set(sub.id, sub)
    this.#send({
      type: 'subscribed',
      id: sub.id,
      state: 'syncing',
      kinds: sub.selection.kinds,
      address_count: sub.addresses.size,
      after_seq: sub.fromSeq,
    })
    void this.#sync(sub)
  }

  #unsubscribe(id: string | undefined): void {
    const chosen = id === undefined ? [...this.#subscriptions.values()] : [this.#subscriptions.get(id)]
    for (const sub of chosen) {
      if (sub === undefined) {
        const message = `There is no subscription ${id}.`
        this.#sendError('not_found', [{ param: 'id', error: 'not_found', message }], id)
        return
      }
      this.#remove(sub)
      this.#send({ type: 'unsubscribed', id: sub.id })
    }
    if (id === undefined && chosen.length === 0) this.#send({ type: 'unsubscribed' })
  }

  #remove(sub: StreamSubscription): void {
    sub.ended = true
    this.#subscriptions.delete(sub.id)
    for (const stop of sub.stops.splice(0)) stop()
  }

  #addressCount(except: string): number {
    let count = 0
    for (const sub of this.#subscriptions.values()) if (sub.id !== except) count += sub.addresses.size
    return count
  }

  #freeId(): string {
    let id: string
    do id = `sub_${this.#nextNumber++}`
    while (this.#subscriptions.has(id))
    return id
  }

  // From the log to live

  async #sync(sub: StreamSubscription): Promise<void> {
    let failures = 0
    while (!this.#ended && !sub.ended) {
      if (!(await this.#drained())) return
      try {
        const outcome = await this.#host.steps.sync.run(this.#accountId, () => this.#syncStep(sub))
        if (outcome === 'over') return
        if (outcome === 'ahead') await this.#host.clock.sleep(STALL_CHECK_MS)
        failures = 0
      } catch (error) {
        this.#host.onFault(error)
        // Jitter, because all subscribers retry at the same time.
        await this.#host.clock.sleep(RETRY.baseMs + backoffMs(RETRY, failures++, this.#host.random))
      }
    }
  }

  /**
   * Sends one page of the past. It must wait for nothing but the log, because other subscriptions of the account queue
   * behind it.
   */
  async #syncStep(sub: StreamSubscription): Promise<SyncOutcome> {
    if (this.#ended || sub.ended) return 'over'
    // Other subscriptions of this connection may have sent in the meantime.
    if (this.#connection.unsentBytes > RESUME_UNSENT_BYTES) return 'more'
    const { events } = this.#host
    if (sub.sentSeq > this.#host.seq) return this.#checkPosition(sub)
    const untilSeq = this.#host.seq
    const page = await events.after({
      afterSeq: sub.sentSeq,
      untilSeq,
      filters: [...filtersOf(sub.selection), { kinds: [GAP_KIND] }],
      limit: PAGE_EVENTS,
      maxBytes: PAGE_BYTES,
    })
    // Checked after the read, so that events dropped meanwhile are noticed.
    const { oldestSeq } = await events.bounds()
    if (this.#ended || sub.ended) return 'over'
    const reachedSeq = page.more ? page.upToSeq : Math.max(untilSeq, page.upToSeq)
    // Events that the log dropped after they were read are still sent. They must not also be covered by a gap, because
    // a client skips events that lie in a gap.
    const firstSeq = page.events[0]?.seq ?? Number.POSITIVE_INFINITY
    const missedSeq = Math.min(oldestSeq - 1, reachedSeq, firstSeq - 1)
    if (missedSeq > sub.sentSeq && sub.sentSeq < untilSeq) this.#sendMissedTo(sub, sub.sentSeq, missedSeq)
    this.#connection.hold()
    try {
      for (const event of page.events) {
        if (event.kind === GAP_KIND) this.#sendGapTo(sub, event)
        else if (!wasSentByAnother(this.#subscriptions.values(), sub, event)) {
          this.#connection.send(eventFrame(event.text))
        }
      }
    } finally {
      this.#connection.flush()
    }
    sub.sentSeq = reachedSeq
    if (sub.sentSeq < this.#host.seq) return 'more'
    this.#goLive(sub)
    return 'over'
  }

  /**
   * Attaches in the same turn of the event loop in which the hub's position was reached, so that no event is lost or
   * sent twice in between.
   */
  #goLive(sub: StreamSubscription): void {
    sub.stops.push(this.#host.attach(this, sub.selection))
    const { id, sentSeq } = sub
    sub.sentSeq = Number.POSITIVE_INFINITY
    this.#send({ type: 'live', id, seq: sentSeq })
  }

  /**
   * The hub has not reached this position: either the log is briefly ahead of it, or the position belongs to another
   * log.
   */
  async #checkPosition(sub: StreamSubscription): Promise<SyncOutcome> {
    const { newestSeq } = await this.#host.events.bounds()
    if (sub.sentSeq <= newestSeq) return 'ahead'
    const upToSeq = this.#host.seq
    const reason = 'unknown_position'
    this.#send({ type: 'gap', id: sub.id, after_seq: sub.sentSeq, up_to_seq: upToSeq, reason })
    sub.fromSeq = upToSeq
    sub.sentSeq = upToSeq
    return 'more'
  }

  /** Waits until the client has read enough; false if it was too slow or has disconnected. */
  async #drained(): Promise<boolean> {
    if (this.#ended || this.#connection.unsentBytes <= RESUME_UNSENT_BYTES) return !this.#ended
    this.#draining ??= this.#untilDrained().finally(() => {
      this.#draining = undefined
    })
    return this.#draining
  }

  async #untilDrained(): Promise<boolean> {
    const { clock } = this.#host
    const startedMs = elapsedMs(clock)
    let readMs = startedMs
    let unsent = this.#connection.unsentBytes
    let pauseMs = STALL_CHECK_MS
    while (!this.#ended && this.#connection.unsentBytes > RESUME_UNSENT_BYTES) {
      const nowMs = elapsedMs(clock)
      const hasRead = this.#connection.unsentBytes < unsent
      if (hasRead) readMs = nowMs
      unsent = this.#connection.unsentBytes
      if (nowMs - readMs > MAX_STALLED_MS || nowMs - startedMs > MAX_DRAIN_MS) {
        this.#connection.close(CLOSE_CODES.tooSlow, 'too slow')
        return false
      }
      await clock.sleep(pauseMs)
      pauseMs = hasRead ? STALL_CHECK_MS : Math.min(2 * pauseMs, MAX_STALL_CHECK_MS)
    }
    return !this.#ended
  }

  // Frames to the client

  #send(frame: object): void {
    if (!this.#ended && !this.#closedAsTooSlow()) this.#connection.send(JSON.stringify(frame))
  }

  #sendError(code: string, faults: readonly InputFault[], id: string | undefined): void {
    const [first] = faults
    const message = faults.map((fault) => fault.message).join(' ')
    this.#send({ type: 'error', code, message, ...(id ? { id } : {}), param: first?.param, errors: faults })
  }

  #sendMissedTo(sub: StreamSubscription, afterSeq: number, upToSeq: number): void {
    this.#send({ type: 'gap', id: sub.id, after_seq: afterSeq, up_to_seq: upToSeq, reason: 'retention' })
  }

  #sendGapTo(sub: StreamSubscription, event: StoredEvent): void {
    const notice = readGapEvent(event.text)
    if (notice.kinds.some((kind) => sub.kinds.has(kind))) this.#send(chainGapFrame(sub.id, event.seq, notice))
  }

  /** Counts an operation and closes the connection of a client that sends too many. */
  #closedAsTooBusy(): boolean {
    const nowMs = this.#host.clock.now()
    if (nowMs - this.#opsWindowMs >= 1_000 || nowMs < this.#opsWindowMs) {
      this.#opsWindowMs = nowMs
      this.#opsInWindow = 0
    }
    const isBusy = this.#waiting.length >= MAX_WAITING_MESSAGES || this.#waitingChars > MAX_MESSAGE_BYTES
    if (++this.#opsInWindow <= MAX_OPS_PER_SECOND && !isBusy) return false
    this.#closeAndEnd(CLOSE_CODES.tooMany, `more than ${MAX_OPS_PER_SECOND} messages per second`)
    return true
  }

  #closedAsTooSlow(): boolean {
    if (this.#connection.unsentBytes <= MAX_UNSENT_BYTES) return false
    this.#closeAndEnd(CLOSE_CODES.tooSlow, 'too slow')
    return true
  }

  #closeAndEnd(code: number, reason: string): void {
    this.#connection.close(code, reason)
    this.end()
  }
}
