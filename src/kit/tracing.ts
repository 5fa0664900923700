/** Spans of the work for a request; recorded only if an operator collects them. */
type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>

export interface SpanOptions<R> {
  readonly kind: 'server' | 'client' | 'internal'
  readonly attributes?: SpanAttributes
  /** Headers of a request: the span belongs to the trace that they name. */
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>
  /** Record the span only inside another one. */
  readonly onlyInside?: boolean
  /** What the result adds to the span; an error marks it as failed. */
  readonly ended?: (result: R) => {
    readonly attributes?: SpanAttributes
    readonly error?: string | undefined
  }
}

export interface Tracing {
  /** Runs the work in a span, which is the parent of spans that the work starts. */
  span<R>(name: string, options: SpanOptions<R>, work: () => R | Promise<R>): R | Promise<R>
  /** Sends the remaining spans. */
  close(): Promise<void>
}
