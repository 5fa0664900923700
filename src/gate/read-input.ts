import { ownName } from '../contract/other-names.ts'
import { type Param, ParamRefusal, type Params } from '../contract/params.ts'
import { type InputFault, MAX_FAULTS } from '../core/errors.ts'
import { MAX_SUGGESTIONS, nearest } from '../core/nearest.ts'
import { resolveSource } from '../core/source.ts'
import type { Query } from './query.ts'

const MAX_SHOWN_CHARS = 60

/** Accepted by every endpoint. */
export const KEY_PARAMS = ['api-key', 'api_key']

export interface ReadInput {
  input: Record<string, unknown>
  faults: InputFault[]
  /** Parameters that were given but have no effect for this source. */
  ignored: string[]
  /** The parameters that the caller gave. */
  given: ReadonlySet<string>
}

export function readInput(
  params: Params,
  texts: {
    query: Query
    path: Readonly<Record<string, string>>
    bound: Readonly<Record<string, string | number | boolean>>
    /** Names of parameters that the gate itself reads. */
    gateParams: readonly string[]
  },
): ReadInput {
  const { query, path, bound } = texts
  const faults: InputFault[] = []
  const input: Record<string, unknown> = {}
  const given = new Set<string>()
  const names = namesOf(params)
  for (const name of query.values.keys()) {
    if (faults.length >= MAX_FAULTS) break
    if (names.has(name)) {
      if (Object.hasOwn(path, name)) faults.push(alsoInPath(name))
      continue
    }
    if (KEY_PARAMS.includes(name) || texts.gateParams.includes(name)) continue
    const known = [...names].filter((other) => !Object.hasOwn(path, other))
    faults.push(unknownParam(name, [...known, ...texts.gateParams], faults.length < MAX_SUGGESTIONS))
  }
  const repeated = new Set(query.repeated)
  for (const name of repeated) {
    if (faults.length >= MAX_FAULTS) break
    const shown = name.slice(0, MAX_SHOWN_CHARS)
    faults.push({ param: shown, error: 'invalid_param', message: `${shown} is given more than once.` })
  }
  for (const name in params) {
    const param = params[name]
    // One fault per parameter; which of the repeated values was meant is unknown.
    if (param === undefined || repeated.has(name)) continue
    if (faults.length >= MAX_FAULTS) break
    const asked = path[name] ?? query.values.get(name)
    const fixed = bound[name]
    if (fixed !== undefined) {
      input[name] = fixed
      given.add(name)
      if (asked !== undefined && !isSame(param.read(asked), fixed)) {
        const message = `${name} is fixed to ${fixed} on this path.`
        faults.push({ param: name, error: param.fault, message, allowed: [String(fixed)] })
      }
      continue
    }
    if (asked === undefined) {
      input[name] = param.fallback
      if (isNeeded(param, query)) faults.push(withoutValue(name, param, missing(param)))
      continue
    }
    // If an empty cursor meant the first page, a client could loop forever.
    if (asked === '') {
      faults.push(
        withoutValue(name, param, param.required ? 'is empty' : 'is empty: give a value or leave it out'),
      )
      continue
    }
    given.add(name)
    const value = param.read(asked)
    if (value instanceof ParamRefusal) {
      const allowed = value.allowed ? { allowed: value.allowed } : {}
      const reason = value.reason ? { reason: value.reason } : {}
      const message = `${name} ${value.message}.`
      faults.push({ param: name, error: param.fault, message, ...allowed, ...reason })
      continue
    }
    const { insteadOf } = param
    if (insteadOf !== undefined && given.has(insteadOf) && input[insteadOf] !== value) {
      faults.push(twoNames(name, insteadOf))
      continue
    }
    input[insteadOf ?? name] = value
    given.add(insteadOf ?? name)
  }
  faults.push(...notOfSource(params, input).slice(0, MAX_FAULTS - faults.length))
  return { input, faults, ignored: ignoredParams(params, input, given), given }
}

function alsoInPath(name: string): InputFault {
  const message = `${name} is part of the path here: leave it out of the query.`
  return { param: name, error: 'invalid_param', message }
}

function missing({ requiredUnless }: Param): string {
  return requiredUnless === undefined ? 'is missing' : `is missing: give it, or ${requiredUnless}`
}

function isNeeded({ required, requiredUnless }: Param, query: Query): boolean {
  return required || (requiredUnless !== undefined && !query.values.has(requiredUnless))
}

function twoNames(name: string, other: string): InputFault {
  const message = `${name} is another name of ${other}: give one of them.`
  return { param: name, error: 'invalid_param', message }
}

function withoutValue(name: string, param: Param, message: string): InputFault {
  const allowed = param.allowed ? { allowed: param.allowed } : {}
  return { param: name, error: param.fault, message: `${name} ${message}.`, ...allowed }
}

const namesByParams = new WeakMap<Params, ReadonlySet<string>>()

/** Looking up a substring of the query is far cheaper in a set than in an object. */
function namesOf(params: Params): ReadonlySet<string> {
  const known = namesByParams.get(params)
  if (known !== undefined) return known
  const names = new Set(Object.keys(params))
  namesByParams.set(params, names)
  return names
}

/** Compares sources by identity: two spellings of one source are the same value. */
function isSame(read: unknown, fixed: string | number | boolean): boolean {
  if (read === fixed) return true
  return typeof read === 'string' && resolveSource(read) !== undefined
    ? resolveSource(read) === resolveSource(String(fixed))
    : false
}

/** Values that the source of the request does not have. They are refused before any plan is checked. */
function notOfSource(params: Params, input: Record<string, unknown>): InputFault[] {
  const source = typeof input.source === 'string' ? resolveSource(input.source) : undefined
  if (source === undefined) return []
  return Object.entries(params).flatMap(([name, { allowedOf, fault }]) => {
    const allowed = allowedOf?.(source)
    const value = input[name]
    if (allowed === undefined || typeof value !== 'string' || allowed.includes(value)) return []
    const message = `${name} must be one of ${allowed.join(', ')} for ${input.source}.`
    return [{ param: name, error: fault, message, allowed }]
  })
}

function ignoredParams(params: Params, input: Record<string, unknown>, given: ReadonlySet<string>): string[] {
  const asked = typeof input.source === 'string' ? resolveSource(input.source) : undefined
  if (asked === undefined) return []
  return [...given].filter((name) => {
    const sources = params[name]?.sources
    return sources !== undefined && !sources.includes(asked)
  })
}

/** Only the first few carry the list of allowed names and a suggestion. */
function unknownParam(name: string, known: readonly string[], helps: boolean): InputFault {
  const own = helps && name.length <= MAX_SHOWN_CHARS ? ownName(name, known) : undefined
  const near = own ?? (helps ? nearest(name, known) : undefined)
  const hint =
    own !== undefined ? ` It is called ${own} here.` : near === undefined ? '' : ` Did you mean ${near}?`
  const shown = name.slice(0, MAX_SHOWN_CHARS)
  return {
    param: shown,
    error: 'invalid_param',
    message: `${shown} is not a parameter of this endpoint.${hint}`,
    ...(helps ? { allowed: known } : {}),
    ...(near === undefined ? {} : { suggestion: near }),
  }
}
