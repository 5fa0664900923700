import { argumentsOf, DRY_RUN_SCHEMA, MAX_CREDITS_SCHEMA } from './argument-schemas.ts'
import type { ToolEndpoint } from './endpoint-call.ts'
import { spendingOf } from './endpoint-tool.ts'
import { joinCoverage, pageCoverage } from './page-coverage.ts'
import { isDryRun, type JsonObject, readEndpoint } from './read-endpoint.ts'
import { shapeObject } from './shape-answer.ts'
import type { Spending } from './spending.ts'
import { type McpTool, type ToolArguments, type ToolContext, ToolFailure } from './tool.ts'

/** Recorded independently of the venues that settle on prices. */
const WITNESS = { source: 'oracle', interval: '5m' }
const CANDLE_MS = 300_000

interface ProofEndpoints {
  readonly market: ToolEndpoint
  readonly candles: ToolEndpoint
  readonly snapshotAt: ToolEndpoint
}

/**
 * The evidence for the result of a prediction market, side by side: the venue's result, the reference prices in its
 * record, the oracle at both ends of its window, and its own last order book. What was not recorded is null, never
 * guessed.
 */
export function proofTool({ market, candles, snapshotAt }: ProofEndpoints): McpTool {
  const { identifier = {}, source = {} } = argumentsOf(new Map([['market', market]]))
  return {
    name: 'market_proof',
    title: 'Proof of a market',
    description:
      "What the result of a prediction market rests on: the venue's result, its reference prices, the oracle at start and end, the last book before the close.",
    inputSchema: {
      type: 'object',
      properties: { identifier, source, max_credits: MAX_CREDITS_SCHEMA, dry_run: DRY_RUN_SCHEMA },
      required: ['identifier'],
      additionalProperties: false,
    },
    async run(args, context) {
      const { max_credits: _max, dry_run: _dry, ...named } = args
      const spending = spendingOf(args)
      if (isDryRun(args)) {
        const credits = [market, candles, candles, snapshotAt].reduce(
          (sum, { cost }) => sum + cost.least(),
          0,
        )
        return { dry_run: { credits }, price: spending.price }
      }
      const reader = { ...context, spending, maxRows: 1 }
      const { body: record } = await readEndpoint(market, named, reader)
      const [startMs, endMs] = [Date.parse(String(record.start_time)), Date.parse(String(record.end_time))]
      if (Number.isNaN(startMs) || Number.isNaN(endMs))
        throw new ToolFailure(
          `${String(record.market_id)} is a perpetual: it has no end and no result.`,
          'Name a prediction market; find_markets with source predmkt_a or predmkt_b lists them.',
          { price: spending.price },
        )
      const asset = { symbol: String(record.symbol) }
      const candleAt = (fromMs: number) =>
        part(candles, { ...asset, ...WITNESS, start: iso(fromMs), end: iso(fromMs + CANDLE_MS) }, reader)
      const hasEnded = record.status === 'closed' || record.status === 'resolved'
      // The price at an instant is in the candle that begins, or ends, with it.
      const first = await candleAt(startMs)
      const last = hasEnded ? await candleAt(endMs - CANDLE_MS) : NOT_YET
      const asked = { ...asset, source: String(record.source), market_id: String(record.market_id) }
      const when = hasEnded ? { time: iso(endMs) } : { interval: String(record.market_type) }
      const book = await part(snapshotAt, { ...asked, ...when }, reader)
      const prices = (start: unknown, end: unknown, coverage?: JsonObject | null) => ({
        start: start ?? null,
        end: end ?? null,
        ...judged(record, start, end),
        ...(coverage === undefined ? {} : { coverage }),
      })
      return shapeObject({
        market: record,
        evidence: {
          venue: { winner: record.winner, resolved_at: record.resolved_at },
          reference_prices: prices(record.reference_price_start, record.reference_price_end),
          oracle: prices(first.row?.open, last.row?.close, joinCoverage([first.coverage, last.coverage])),
          last_book: { snapshot: book.row ?? null, coverage: book.coverage },
        },
        ...failures({ oracle_start: first, oracle_end: last, last_book: book }),
        note: 'The result is the venue’s. The oracle is another feed than the one a venue settles on: near a tie they may differ.',
        price: spending.price,
      })
    },
  }
}

interface Part {
  readonly row?: JsonObject | undefined
  readonly coverage: JsonObject | null
  readonly failed?: unknown
}

const NOT_YET: Part = { coverage: null, failed: 'The market has not ended.' }

/** One piece of evidence. If it cannot be read, this is reported beside the others, which have been paid for. */
async function part(
  endpoint: ToolEndpoint,
  input: ToolArguments,
  context: ToolContext & { readonly spending: Spending; readonly maxRows: number },
): Promise<Part> {
  if (context.isOver()) return { coverage: null, failed: 'The time for one call was over.' }
  try {
    const page = await readEndpoint(endpoint, input, context)
    const { data, meta } = page.body as { data?: JsonObject | JsonObject[] | null; meta?: JsonObject }
    const row = Array.isArray(data) ? data[0] : (data ?? undefined)
    return { row, coverage: pageCoverage(page) ?? (meta?.coverage as JsonObject | undefined) ?? null }
  } catch (error) {
    if (!(error instanceof ToolFailure)) throw error
    return { coverage: null, failed: error.detail }
  }
}

function failures(parts: Readonly<Record<string, Part>>): JsonObject {
  const failed = Object.entries(parts).flatMap(([name, each]) =>
    each.failed === undefined ? [] : [[name, each.failed]],
  )
  return failed.length === 0 ? {} : { failed: Object.fromEntries(failed) }
}

/** Which side of a strike wins is part of the venue's question, so for a strike only the comparison is reported. */
function judged(record: JsonObject, start: unknown, end: unknown): JsonObject {
  const { strike, winner } = record
  if (typeof strike === 'number')
    return { above_strike: typeof end === 'number' ? end > strike : null, strike }
  if (typeof start !== 'number' || typeof end !== 'number') return { result: null, agrees: null }
  const result = end >= start ? 'Up' : 'Down'
  return { result, agrees: typeof winner === 'string' ? winner === result : null }
}

const iso = (ms: number) => new Date(ms).toISOString()
