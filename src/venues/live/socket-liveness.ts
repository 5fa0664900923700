/**
 * Tracks when a socket last showed a sign of life and decides what its silence means. It has no timer and no socket:
 * the socket reports what arrives and asks for a verdict.
 */
import type { FrameProtocol } from './frame.ts'

export interface SilenceLimits {
  /** A socket without a data frame for this long is dead, whatever TCP reports. Null: any silence is normal. */
  readonly dataSilenceMs: number | null
  /** A socket without any traffic, not even a ping, for this long is dead. */
  readonly trafficSilenceMs: number
}

type LivenessVerdict = 'alive' | 'send a ping' | { readonly deadBecause: string }

export class SocketLiveness {
  readonly #limits: SilenceLimits
  readonly #heartbeat: FrameProtocol['heartbeat']
  #trafficMs: number
  #dataMs: number
  #pingMs: number
  #isPingPending = false
  #isWithoutData = false

  constructor(limits: SilenceLimits, heartbeat: FrameProtocol['heartbeat'], nowMs: number) {
    this.#limits = limits
    this.#heartbeat = heartbeat
    this.#trafficMs = this.#dataMs = this.#pingMs = nowMs
  }

  /**
   * Data that the venue sent after this time may be missing. Pongs do not count where data is expected, because they do
   * not prove that data would have arrived.
   */
  get lostSinceMs(): number {
    return this.#isWithoutData ? this.#dataMs : this.#trafficMs
  }

  /** When the last data arrived, or when the measurement of silence began. */
  get dataMs(): number {
    return this.#dataMs
  }

  /** A quarter of the shortest limit, and at most a second. */
  get checkEveryMs(): number {
    const { dataSilenceMs, trafficSilenceMs } = this.#limits
    const spans = [dataSilenceMs, trafficSilenceMs, this.#heartbeat?.answerWithinMs]
    return Math.min(1_000, ...spans.filter((span) => span != null).map((span) => span / 4))
  }

  /** Measures silence from now, after the socket has opened or reading has resumed. */
  restart(nowMs: number): void {
    this.#trafficMs = this.#dataMs = this.#pingMs = nowMs
    this.#isPingPending = false
  }

  onTraffic(nowMs: number): void {
    this.#trafficMs = nowMs
  }

  onData(nowMs: number): void {
    this.#dataMs = nowMs
  }

  onPong(): void {
    this.#isPingPending = false
  }

  /** The caller must send a ping when the verdict is `send a ping`: the ping counts as pending from now. */
  check(nowMs: number, expectsData: boolean): LivenessVerdict {
    if (!expectsData) this.#dataMs = nowMs
    const { dataSilenceMs, trafficSilenceMs } = this.#limits
    if (nowMs - this.#trafficMs > trafficSilenceMs) return { deadBecause: 'no traffic' }
    this.#isWithoutData = dataSilenceMs !== null && nowMs - this.#dataMs > dataSilenceMs
    if (this.#isWithoutData) return { deadBecause: 'no data' }
    return this.#checkHeartbeat(nowMs)
  }

  #checkHeartbeat(nowMs: number): LivenessVerdict {
    if (this.#heartbeat === null) return 'alive'
    const { everyMs, answerWithinMs } = this.#heartbeat
    if (this.#isPingPending && answerWithinMs !== null && nowMs - this.#pingMs > answerWithinMs) {
      // A socket that sends is alive, although its pong may be far behind in the queue, so another ping is sent.
      if (this.#trafficMs <= this.#pingMs) return { deadBecause: 'no pong' }
      this.#isPingPending = false
    }
    const isAnswered = answerWithinMs === null || !this.#isPingPending
    if (!isAnswered || nowMs - this.#pingMs < everyMs) return 'alive'
    this.#isPingPending = true
    this.#pingMs = nowMs
    return 'send a ping'
  }
}
