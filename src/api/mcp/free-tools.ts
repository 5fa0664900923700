import { SOURCE_INFO } from '../../core/source.ts'
import {
  DEFAULT_MAX_CREDITS,
  DEFAULT_ROWS,
  DRY_RUN_SCHEMA,
  MAX_CREDITS_SCHEMA,
  MAX_ROWS,
} from './argument-schemas.ts'
import type { ToolEndpoint } from './endpoint-call.ts'
import { spendingOf } from './endpoint-tool.ts'
import { historyDatasets } from './history-tool.ts'
import { parseBody } from './parse-body.ts'
import { isDryRun, type JsonObject, readEndpoint, toolFailureOf } from './read-endpoint.ts'
import { MAX_ANSWER_CHARS, shapeObject } from './shape-answer.ts'
import { Spending } from './spending.ts'
import { type McpTool, ownChoice, ToolFailure } from './tool.ts'

/** What can be requested: symbols, sources, datasets and how fresh they are. */
export function findSourcesTool(endpoints: readonly ToolEndpoint[]): McpTool | undefined {
  const symbols = endpoints.find(({ path }) => path === '/v1/symbols')
  const status = endpoints.find(({ path }) => path === '/v1/status')
  if (symbols === undefined || status === undefined) return undefined
  const names = Object.keys(SOURCE_INFO)
  return {
    name: 'find_sources',
    title: 'Find sources and symbols',
    description:
      'Start here. Which symbols, sources, datasets and intervals there are, what is recorded from when to when, and prices. Free.',
    inputSchema: {
      type: 'object',
      properties: { source: { type: 'string', enum: names, description: 'Only this source.' } },
      additionalProperties: false,
    },
    async run(args, context) {
      const source = ownChoice(args, 'source', names)
      const reading = { ...context, spending: new Spending(0), maxRows: MAX_ROWS }
      const [known, state] = [
        await readEndpoint(symbols, {}, reading),
        await readEndpoint(status, {}, reading),
      ]
      const recorded = (state.body.ingestion ?? []) as JsonObject[]
      return shapeObject({
        symbols: known.body.symbols,
        sources: Object.entries(SOURCE_INFO)
          .filter(([name]) => source === undefined || name === source)
          .map(([name, info]) => ({
            source: name,
            display_name: info.displayName,
            candle_intervals: info.candleIntervals,
            recorded: recorded.find((record) => record.source === name) ?? 'not being recorded now',
          })),
        datasets: [...historyDatasets(endpoints)].map(
          ([dataset, { params, onlySource, access, cost, doc }]) => ({
            dataset,
            about: doc.summary,
            sources: params.source?.allowed ?? onlySource,
            intervals: params.interval?.allowed,
            min_tier: access.tier,
            credits: cost.describe(),
          }),
        ),
        notice: state.body.notice,
        price: reading.spending.price,
      })
    },
  }
}

/** Plan, credits, limits, and the price of everything that the tools can read. */
export function explainCostTool(endpoints: readonly ToolEndpoint[]): McpTool | undefined {
  const limits = endpoints.find(({ path }) => path === '/v1/limits')
  if (limits === undefined) return undefined
  return {
    name: 'explain_cost',
    title: 'Explain cost and limits',
    description:
      'Plan, credits left, rate limits, history depth, the price of each endpoint and the caps of these tools. Free. For the exact price of one call make it with dry_run.',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    async run(_args, context) {
      const reading = { ...context, spending: new Spending(0), maxRows: MAX_ROWS }
      const page = await readEndpoint(limits, {}, reading)
      return shapeObject({
        ...page.body,
        prices: Object.fromEntries(
          endpoints
            .filter(({ method, access }) => method === 'GET' && access.auth === 'key')
            .map(({ path, cost, access }) => [
              path,
              `${cost.describe()}${access.tier === 'free' ? '' : `, from ${access.tier}`}`,
            ]),
        ),
        caps: {
          rows: { default: DEFAULT_ROWS, most: MAX_ROWS },
          characters: MAX_ANSWER_CHARS,
          max_credits_default: DEFAULT_MAX_CREDITS,
        },
        rules: [
          'A refused request costs nothing.',
          'Each tool call counts as one request of the rate, plus one for each endpoint that it reads.',
          'More rows at once: the HTTP API itself, with the same key.',
        ],
        price: reading.spending.price,
      })
    },
  }
}

/** Fees and state of the node, from two endpoints. */
export function chainStatusTool(endpoints: readonly ToolEndpoint[]): McpTool | undefined {
  const fees = endpoints.find(({ path }) => path === '/v1/fees/estimate')
  const rpc = endpoints.find(({ method, path }) => method === 'POST' && path === '/rpc')
  if (fees === undefined || rpc === undefined) return undefined
  return {
    name: 'get_chain_status',
    title: 'Chain status and fees',
    description: 'Fee rates by urgency, and network, sync and version of the Kaspa node.',
    inputSchema: {
      type: 'object',
      properties: { max_credits: MAX_CREDITS_SCHEMA, dry_run: DRY_RUN_SCHEMA },
      additionalProperties: false,
    },
    async run(args, context) {
      const spending = spendingOf(args)
      const credits = fees.cost.least() + NODE_METHODS.length * lightCallPrice(rpc)
      if (isDryRun(args)) return { dry_run: { credits }, price: spending.price }
      const reading = { ...context, spending, maxRows: MAX_ROWS }
      const estimate = await readEndpoint(fees, {}, reading)
      const node: JsonObject = {}
      for (const method of NODE_METHODS) {
        // The fees have been paid for, so a failure of the node is reported beside them.
        node[method] = await callNode(rpc, method, reading).catch((error: unknown) => {
          if (error instanceof ToolFailure) return error.detail
          throw error
        })
      }
      return shapeObject({ fees: estimate.body, node, price: spending.price })
    },
  }
}

/** The only node methods that a tool calls: they only read and take no parameters. */
const NODE_METHODS = ['getServerInfo', 'getBlockDagInfo'] as const
const lightCallPrice = ({ cost }: ToolEndpoint) => cost.charge({ 'light call': 1 })

async function callNode(
  rpc: ToolEndpoint,
  method: (typeof NODE_METHODS)[number],
  { call, spending }: { call: Parameters<McpTool['run']>[1]['call']; spending: Spending },
): Promise<unknown> {
  spending.ensure(rpc, lightCallPrice(rpc))
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: {} })
  const reply = await call({ endpoint: rpc, pathParams: {}, query: '', body })
  spending.note(rpc, reply.header)
  const answer = parseBody(reply.text)
  if (reply.status !== 200) throw toolFailureOf(reply, answer, rpc)
  return answer.result ?? answer.error ?? null
}
