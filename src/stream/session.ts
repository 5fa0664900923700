import type { Network } from '../core/chain/network.ts'
import type { InputFault } from '../core/errors.ts'
import type { Plan } from '../core/plan.ts'
import { GAP_KIND, readGapEvent } from '../events/gap-event.ts'
import { type EventKind, isChainKind } from '../events/kinds.ts'
import type { EventSelection } from '../events/match.ts'
import { filtersOf, parseSelection } from '../events/selection.ts'
import { nextTurn } from '../kit/time-slices.ts'
import type { EventStore, StoredEvent } from '../store/events.ts'
import {
  CLOSE_CODES,
  type ClientMessage,
  chainGapFrame,
  eventFrame,
  MAX_MESSAGE_BYTES,
  MAX_OPS_PER_SECOND,
  MAX_STALLED_MS,
  MAX_SUBSCRIPTIONS,
  MAX_UNSENT_BYTES,
  RESUME_UNSENT_BYTES,
  type ReadMessage,
  readMessage,
} from './protocol.ts'

/** The transport of one client. */
export interface StreamConnection {
  send(frame: string | Buffer): void
  readonly unsentBytes: number
  /** What is sent from now on leaves together, at `flush`. */
  hold(): void
  flush(): void
  close(code: number, reason: string): void
  pong(data: Buffer): void
  /** Without a goodbye: the peer does not answer or does not read. */
  terminate(): void
}

/** What a session needs of the hub that it belongs to. */
export interface SessionHost {
  readonly network: Network
  readonly events: Pick<EventStore, 'after' | 'bounds'>
  /** Everything up to here was given to the live subscriptions. */
  readonly seq: number
  /** From now on the session gets the events of this selection; the function ends it. */
  attach(session: StreamSession, selection: EventSelection): () => void
  watch(addresses: readonly string[]): () => void
  now(): number
  onFault(error: unknown): void
}

/**
 * One client. It may have several subscriptions; an event that several want is sent once.
 *
 *   subscribe ─▶ syncing: reads the log from its place, at the client's pace
 *                   │ reached the hub's place
 *                   ▼
 *                 live: the hub hands events over
 */
interface Subscription {
  readonly id: string
  readonly selection: Required<EventSelection>
  readonly kinds: ReadonlySet<string>
  readonly addresses: ReadonlySet<string>
  /** Everything it wants in (fromSeq, sentSeq] was sent; live: everything after fromSeq. */
  fromSeq: number
  sentSeq: number
  readonly stops: (() => void)[]
  ended: boolean
}

export interface StreamSession {
  receive(text: string): void
  /** The client's WebSocket ping: an operation like any other. */
  ping(data: Buffer): void
  /** A live event that some subscription wants. */
  deliver(frame: Buffer): void
  /** A place in the log where the chain could not be read. */
  sendGap(event: StoredEvent): void
  /** Events that the log had forgotten before the hub read them. */
  sendMissed(afterSeq: number, upToSeq: number): void
  hold(): void
  flush(): void
  /** The connection is gone. */
  end(): void
  readonly ended: boolean
}

const PAGE_EVENTS = 256
const PAGE_BYTES = 256 * 1024
const STALL_CHECK_MS = 10
const RETRY_MS = 200
const MAX_WAITING_MESSAGES = 64
const INTERNAL_ERROR = 1011

export function createStreamSession(
  host: SessionHost,
  connection: StreamConnection,
  client: { plan: Plan },
): StreamSession {
  const subscriptions = new Map<string, Subscription>()
  /** Messages that came while another one was being checked: no more than may come in a few seconds. */
  const waiting: string[] = []
  let waitingChars = 0
  let isActing = false
  let ended = false
  let nextNumber = 1
  let opsWindowMs = 0
  let opsInWindow = 0

  const send = (frame: object) => {
    if (!ended && !closedAsTooSlow()) connection.send(JSON.stringify(frame))
  }
  const sendError = (code: string, faults: readonly InputFault[], id: string | undefined) => {
    const [first] = faults
    const message = faults.map((fault) => fault.message).join(' ')
    send({ type: 'error', code, message, ...(id ? { id } : {}), param: first?.param, errors: faults })
  }

  function addressCount(except: string | undefined): number {
    let count = 0
    for (const sub of subscriptions.values()) if (sub.id !== except) count += sub.addresses.size
    return count
  }

  async function subscribe(message: ClientMessage & { op: 'subscribe' }): Promise<void> {
    const id = message.id ?? freeId()
    const replaced = subscriptions.get(id)
    if (replaced === undefined && subscriptions.size >= MAX_SUBSCRIPTIONS) {
      const text = `A connection has at most ${MAX_SUBSCRIPTIONS} subscriptions.`
      sendError('too_many_subscriptions', [{ param: 'op', error: 'invalid_param', message: text }], id)
      return
    }
    const checked = await parseSelection(message, {
      network: host.network,
      maxAddresses: client.plan.streamAddresses,
      usedAddresses: addressCount(id),
    })
    if (ended) return
    if (!checked.ok) {
      sendError('invalid_param', checked.faults, id)
      return
    }
    // Many addresses take milliseconds: others have their turn before and after.
    await nextTurn()
    if (ended) return
    const unwatch =
      checked.selection.addresses.length > 0 ? host.watch(checked.selection.addresses) : () => {}
    await nextTurn()
    if (ended) return unwatch()
    if (replaced !== undefined) remove(replaced)
    begin(id, checked.selection, message.resumeAfter, unwatch)
  }

  /** Messages take effect in their order, also while a long one is being checked. */
  async function act(): Promise<void> {
    isActing = true
    try {
      for (let text = waiting.shift(); text !== undefined && !ended; text = waiting.shift()) {
        waitingChars -= text.length
        const read = readMessage(text)
        await actOn(read instanceof Promise ? await read : read)
      }
    } catch (error) {
      host.onFault(error)
      connection.close(INTERNAL_ERROR, 'internal error')
      session.end()
    } finally {
      isActing = false
    }
  }

  function actOn(read: ReadMessage): void | Promise<void> {
    if (ended) return
    if (!read.ok) return sendError('invalid_param', read.faults, undefined)
    const { message } = read
    if (message.op === 'subscribe') return subscribe(message)
    if (message.op === 'unsubscribe') unsubscribe(message.id)
    else send({ type: 'pong', ...(message.id ? { id: message.id } : {}) })
  }

  function begin(
    id: string,
    selection: Required<EventSelection>,
    resumeAfter: number | undefined,
    unwatch: () => void,
  ): void {
    const fromSeq = resumeAfter ?? host.seq
    const sub: Subscription = {
      id,
      selection,
      kinds: new Set(selection.kinds),
      addresses: new Set(selection.addresses),
      fromSeq,
      sentSeq: fromSeq,
      stops: [unwatch],
      ended: false,
    }
    subscriptions.set(id, sub)
    const { kinds } = selection
    send({
      type: 'subscribed',
      id,
      state: 'syncing',
      kinds,
      address_count: sub.addresses.size,
      after_seq: fromSeq,
    })
    void sync(sub)
  }

  async function sync(sub: Subscription): Promise<void> {
    while (!ended && !sub.ended) {
      try {
        if (await syncStep(sub)) return
      } catch (error) {
        host.onFault(error)
        await sleep(RETRY_MS)
      }
    }
  }

  /** One page of the past; true when the subscription is live. */
  async function syncStep(sub: Subscription): Promise<boolean> {
    if (!(await drained())) return true
    if (sub.sentSeq > host.seq) {
      await settlePosition(sub)
      return false
    }
    const untilSeq = host.seq
    const page = await host.events.after({
      afterSeq: sub.sentSeq,
      untilSeq,
      filters: [...filtersOf(sub.selection), { kinds: [GAP_KIND] }],
      limit: PAGE_EVENTS,
      maxBytes: PAGE_BYTES,
    })
    // Asked after the reading: whatever the log forgot meanwhile is noticed.
    const { oldestSeq } = await host.events.bounds()
    if (ended || sub.ended) return true
    if (oldestSeq > sub.sentSeq + 1 && sub.sentSeq < untilSeq) {
      sendMissedOf(sub, sub.sentSeq, oldestSeq - 1)
    }
    connection.hold()
    for (const event of page.events) {
      if (event.kind === GAP_KIND) sendGapOf(sub, event)
      else if (!wasSent(sub, event)) connection.send(eventFrame(event.text))
    }
    connection.flush()
    sub.sentSeq = page.more ? page.upToSeq : Math.max(untilSeq, page.upToSeq)
    if (sub.sentSeq < host.seq) return false
    sub.stops.push(host.attach(session, sub.selection))
    const { id, sentSeq } = sub
    sub.sentSeq = Number.POSITIVE_INFINITY
    send({ type: 'live', id, seq: sentSeq })
    return true
  }

  function sendMissedOf(sub: Subscription, afterSeq: number, upToSeq: number): void {
    send({ type: 'gap', id: sub.id, after_seq: afterSeq, up_to_seq: upToSeq, reason: 'retention' })
  }

  function sendGapOf(sub: Subscription, event: StoredEvent): void {
    const notice = readGapEvent(event.text)
    if (notice.kinds.some((kind) => sub.kinds.has(kind))) send(chainGapFrame(sub.id, event.seq, notice))
  }

  /** A place that the hub has not reached: the log is ahead of it for a moment, or the client comes from another log. */
  async function settlePosition(sub: Subscription): Promise<void> {
    const { newestSeq } = await host.events.bounds()
    if (sub.sentSeq <= newestSeq) {
      await sleep(STALL_CHECK_MS)
      return
    }
    const upToSeq = host.seq
    send({ type: 'gap', id: sub.id, after_seq: sub.sentSeq, up_to_seq: upToSeq, reason: 'unknown_position' })
    sub.fromSeq = upToSeq
    sub.sentSeq = upToSeq
  }

  /** Whether another subscription of this client has sent the event already. */
  function wasSent(asking: Subscription, event: StoredEvent): boolean {
    for (const other of subscriptions.values()) {
      if (other === asking || event.seq <= other.fromSeq || event.seq > other.sentSeq) continue
      if (wants(other, event)) return true
    }
    return false
  }

  /** Waits for the client; false when it was too slow or is gone. */
  async function drained(): Promise<boolean> {
    const endsAt = host.now() + MAX_STALLED_MS
    while (!ended && connection.unsentBytes > RESUME_UNSENT_BYTES) {
      if (host.now() > endsAt) {
        connection.close(CLOSE_CODES.tooSlow, 'too slow')
        return false
      }
      await sleep(STALL_CHECK_MS)
    }
    return !ended
  }

  function unsubscribe(id: string | undefined): void {
    const wanted = id === undefined ? [...subscriptions.values()] : [subscriptions.get(id)]
    for (const sub of wanted) {
      if (sub === undefined) {
        const message = `There is no subscription ${id}.`
        sendError('not_found', [{ param: 'id', error: 'not_found', message }], id)
        return
      }
      remove(sub)
      send({ type: 'unsubscribed', id: sub.id })
    }
    if (id === undefined && wanted.length === 0) send({ type: 'unsubscribed' })
  }

  function remove(sub: Subscription): void {
    sub.ended = true
    subscriptions.delete(sub.id)
    for (const stop of sub.stops.splice(0)) stop()
  }

  function freeId(): string {
    let id: string
    do id = `sub_${nextNumber++}`
    while (subscriptions.has(id))
    return id
  }

  /** Counts an operation; a client that has too many of them is closed. */
  function closedAsTooBusy(): boolean {
    const nowMs = host.now()
    if (nowMs - opsWindowMs >= 1_000 || nowMs < opsWindowMs) {
      opsWindowMs = nowMs
      opsInWindow = 0
    }
    const isBusy = waiting.length >= MAX_WAITING_MESSAGES || waitingChars > MAX_MESSAGE_BYTES
    if (++opsInWindow <= MAX_OPS_PER_SECOND && !isBusy) return false
    connection.close(CLOSE_CODES.tooMany, `more than ${MAX_OPS_PER_SECOND} messages per second`)
    session.end()
    return true
  }

  function closedAsTooSlow(): boolean {
    if (connection.unsentBytes <= MAX_UNSENT_BYTES) return false
    connection.close(CLOSE_CODES.tooSlow, 'too slow')
    session.end()
    return true
  }

  /** Those that are still syncing find in the log what the others are told. */
  const live = () => [...subscriptions.values()].filter(({ sentSeq }) => sentSeq === Number.POSITIVE_INFINITY)

  const session: StreamSession = {
    get ended() {
      return ended
    },
    receive(text) {
      if (ended || closedAsTooBusy()) return
      waiting.push(text)
      waitingChars += text.length
      if (!isActing) void act()
    },
    ping(data) {
      if (ended || closedAsTooBusy()) return
      if (connection.unsentBytes > MAX_UNSENT_BYTES) connection.terminate()
      else connection.pong(data)
    },
    deliver(frame) {
      if (!ended && !closedAsTooSlow()) connection.send(frame)
    },
    sendGap(event) {
      for (const sub of live()) sendGapOf(sub, event)
    },
    sendMissed(afterSeq, upToSeq) {
      for (const sub of live()) sendMissedOf(sub, afterSeq, upToSeq)
    },
    hold: () => connection.hold(),
    flush: () => connection.flush(),
    end() {
      if (ended) return
      ended = true
      waiting.length = 0
      waitingChars = 0
      for (const sub of [...subscriptions.values()]) remove(sub)
    },
  }
  return session
}

function wants(sub: Subscription, event: StoredEvent): boolean {
  if (!sub.kinds.has(event.kind)) return false
  if (sub.addresses.size === 0 || isChainKind(event.kind as EventKind)) return true
  return event.addresses.some((address) => sub.addresses.has(address))
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
