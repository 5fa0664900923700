/** What the running code derives from its declarations, as plain data. The only file here that loads `src/`. */

import type { PublishedRoute } from '../../src/api/publish/router.ts'
import type { AnyEndpoint } from '../../src/contract/endpoint.ts'

const ROOT = new URL('../../', import.meta.url)

export interface DerivedOperation {
  auth: string
  tier: string
  base: number
  /** Price per row with what the path fixes, and with a whole order book of prediction market A. */
  row: number
  orderbookRow: number
  other: number[]
  history: { of: string; whenOlder: string; refusal: string } | null
  intervalGate: string | null
  rateLimit: string
  list: boolean
  bound: Record<string, unknown>
  params: Record<string, Record<string, unknown>>
  headers: string[]
  body: { required?: string[]; properties?: Record<string, Record<string, unknown>> } | null
}

export interface Derived {
  version: string
  operations: Record<string, DerivedOperation>
  plans: unknown[]
  errors: [number, string][]
  catalogSources: string[]
  symbols: string[]
  /** Candle intervals by source. */
  candleIntervals: Record<string, readonly string[]>
  creditsPerDelivery: number
}

interface OpenApiOperation {
  parameters: {
    name: string
    in: string
    required: boolean
    schema: Record<string, unknown>
    'x-min-tier'?: string
  }[]
  responses: Record<string, { headers?: Record<string, unknown> }>
}

/** @param suffix loads fresh copies of the modules, for a run with a changed source. */
export async function derive(suffix = ''): Promise<Derived> {
  const load = <T>(path: string) => import(new URL(`${path}${suffix}`, ROOT).href) as Promise<T>
  const { ENDPOINTS } =
    await load<typeof import('../../src/api/endpoints/list.ts')>('src/api/endpoints/list.ts')
  const { openapiDocument } = await load<typeof import('../../src/api/publish/openapi.ts')>(
    'src/api/publish/openapi.ts',
  )
  const { publishedRoutes: routesOf } =
    await load<typeof import('../../src/api/publish/router.ts')>('src/api/publish/router.ts')
  const catalog = await load<typeof import('../../src/api/publish/catalog.ts')>('src/api/publish/catalog.ts')
  const { ERRORS, publicCode } = await load<typeof import('../../src/core/errors.ts')>('src/core/errors.ts')
  const { BUILT_IN_PLANS } = await load<typeof import('../../src/core/plan.ts')>('src/core/plan.ts')

  const { SOURCE_INFO } = await load<typeof import('../../src/core/source.ts')>('src/core/source.ts')
  const { CREDITS_PER_EVENT } =
    await load<typeof import('../../src/webhooks/credits.ts')>('src/webhooks/credits.ts')

  const document = openapiDocument(ENDPOINTS) as {
    info: { version: string }
    paths: Record<string, Record<string, OpenApiOperation>>
  }
  const operations: Record<string, DerivedOperation> = {}
  for (const route of routesOf(ENDPOINTS)) {
    const published = document.paths[route.path]?.[route.method.toLowerCase()]
    if (published === undefined) throw new Error(`${route.path} is not published`)
    operations[`${route.method} ${route.path}`] = operationOf(route, published)
  }
  const kinds = Object.keys(ERRORS) as (keyof typeof ERRORS)[]
  return {
    version: document.info.version,
    operations,
    plans: JSON.parse(JSON.stringify(BUILT_IN_PLANS)) as unknown[],
    errors: kinds.map((kind) => [ERRORS[kind].status, publicCode(kind)]),
    catalogSources: catalog.sourcesCatalog(ENDPOINTS, BUILT_IN_PLANS).data.map((record) => record.source),
    symbols: catalog.symbolsCatalog(() => null).symbols.map((record) => record.symbol),
    candleIntervals: Object.fromEntries(
      Object.entries(SOURCE_INFO).map(([source, info]) => [source, info.candleIntervals]),
    ),
    creditsPerDelivery: CREDITS_PER_EVENT,
  }
}

function operationOf<Services>(
  route: PublishedRoute<Services>,
  published: OpenApiOperation,
): DerivedOperation {
  const endpoint: AnyEndpoint<Services> = route.endpoint
  const { access, cost } = endpoint
  const rowPrice = (input: Record<string, unknown>) => cost.charge({ row: 1 }, input) - cost.charge({}, input)
  const success = Object.entries(published.responses).find(([status]) => status.startsWith('20'))
  return {
    auth: access.auth,
    tier: access.tier,
    base: cost.base,
    row: rowPrice(route.bound),
    orderbookRow: rowPrice({ source: 'predmkt_a', ...route.bound, include_orderbook: true }),
    other: Object.entries(cost.prices)
      .filter(([unit]) => unit !== 'row')
      .map(([, price]) => price)
      .sort((a, b) => a - b),
    history: access.history ? { ...access.history } : null,
    intervalGate: access.intervalGate ?? null,
    rateLimit: endpoint.rateLimitError,
    list: endpoint.returns.kind === 'list',
    bound: { ...route.bound },
    params: Object.fromEntries(
      published.parameters
        .filter((param) => param.in !== 'header')
        .map((param) => [
          param.name,
          { ...param.schema, required: param.required, tier: param['x-min-tier'] ?? null },
        ]),
    ),
    headers: Object.keys(success?.[1].headers ?? {}),
    body: endpoint.body
      ? (JSON.parse(JSON.stringify(endpoint.body.schema)) as DerivedOperation['body'])
      : null,
  }
}
