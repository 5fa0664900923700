import type { Topic } from '../../venues/channel.ts'
import type { DataObservation } from '../../venues/observation.ts'

/** The part of a symbol's recorder that handles live data. */
export interface LiveRecorder {
  observe(observation: DataObservation): void
  /** Data of a channel was missed; an infinite `toMs` means that the gap is still open. */
  gap(topic: Topic, fromMs: number, toMs: number): void
  /** A channel starts to deliver, for the first time or again. */
  begins(topic: Topic, atMs: number): void
  /** Frames of a channel received up to this instant could not be read, so their content is unknown. */
  doubted?(topic: Topic, atMs: number): void
  /**
   * Puts what is due: open candles, samples, tickers. Called every second; everything up to `receivedToMs` has been
   * received.
   */
  show(nowMs: number, receivedToMs: number): void
  /** Requests what is missing in the received data. Called every second, even while the store fails. */
  pursue?(): void
  /** Puts book samples. Called every half second. */
  sample(nowMs: number, receivedToMs: number): void
  /**
   * Checks whether the expected data arrives. Called every half second, even while the store fails and nothing is put.
   */
  judge?(nowMs: number): void
  /** Requests periods that have ended from the venue and closes them. */
  close(nowMs: number): Promise<void>
  /** A polled channel has answered, with or without new data. */
  answered?(topic: Topic, atMs: number): void
  /** Everything of a channel before `toMs` was received; nothing before `settledMs` can be replaced any more. */
  observedTo?(topic: Topic, toMs: number, settledMs?: number): void
}
