/**
 * Values that only a running environment has. A running service fills its OpenAPI document with current ones, so that
 * the examples work as they are; the committed file has those of the recorded answers.
 */
export interface ExampleSamples {
  /** When the samples were taken. */
  readonly time?: string
  /** Slug of a market of prediction market A. */
  readonly market?: string
  /** A confirmed transaction, an address that it pays, and the transaction in the form that the node accepts. */
  readonly txId?: string
  readonly address?: string
  readonly transaction?: unknown
  /** A covenant with an unspent output, and the address of that output. */
  readonly covenantId?: string
  readonly covenantAddress?: string
  readonly tokenId?: string
}

/** A value that always works, or one made from the samples; undefined if they lack it. */
export type Example<T> = T | ((samples: ExampleSamples) => T | undefined)

export function exampleOf<T>(example: Example<T> | undefined, samples: ExampleSamples): T | undefined {
  return typeof example === 'function'
    ? (example as (samples: ExampleSamples) => T | undefined)(samples)
    : example
}
