/** Endpoints for tests of the gate: a list, a POST, prices of every kind, and handlers that fail or wait. */
import { Type } from 'typebox'
import { base, flat, noCredits } from '../../src/contract/costs.ts'
import { at, endpointFor, type ListAnswer, object } from '../../src/contract/endpoint.ts'
import { ROW_SEPARATOR } from '../../src/contract/envelopes.ts'
import {
  flag,
  integer,
  interval,
  needsTier,
  number,
  onlyFor,
  optional,
  page,
  source,
  symbol,
  text,
  timeRange,
  withDefault,
} from '../../src/contract/params.ts'
import { ApiError } from '../../src/core/errors.ts'

export interface TestServices {
  /** Rows that exist. */
  rows: number
  /** How often the POST has run. */
  runs: number
  /** The POST waits for this promise. */
  wait: () => Promise<void>
  /** The status of the POST's answer; 201 by default. */
  status?: number
  /** Properties of the list's page. */
  sealed: boolean
  /** Of the last call of a list. */
  rowLimit?: number
}

export function testServices(): TestServices {
  return { rows: 10_000, runs: 0, wait: async () => {}, sealed: false }
}

const endpoint = endpointFor<TestServices>()
const Row = Type.Object({
  n: Type.Integer({ description: 'Number.' }),
  text: Type.Union([Type.String(), Type.Null()], { description: 'Text.' }),
})
const Answer = Type.Object({ runs: Type.Integer({ description: 'Runs.' }) })
const doc = (summary: string) => ({ tag: 'market' as const, summary })

function rowsOf(count: number): string {
  const texts = ['plain', 'a,b', 'say "x"', 'two\nlines', '', null]
  return Array.from({ length: count }, (_, n) => JSON.stringify({ n, text: texts[n % texts.length] })).join(
    ROW_SEPARATOR,
  )
}

const list = endpoint({
  path: 'GET /v1/list',
  doc: doc('A list'),
  access: {
    scope: 'market',
    history: { of: 'funding', whenOlder: 'refuse', refusal: 'tier_restricted' },
    intervalGate: 'interval',
  },
  params: {
    symbol: symbol(),
    source: optional(source('cexa', 'cexa_spot', 'perpdex')),
    interval: withDefault(interval(['1m', '5m', '15m', '1h', '24h']), '1h'),
    min_usd: needsTier('business', optional(number('Least value.', { min: 0, max: 1e12 }))),
    depth: onlyFor(['cexa'], withDefault(integer('Levels.', { min: 1, max: 50 }), 10)),
    full: flag('Whole books.'),
    ...timeRange('exclusive'),
    ...page({ default: 500, max: 10_000 }),
  },
  cost: base(50).perRow(3).perRowWhen('with full', 10, { full: true }),
  returns: { kind: 'list', name: 'TestRow', row: Row },
  aliases: [at('GET /v1/perpdex/list', { source: 'perpdex' }), at('GET /v1/full/list', { full: true })],
  run: ({ rowLimit, services, range, ignored, input, dryRun }): ListAnswer => {
    services.rowLimit = rowLimit
    const count = Math.min(rowLimit, services.rows)
    const hasMore = services.rows > count
    return {
      kind: 'list',
      rows: dryRun ? '' : rowsOf(count),
      count,
      hasMore,
      nextCursor: hasMore ? `c${count}` : null,
      meta: { symbol: input.symbol, source: input.source ?? null, interval: input.interval, ignored },
      sealed: services.sealed,
      clamped: range?.clamp !== undefined,
      coverageComplete: true,
    }
  },
})

/** Its rows are read when the POST may continue. */
const slowList = endpoint({
  path: 'GET /v1/slow-list',
  doc: doc('A list that waits'),
  params: { ...page({ default: 500, max: 10_000 }) },
  cost: base(50).perRow(3),
  returns: { kind: 'list', name: 'SlowRow', row: Row },
  run: async ({ rowLimit, services }): Promise<ListAnswer> => {
    await services.wait()
    return {
      kind: 'list',
      rows: rowsOf(rowLimit),
      count: rowLimit,
      hasMore: true,
      nextCursor: `c${rowLimit}`,
      meta: {},
      sealed: false,
      clamped: false,
      coverageComplete: true,
    }
  },
})

const clamping = endpoint({
  path: 'GET /v1/clamping',
  doc: doc('A list that clamps'),
  access: { history: { of: 'candles', whenOlder: 'clamp', refusal: 'tier_restricted' } },
  params: { ...timeRange('exclusive'), ...page({ default: 1, max: 10 }) },
  cost: base(50).perRow(3),
  returns: { kind: 'list', name: 'ClampRow', row: Row },
  run: ({ range }) => ({
    kind: 'list',
    rows: JSON.stringify({ n: range?.fromMs, text: null }),
    count: 1,
    hasMore: false,
    nextCursor: null,
    meta: { original: range?.clamp?.originalStartMs ?? null },
    sealed: false,
    clamped: range?.clamp !== undefined,
    coverageComplete: true,
  }),
})

const create = endpoint({
  path: 'POST /v1/things',
  doc: doc('Creates a thing'),
  access: { scope: 'webhooks' },
  body: {
    name: 'NewThing',
    schema: Type.Object(
      {
        url: Type.String({ minLength: 3 }),
        size: Type.Integer({ minimum: 1, maximum: 9 }),
        kinds: Type.Optional(Type.Array(Type.String())),
      },
      { additionalProperties: false },
    ),
    example: { url: 'https://example.com', size: 1 },
  },
  cost: flat(10),
  returns: object('Thing', Answer, 201),
  run: async ({ services }) => {
    services.runs++
    const runs = services.runs
    await services.wait()
    const { status = 201 } = services
    return { kind: 'object', value: { runs }, status, headers: [['Location', `/v1/things/${runs}`]] }
  },
})

/** Answers with the requested number of characters. */
const long = endpoint({
  path: 'POST /v1/long',
  doc: doc('Answers at length'),
  body: {
    name: 'Length',
    schema: Type.Object({ characters: Type.Integer({ minimum: 1 }) }, { additionalProperties: false }),
    example: { characters: 1 },
  },
  cost: flat(10),
  returns: object('Long', Type.Object({ text: Type.String({ description: 'Text.' }) })),
  run: ({ services, body }) => {
    services.runs++
    return { kind: 'object', value: { text: 'x'.repeat((body as { characters: number }).characters) } }
  },
})

/** Costs as much as its body says. */
const calls = endpoint({
  path: 'POST /v1/calls',
  doc: doc('Calls'),
  body: {
    name: 'Calls',
    schema: Type.Object({ calls: Type.Integer({ minimum: 0 }) }, { additionalProperties: false }),
    example: { calls: 1 },
  },
  cost: base(0).per('call', 1),
  demand: (body) => ({ requests: 1, units: { call: (body as { calls: number }).calls }, heavyCalls: 0 }),
  returns: object('Called', Answer),
  run: ({ services, body }) => ({
    kind: 'object',
    value: { runs: ++services.runs },
    units: { call: (body as { calls: number }).calls },
  }),
})

const rotate = endpoint({
  path: 'POST /v1/things/{id}/rotate',
  doc: doc('Changes one thing'),
  access: { scope: 'webhooks' },
  params: { id: text('Which one.', { example: 'a', pattern: /^[a-z]+$/, expected: 'a word' }) },
  cost: flat(10),
  returns: object('Rotated', Answer),
  run: ({ services }) => ({ kind: 'object', value: { runs: ++services.runs } }),
})

export const paid = endpoint({
  path: 'GET /v1/paid',
  doc: doc('Costs ten'),
  cost: flat(10),
  returns: object('Paid', Answer),
  run: async ({ services }) => {
    await services.wait()
    return { kind: 'object', value: { runs: services.runs } }
  },
})

/** Costs more than its base, which is known only when it has run. */
const lookup = endpoint({
  path: 'GET /v1/lookup',
  doc: doc('Looks something up'),
  cost: base(10).per('lookup', 5),
  returns: object('Found', Answer),
  run: ({ services }) => ({ kind: 'object', value: { runs: ++services.runs }, units: { lookup: 1 } }),
})

const free = endpoint({
  path: 'GET /v1/free',
  doc: doc('Costs nothing'),
  cost: noCredits,
  returns: object('Free', Answer),
  run: () => ({ kind: 'object', value: { runs: 0 } }),
})

const proOnly = endpoint({
  path: 'GET /v1/pro',
  doc: doc('For pro'),
  access: { tier: 'pro', feature: 'pro_thing' },
  params: { symbol: symbol() },
  cost: flat(1),
  returns: object('Pro', Answer),
  run: () => ({ kind: 'object', value: { runs: 0 } }),
})

/** Answers that are not a success although nothing was thrown. */
const unavailable = endpoint({
  path: 'GET /v1/unavailable',
  doc: doc('No node'),
  cost: flat(10),
  returns: object('Unavailable', Answer),
  run: () => ({ kind: 'object', value: { runs: 0 }, status: 503 }),
})

const broken = endpoint({
  path: 'GET /v1/broken',
  doc: doc('Fails'),
  cost: flat(10),
  returns: object('Broken', Answer),
  run: () => {
    throw new Error('the password of the database is hunter2')
  },
})

const upstream = endpoint({
  path: 'GET /v1/upstream',
  doc: doc('Node fails'),
  cost: flat(10),
  returns: object('Upstream', Answer),
  errors: ['upstream_timeout'],
  run: async () => {
    throw new ApiError('upstream_timeout', 'No node answered in time.')
  },
})

export const TEST_ENDPOINTS = [
  list,
  slowList,
  clamping,
  create,
  long,
  calls,
  rotate,
  paid,
  lookup,
  free,
  proOnly,
  unavailable,
  broken,
  upstream,
]
