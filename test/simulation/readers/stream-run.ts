/** One connection to the stream from the client's side: what was requested, what arrived, and what the log had. */
import type { StoredEvent } from '../../../src/store/events.ts'
import type { LogTruth } from './truth.ts'
import { type Selection, selects } from './world.ts'

export interface Frame {
  readonly type: string
  readonly id?: string
  readonly seq?: number
  readonly after_seq?: number
  readonly up_to_seq?: number
  readonly reason?: string
  readonly message?: string
  readonly event?: { readonly id: string; readonly seq: number }
}

const EVENT_HEAD = '{"type":"event","event":'

export class StreamRun {
  readonly #selections: readonly Selection[]
  readonly #droppedSeq: (() => number) | undefined
  readonly #found: string[] = []
  /** The numbers after which the first and the last subscription begin; without a position they may differ. */
  #fromSeq: number | undefined
  #lastFromSeq = 0
  #subscribed = 0
  #live = 0
  #lastSeq = 0
  /** The texts of events by number. */
  readonly #events = new Map<number, string>()
  readonly #gaps: { readonly id: string; readonly afterSeq: number; readonly upToSeq: number }[] = []
  /** The number up to which events were compared. */
  #comparedSeq: number | undefined

  constructor(selections: readonly Selection[], droppedSeq: (() => number) | undefined) {
    this.#selections = selections
    this.#droppedSeq = droppedSeq
  }

  /**
   * Everything selected up to this number has arrived. Several subscriptions progress independently until all of them
   * are live.
   */
  get position(): number | undefined {
    if (this.#fromSeq === undefined || this.#subscribed < this.#selections.length) return undefined
    const isInOrder = this.#selections.length === 1 || this.#live >= this.#selections.length
    return isInOrder ? Math.max(this.#lastFromSeq, this.#lastSeq) : this.#fromSeq
  }

  take(frame: Frame, text: string): void {
    switch (frame.type) {
      case 'subscribed': {
        const afterSeq = frame.after_seq ?? 0
        this.#subscribed++
        this.#fromSeq ??= afterSeq
        this.#lastFromSeq = Math.max(this.#lastFromSeq, afterSeq)
        return
      }
      case 'live':
        this.#live++
        this.#lastSeq = Math.max(this.#lastSeq, frame.seq ?? 0)
        return
      case 'event': {
        const seq = frame.event?.seq ?? 0
        if (this.#events.has(seq)) this.#found.push(`6 # got the event ${seq} twice`)
        const isInOrder = this.#selections.length === 1 || this.#live >= this.#selections.length
        if (isInOrder && seq <= this.#lastSeq)
          this.#found.push(`6 # got the event ${seq} after ${this.#lastSeq}`)
        this.#lastSeq = Math.max(this.#lastSeq, seq)
        this.#events.set(seq, text.slice(EVENT_HEAD.length, -1))
        return
      }
      case 'gap': {
        const { id = '', after_seq: afterSeq = 0, up_to_seq: upToSeq = 0, reason } = frame
        this.#gaps.push({ id, afterSeq, upToSeq })
        const droppedSeq = this.#droppedSeq?.() ?? Number.POSITIVE_INFINITY
        if (reason === 'retention' && upToSeq > droppedSeq)
          this.#found.push(
            `6 # was told that events up to ${upToSeq} are gone, and the log has ${droppedSeq + 1}`,
          )
        return
      }
      case 'error':
        this.#found.push(`6 # was refused: ${frame.message}`)
    }
  }

  /** What the log has for these subscriptions after a number, except for what a gap declared missing. */
  expected(truth: LogTruth, afterSeq: number, upToSeq: number): StoredEvent[] {
    return truth
      .between(afterSeq, upToSeq)
      .filter((event) =>
        this.#selections.some(
          (selection, index) => selects(selection, event) && !this.#isGap(`s${index}`, event.seq),
        ),
      )
  }

  /** Compares what has arrived since the last call. */
  compare(truth: LogTruth): string[] {
    const { position } = this
    if (this.#fromSeq !== undefined && position !== undefined) {
      const afterSeq = this.#comparedSeq ?? this.#lastFromSeq
      for (const event of this.expected(truth, afterSeq, position)) {
        const text = this.#events.get(event.seq)
        if (text === event.text) continue
        const what = text === undefined ? 'did not come' : 'came with another text'
        this.#found.push(`6 #: event ${event.seq} ${what} (after ${this.#lastFromSeq}, up to ${position})`)
        break
      }
      this.#comparedSeq = Math.max(afterSeq, position)
    }
    for (const [seq, text] of this.#events) {
      const event = truth.bySeq(seq)
      if (event === undefined || event.text !== text)
        this.#found.push(`6 # got an event ${seq} that the log has not`)
      else if (seq <= (this.#fromSeq ?? 0) || !this.#selections.some((each) => selects(each, event)))
        this.#found.push(`6 # got the event ${seq}, which it has not asked for`)
      // Kept only for its number: the event must not arrive again.
      this.#events.set(seq, event?.text ?? text)
    }
    return this.#found.splice(0)
  }

  #isGap(id: string, seq: number): boolean {
    return this.#gaps.some((gap) => gap.id === id && seq > gap.afterSeq && seq <= gap.upToSeq)
  }
}
