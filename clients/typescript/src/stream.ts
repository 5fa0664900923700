/**
 * Chain events over a WebSocket, as one sequence without loss or repetition:
 *
 *   connect → welcome → subscribe after `position` → events → cut → connect again …
 *
 * `position` is the number of the last event that was handed out, so events in transit on a lost connection are simply
 * sent again. If the caller reads more slowly than events arrive and too many are waiting, the connection is closed,
 * and opened again once the waiting events have been read.
 */
import { StreamError, type StreamGap, StreamGapError } from './errors.ts'
import { parseJson } from './exact-json.ts'
import type { ChainEvent, EventKind } from './generated.ts'
import { delayMs, sleep } from './retry.ts'

export interface StreamOptions {
  readonly kinds: readonly EventKind[]
  /** Narrow the kinds that have addresses; `utxos_changed` needs at least one. */
  readonly addresses?: readonly string[]
  /** `seq` of the last event that was processed. Left out: events from now on. */
  readonly resumeAfter?: number
  readonly signal?: AbortSignal
  /** Without it, a gap throws a `StreamGapError`. */
  readonly onGap?: (gap: StreamGap) => void
  /**
   * Consecutive attempts that fail before the stream is up to date or brings an event; 20. Those that are refused because
   * of too many connections are counted separately.
   */
  readonly retries?: number
  /** Called for every connection after the first. */
  readonly onReconnect?: () => void
}

interface Frame {
  readonly type: string
  readonly event?: ChainEvent
  readonly seq?: number
  readonly after_seq?: number
  readonly up_to_seq?: number
  readonly reason?: string
  readonly code?: string
  readonly message?: string
}

const RETRIES = 20
const PING_MS = 20_000
const SILENCE_MS = 50_000
const MAX_WAITING = 10_000
const MAX_WAITING_CHARS = 32 * 2 ** 20
/** Close codes after which another attempt would not help. */
const FINAL_CODES: Readonly<Record<number, string>> = {
  4401: 'The key is missing, malformed, unknown, revoked or expired.',
  4403: 'The key is paused or may not be used here.',
}
const TOO_MANY = 4429
/**
 * For up to a minute the service also counts a connection that was lost without its knowledge, for example in a change
 * of networks. All attempts together last longer than that.
 */
const TOO_MANY_PAUSE_S = 5

export class EventStream implements AsyncIterable<ChainEvent> {
  readonly #url: string
  readonly #options: StreamOptions
  #position: number | undefined

  constructor(url: string, options: StreamOptions) {
    this.#url = url
    this.#options = options
    this.#position = options.resumeAfter
  }

  /** Number of the last event that was handed out: `resumeAfter` of the next stream. */
  get position(): number | undefined {
    return this.#position
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ChainEvent, void, void> {
    const { signal, retries = RETRIES } = this.#options
    let failures = 0
    let refusals = 0
    for (let connections = 0; signal?.aborted !== true; connections++) {
      if (connections > 0) this.#options.onReconnect?.()
      const connection = new Connection(this.#url, signal)
      try {
        for (let frame = await connection.next(); frame !== undefined; frame = await connection.next()) {
          if (signal?.aborted) return
          if (frame.type === 'welcome') connection.send(this.#subscription())
          const event = this.#read(frame)
          if (frame.type === 'live' || event !== undefined) {
            failures = 0
            refusals = 0
          }
          if (event !== undefined) yield event
        }
      } finally {
        connection.close()
      }
      if (signal?.aborted) return
      const why = FINAL_CODES[connection.closeCode]
      if (why !== undefined) throw new StreamError(connection.closeCode, why)
      if (connection.isOverfull) continue
      const isRefused = connection.closeCode === TOO_MANY
      if ((isRefused ? refusals : failures) >= retries)
        throw new StreamError(connection.closeCode, `No connection after ${retries} attempts.`)
      const wait = delayMs(failures, isRefused ? TOO_MANY_PAUSE_S : undefined, Math.random)
      if (isRefused) refusals += 1
      else failures += 1
      try {
        await sleep(wait ?? 0, signal)
      } catch {
        return
      }
    }
  }

  #subscription(): object {
    const { kinds, addresses } = this.#options
    return {
      op: 'subscribe',
      kinds,
      ...(addresses === undefined ? {} : { addresses }),
      ...(this.#position === undefined ? {} : { resume_after: this.#position }),
    }
  }

  /** Moves the position; returns the event that is to be handed out. */
  #read(frame: Frame): ChainEvent | undefined {
    switch (frame.type) {
      case 'event':
        if (frame.event === undefined || frame.event.seq <= (this.#position ?? -1)) return undefined
        this.#position = frame.event.seq
        return frame.event
      case 'subscribed':
        this.#position ??= frame.after_seq
        return undefined
      case 'live':
        this.#position = Math.max(this.#position ?? 0, frame.seq ?? 0)
        return undefined
      case 'gap':
        this.#gap(frame as Frame & StreamGap)
        return undefined
      case 'error':
        throw new StreamError(frame.code ?? 'error', frame.message ?? 'The subscription was refused.')
      default:
        return undefined
    }
  }

  #gap({ type: _, ...gap }: Frame & StreamGap): void {
    // A position that the log never assigned may be higher than the numbers that follow, so it is replaced.
    const position =
      gap.reason === 'unknown_position' ? gap.up_to_seq : Math.max(this.#position ?? 0, gap.up_to_seq)
    // A gap that the caller could not take comes again.
    this.#options.onGap?.(gap)
    this.#position = position
    if (this.#options.onGap === undefined) throw new StreamGapError(gap)
  }
}

/** One connection with its bounded queue of unread frames and its heartbeat. */
class Connection {
  readonly #socket: WebSocket
  readonly #waiting: { frame: Frame; chars: number }[] = []
  readonly #signal: AbortSignal | undefined
  readonly #timer: ReturnType<typeof setInterval>
  readonly #onAbort = () => this.close()
  #chars = 0
  #wake = () => {}
  #isClosed = false
  #fault: StreamError | undefined
  #lastMs = performance.now()
  closeCode = 1006
  /** Closed by this side because the queue is full. */
  isOverfull = false

  constructor(url: string, signal: AbortSignal | undefined) {
    this.#socket = new WebSocket(url)
    this.#socket.onmessage = ({ data }) => this.#take(String(data))
    this.#socket.onclose = ({ code }) => this.#end(code)
    this.#socket.onerror = () => {}
    this.#signal = signal
    signal?.addEventListener('abort', this.#onAbort, { once: true })
    this.#timer = setInterval(() => {
      // Browsers do not expose WebSocket pings, so our own ping message shows whether the service is still there.
      if (performance.now() - this.#lastMs > SILENCE_MS) this.close()
      else this.send({ op: 'ping' })
    }, PING_MS)
  }

  send(message: object): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message))
  }

  /** Undefined once the connection has ended and all its frames were read; throws at a frame that cannot be read. */
  async next(): Promise<Frame | undefined> {
    while (this.#waiting.length === 0 && !this.#isClosed)
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    const first = this.#waiting.shift()
    if (first === undefined && this.#fault !== undefined) throw this.#fault
    this.#chars -= first?.chars ?? 0
    return first?.frame
  }

  close(): void {
    this.#end(this.closeCode)
    // Some runtimes report an error if a socket is closed while it is connecting.
    if (this.#socket.readyState === WebSocket.CONNECTING) this.#socket.onopen = () => this.#socket.close()
    else this.#socket.close()
  }

  #take(text: string): void {
    if (this.#isClosed) return
    this.#lastMs = performance.now()
    try {
      this.#waiting.push({ frame: parseJson(text) as Frame, chars: text.length })
    } catch (error) {
      // The position must not move past an event that was not handed out.
      this.#fault = new StreamError('unreadable', `A message cannot be read: ${(error as Error).message}`)
      this.close()
      return
    }
    this.#chars += text.length
    if (this.#waiting.length >= MAX_WAITING || this.#chars >= MAX_WAITING_CHARS) {
      this.isOverfull = true
      this.close()
    }
    this.#wake()
  }

  #end(code: number): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.closeCode = code
    clearInterval(this.#timer)
    this.#signal?.removeEventListener('abort', this.#onAbort)
    this.#wake()
  }
}
