/** Spans of what is done for a request; made only where an operator collects them. */
type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>

export interface SpanOptions<R> {
  readonly kind: 'server' | 'client' | 'internal'
  readonly attributes?: SpanAttributes
  /** Of a request: the span belongs to the trace that they name. */
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>
  /** Nothing is recorded outside of another span. */
  readonly onlyInside?: boolean
  /** What the result adds; an error is why it counts as a failure. */
  readonly ended?: (result: R) => {
    readonly attributes?: SpanAttributes
    readonly error?: string | undefined
  }
}

export interface Tracing {
  /** Does the work in a span, which is the parent of those that it begins. */
  span<R>(name: string, options: SpanOptions<R>, work: () => R | Promise<R>): R | Promise<R>
  /** Sends what was not sent yet. */
  close(): Promise<void>
}
