import type { AnyEndpoint } from '../../contract/endpoint.ts'
import { FORMATS } from '../../contract/envelopes.ts'
import { type ExampleSamples, exampleOf } from '../../contract/example.ts'
import { ERRORS, type ErrorKind, publicCode } from '../../core/errors.ts'
import { tierInWords } from '../../core/plan.ts'
import { creditTable } from './credits.ts'
import recorded from './examples.json' with { type: 'json' }
import { fillExamples } from './fill-examples.ts'
import { dryRunBody, errorBody, listMeta, problemBody, responseHeaders } from './openapi-parts.ts'
import { type PublishedRoute, pathParamsOf, publishedRoutes } from './router.ts'
import { shareParts } from './share-parts.ts'

type Json = Record<string, unknown>

/** The version of the contract. Additive changes raise the last number. */
const CONTRACT_VERSION = '1.6.0'

/** Written by `npm run examples`: the values of its requests, and the answers by operation. */
const RECORDED: { samples: ExampleSamples; answers: Readonly<Record<string, unknown>> } = recorded

const TAGS: Record<string, string> = {
  market: 'History of prices, trades, books and derived series.',
  node: 'Access to the chain node: proxy, transactions, fees, addresses.',
  webhooks: 'Signed callbacks for chain events.',
  account: 'The account, its limits and the state of the service.',
  service: 'Open endpoints: health and documents.',
}

/** The document in the repository, with the values of the recorded requests. */
export function committedOpenapi<Services>(endpoints: readonly AnyEndpoint<Services>[]): object {
  return fillExamples(shareParts(openapiDocument(endpoints, {})), endpoints, RECORDED.samples)
}

/**
 * The OpenAPI 3.1 document with everything written out, derived from the declarations. Its examples are answers of a
 * running sandbox (recorded by `npm run examples`); `samples` are example values for its requests.
 */
export function openapiDocument<Services>(
  endpoints: readonly AnyEndpoint<Services>[],
  samples: ExampleSamples = RECORDED.samples,
): Json {
  const paths: Record<string, Json> = {}
  const refusals: Refusals = new Map()
  for (const route of publishedRoutes(endpoints)) {
    const item = paths[route.path] ?? {}
    item[route.method.toLowerCase()] = operation(route, samples, refusals)
    paths[route.path] = item
  }
  const used = new Set(endpoints.map((endpoint) => endpoint.doc.tag))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tapeline',
      version: CONTRACT_VERSION,
      summary: 'Market history and chain node access behind one key.',
      description:
        'Every answer is metered in credits; `x-credits` on each operation says what it costs and `x-min-tier` which plan may call it. Failed requests cost nothing. Plans are called free, developer and business; fields about tiers (`tier`, `min_tier`, `required_tier`, `x-min-tier`) use the market names free, pro and business: developer and pro are the same plan. Errors carry a stable `error` code, a sentence and the request id; with `Accept: application/problem+json` they are a `Problem` (RFC 9457). A request that does not arrive within 30 seconds is answered with 408. The headers of answers are described under `components`: `x-on` says whether all answers have them, those to a key, lists, answers to POST, or those of a status.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'This service' }],
    security: [{ apiKeyHeader: [] }, { bearer: [] }, { apiKeyQuery: [] }],
    'x-credit-table': creditTable(endpoints),
    tags: Object.entries(TAGS)
      .filter(([name]) => used.has(name as never))
      .map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: {
        apiKeyHeader: {
          type: 'apiKey',
          in: 'header',
          name: 'X-API-Key',
          description: 'Recommended. `svc_live_…` reads the live environment, `svc_test_…` the test one.',
        },
        bearer: { type: 'http', scheme: 'bearer', description: 'The API key as a bearer token.' },
        apiKeyQuery: {
          type: 'apiKey',
          in: 'query',
          name: 'api-key',
          description: 'The header wins over it.',
        },
      },
      schemas: {
        Error: errorBody,
        Problem: problemBody,
        ListMeta: listMeta,
        DryRun: dryRunBody,
        ...namedSchemas(endpoints),
      },
      headers: responseHeaders,
    },
  }
}

function namedSchemas<Services>(endpoints: readonly AnyEndpoint<Services>[]): Json {
  const schemas: Json = {}
  for (const { returns, body } of endpoints) {
    schemas[returns.name] = plain(returns.kind === 'list' ? returns.row : returns.schema)
    if (returns.kind === 'list' && returns.envelope) {
      schemas[returns.envelope.name] = plain(returns.envelope.schema)
    }
    if (body) schemas[body.name] = plain(body.schema)
  }
  return schemas
}

/** A schema as plain JSON, without TypeBox's own members. Values that the schema does not check are listed too. */
function plain(schema: object): unknown {
  return JSON.parse(JSON.stringify(schema), (_name, value: unknown) => {
    if (typeof value !== 'object' || value === null || !('x-enum' in value)) return value
    const { 'x-enum': values, ...rest } = value
    return { ...rest, enum: values }
  })
}

/** Answers to refused requests by their content, because hundreds of them are duplicates of a few dozen. */
type Refusals = Map<string, Json>

function operation<Services>(
  route: PublishedRoute<Services>,
  samples: ExampleSamples,
  refusals: Refusals,
): Json {
  const { endpoint, path, method } = route
  const { doc, access, returns, body } = endpoint
  const keyed = access.auth === 'key'
  const price = route.cost.describe()
  return {
    operationId: operationId(method, path),
    tags: [doc.tag],
    summary: route.summary,
    description: [
      // Another path to an endpoint refers to the description of the endpoint.
      path === endpoint.path ? doc.description : undefined,
      keyed ? `Credits: ${price}. Open from the ${tierInWords(access.tier)} on.` : undefined,
      path === endpoint.path
        ? undefined
        : `Another path to \`${endpoint.method} ${endpoint.path}\`${boundText(route)}.`,
    ]
      .filter((text) => text !== undefined)
      .join(' '),
    ...(keyed ? { 'x-credits': price, 'x-min-tier': access.tier } : { security: [] }),
    parameters: parameters(route, samples),
    ...(body
      ? {
          requestBody: {
            required: true,
            content: {
              'application/json': {
                schema: { $ref: `#/components/schemas/${body.name}` },
                ...shown(exampleOf(body.example, samples)),
              },
            },
          },
        }
      : {}),
    responses: responses(route, refusals),
    ...(returns.kind === 'list' ? { 'x-row-schema': `#/components/schemas/${returns.name}` } : {}),
  }
}

/** Omits the member if there is no example. */
function shown(example: unknown): Json {
  return example === undefined ? {} : { example }
}

function boundText<Services>({ bound }: PublishedRoute<Services>): string {
  const parts = Object.entries(bound).map(([name, value]) => `${name}=${value}`)
  return parts.length === 0 ? '' : ` with ${parts.join(', ')}`
}

function operationId(method: string, path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter(Boolean)
  const name = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
  return method.toLowerCase() + name
}

function parameters<Services>(route: PublishedRoute<Services>, samples: ExampleSamples): Json[] {
  const inPath = pathParamsOf(route.path)
  const own = Object.entries(route.params)
    .filter(([name]) => !Object.hasOwn(route.bound, name))
    .map(([name, param]) => ({
      name,
      in: inPath.includes(name) ? 'path' : 'query',
      required: inPath.includes(name) || param.required,
      description: [
        param.description,
        param.tier ? `Needs the ${tierInWords(param.tier)}.` : '',
        param.sources ? appliesTo(param.sources) : '',
      ]
        .filter(Boolean)
        .join(' '),
      schema: param.schema,
      ...shown(exampleOf(param.example, samples)),
      ...(param.tier ? { 'x-min-tier': param.tier } : {}),
    }))
  return [...own, ...gateParameters(route)]
}

function appliesTo(sources: readonly string[]): string {
  return sources.length === 0 ? 'Accepted and ignored.' : `Only for ${sources.join(', ')}; ignored elsewhere.`
}

function gateParameters<Services>({ endpoint }: PublishedRoute<Services>): Json[] {
  if (endpoint.access.auth === 'none') return []
  if (endpoint.method === 'POST') return [IDEMPOTENCY_KEY]
  if (endpoint.method !== 'GET') return []
  return endpoint.returns.kind === 'list' ? [DRY_RUN, FORMAT] : [DRY_RUN]
}

const gateParameter = (name: string, place: 'header' | 'query', description: string, schema: Json) => ({
  name,
  in: place,
  required: false,
  description,
  schema,
})
const IDEMPOTENCY_KEY = gateParameter(
  'Idempotency-Key',
  'header',
  'The same key with the same body gives the first answer again, for 24 hours, at 0 credits.',
  { type: 'string', minLength: 1, maxLength: 255 },
)
const DRY_RUN = gateParameter('dry_run', 'query', 'Only tells what the answer would cost.', {
  type: 'boolean',
  default: false,
})
const FORMAT = gateParameter(
  'format',
  'query',
  'Form of the rows: `ndjson` has one per line, `csv` is RFC 4180 with a header row. `Accept` does the same.',
  {
    type: 'string',
    enum: [...FORMATS],
    default: 'json',
  },
)

/** If both an answer and an error have the same status, it is documented as either. */
function responses<Services>(route: PublishedRoute<Services>, refusals: Refusals): Json {
  const all: Json = success(route)
  for (const [status, failure] of Object.entries(failures(route.endpoint, refusals))) {
    const own = all[status]
    all[status] = own === undefined ? failure : either(own as ResponseObject, failure as ResponseObject)
  }
  return all
}

interface ResponseObject {
  description: string
  content: Record<string, { schema: object; example?: unknown }>
}

function either(first: ResponseObject, second: ResponseObject): Json {
  const schemas = [first, second].map(({ content }) => content['application/json']?.schema)
  return {
    description: `${first.description} ${second.description}`,
    content: { 'application/json': { schema: { anyOf: schemas } } },
  }
}

function success<Services>({ endpoint, method, path }: PublishedRoute<Services>): Json {
  const { returns, doc, access } = endpoint
  const example = shown(
    RECORDED.answers[`${method} ${path}`] ?? RECORDED.answers[`${method} ${endpoint.path}`],
  )
  const status = returns.kind === 'object' ? (returns.status ?? 200) : 200
  const kinds = ['all', ...(access.auth === 'key' ? ['key', returns.kind] : [])]
  if (endpoint.method === 'POST') kinds.push('post')
  const headers = headersOn(kinds)
  // Catalogs also have an ETag.
  if (returns.kind === 'object' && returns.tagged) headers.ETag = headerRef('ETag')
  const ref = { $ref: `#/components/schemas/${returns.name}` }
  // `dry_run` turns any answer to a key into a preview.
  const orPreview = (schema: Json) =>
    access.auth === 'key' && endpoint.method === 'GET'
      ? { anyOf: [schema, { $ref: '#/components/schemas/DryRun' }] }
      : schema
  const content =
    returns.kind === 'object'
      ? { 'application/json': { schema: orPreview(ref), ...example } }
      : {
          'application/json': {
            schema: orPreview(
              returns.envelope
                ? { $ref: `#/components/schemas/${returns.envelope.name}` }
                : {
                    type: 'object',
                    required: ['data', 'meta'],
                    properties: {
                      data: { type: 'array', items: ref },
                      meta: returns.meta
                        ? { allOf: [{ $ref: '#/components/schemas/ListMeta' }, plain(returns.meta)] }
                        : { $ref: '#/components/schemas/ListMeta' },
                    },
                  },
            ),
            ...example,
          },
          // The parameter `format` describes these types.
          'application/x-ndjson': {},
          'text/csv': {},
        }
  const answers: Json = { [status]: { description: doc.summary, headers, content } }
  if (returns.kind === 'object') {
    for (const [other, when] of Object.entries(returns.also ?? {}))
      answers[other] = { description: when, content: { 'application/json': { schema: orPreview(ref) } } }
  }
  if (returns.kind === 'list' || returns.tagged) {
    answers['304'] = { description: 'The caller has this answer already; costs 0.', headers }
  }
  return answers
}

/** The errors that an endpoint can return: its own, those of its parameters and those of the gate. */
function errorsOf<Services>(endpoint: AnyEndpoint<Services>): ErrorKind[] {
  const { access, body, cost, method } = endpoint
  const keyed: ErrorKind[] = [
    'unauthorized',
    'tier_restricted',
    'environment_unavailable',
    'internal_error',
    endpoint.rateLimitError,
    ...(cost.describe() === '0 flat' ? [] : (['credits_exhausted'] as const)),
    ...(access.history ? (['invalid_time_range', access.history.refusal] as const) : []),
  ]
  const kinds: ErrorKind[] = [
    ...endpoint.errors,
    ...Object.values(endpoint.params).map((param) => param.fault),
    'invalid_param',
    ...(access.auth === 'key' ? keyed : []),
    ...(body ? (['payload_too_large', 'unsupported_media_type'] as const) : []),
    ...(method === 'POST' ? (['idempotency_conflict', 'idempotency_in_progress'] as const) : []),
  ]
  return [...new Set(kinds)]
}

const headerRef = (name: string) => ({ $ref: `#/components/headers/${name}` })

/** The headers for the kinds of answers that openapi-parts.ts distinguishes. */
function headersOn(kinds: readonly string[]): Json {
  const names = Object.keys(responseHeaders).filter((name) =>
    kinds.includes(responseHeaders[name]?.['x-on'] ?? ''),
  )
  return Object.fromEntries(names.map((name) => [name, headerRef(name)]))
}

function failures<Services>(endpoint: AnyEndpoint<Services>, refusals: Refusals): Json {
  const keyed = endpoint.access.auth === 'key'
  const byStatus = Map.groupBy(errorsOf(endpoint), (kind) => ERRORS[kind].status)
  const sorted = [...byStatus].sort(([a], [b]) => a - b)
  return Object.fromEntries(
    sorted.map(([status, kinds]) => {
      const name = `${keyed} ${kinds.join()}`
      const known = refusals.get(name) ?? refusal(status, kinds, keyed)
      refusals.set(name, known)
      return [String(status), known]
    }),
  )
}

function refusal(status: number, kinds: readonly ErrorKind[], keyed: boolean): Json {
  return {
    description: kinds.map((kind) => `\`${publicCode(kind)}\`: ${ERRORS[kind].title}.`).join(' '),
    headers: headersOn(['all', ...(keyed && status !== 401 ? ['key'] : []), String(status)]),
    content: {
      'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
      'application/json': { schema: { $ref: '#/components/schemas/Error' } },
    },
  }
}
