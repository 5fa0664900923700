import { ConnectionError, CreditLimitError } from './errors.ts'
import type { CallOptions, DryRun, Operation } from './generated.ts'
import type { Answer } from './transport.ts'

export interface Page<Row, Meta> {
  readonly rows: readonly Row[]
  /** Information about the rows: coverage with its gaps, clamping, ignored parameters … */
  readonly meta: Meta
  /** Null on the last page. */
  readonly nextCursor: string | null
  readonly credits: number
  /** Whether the page was unchanged or sealed, and therefore free. */
  readonly fromCache: boolean
}

type Call = (params: object, options: CallOptions, maxLost?: number) => Promise<Answer>

/** Rows of a list, read on demand. Every iteration starts at the first page. */
export class Rows<Row, Meta> implements AsyncIterable<Row> {
  readonly #operation: Operation
  readonly #params: object
  readonly #call: Call
  readonly #options: CallOptions

  constructor(operation: Operation, params: object, call: Call, options: CallOptions = {}) {
    this.#operation = operation
    this.#params = params
    this.#call = call
    this.#options = options
  }

  /** One page: the first one, or the one after a cursor. */
  async page(cursor?: string | null): Promise<Page<Row, Meta>> {
    return (await this.#page(cursor ?? null)).page
  }

  /** What one page costs; takes no credits. */
  cost(cursor?: string | null): Promise<DryRun> {
    return this.#cost(cursor ?? null)
  }

  /**
   * Reads page by page. With `maxCredits` the price of each page is requested first, and a page that would exceed the
   * limit is a `CreditLimitError`, which says where to continue. An answer that was lost on its way counts as paid.
   */
  async *pages({ maxCredits }: { maxCredits?: number } = {}): AsyncGenerator<Page<Row, Meta>, void, void> {
    let creditsUsed = 0
    for (let cursor: string | null = null; ; ) {
      const price = maxCredits === undefined ? undefined : await this.#cost(cursor)
      const left = (maxCredits ?? 0) - creditsUsed
      const refusal = (nextPageCredits: number, lost: number) =>
        new CreditLimitError<Row>({
          rows: [],
          creditsUsed: creditsUsed + lost,
          nextPageCredits,
          nextCursor: cursor,
        })
      if (price !== undefined && price.credits > left) throw refusal(price.credits, 0)
      const { page, lostAttempts } = await this.#pageWithin(cursor, price, left, refusal)
      creditsUsed += page.credits + lostAttempts * (price?.credits ?? 0)
      yield page
      if (page.nextCursor === null) return
      cursor = page.nextCursor
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Row, void, void> {
    for await (const page of this.pages()) yield* page.rows
  }

  /** All rows. The `CreditLimitError` of `maxCredits` (see `pages`) contains the rows read so far. */
  async all(options: { maxCredits?: number } = {}): Promise<Row[]> {
    const rows: Row[] = []
    try {
      for await (const page of this.pages(options)) for (const row of page.rows) rows.push(row)
    } catch (error) {
      if (error instanceof CreditLimitError) throw new CreditLimitError({ ...error, rows })
      throw error
    }
    return rows
  }

  /** Does not retry if the lost answers and another attempt together could cost more than is left. */
  async #pageWithin(
    cursor: string | null,
    price: DryRun | undefined,
    left: number,
    refusal: (nextPageCredits: number, lost: number) => Error,
  ) {
    if (price === undefined) return this.#page(cursor)
    // Keeps rows that arrive between the two requests from raising the price of the page.
    const limit = this.#operation.hasLimit && price.rows > 0 ? { limit: price.rows } : {}
    const maxLost = price.credits === 0 ? Number.POSITIVE_INFINITY : Math.floor(left / price.credits) - 1
    try {
      return await this.#page(cursor, limit, maxLost)
    } catch (error) {
      if (error instanceof ConnectionError && error.lostAttempts > maxLost)
        throw refusal(price.credits, error.lostAttempts * price.credits)
      throw error
    }
  }

  #paramsAt(cursor: string | null): object {
    const { cursorParam } = this.#operation
    return cursor === null || cursorParam === undefined
      ? this.#params
      : { ...this.#params, [cursorParam]: cursor }
  }

  async #cost(cursor: string | null): Promise<DryRun> {
    const { body } = await this.#call({ ...this.#paramsAt(cursor), dry_run: true }, this.#options)
    return body as DryRun
  }

  async #page(cursor: string | null, more: object = {}, maxLost?: number) {
    const { body, info } = await this.#call({ ...this.#paramsAt(cursor), ...more }, this.#options, maxLost)
    const whole = body as Record<string, unknown>
    const meta = (whole.meta ?? whole) as Meta & { next_cursor?: string | null }
    const page: Page<Row, Meta> = {
      rows: whole[this.#operation.rowsField ?? 'data'] as Row[],
      meta,
      nextCursor: meta.next_cursor ?? null,
      credits: info.credits,
      fromCache: info.fromCache,
    }
    return { page, lostAttempts: info.lostAttempts }
  }
}
