/** The typed-in contract against what the declarations give: every difference, in words. */
import type { Derived, DerivedOperation } from './derived.ts'
import {
  ALIASES,
  EXPECTED_LATER,
  OPEN_OPERATIONS,
  OPERATIONS,
  type OperationTable,
  type ParamTable,
} from './operations.ts'
import {
  CANDLE_INTERVALS,
  CATALOG_SOURCES,
  CONTRACT_VERSION,
  CREDITS_PER_DELIVERY,
  ERROR_CODES,
  LIST_HEADERS,
  METER_HEADERS,
  PLANS,
  SYMBOLS,
} from './tables.ts'

/** Read by the gate itself, on every GET and on every list. */
const GATE_PARAMS: Record<string, ParamTable> = {
  dry_run: { type: 'boolean', default: false },
  format: { type: 'string', enum: ['json', 'ndjson', 'csv'], default: 'json' },
}

export function differences(derived: Derived): string[] {
  const found: string[] = []
  const same = (what: string, actual: unknown, expected: unknown) => {
    const [a, b] = [JSON.stringify(sorted(actual)), JSON.stringify(sorted(expected))]
    if (a !== b) found.push(`${what}: is ${a}, the contract says ${b}`)
  }
  same('version', derived.version, CONTRACT_VERSION)
  same('symbols', derived.symbols, SYMBOLS)
  same('sources of the catalog', derived.catalogSources, CATALOG_SOURCES)
  same('candle intervals', derived.candleIntervals, CANDLE_INTERVALS)
  same('price of a delivered event', derived.creditsPerDelivery, CREDITS_PER_DELIVERY)
  for (const [index, plan] of PLANS.entries()) same(`plan ${plan.name}`, derived.plans[index], plan)
  same('number of plans', derived.plans.length, PLANS.length)
  const code = ([status, name]: readonly [number, string]) => `${status} ${name}`
  same('errors', derived.errors.map(code).sort(), ERROR_CODES.map(code).sort())
  same('operations', Object.keys(derived.operations).sort(), expectedOperations().sort())
  for (const [name, operation] of Object.entries(derived.operations)) {
    if (OPEN_OPERATIONS.includes(name)) {
      same(`${name} auth`, operation.auth, 'none')
      same(`${name} price`, [operation.base, operation.row, ...operation.other], [0, 0])
      continue
    }
    const alias = ALIASES[name]
    const table = OPERATIONS[alias?.of ?? name]
    if (table === undefined) continue
    compareOperation(name, operation, table, same)
    same(`${name} bound`, operation.bound, alias?.bound ?? {})
    same(`${name} price per row`, operation.row, alias?.row ?? table.credits.row)
    const params = { ...table.params, ...alias?.params }
    compareParams(name, operation, params, alias?.bound ?? {}, same)
  }
  return found
}

function expectedOperations(): string[] {
  return [...Object.keys(OPERATIONS), ...Object.keys(ALIASES), ...OPEN_OPERATIONS].filter(
    (name) => !EXPECTED_LATER.includes(name),
  )
}

type Same = (what: string, actual: unknown, expected: unknown) => void

function compareOperation(name: string, actual: DerivedOperation, table: OperationTable, same: Same): void {
  same(`${name} auth`, actual.auth, 'key')
  same(`${name} tier`, actual.tier, table.tier)
  same(`${name} base price`, actual.base, table.credits.base)
  same(`${name} other prices`, actual.other, table.credits.other ?? [])
  const { row, orderbook = row } = table.credits
  const onPredmktA = [undefined, 'predmkt_a'].includes(actual.bound.source as string | undefined)
  same(`${name} price with books`, actual.orderbookRow, onPredmktA ? orderbook : row)
  same(`${name} history`, actual.history, table.history ?? null)
  same(`${name} interval gate`, actual.intervalGate, table.intervalGate ?? null)
  same(`${name} rate limit code`, actual.rateLimit, table.rateLimit ?? 'rate_limited')
  same(`${name} is a list`, actual.list, table.list ?? false)
  const headers = [
    ...METER_HEADERS,
    ...(table.list ? LIST_HEADERS : []),
    'Cache-Control',
    ...(name.startsWith('POST ') ? ['Idempotent-Replayed'] : []),
  ]
  const own = actual.headers.filter((header) => table.list || header !== 'ETag')
  same(`${name} headers`, own, headers)
  for (const [field, expected] of Object.entries(table.body ?? {})) {
    const schema = actual.body?.properties?.[field] ?? {}
    const required = actual.body?.required?.includes(field) ?? false
    same(`${name} body ${field}`, facts({ ...schema, required }, expected.type), expectedFacts(expected))
  }
}

function compareParams(
  name: string,
  actual: DerivedOperation,
  table: Readonly<Record<string, ParamTable>>,
  bound: Record<string, unknown>,
  same: Same,
): void {
  const expected: Record<string, ParamTable> = { ...table }
  for (const fixed of Object.keys(bound)) delete expected[fixed]
  if (name.startsWith('GET ')) expected.dry_run = GATE_PARAMS.dry_run ?? {}
  if (actual.list) expected.format = GATE_PARAMS.format ?? {}
  same(`${name} parameters`, Object.keys(actual.params).sort(), Object.keys(expected).sort())
  for (const [param, facet] of Object.entries(expected)) {
    same(`${name} ${param}`, facts(actual.params[param] ?? {}, facet.type), expectedFacts(facet))
  }
}

/** The facts of a schema that the contract speaks of. */
function facts(schema: Record<string, unknown>, type: string | undefined): ParamTable {
  const { minimum, maximum, enum: values, required, tier } = schema
  return {
    required: required === true,
    ...(type === undefined ? {} : { type: schema.type as 'string' }),
    ...(minimum === undefined ? {} : { min: minimum as number }),
    ...(maximum === undefined ? {} : { max: maximum as number }),
    ...(schema.default === undefined ? {} : { default: schema.default as string }),
    ...(values === undefined ? {} : { enum: values as string[] }),
    ...(tier === undefined || tier === null ? {} : { tier: tier as string }),
  }
}

function expectedFacts(table: ParamTable): ParamTable {
  return { ...table, required: table.required ?? false }
}

/** Members in one order, whatever order they were written in. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner)]),
  )
}
