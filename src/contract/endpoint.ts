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
 * How an endpoint is declared. The router, validation, plan gates, credit charge and its wording, OpenAPI, the
 * sources catalog and the credit table are derived from the declaration.
 */
type HttpMethod = 'GET' | 'POST' | 'PATCH' | 'DELETE'

export interface EndpointAccess {
  /** Endpoints without a key are open on purpose and cost nothing. */
  readonly auth: 'key' | 'none'
  /** A key limited to scopes needs this one; null: any key. */
  readonly scope: Scope | null
  readonly tier: Tier
  /** Its name among the features of `/v1/limits`; only where plans differ. */
  readonly feature?: string
  /** Which history depth of the plan applies, and what happens to an older start. */
  readonly history?: {
    readonly of: History
    readonly whenOlder: 'clamp' | 'refuse'
    /** The error of a range that begins before the plan's window. */
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
      /** The answer changes seldom: it gets an ETag, and a caller who has it already pays nothing. */
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
  /** The parameter that takes the cursor; null where there is only one page. */
  readonly cursor: string | null
}

/** The key's owner, as an endpoint sees it. */
export interface Caller {
  readonly accountId: string
  readonly keyId: string
  readonly keyName: string
  readonly environment: Environment
  readonly expiresAtMs: number | null
  readonly plan: Plan
}

/** The caller's counters at this moment, for the account endpoints. */
export interface CreditCount {
  readonly used: number
  readonly limit: number
  readonly remaining: number
  readonly resetsAtMs: number
}

export interface Counters {
  /** Of the key where it has a cap, else of the account. */
  readonly credits: CreditCount
  /** Only where `credits` are those of the key. */
  readonly accountCredits: CreditCount | undefined
  readonly rate: { second: number; minute: number }
}

/** [fromMs, toMs) or, on snapshots, [fromMs, toMs]. */
export interface AdmittedRange {
  readonly fromMs: number
  readonly toMs: number
  readonly startGiven: boolean
  readonly endGiven: boolean
  /** The earliest instant that the plan may read. */
  readonly earliestMs: number
  /** A start that is earlier by at most this is served as requested. */
  readonly graceMs: number
  /** Set when the plan's window moved the start. */
  readonly clamp: { readonly originalStartMs: number } | undefined
}

export interface EndpointContext<Input, Services> {
  readonly input: Input
  /** Which parameters were given, by the caller or by the path. */
  readonly given: ReadonlySet<string>
  readonly services: Services
  readonly caller: Caller
  readonly counters: () => Counters
  readonly nowMs: number
  /** The asked time range after the plan's history gate; only where the endpoint has one. */
  readonly range: AdmittedRange | undefined
  /** Parameters without effect for this source. */
  readonly ignored: readonly string[]
  /** Rows that the plan and the balance allow; never more than `limit`. */
  readonly rowLimit: number
  readonly body: unknown
  /** How many of its heavy calls may run at once; only where the body's demand has some. */
  readonly heavySlots: number
  readonly dryRun: boolean
  readonly requestId: string
  /** The same for a repetition with the same idempotency key; undefined without a key. */
  readonly once: string | undefined
  /**
   * Whether the caller has disconnected, so that work can be abandoned. Undefined for a request with an idempotency
   * key, which is completed in any case: it may be repeated.
   */
  readonly isGone: (() => boolean) | undefined
  /** The path as asked, for cursors and links. */
  readonly path: string
}

interface AnswerFacts {
  readonly status?: number
  /** What the price depends on: rows, attempts, upstream calls. */
  readonly units?: Units
  readonly headers?: readonly (readonly [string, string])[]
}

interface ObjectAnswer extends AnswerFacts {
  readonly kind: 'object'
  readonly value: unknown
  /** The answer changes seldom: it gets an ETag, and a caller who has it already pays nothing. */
  readonly cacheable?: boolean
}

/** An answer whose text is ready. Parts are written one after another and never joined. */
export interface TextAnswer extends AnswerFacts {
  readonly kind: 'text'
  readonly text: string | Buffer | readonly Buffer[]
  readonly contentType: string
  /** The same buffer is served again and again: it is compressed once per encoding. */
  readonly isShared?: true
}

/** A page of rows whose JSON texts are ready. */
export interface ListAnswer {
  readonly kind: 'list'
  /** Row texts, joined by `ROW_SEPARATOR`; as bytes where they were read as such. */
  readonly rows: string | readonly Buffer[]
  readonly count: number
  readonly hasMore: boolean
  readonly nextCursor: string | null
  /** The meta fields beside count, returned, has_more and next_cursor. */
  readonly meta: Readonly<Record<string, unknown>>
  /** Nothing can change this page any more. */
  readonly sealed: boolean
  readonly clamped: boolean
  readonly coverageComplete: boolean
  /** The text before and after the rows, where the envelope is not `{data, meta}`. */
  readonly wrap?: { readonly head: string; readonly tail: string }
  /**
   * Of a sealed page: whether this answer may be served again for the same query and plan, because the epochs of its
   * feeds are the same as when it was read.
   */
  readonly isCurrent?: (nowMs: number) => boolean | Promise<boolean>
}

export type EndpointAnswer = ObjectAnswer | TextAnswer | ListAnswer

export interface Alias {
  readonly method: HttpMethod
  readonly path: string
  /** Parameters that the path fixes. */
  readonly bound: Readonly<Record<string, string | number | boolean>>
  /** Where it differs from the endpoint's. */
  readonly summary?: string
  /** Parameters that this path declares differently. */
  readonly params?: Params
}

/** Unless the endpoint allows more. */
export const MAX_REQUEST_BODY_BYTES = 65_536

/** A JSON body. The schema documents it and checks it, unless the endpoint reads the bytes itself. */
export interface Body<Services> {
  readonly name: string
  readonly schema: TSchema
  readonly example: Example<object>
  /**
   * Where a plan needs larger bodies. Integers above 2^53 are read as decimal text instead of being rounded.
   */
  readonly maxBytes?: (plan: Plan) => number
  /**
   * The endpoint reads the raw bytes itself: nothing is parsed or checked before. Returns a promise where that takes
   * long.
   */
  readonly read?: (bytes: Buffer, services: Services) => unknown
  /**
   * For a body that does not fit its schema: the faults of the members that do, so that one answer lists all.
   */
  readonly otherFaults?: (value: object, services: Services, plan: Plan) => Promise<readonly InputFault[]>
}

/** What a body asks for, known before it runs. */
export interface Demand {
  /** How many requests it counts for; refused as a whole where the rate does not allow them all. */
  readonly requests: number
  /** Determine the minimum price; refused as a whole where the balance does not cover it. */
  readonly units: Units
  /** An account may have a limited number of these in flight. */
  readonly heavyCalls: number
}

export interface Endpoint<Services, P extends Params = Params> {
  readonly method: HttpMethod
  readonly path: string
  readonly doc: Doc
  readonly access: EndpointAccess
  readonly params: P
  readonly body?: Body<Services>
  /** Of a GET: how many heavy calls to a node it makes at once. The account may have a limited number in flight. */
  readonly heavyCalls?: (input: Readonly<Record<string, unknown>>) => number
  /** Of a GET: whether the store reads for long. It takes a slot for heavy calls; with a plan that has none, the only one. */
  readonly isLongRead?: (input: Readonly<Record<string, unknown>>) => boolean
  /** Where one body can count for several requests. */
  readonly demand?: (body: unknown) => Demand
  readonly cost: Cost
  readonly returns: Returns
  /** Errors beyond those that every endpoint of its kind can answer with. */
  readonly errors: readonly ErrorKind[]
  readonly aliases: readonly Alias[]
  /** The only source that an endpoint without a source parameter serves. */
  readonly onlySource?: Source
  /** The contract names another code for some endpoints. */
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
  /** The endpoint's parameters, as this path reads them. */
  readonly params: Params
  /** Its name in usage and ledger: the endpoint's, whichever path was requested. */
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

/** `const endpoint = endpointFor<Services>()` once; then every file declares one. */
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

/** A list in an envelope of its own: `{…, items: [row…], …}`. */
export function wrappedList(name: string, row: TSchema, envelope: ListEnvelope): Returns {
  return { kind: 'list', name, row, envelope }
}

/** The answer carries an ETag. */
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
