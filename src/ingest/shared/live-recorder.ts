import type { Topic } from '../../venues/channel.ts'
import type { DataObservation } from '../../venues/observation.ts'

/** The recorder of a symbol, as far as live data is concerned. */
export interface LiveRecorder {
  observe(observation: DataObservation): void
  /** Something of a channel was missed; an open end is the present. */
  gap(topic: Topic, fromMs: number, toMs: number): void
  /** A channel begins, for the first time or again. */
  begins(topic: Topic, atMs: number): void
  /** Frames of a channel could not be read, up to an instant: what they said is not known. */
  doubted?(topic: Topic, atMs: number): void
  /** Puts what is due: open candles, samples, tickers. Every second; everything up to `receivedToMs` has been received. */
  show(nowMs: number, receivedToMs: number): void
  /** Requests what is missing of what was received. Every second, also while the store fails. */
  pursue?(): void
  /** Puts book samples. Every half second. */
  sample(nowMs: number, receivedToMs: number): void
  /** Judges whether what should be received is. Every half second, also while the store fails and nothing is put. */
  judge?(nowMs: number): void
  /** Requests what has ended from the venue and closes it. */
  close(nowMs: number): Promise<void>
  /** A polled channel has answered, with or without new data. */
  answered?(topic: Topic, atMs: number): void
  /** Everything of a channel before an instant was received. */
  observedTo?(topic: Topic, toMs: number): void
}
