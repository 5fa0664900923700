import type { TSchema } from 'typebox'
import type { Environment } from '../core/environment.ts'
import type { ErrorKind, InputFault } from '../core/errors.ts'
import type { History, Plan, Tier } from '../core/plan.ts'
import type { Scope } from '../core/scope.ts'
import type { Source } from '../core/source.ts'
import type { Cost, Units } from './costs.ts'
import type { Example } from './example.ts'
import type { InputOf, Params } from './params.ts'

/**
 * How an endpoint is declared. The router, validation, plan gates, credit charges and their descriptions, OpenAPI, the
 * sources catalog and the credit table are derived from the declaration.
 */
type HttpMethod = 'GET' | 'POST' | 'PATCH' | 'DELETE'

export interface EndpointAccess {
  /** Endpoints without a key are open on purpose and cost nothing. */
  readonly auth: 'key' | 'none'
  /** The scope that a key limited to scopes must have; null accepts any key. */
  readonly scope: Scope | null
  readonly tier: Tier
  /** The endpoint's name among the features of `/v1/limits`; only if plans differ in it. */
  readonly feature?: string
  /** The history depth of the plan that applies, and what happens to an earlier start. */
  readonly history?: {
    readonly of: History
    readonly whenOlder: 'clamp' | 'refuse'
    /** The error for a range that begins before the plan's window. */
    readonly refusal: 'tier_restricted' | 'plan_required'
  }
  /** The parameter whose value must not be finer than the plan's finest candle. */
  readonly intervalGate?: string
}

interface Doc {
  readonly tag: 'market' | 'account' | 'node' | 'webhooks' | 'service'
  readonly summary: string
  readonly description?: string
}

export type Returns =
  | {
      readonly kind: 'object'
      readonly name: string
      readonly schema: TSchema
      readonly status?: 200 | 201
      /** Other statuses with a body of the same schema, and when they occur. */
      readonly also?: Readonly<Record<number, string>>
      /** The answer rarely changes: it gets an ETag, and a caller who already has it pays nothing. */
      readonly tagged?: boolean
    }
  | {
      readonly kind: 'list'
      readonly name: string
      readonly row: TSchema
      readonly meta?: TSchema
      readonly envelope?: ListEnvelope
    }

/** The JSON envelope of a list that is not `{data, meta}`. */
export interface ListEnvelope {
  readonly name: string
  readonly schema: TSchema
  /** The parameter that takes the cursor; null if there is only one page. */
  readonly cursor: string | null
}

/** The owner of the key, as an endpoint sees it. */
export interface Caller {
  readonly accountId: string
  readonly keyId: string
  readonly keyName: string
  readonly environment: Environment
  readonly expiresAtMs: number | null
  readonly plan: Plan
}

/** The state of a credit counter at this moment. */
export interface CreditCount {
  readonly used: number
  readonly limit: number
  readonly remaining: number
  readonly resetsAtMs: number
}

export interface Counters {
  /** The credits of the key if it has a cap, otherwise those of the account. */
  readonly credits: CreditCount
  /** Present only if `credits` are those of the key. */
  readonly accountCredits: CreditCount | undefined
  readonly rate: { second: number; minute: number }
}

/** [fromMs, toMs) or, on snapshots, [fromMs, toMs]. */
export interface AdmittedRange {
  readonly fromMs: number
  readonly toMs: number
  readonly startGiven: boolean
  readonly endGiven: boolean
  /** The earliest instant that the plan allows. */
  readonly earliestMs: number
  /** A start that is earlier by at most this much is served as requested. */
  readonly graceMs: number
  /** Set when the plan's window moved the start. */
  readonly clamp: { readonly originalStartMs: number } | undefined
}

export interface EndpointContext<Input, Services> {
  readonly input: Input
  /** The parameters that were given, by the caller or by the path. */
  readonly given: ReadonlySet<string>
  readonly services: Services
  readonly caller: Caller
  readonly counters: () => Counters
  readonly nowMs: number
  /** The requested time range after the plan's history gate; only if the endpoint has one. */
  readonly range: AdmittedRange | undefined
  /** Parameters that have no effect for this source. */
  readonly ignored: readonly string[]
  /** The number of rows that the plan and the balance allow; never more than `limit`. */
  readonly rowLimit: number
  readonly body: unknown
  /** How many of its heavy calls may run at once; only if the demand of the body includes heavy calls. */
  readonly heavySlots: number
  readonly dryRun: boolean
  readonly requestId: string
  /** The same value for a repeated request with the same idempotency key; undefined without a key. */
  readonly once: string | undefined
  /**
   * Whether the caller has disconnected, so that work can be abandoned. Undefined for a request with an idempotency
   * key, which is always completed because it may be repeated.
   */
  readonly isGone: (() => boolean) | undefined
  /** The path as requested, for cursors and links. */
  readonly path: string
}

interface AnswerFacts {
  readonly status?: number
  /** The quantities that determine the price: rows, attempts, upstream calls. */
  readonly units?: Units
  readonly headers?: readonly (readonly [string, string])[]
}

interface ObjectAnswer extends AnswerFacts {
  readonly kind: 'object'
  readonly value: unknown
  /** The answer rarely changes: it gets an ETag, and a caller who already has it pays nothing. */
  readonly cacheable?: boolean
}

/** An answer whose text is ready. Its parts are written one after another and never concatenated. */
export interface TextAnswer extends AnswerFacts {
  readonly kind: 'text'
  readonly text: string | Buffer | readonly Buffer[]
  readonly contentType: string
  /** The same buffer is served repeatedly, so it is compressed only once per encoding. */
  readonly isShared?: true
}

/** A page of rows whose JSON texts are ready. */
export interface ListAnswer {
  readonly kind: 'list'
  /** Row texts, joined by `ROW_SEPARATOR`; as bytes if they were read as bytes. */
  readonly rows: string | readonly Buffer[]
  readonly count: number
  readonly hasMore: boolean
  readonly nextCursor: string | null
  /** The meta fields in addition to count, returned, has_more and next_cursor. */
  readonly meta: Readonly<Record<string, unknown>>
  /** Nothing on this page can change any more. */
  readonly sealed: boolean
  readonly clamped: boolean
  readonly coverageComplete: boolean
  /** The text before and after the rows, if the envelope is not `{data, meta}`. */
  readonly wrap?: { readonly head: string; readonly tail: string }
  /**
   * For a sealed page: whether this answer may be served again for the same query and plan, because the epochs of its
   * feeds have not changed since it was read.
   */
  readonly isCurrent?: (nowMs: number) => boolean | Promise<boolean>
}

export type EndpointAnswer = ObjectAnswer | TextAnswer | ListAnswer

export interface Alias {
  readonly method: HttpMethod
  readonly path: string
  /** Parameters whose value is fixed by the path. */
  readonly bound: Readonly<Record<string, string | number | boolean>>
  /** Only if it differs from the endpoint's. */
  readonly summary?: string
  /** Parameters that this path declares differently. */
  readonly params?: Params
}

/** The limit unless the endpoint allows more. */
export const MAX_REQUEST_BODY_BYTES = 65_536

/** A JSON body. The schema documents and validates it, unless the endpoint reads the bytes itself. */
export interface Body<Services> {
  readonly name: string
  readonly schema: TSchema
  readonly example: Example<object>
  /** For plans that need larger bodies. Integers above 2^53 are read as decimal text instead of being rounded. */
  readonly maxBytes?: (plan: Plan) => number
  /**
   * The endpoint reads the raw bytes itself, and nothing is parsed or validated before. Returns a promise if that takes
   * long.
   */
  readonly read?: (bytes: Buffer, services: Services) => unknown
  /**
   * For a body that does not match its schema: the faults of the members that do, so that one answer lists all faults.
   */
  readonly otherFaults?: (value: object, services: Services, plan: Plan) => Promise<readonly InputFault[]>
}

/** What a body requests, known before it runs. */
export interface Demand {
  /** How many requests the body counts for; it is refused as a whole if the rate does not allow them all. */
  readonly requests: number
  /** These determine the minimum price; the body is refused as a whole if the balance does not cover it. */
  readonly units: Units
  /** The number of these that an account may have in flight is limited. */
  readonly heavyCalls: number
}

export interface Endpoint<Services, P extends Params = Params> {
  readonly method: HttpMethod
  readonly path: string
  readonly doc: Doc
  readonly access: EndpointAccess
  readonly params: P
  readonly body?: Body<Services>
  /**
   * For a GET: how many heavy calls to a node it makes at once. The number that an account may have in flight is
   * limited.
   */
  readonly heavyCalls?: (input: Readonly<Record<string, unknown>>) => number
  /**
   * For a GET, or a POST without a price: whether the store reads for long. Such a read takes a slot for heavy calls;
   * if the plan has none, the account gets a single one.
   */
  readonly isLongRead?: (input: Readonly<Record<string, unknown>>) => boolean
  /**
   * For such a read: an account may run only one at a time. A second one is refused (429) with this reason and takes no
   * slot.
   */
  readonly oneAtATime?: string
  /** Present if one body can count for several requests. */
  readonly demand?: (body: unknown) => Demand
  readonly cost: Cost
  readonly returns: Returns
  /** Errors in addition to those that every endpoint of its kind can return. */
  readonly errors: readonly ErrorKind[]
  readonly aliases: readonly Alias[]
  /** The only source of an endpoint without a source parameter. */
  readonly onlySource?: Source
  /** The contract specifies another code for some endpoints. */
  readonly rateLimitError: 'rate_limited' | 'rate_limit_exceeded'
  readonly run: (context: EndpointContext<InputOf<P>, Services>) => EndpointAnswer | Promise<EndpointAnswer>
}

/** An endpoint with any parameters. */
export type AnyEndpoint<Services> = Omit<Endpoint<Services>, 'run'> & {
  readonly run: (context: EndpointContext<never, Services>) => EndpointAnswer | Promise<EndpointAnswer>
}

/** One path of the service: an endpoint under its own path or under an alias. */
export interface EndpointRoute<Services = unknown> {
  readonly method: HttpMethod
  readonly path: string
  readonly endpoint: AnyEndpoint<Services>
  readonly bound: Alias['bound']
  /** The endpoint's parameters, as this path parses them. */
  readonly params: Params
  /** The endpoint's name in usage and ledger, regardless of the path that was requested. */
  readonly name: string
}

type WithDefault = 'params' | 'errors' | 'aliases' | 'rateLimitError'

type Declaration<Services, P extends Params> = Omit<
  Endpoint<Services, P>,
  'method' | 'path' | 'access' | WithDefault
> &
  Partial<Pick<Endpoint<Services, P>, WithDefault>> & {
    path: `${HttpMethod} /${string}`
    access?: Partial<EndpointAccess>
  }

/** Call `const endpoint = endpointFor<Services>()` once; each file then declares its endpoint with the result. */
export function endpointFor<Services>() {
  return function endpoint<const P extends Params = Record<never, never>>(
    spec: Declaration<Services, P>,
  ): Endpoint<Services, P> {
    const [method, path] = spec.path.split(' ') as [HttpMethod, string]
    return {
      params: {} as P,
      errors: [],
      aliases: [],
      rateLimitError: 'rate_limited',
      ...spec,
      method,
      path,
      access: { auth: 'key', scope: null, tier: 'free', ...spec.access },
    }
  }
}

/** Another path to the same endpoint, with some parameters fixed. */
export function at(
  path: `${HttpMethod} /${string}`,
  bound: Alias['bound'] = {},
  summary?: string,
  params?: Params,
): Alias {
  const [method, rest] = path.split(' ') as [HttpMethod, string]
  return { method, path: rest, bound, ...(summary ? { summary } : {}), ...(params ? { params } : {}) }
}

export function list(name: string, row: TSchema, meta?: TSchema): Returns {
  return { kind: 'list', name, row, ...(meta ? { meta } : {}) }
}

/** A list in its own envelope: `{…, items: [row…], …}`. */
export function wrappedList(name: string, row: TSchema, envelope: ListEnvelope): Returns {
  return { kind: 'list', name, row, envelope }
}

/** Marks an answer that carries an ETag. */
export function tagged(returns: Returns): Returns {
  return returns.kind === 'object' ? { ...returns, tagged: true } : returns
}

export function object(
  name: string,
  schema: TSchema,
  status: 200 | 201 = 200,
  also?: Readonly<Record<number, string>>,
): Returns {
  return { kind: 'object', name, schema, status, ...(also ? { also } : {}) }
}
