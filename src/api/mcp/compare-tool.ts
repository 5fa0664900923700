import { argumentsOf, DRY_RUN_SCHEMA, MAX_CREDITS_SCHEMA } from './argument-schemas.ts'
import type { ToolEndpoint } from './endpoint-call.ts'
import { spendingOf } from './endpoint-tool.ts'
import { pageCoverage } from './page-coverage.ts'
import { type EndpointPage, isDryRun, type JsonObject, readEndpoint } from './read-endpoint.ts'
import { shapePage } from './shape-answer.ts'
import { type McpTool, ToolFailure } from './tool.ts'

const MAX_SOURCES = 6
const MAX_TIMES = 100
const DEFAULT_TIMES = 24

/** Closing prices of several sources side by side, from the candles of each source. */
export function compareTool(candles: ToolEndpoint): McpTool {
  const sources = candles.params.source?.allowed ?? []
  const given = argumentsOf(new Map([['candles', candles]]))
  const { symbol, interval, start, end } = given
  return {
    name: 'compare_sources',
    title: 'Compare sources',
    description:
      'Closing prices of one symbol at several sources side by side, with the spread between them in percent of the lowest. A missing value is null, with the reason in coverage or failed.',
    inputSchema: {
      type: 'object',
      properties: {
        sources: {
          type: 'string',
          description: `Two to ${MAX_SOURCES}, comma-separated: ${sources.join(', ')}.`,
        },
        ...{ symbol: symbol ?? {}, interval: interval ?? {}, start: start ?? {}, end: end ?? {} },
        limit: { type: 'integer', minimum: 1, maximum: MAX_TIMES, default: DEFAULT_TIMES },
        max_credits: MAX_CREDITS_SCHEMA,
        dry_run: DRY_RUN_SCHEMA,
      },
      required: ['sources', 'symbol'],
      additionalProperties: false,
    },
    async run(args, context) {
      const { sources: list, max_credits: _max, limit: asked, ...shared } = args
      const names = [
        ...new Set(
          String(list)
            .split(',')
            .map((name) => name.trim()),
        ),
      ]
      const unknown = names.filter((name) => !sources.includes(name))
      if (unknown.length > 0 || names.length < 2 || names.length > MAX_SOURCES)
        throw new ToolFailure(
          unknown.length > 0
            ? `There is no source ${unknown.join(', ').slice(0, 100)}.`
            : `${names.length} sources are named.`,
          `Name two to ${MAX_SOURCES} of: ${sources.join(', ')}.`,
          { param: 'sources', allowed: sources },
        )
      const limit = asked ?? DEFAULT_TIMES
      const spending = spendingOf(args)
      const closes = new Map<string, JsonObject>()
      const coverage: JsonObject = {}
      const failed: JsonObject = {}
      const prices: JsonObject = {}
      const known = { from: '', to: '~' }
      for (const source of names) {
        if (context.isOver()) {
          failed[source] = 'The time for one call was over.'
          continue
        }
        try {
          const input = { ...shared, limit, source }
          const page = await readEndpoint(candles, input, { ...context, spending, maxRows: MAX_TIMES })
          if (isDryRun(args)) prices[source] = page.body.credits
          coverage[source] = pageCoverage(page)
          narrow(known, page)
          for (const row of page.rows ?? []) {
            const at = String(row.timestamp)
            const sameTime = closes.get(at) ?? {
              timestamp: at,
              ...Object.fromEntries(names.map((name) => [name, null])),
            }
            // Prediction markets have several markets and legs at one time, and their prices are not those of the
            // asset.
            sameTime[source] = sameTime[source] === null ? row.close : 'several series'
            closes.set(at, sameTime)
          }
        } catch (error) {
          if (!(error instanceof ToolFailure) || names.length === Object.keys(failed).length + 1) throw error
          failed[source] = error.detail
        }
      }
      if (isDryRun(args)) return { dry_run: prices, failed, price: spending.price }
      const rows = [...closes.values()]
        .filter(({ timestamp }) => String(timestamp) >= known.from && String(timestamp) <= known.to)
        .toSorted((a, b) => (String(a.timestamp) < String(b.timestamp) ? -1 : 1))
        .map((row) => ({ ...row, spread_percent: spreadOf(names.map((name) => row[name])) }))
      const page = { body: {}, rows, facts: { coverage, failed }, cursorParam: null, nextCursor: null }
      const note = 'For other times give start and end; rows are in time order.'
      return shapePage(page, { price: spending.price, note })
    },
  }
}

/**
 * If a source has more rows than were read, times beyond its last row are left out, because they are not missing there.
 */
function narrow(known: { from: string; to: string }, { rows = [], nextCursor }: EndpointPage): void {
  if (nextCursor === null || rows.length === 0) return
  const [first, last] = [String(rows[0]?.timestamp), String(rows.at(-1)?.timestamp)]
  if (first > last) known.from = last > known.from ? last : known.from
  else known.to = last < known.to ? last : known.to
}

function spreadOf(values: readonly unknown[]): number | null {
  const numbers = values.filter((value) => typeof value === 'number')
  if (numbers.length < 2) return null
  const low = Math.min(...numbers)
  return low <= 0 ? null : Number((((Math.max(...numbers) - low) / low) * 100).toFixed(4))
}
