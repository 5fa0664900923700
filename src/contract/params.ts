import type { ErrorKind } from '../core/errors.ts'
import type { Interval } from '../core/interval.ts'
import type { Tier } from '../core/plan.ts'
import type { Source, SourceName } from '../core/source.ts'
import { parseSymbol, SYMBOLS } from '../core/symbol.ts'
import { parseTime } from '../core/time.ts'
import type { Example } from './example.ts'

/** How a parameter is parsed and documented. */
export interface Param<T = unknown> {
  readonly kind: 'text' | 'symbol' | 'source' | 'interval' | 'time' | 'integer' | 'number' | 'flag' | 'choice'
  readonly description: string
  /** JSON Schema for the OpenAPI document. */
  readonly schema: Readonly<Record<string, unknown>>
  /** Works on a running sandbox, because API explorers fill it in. */
  readonly example?: Example<string | number | boolean>
  readonly required: boolean
  /** The parameter is required unless this other one is given. */
  readonly requiredUnless: string | undefined
  readonly fallback: T | undefined
  /** The error code for a missing or wrong value. */
  readonly fault: ErrorKind
  /** The lowest tier that may use it, if that is above the endpoint's own. */
  readonly tier: Tier | undefined
  /** The sources that it applies to; for others it is ignored and listed in `meta.ignored`. */
  readonly sources: readonly Source[] | undefined
  readonly allowed: readonly string[] | undefined
  /** The allowed values that one source has, if sources differ. */
  readonly allowedOf: ((source: Source) => readonly string[]) | undefined
  /** The parameter that this one is an alias of: its value becomes the value of that parameter. */
  readonly insteadOf: string | undefined
  readonly read: (text: string) => T | ParamRefusal
}

/** Why a value was refused. */
export class ParamRefusal {
  readonly message: string
  readonly allowed: readonly (string | number)[] | undefined
  /** Lets programs distinguish the faults of one parameter. */
  readonly reason: string | undefined
  constructor(message: string, allowed?: readonly (string | number)[], reason?: string) {
    this.message = message
    this.allowed = allowed
    this.reason = reason
  }
}

export type Params = Readonly<Record<string, Param>>
export type InputOf<P extends Params> = { [K in keyof P]: P[K] extends Param<infer T> ? T : never }

function param<T>(spec: Partial<Param<T>> & Pick<Param<T>, 'kind' | 'description' | 'schema' | 'read'>) {
  return {
    required: true,
    requiredUnless: undefined,
    fallback: undefined,
    fault: 'invalid_param',
    tier: undefined,
    sources: undefined,
    allowed: undefined,
    allowedOf: undefined,
    insteadOf: undefined,
    ...spec,
  } as Param<T>
}

/** Makes a parameter optional. */
export function optional<T>(inner: Param<T>): Param<T | undefined> {
  return { ...inner, required: false }
}

/** Makes a parameter optional, with this default. */
export function withDefault<T>(inner: Param<T>, fallback: T): Param<T> {
  return { ...inner, required: false, fallback, schema: { ...inner.schema, default: fallback } }
}

/** Makes a parameter optional if another one is given. */
export function unlessGiven<T>(other: string, inner: Param<T>): Param<T | undefined> {
  const description = `${inner.description} Needed unless \`${other}\` is given.`
  return { ...optional(inner), requiredUnless: other, description }
}

/** Requires a higher tier than the endpoint. */
export function needsTier<T>(tier: Tier, inner: Param<T>): Param<T> {
  return { ...inner, tier }
}

/** The parameter applies to these sources only. */
export function onlyFor<T>(sources: readonly Source[], inner: Param<T>): Param<T> {
  return { ...inner, sources }
}

/** If a source is given, only the values that it has are allowed. */
export function allowedBySource<T extends string>(
  allowedOf: (source: Source) => readonly string[],
  inner: Param<T>,
): Param<T> {
  return { ...inner, allowedOf }
}

/** Accepted because other services have this parameter, but always listed in `meta.ignored`. */
export function withoutMeaning<T>(inner: Param<T>): Param<T | undefined> {
  return onlyFor([], optional(inner))
}

/** An alias of a parameter that is declared before it. */
export function insteadOf<T>(name: string, inner: Param<T>): Param<T | undefined> {
  const description = `Another name of \`${name}\`. ${inner.description}`
  return { ...optional(inner), insteadOf: name, description }
}

/** Parses as declared, then converts the value. */
export function translated<T, U>(inner: Param<T>, translate: (value: T) => U): Param<U> {
  const read = (text: string) => {
    const value = inner.read(text)
    return value instanceof ParamRefusal ? value : translate(value)
  }
  return { ...inner, fallback: undefined, read }
}

/** Adds an example value. */
export function withExample<T>(example: Example<string | number | boolean>, inner: Param<T>): Param<T> {
  return { ...inner, example }
}

export function choice<const A extends readonly string[]>(
  description: string,
  allowed: A,
  options: { kind?: Param['kind']; fault?: ErrorKind } = {},
): Param<A[number]> {
  return param<A[number]>({
    kind: options.kind ?? 'choice',
    description,
    allowed,
    fault: options.fault ?? 'invalid_param',
    schema: { type: 'string', enum: [...allowed] },
    // The declared text and not the equal one received: looking up properties by a name that is a new string each time
    // makes V8 discard its optimized code again and again.
    read: (text) =>
      allowed.find((each) => each === text) ??
      new ParamRefusal(`must be one of ${allowed.join(', ')}`, allowed),
  })
}

/** BTC, ETH, SOL or XRP in any case; with `orIdentifier` also the text of a market identifier. */
export function symbol(options: { orIdentifier?: string } = {}): Param<string> {
  const allowed: readonly string[] = SYMBOLS
  const identifier = options.orIdentifier
  return param<string>({
    kind: 'symbol',
    description: identifier ? `Asset symbol in any case, or ${identifier}.` : 'Asset symbol, in any case.',
    allowed,
    fault: 'invalid_symbol',
    schema: identifier
      ? { type: 'string', minLength: 1, maxLength: 200, examples: [...allowed] }
      : { type: 'string', enum: [...allowed] },
    example: 'BTC',
    read: (text) => {
      const known = parseSymbol(text)
      if (known !== undefined) return known
      // Identifiers of every venue are longer than a ticker or contain a character that no ticker has.
      if (identifier && /^[A-Za-z0-9._-]{2,200}$/.test(text) && /[-._]|^0x|\d{6}/.test(text)) return text
      return new ParamRefusal(
        `must be one of ${allowed.join(', ')}${identifier ? ` or ${identifier}` : ''}`,
        allowed,
      )
    },
  })
}

export function source<const A extends readonly SourceName[]>(...allowed: A): Param<A[number]> {
  return choice('Venue that the rows come from.', allowed, { kind: 'source', fault: 'invalid_source' })
}

export function interval<const A extends readonly Interval[]>(
  allowed: A,
  description = 'Length of a bar.',
): Param<A[number]> {
  return choice(description, allowed, {
    kind: 'interval',
    fault: 'invalid_interval',
  })
}

export const TIME_FORMS =
  'ISO 8601 with `Z` or an offset, a date alone (midnight UTC), or epoch seconds or milliseconds.'

export function time(description: string): Param<number> {
  return param<number>({
    kind: 'time',
    description: `${description} ${TIME_FORMS}`,
    schema: { type: 'string' },
    read: (text) =>
      parseTime(text) ??
      new ParamRefusal(
        'must be an ISO 8601 time with Z or an offset, a date, or epoch seconds or milliseconds',
      ),
  })
}

/** `start` is inclusive. */
export function timeRange(end: 'exclusive' | 'inclusive') {
  return {
    start: optional(time("First instant, inclusive. Left out: the start of the plan's window.")),
    end: optional(time(`Last instant, ${end}. Left out: now.`)),
  }
}

export function integer(description: string, bounds: { min: number; max: number }): Param<number> {
  const { min, max } = bounds
  return param<number>({
    kind: 'integer',
    description,
    schema: { type: 'integer', minimum: min, maximum: max },
    read: (text) => {
      const value = /^[+-]?\d{1,15}$/.test(text) ? Number(text) : Number.NaN
      return value >= min && value <= max
        ? value
        : new ParamRefusal(min === max ? `must be ${min}` : `must be a whole number from ${min} to ${max}`)
    },
  })
}

/** Bounded, because with two unbounded runs of digits a refusal would take time quadratic in the length. */
const NUMBER = /^[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})(e[+-]?\d{1,3})?$/i

export function number(description: string, bounds: { min: number; max: number }): Param<number> {
  const { min, max } = bounds
  return param<number>({
    kind: 'number',
    description,
    schema: { type: 'number', minimum: min, maximum: max },
    read: (text) => {
      const value = NUMBER.test(text) ? Number(text) : Number.NaN
      return value >= min && value <= max ? value : new ParamRefusal(`must be a number from ${min} to ${max}`)
    },
  })
}

const BOOLEAN_WORDS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
  ['1', true],
  ['0', false],
  ['yes', true],
  ['no', false],
])

/** Case-insensitive, because clients write `True`, `1` or `yes`. */
export function readBoolean(text: string): boolean | ParamRefusal {
  const value = BOOLEAN_WORDS.get(text.toLowerCase())
  if (value !== undefined) return value
  const words = [...BOOLEAN_WORDS.keys()]
  return new ParamRefusal(`must be one of ${words.join(', ')}`, words)
}

/** True or false; `?flag=false` is false. */
export function bool(description: string): Param<boolean> {
  return param<boolean>({
    kind: 'flag',
    description,
    schema: { type: 'boolean' },
    read: readBoolean,
  })
}

/** False by default. */
export function flag(description: string): Param<boolean> {
  return withDefault(bool(description), false)
}

export function text(
  description: string,
  options: { pattern: RegExp; expected: string; example?: Example<string>; fault?: ErrorKind },
): Param<string> {
  return param<string>({
    kind: 'text',
    description,
    fault: options.fault ?? 'invalid_param',
    schema: { type: 'string', pattern: options.pattern.source },
    ...(options.example === undefined ? {} : { example: options.example }),
    read: (value) => (options.pattern.test(value) ? value : new ParamRefusal(`must be ${options.expected}`)),
  })
}

/** Text with a custom parser. */
export function readBy<T>(
  description: string,
  options: {
    schema: Readonly<Record<string, unknown>>
    example?: Example<string>
    read: (text: string) => T | ParamRefusal
  },
): Param<T> {
  return param<T>({ kind: 'text', description, ...options })
}

/** Without a value, rows are chronological if `start` is given, and newest first otherwise. */
export function order(): Param<'asc' | 'desc' | undefined> {
  return optional(
    choice('Row order. Left out: chronological when `start` is given, newest first otherwise.', [
      'asc',
      'desc',
    ] as const),
  )
}

/** Page size and cursor. */
export function page(bounds: { default: number; max: number }) {
  return {
    limit: withDefault(
      integer("Rows per page. The plan's row cap may cut it.", { min: 1, max: bounds.max }),
      bounds.default,
    ),
    after: optional(
      text('Cursor from `meta.next_cursor` of the page before.', {
        pattern: /^[A-Za-z0-9_-]{1,600}$/,
        expected: 'a cursor from meta.next_cursor',
      }),
    ),
  }
}

/**
 * The names that other services use for range and page. They address pages by offset; here only offset 0 is accepted.
 */
export function foreignRowsPage() {
  return {
    start_time: insteadOf('start', time('First instant, inclusive.')),
    end_time: insteadOf('end', time('Last instant, exclusive.')),
    offset: withoutMeaning(integer('Pages are asked for by `after`.', { min: 0, max: 0 })),
  }
}

/** Time range, page and order of a list of rows. */
export function rowsPage(
  bounds: { default: number; max: number },
  end: 'exclusive' | 'inclusive' = 'exclusive',
) {
  return { ...timeRange(end), ...page(bounds), order: order() }
}

/** Page size and cursor of a list with its own envelope. */
export function cursorPage(
  description: string,
  bounds: { default: number; max: number },
  cursor = /^[A-Za-z0-9_-]{1,600}$/,
) {
  return {
    limit: withDefault(integer(description, { min: 1, max: bounds.max }), bounds.default),
    cursor: optional(
      text('Cursor from `next_cursor` of the page before.', {
        pattern: cursor,
        expected: 'a cursor from next_cursor',
      }),
    ),
  }
}
