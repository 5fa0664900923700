/**
 * Clients of the stream that reconnect for ever and resume where they were. What one of them has received over all its
 * connections is exactly what the log has for it, in order, but for what it was told is missing.
 */
import type { Dial } from '../../../src/venues/venue.ts'
import type { SimulatedProcess } from '../process.ts'
import type { Random } from '../random.ts'
import type { LogTruth } from './truth.ts'
import { type Selection, selects } from './world.ts'

interface Frame {
  readonly type: string
  readonly seq?: number
  readonly after_seq?: number
  readonly up_to_seq?: number
  readonly code?: string
  readonly message?: string
  readonly event?: { readonly id: string; readonly seq: number }
}

const RECONNECT_MS = [200, 4_000] as const
/** A client that hears nothing, not even a ping, ends the connection itself. */
const SILENCE_MS = 65_000

export class StreamClient {
  readonly name: string
  readonly #selection: Selection
  readonly #parts: { process: SimulatedProcess; dial: Dial; url: () => string; random: Random }
  /** The numbers of the events that it has received, in order. */
  readonly received: { readonly seq: number; readonly text: string }[] = []
  readonly missing: { readonly afterSeq: number; readonly upToSeq: number }[] = []
  readonly found: string[] = []
  #fromSeq: number | undefined
  #lastSeq: number | undefined
  #connections = 0
  #isStopped = false

  constructor(
    name: string,
    selection: Selection,
    parts: { process: SimulatedProcess; dial: Dial; url: () => string; random: Random },
  ) {
    this.name = name
    this.#selection = selection
    this.#parts = parts
    this.#connect()
  }

  get connections(): number {
    return this.#connections
  }

  stop(): void {
    this.#isStopped = true
  }

  #connect(): void {
    const { dial, url, process, random } = this.#parts
    const { clock } = process
    const socket = dial(url())
    this.#connections++
    let cancelSilence = () => {}
    const heard = () => {
      cancelSilence()
      cancelSilence = clock.after?.(SILENCE_MS, () => socket.terminate()) ?? (() => {})
    }
    heard()
    socket.on('message', (data: Buffer) => {
      heard()
      const text = data.toString('utf8')
      const frame = JSON.parse(text) as Frame
      if (frame.type === 'welcome') socket.send(JSON.stringify(this.#subscribe()))
      else this.#take(frame, text)
    })
    socket.on('ping', heard)
    // A client of its own will: it leaves after a second or some minutes, in the middle of anything.
    const leaveMs = Math.round(1_000 * 600 ** random())
    const cancelLeave = clock.after?.(leaveMs, () => socket.terminate()) ?? (() => {})
    socket.on('close', () => {
      cancelSilence()
      cancelLeave()
      if (!this.#isStopped) clock.after?.(random.int(...RECONNECT_MS), () => this.#connect())
    })
  }

  #subscribe(): object {
    const { kinds, addresses } = this.#selection
    const resume = this.#lastSeq ?? this.#fromSeq
    return {
      op: 'subscribe',
      id: 's',
      kinds,
      addresses,
      ...(resume === undefined ? {} : { resume_after: resume }),
    }
  }

  #take(frame: Frame, text: string): void {
    switch (frame.type) {
      case 'subscribed':
        this.#fromSeq ??= frame.after_seq ?? 0
        return
      case 'event': {
        const seq = frame.event?.seq ?? 0
        if (seq <= (this.#lastSeq ?? -1))
          this.found.push(`6 ${this.name} got the event ${seq} after ${this.#lastSeq}`)
        this.#lastSeq = seq
        this.received.push({ seq, text: text.slice('{"type":"event","event":'.length, -1) })
        return
      }
      case 'gap':
        this.missing.push({ afterSeq: frame.after_seq ?? 0, upToSeq: frame.up_to_seq ?? 0 })
        return
      case 'error':
        this.found.push(`6 ${this.name} was refused: ${frame.message}`)
    }
  }

  /** What it has received of everything up to a number. `isComplete`: it had the time to receive all of it. */
  compare(truth: LogTruth, upToSeq: number, isComplete: boolean): string[] {
    const wrong = [...this.found]
    const fromSeq = this.#fromSeq
    if (fromSeq === undefined) return isComplete ? [...wrong, `6 ${this.name} was never subscribed`] : wrong
    const lastSeq = isComplete ? upToSeq : (this.#lastSeq ?? fromSeq)
    const isMissing = (seq: number) =>
      this.missing.some(({ afterSeq, upToSeq }) => seq > afterSeq && seq <= upToSeq)
    const expected = truth.events.filter(
      (event) =>
        event.seq > fromSeq &&
        event.seq <= lastSeq &&
        selects(this.#selection, event) &&
        !isMissing(event.seq),
    )
    const got = this.received.filter(({ seq }) => seq <= lastSeq && !isMissing(seq))
    for (let index = 0; index < Math.max(expected.length, got.length); index++) {
      const want = expected[index]
      const have = got[index]
      if (want?.seq === have?.seq && want?.text === have?.text) continue
      wrong.push(
        `6 ${this.name}: event ${want?.seq ?? 'none'} was expected, ${have?.seq ?? 'none'} came (place ${index}, from ${fromSeq})`,
      )
      break
    }
    return wrong
  }
}
