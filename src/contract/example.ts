/**
 * Values that only a running environment knows. The document that a service serves carries current ones, so that
 * its examples can be tried as they stand; the committed file carries those of the recorded answers.
 */
export interface ExampleSamples {
  /** When they were taken. */
  readonly time?: string
  /** Slug of a market of prediction market A. */
  readonly market?: string
  /** A confirmed transaction, an address that it pays, and the transaction in the form that the node takes. */
  readonly txId?: string
  readonly address?: string
  readonly transaction?: unknown
}

/** A value that works everywhere, or one that is made from samples; undefined where they do not have it. */
export type Example<T> = T | ((samples: ExampleSamples) => T | undefined)

export function exampleOf<T>(example: Example<T> | undefined, samples: ExampleSamples): T | undefined {
  return typeof example === 'function'
    ? (example as (samples: ExampleSamples) => T | undefined)(samples)
    : example
}
