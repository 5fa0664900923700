/**
 * One list of calls for both transports: each tool with good, bad and expensive arguments, and what the answer must be.
 * The tools of the chain need a node, so they are asked in a service of their own.
 */
import assert from 'node:assert/strict'
import type { Client } from '@modelcontextprotocol/client'
import { FINAL, HOUR, SLUG, TICKER } from '../fakes/market-world.ts'
import { callTool, type ToolAnswer, type ToolArgs } from './mcp-client.ts'

/** As stated in the guide; typed in here so that a change shows. */
const MAX_ANSWER_CHARS = 20_000
const MAX_ROWS = 100

interface ToolCall {
  readonly tool: string
  readonly args: ToolArgs
  readonly kind: 'good' | 'bad' | 'expensive'
  /** Of an answer: what it charges at least and at most. */
  readonly credits?: readonly [number, number]
  /** Of a refusal: its code. */
  readonly error?: string
  /** What the text says. */
  readonly says?: RegExp
}

const good = (tool: string, args: ToolArgs, credits: readonly [number, number], says?: RegExp): ToolCall => ({
  ...{ tool, args, kind: 'good', credits },
  ...(says ? { says } : {}),
})
const bad = (tool: string, args: ToolArgs, error: string, says: RegExp): ToolCall => ({
  ...{ tool, args, kind: 'bad', error, says },
})
/** More than the caller wants to pay: refused with the price, and nothing charged. */
const dear = (tool: string, args: ToolArgs, needed: number): ToolCall => ({
  ...{ tool, args: { ...args, max_credits: needed - 1 }, kind: 'expensive', error: 'max_credits' },
  says: new RegExp(`Set max_credits to ${needed} or more`),
})
/** As much as the tool gives: within its caps and what may be paid. */
const most = (tool: string, args: ToolArgs, credits: readonly [number, number], says?: RegExp): ToolCall => ({
  ...good(tool, args, credits, says),
  kind: 'expensive',
})

const iso = (ms: number) => new Date(ms).toISOString()
const range = { start: iso(FINAL - 24 * HOUR), interval: '1h' }
const candles = { dataset: 'candles', symbol: 'BTC', source: 'cexa' }
const book = { symbol: 'BTC', source: 'predmkt_b', market_id: TICKER, time: iso(FINAL) }
const COVERAGE = /"coverage":\{/
const HASH = 'ab'.repeat(32)

export const MARKET_CALLS: readonly ToolCall[] = [
  good('find_sources', { source: 'oracle' }, [0, 0], /"source":"oracle"/),
  bad('find_sources', { source: 'nowhere' }, 'invalid_argument', /Use one of: cexa/),
  bad('find_sources', { sources: 'cexa' }, 'invalid_argument', /Did you mean source/),
  most('find_sources', {}, [0, 0], /"dataset":"candles"/),

  good('find_markets', { symbol: 'BTC', limit: 2 }, [1, 100]),
  bad('find_markets', { symbol: 'DOGE' }, 'invalid_symbol', /Use one of: BTC/),
  bad('find_markets', { limit: 'many' }, 'invalid_param', /limit/),
  most('find_markets', { limit: 100 }, [1, 1_000]),
  dear('find_markets', {}, 25),

  good('get_market', { identifier: SLUG }, [25, 25], new RegExp(SLUG)),
  bad('get_market', { identifier: 'no-such-market' }, 'market_not_found', /find_markets/),
  bad('get_market', {}, 'invalid_argument', /Give identifier/),
  dear('get_market', { identifier: SLUG }, 25),

  good('get_history', { ...candles, ...range }, [53, 200], COVERAGE),
  good('get_history', { ...candles, ...range, buckets: 4 }, [53, 200], COVERAGE),
  good('get_history', { dataset: 'trades', symbol: 'BTC', limit: 100 }, [1, 1_000], COVERAGE),
  good('get_history', { dataset: 'funding', symbol: 'BTC' }, [1, 1_000], COVERAGE),
  good('get_history', { dataset: 'candles', ...book, time: undefined, market_id: TICKER }, [1, 1_000]),
  bad('get_history', { dataset: 'candles' }, 'invalid_argument', /Give symbol/),
  bad('get_history', { dataset: 'candle', symbol: 'BTC' }, 'invalid_argument', /Use one of: candles/),
  bad('get_history', { ...candles, sorce: 'cexa' }, 'invalid_argument', /Did you mean source/),
  bad('get_history', { ...candles, symbol: 'DOGE' }, 'invalid_symbol', /Use one of: BTC/),
  bad('get_history', { ...candles, interval: '7m' }, 'invalid_interval', /Use one of: 1s/),
  bad('get_history', { ...candles, buckets: 1_000 }, 'invalid_argument', /from 1 to 60/),
  bad('get_history', { ...candles, symbol: ['BTC'] }, 'invalid_argument', /must be a text/),
  bad('get_history', { ...candles, max_credits: -1 }, 'invalid_argument', /from 0 to/),
  bad('get_history', { ...candles, max_credits: 'all' }, 'invalid_argument', /from 0 to/),
  bad(
    'get_history',
    { ...candles, start: iso(FINAL), end: iso(FINAL - HOUR) },
    'invalid_time_range',
    /start must be before end/,
  ),
  bad('get_history', { ...candles, after: 'nonsense' }, 'invalid_param', /Leave after out/),
  most(
    'get_history',
    { dataset: 'snapshots', symbol: 'BTC', source: 'predmkt_a', include_orderbook: true, limit: 100 },
    [1, 1_000],
    COVERAGE,
  ),
  // Fewer rows than there are, since no more may be paid.
  most(
    'get_history',
    { ...candles, interval: '1h', limit: 100, max_credits: 62 },
    [62, 62],
    /"rows_shown":4/,
  ),
  most('get_history', { ...candles, interval: '1h', buckets: 3, max_credits: 110 }, [110, 110], /"rest":\{/),
  dear('get_history', { ...candles, interval: '1h' }, 53),

  good('get_snapshot', book, [50, 53], COVERAGE),
  bad('get_snapshot', { ...book, time: 'yesterday' }, 'invalid_param', /time/),
  bad('get_snapshot', { ...book, source: 'oracle' }, 'invalid_source', /Use one of/),
  dear('get_snapshot', book, 50),

  good('compare_sources', { symbol: 'BTC', sources: 'cexa,perpdex', ...range, limit: 5 }, [1, 500], COVERAGE),
  bad('compare_sources', { symbol: 'BTC', sources: 'cexa' }, 'invalid_argument', /Name two to 6/),
  bad('compare_sources', { symbol: 'BTC', sources: 'cexa,nowhere' }, 'invalid_argument', /Name two to 6/),
  most(
    'compare_sources',
    { symbol: 'BTC', sources: 'cexa,cexa_futures,perpdex', ...range },
    [1, 1_000],
    COVERAGE,
  ),
  dear('compare_sources', { symbol: 'BTC', sources: 'cexa,perpdex' }, 53),

  good('market_proof', { identifier: SLUG }, [181, 181], /"agrees":true/),
  bad('market_proof', { identifier: 'no-such-market' }, 'market_not_found', /find_markets/),
  bad('market_proof', { identifier: 'BTC', source: 'perpdex' }, 'invalid_argument', /is a perpetual/),
  most('market_proof', { identifier: SLUG, max_credits: 100 }, [78, 100], /"failed":\{"oracle_end"/),
  dear('market_proof', { identifier: SLUG }, 25),

  good('explain_cost', {}, [0, 0], /"max_credits_default":1000/),
  bad('explain_cost', { tool: 'get_history' }, 'invalid_argument', /no argument/),
  most('explain_cost', {}, [0, 0], /"\/v1\/candles":/),

  bad('drop_tables', {}, 'invalid_argument', /Use one of: find_sources/),
]

/** What the chain has: `txId` is a confirmed transaction of `address`. */
export interface OnChain {
  readonly address: string
  readonly txId: string
  readonly covenantId: string
}

export function chainCalls({ address, txId, covenantId }: OnChain): readonly ToolCall[] {
  const is = (text: string) => new RegExp(text)
  return [
    good('lookup_transaction', { tx_id: txId }, [10, 10], is(txId)),
    bad('lookup_transaction', { tx_id: HASH }, 'transaction_not_found', /Check the transaction id/),
    bad('lookup_transaction', { tx_id: '..' }, 'invalid_argument', /tx_id/),
    bad('lookup_transaction', {}, 'invalid_argument', /Give tx_id/),
    dear('lookup_transaction', { tx_id: HASH }, 15),

    ...['balance', 'transactions', 'utxos', 'activity', 'covenants'].map((part) =>
      good('lookup_address', { part, address }, [10, 1_000], is(address)),
    ),
    bad('lookup_address', { address: 'kaspa:nonsense' }, 'invalid_param', /address/),
    bad('lookup_address', { address, part: 'owner' }, 'invalid_argument', /Use one of: transactions/),
    most(
      'lookup_address',
      { part: 'transactions', address, limit: 100, max_credits: 11 },
      [11, 11],
      /"rest":\{/,
    ),
    dear('lookup_address', { address }, 11),

    good('lookup_covenant', { covenant_id: covenantId }, [11, 1_000], is(covenantId)),
    good('lookup_covenant', { covenant_id: covenantId, part: 'utxos' }, [10, 1_000], is(covenantId)),
    bad('lookup_covenant', { covenant_id: 'cd'.repeat(32) }, 'not_found', /covenant/),
    dear('lookup_covenant', { covenant_id: HASH }, 11),

    good('get_chain_status', { dry_run: true }, [0, 0], /"dry_run":\{"credits":3\}/),
    good('get_chain_status', {}, [3, 3], /"network":"testnet-10"/),
    bad('get_chain_status', { network: 'mainnet' }, 'invalid_argument', /no argument/),
    good('get_chain_status', { max_credits: 3 }, [3, 3], /"virtualDaaScore"/),
    most('get_chain_status', { max_credits: 1 }, [1, 1], /max_credits/),
    dear('get_chain_status', {}, 1),
  ]
}

/** Makes every call and returns the answers, so that those of two transports can be compared. */
export async function answersOf(client: Client, calls: readonly ToolCall[]): Promise<ToolAnswer[]> {
  const answers: ToolAnswer[] = []
  for (const call of calls) {
    const answer = await callTool(client, call.tool, call.args)
    check(call, answer)
    answers.push(answer)
  }
  return answers
}

function check({ tool, args, credits, error, says }: ToolCall, answer: ToolAnswer): void {
  const what = `${tool} ${JSON.stringify(args)}: ${answer.text}`
  assert.ok(answer.text.length <= MAX_ANSWER_CHARS, what)
  assert.ok(((answer.json.rows as unknown[] | undefined)?.length ?? 0) <= MAX_ROWS, what)
  if (says !== undefined) assert.match(answer.text, says, what)
  assert.equal(answer.isError, error !== undefined, what)
  if (error !== undefined) {
    assert.equal(answer.json.error, error, what)
    assert.equal(typeof answer.json.what_to_change, 'string', what)
    return
  }
  const { credits_charged: charged, max_credits: max } = answer.price
  const [least = 0, atMost = 0] = credits ?? []
  assert.ok(charged >= least && charged <= atMost && charged <= Math.max(max, 0), `${charged}: ${what}`)
}

/** Each tool that a service lists, in each kind of call. */
export function uncalledTools(names: readonly string[], calls: readonly ToolCall[]): string[] {
  return names.flatMap((tool) =>
    (['good', 'bad', 'expensive'] as const)
      .filter((kind) => !calls.some((call) => call.tool === tool && call.kind === kind))
      .map((kind) => `${tool}: ${kind}`),
  )
}
