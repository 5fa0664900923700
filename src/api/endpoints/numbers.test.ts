/** Every number that an endpoint takes, in the query or in the body: a value of another form is refused by name. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Body } from '../../contract/endpoint.ts'
import { type Param, ParamRefusal } from '../../contract/params.ts'
import { readTransaction } from '../../core/chain/transaction-json.ts'
import { ApiError } from '../../core/errors.ts'
import { BUILT_IN_PLANS, type Plan } from '../../core/plan.ts'
import { parseQuery } from '../../gate/query.ts'
import { readRequestBody } from '../../gate/read-body.ts'
import { readInput } from '../../gate/read-input.ts'
import { ENDPOINTS } from './list.ts'
import type { Services } from './services.ts'

const plan = BUILT_IN_PLANS.at(-1) as Plan

/** As sent in a query; an unencoded plus is a space. */
const NO_NUMBERS = [
  ...['', '%20', '%205', '5%20', '+5', '5%00', '%D9%A5', '%EF%BC%95', '5%E2%80%8B', '1_000', '1,000', '0x10'],
  ...[
    'NaN',
    'Infinity',
    '-Infinity',
    'null',
    'undefined',
    'true',
    '[]',
    '[5]',
    '{}',
    '--5',
    '5-',
    '5n',
    '١٢',
  ],
]
const NO_INTEGERS = [
  '0.5',
  '1.0',
  '5.',
  '.5',
  '1e3',
  '1E300',
  '1e-3',
  '1e400',
  '9007199254740993',
  `${2n ** 64n}`,
]
const NO_TIMES = [
  '0.5',
  '-1',
  '1e12',
  '000000001',
  '0001773446400',
  '1773446400.5',
  '9007199254740993',
  `${2n ** 64n}`,
]

function faultIn(param: Param, name: string, query: string): string | undefined {
  const { faults } = readInput(
    { [name]: param },
    { query: parseQuery(query), path: {}, bound: {}, gateParams: [] },
  )
  return faults.find((fault) => fault.param === name)?.message
}

const inQueries = ENDPOINTS.flatMap(({ method, path, params }) =>
  Object.entries(params)
    .filter(([, { kind }]) => kind === 'integer' || kind === 'number' || kind === 'time')
    .map(([name, param]) => ({ name, param, place: `${method} ${path} ${name}` })),
)

test('queries: what is no number, no whole number or no time is refused by name; a number is read as it is', () => {
  assert.ok(inQueries.length > 30, `${inQueries.length}`)
  for (const { name, param, place } of inQueries) {
    const own = { integer: NO_INTEGERS, time: NO_TIMES }[param.kind as string] ?? []
    for (const text of [...NO_NUMBERS, ...own]) {
      const message = faultIn(param, name, `${name}=${text}`)
      assert.match(message ?? '', new RegExp(`^${name} (must be|is empty)`), `${place}=${text}`)
    }
    assert.match(faultIn(param, name, `${name}=1&${name}=2`) ?? '', /more than once/, place)
    if (param.kind === 'time') continue
    const { minimum, maximum } = param.schema as { minimum: number; maximum: number }
    assert.ok(Math.abs(minimum) <= Number.MAX_SAFE_INTEGER && maximum <= Number.MAX_SAFE_INTEGER, place)
    for (const value of [minimum, maximum]) assert.equal(param.read(String(value)), value, place)
    for (const value of [minimum - 1, maximum + 1]) {
      assert.ok(param.read(String(value)) instanceof ParamRefusal, `${place}=${value}`)
    }
  }
})

interface Shape {
  readonly type?: string
  readonly items?: Shape
  readonly anyOf?: readonly Shape[]
  readonly properties?: Readonly<Record<string, Shape>>
}

function numbersIn(shape: Shape, path: readonly string[] = []): string[][] {
  const forms = shape.anyOf ?? [shape]
  const isNumber = forms.some(({ type }) => type === 'integer' || type === 'number')
  const inner = forms.flatMap(({ items, properties = {} }) => [
    ...(items === undefined ? [] : numbersIn(items, [...path, '0'])),
    ...Object.entries(properties).flatMap(([name, member]) => numbersIn(member, [...path, name])),
  ])
  return isNumber ? [[...path], ...inner] : inner
}

/** A body that has only this member. */
function bodyAt(path: readonly string[], text: string): string {
  return path.reduceRight((inner, name) => (name === '0' ? `[${inner}]` : `{"${name}":${inner}}`), text)
}

/** The names of what is wrong, as the schema finds it or else the endpoint. */
async function faultsOf({ body, run }: (typeof ENDPOINTS)[number], text: string): Promise<string[]> {
  if (body === undefined) return []
  const { otherFaults: _, ...spec } = body
  const sent = { contentType: 'application/json', contentEncoding: undefined, plan, body: Buffer.from(text) }
  const services = {
    isDiskLow: () => false,
    webhooks: { subscriptions: { replay: () => assert.fail(text) } },
  } as unknown as Services
  try {
    const read = await readRequestBody(spec as Body<Services>, sent, services)
    const context = { services, body: read, input: {}, caller: {} } as unknown as Parameters<typeof run>[0]
    await run(context)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { param, errors = [] } = error.detail
    return [param ?? '', ...errors.map((fault) => fault.param)]
  }
  return []
}

/** The reader of transactions finds what a schema cannot say, once the rest fits. */
function faultsOfTransaction(path: readonly string[], text: string): string[] {
  const read = readTransaction(JSON.parse(bodyAt(path.slice(1), text)))
  return read.ok ? [] : read.faults.map((fault) => fault.path.replaceAll(/\[(\d+)\]/g, '.$1'))
}

const NOT_EXACT = ['1e300', '12345678901234567890123']
const NO_BODY_NUMBERS = ['-1', '-9007199254740993', '0.25', 'true', '[]', '[5]', '{}']
const NO_BODY_TEXTS = ['""', '" 5"', '"5 "', '"+5"', '"٥"', '"5n"', '"0x5"', '"1e3"']

test('bodies: what is negative, no whole number, not exact or of another type is refused by name', async () => {
  let places = 0
  for (const endpoint of ENDPOINTS) {
    const { body, method, path } = endpoint
    // JSON-RPC has its own reader (fuzz-params.test.ts).
    if (body === undefined || body.read !== undefined) continue
    for (const place of numbersIn(body.schema as Shape)) {
      places++
      const name = place.join('.')
      for (const text of [...NOT_EXACT, ...NO_BODY_NUMBERS, ...NO_BODY_TEXTS]) {
        const sent = bodyAt(place, text)
        const found = await faultsOf(endpoint, sent)
        if (place[0] === 'transaction') found.push(...faultsOfTransaction(place, text))
        // A member of one of several forms is reported as a whole.
        const isNamed = found.some((param) => param === name || param === place.slice(0, -1).join('.'))
        assert.ok(isNamed, `${method} ${path} ${sent}: ${found}`)
      }
    }
  }
  assert.ok(places > 10, `${places}`)
})
