import { argumentsOf, DRY_RUN_SCHEMA, MAX_CREDITS_SCHEMA, requiredOf } from './argument-schemas.ts'
import type { ToolEndpoint } from './endpoint-call.ts'
import { askedFields, FIELDS_SCHEMA, maxRowsOf, shapedAnswer, spendingOf } from './endpoint-tool.ts'
import { joinCoverage, pageCoverage } from './page-coverage.ts'
import { type EndpointPage, isDryRun, type JsonObject, readEndpoint } from './read-endpoint.ts'
import { MAX_ANSWER_CHARS, shapeObject } from './shape-answer.ts'
import type { Spending } from './spending.ts'
import { summarise } from './summarise.ts'
import {
  type McpTool,
  ownChoice,
  ownWhole,
  type ToolArguments,
  type ToolContext,
  ToolFailure,
} from './tool.ts'

const MAX_BUCKETS = 60
/** A summary reads pages of this size, one after another, so that other requests are served in between. */
const PAGE_ROWS = 1_000
const MAX_PAGES = 5
const MAX_SERIES = 12

/** Datasets: every market list with a time range, by the last word of its path. */
export function historyDatasets(endpoints: readonly ToolEndpoint[]): ReadonlyMap<string, ToolEndpoint> {
  return new Map(
    endpoints
      .filter(
        ({ method, doc, returns, params }) =>
          method === 'GET' &&
          doc.tag === 'market' &&
          returns.kind === 'list' &&
          params.start !== undefined &&
          params.end !== undefined,
      )
      .map((endpoint) => [endpoint.path.split('/').at(-1) ?? endpoint.path, endpoint]),
  )
}

export function historyTool(endpoints: readonly ToolEndpoint[]): McpTool {
  const datasets = historyDatasets(endpoints)
  return {
    name: 'get_history',
    title: 'Market history',
    description:
      'Rows of a dataset, or with buckets a summary (first, last, min, max, mean of every number) of up to 5,000 rows. Newest first unless start is given. `coverage` lists gaps: a gap is missing data, not a quiet market.',
    inputSchema: {
      type: 'object',
      properties: {
        dataset: { type: 'string', enum: [...datasets.keys()] },
        ...argumentsOf(datasets),
        buckets: {
          type: 'integer',
          minimum: 1,
          maximum: MAX_BUCKETS,
          description: 'Summarise into this many equal steps of time.',
        },
        fields: FIELDS_SCHEMA,
        max_credits: MAX_CREDITS_SCHEMA,
        dry_run: DRY_RUN_SCHEMA,
      },
      required: ['dataset', ...requiredOf(datasets)],
      additionalProperties: false,
    },
    async run(args, context) {
      const name = ownChoice(args, 'dataset', [...datasets.keys()])
      const endpoint = datasets.get(name ?? '')
      if (endpoint === undefined) throw new Error(`${name} is no dataset`)
      const { dataset: _dataset, buckets, fields: _fields, max_credits: _max, ...asked } = args
      const spending = spendingOf(args)
      if (buckets !== undefined && !isDryRun(args)) {
        const count = ownWhole(args, 'buckets', { min: 1, max: MAX_BUCKETS, fallback: 1 })
        return summary(endpoint, asked, count, { ...context, spending, fields: askedFields(args) })
      }
      const maxRows = buckets === undefined ? maxRowsOf(args) : PAGE_ROWS
      const page = await readEndpoint(endpoint, asked, { ...context, spending, maxRows })
      return shapedAnswer(page, args, spending)
    },
  }
}

async function summary(
  endpoint: ToolEndpoint,
  { limit: _limit, ...asked }: ToolArguments,
  buckets: number,
  context: ToolContext & { spending: Spending; fields: readonly string[] | undefined },
): Promise<JsonObject> {
  const { spending, fields } = context
  const { rows, pages, stopped } = await readPages(endpoint, asked, context)
  const nextCursor = pages.at(-1)?.nextCursor ?? null
  const facts = { coverage: joinCoverage(pages.map(pageCoverage)), price: spending.price }
  if (rows.length === 0) return shapeObject({ rows: [], note: 'There are no rows in this range.', ...facts })
  const times = rows.map((row) => String(row.timestamp)).toSorted()
  const build = (count: number) => ({
    ...summarise(rows, {
      buckets: count,
      identity: identityOf(endpoint, rows),
      ...(fields ? { fields } : {}),
    }),
    ...(count === buckets
      ? {}
      : {
          note: `${buckets} steps are too long for one answer, so these are ${count}. Name fields for more.`,
        }),
    summarised: { rows: rows.length, between: [times[0], times.at(-1)] },
    rest:
      nextCursor === null
        ? null
        : {
            how: `${stopped} Make the same call with this argument added to go on after these rows, use a coarser interval, or raise max_credits.`,
            add: { after: nextCursor },
          },
    ...facts,
  })
  let count = buckets
  let answer = build(count)
  while (count > 1 && JSON.stringify(answer).length > MAX_ANSWER_CHARS) {
    count = Math.floor(count / 2)
    answer = build(count)
  }
  return shapeObject(answer)
}

async function readPages(
  endpoint: ToolEndpoint,
  asked: ToolArguments,
  context: ToolContext & { spending: Spending },
): Promise<{ rows: JsonObject[]; pages: EndpointPage[]; stopped: string }> {
  const pages: EndpointPage[] = []
  const maxRows = Math.min(PAGE_ROWS, Number(endpoint.params.limit?.schema.maximum ?? PAGE_ROWS))
  let stopped = `A summary reads at most ${MAX_PAGES * maxRows} rows.`
  while (pages.length < MAX_PAGES) {
    if (context.isOver()) {
      stopped = 'The time for one call was over.'
      break
    }
    const after = pages.at(-1)?.nextCursor
    try {
      const input = after === undefined || after === null ? asked : { ...asked, after }
      pages.push(await readEndpoint(endpoint, input, { ...context, maxRows }))
    } catch (error) {
      // The pages read so far have been paid for, so they are summarised.
      if (pages.length === 0 || !(error instanceof ToolFailure)) throw error
      stopped = error.message
      break
    }
    const [first] = pages
    if (first !== undefined && pages.length === 1) checkSeries(endpoint, first, context.spending)
    if (pages.at(-1)?.nextCursor === null) break
  }
  if (pages.length === 0) throw new ToolFailure('The time for one call was over.', 'Ask for a shorter range.')
  return { rows: pages.flatMap(({ rows = [] }) => rows), pages, stopped }
}

/**
 * Many markets at once have no common summary. This is detected after the first page, before the others are paid for.
 */
function checkSeries(
  endpoint: ToolEndpoint,
  { rows = [] }: EndpointPage,
  { charged, price }: Spending,
): void {
  const identity = identityOf(endpoint, rows)
  const series = new Set(rows.map((row) => JSON.stringify(identity.map((name) => row[name])))).size
  if (series <= MAX_SERIES) return
  throw new ToolFailure(
    `The rows belong to ${series} series (${identity.join(', ')}), too many to summarise. ${charged} credits were charged.`,
    'Give source and, for prediction markets, market_id or token_id.',
    { error: 'too_many_series', price },
  )
}

/** What distinguishes the series of a dataset: the parameters that are also fields of its rows. */
function identityOf({ params }: ToolEndpoint, rows: readonly JsonObject[]): string[] {
  return Object.keys(params).filter((name) => rows.some((row) => Object.hasOwn(row, name)))
}
