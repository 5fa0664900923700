/**
 * Reads the operator's plans file. It is checked by hand, because every command reads it and the schema library alone
 * takes longer to load than most commands run.
 */
import { CANDLE_INTERVALS, type CandleInterval } from '../core/interval.ts'
import { HISTORIES, type History, type Plan, TIERS, type Tier } from '../core/plan.ts'

/** One plan of the file. Any field may be omitted if `extends` (or the built-in plan of the same name) provides it. */
export type PlanFileEntry = Partial<Omit<Plan, 'name' | 'historyDays'>> & {
  readonly name: string
  /** The plan that provides every value that is not stated. */
  readonly extends?: string
  readonly historyDays?: Partial<Record<History, number | null>>
}

export class PlanFileError extends Error {
  override readonly name = 'PlanFileError'
}

/** Throws if a value is wrong; `path` is its place in the file. */
type Check = (path: string, value: unknown) => void

const integer =
  (min: number, max = Number.MAX_SAFE_INTEGER): Check =>
  (path, value) => {
    if (!Number.isInteger(value) || Number(value) < min || Number(value) > max)
      fail(path, `must be an integer from ${min} to ${max}`)
  }
const oneOf =
  (values: readonly string[]): Check =>
  (path, value) => {
    if (!values.some((known) => known === value)) fail(path, `must be one of ${values.join(', ')}`)
  }
const text =
  (pattern: RegExp): Check =>
  (path, value) => {
    if (typeof value !== 'string' || !pattern.test(value)) fail(path, `must be a text like ${pattern.source}`)
  }
const object =
  (fields: Record<string, Check>, required: readonly string[] = []): Check =>
  (path, value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) fail(path, 'must be an object')
    for (const name of required) if (!Object.hasOwn(value, name)) fail(path, `needs ${name}`)
    for (const [name, member] of Object.entries(value)) {
      const check = Object.hasOwn(fields, name) ? fields[name] : undefined
      if (check === undefined) fail(`${path}/${name}`, 'is not known')
      else check(`${path}/${name}`, member)
    }
  }

const days: Check = (path, value) => value === null || integer(0)(path, value)
const FIELDS: Record<keyof PlanFileEntry, Check> = {
  name: text(/^[a-z][a-z0-9_-]{0,31}$/),
  extends: text(/^/),
  tier: oneOf(TIERS satisfies readonly Tier[]),
  creditsPerMonth: integer(0),
  requestsPerSecond: integer(1, 100_000),
  requestsPerMinute: integer(1, 6_000_000),
  maxRowsPerRequest: integer(1, 10_000),
  historyDays: object(Object.fromEntries(HISTORIES.map((name) => [name, days]))),
  finestCandle: oneOf(CANDLE_INTERVALS satisfies readonly CandleInterval[]),
  heavyCallsInFlight: integer(0),
  streamConnections: integer(0),
  streamAddresses: integer(0),
  webhookSubscriptions: integer(0),
  webhookAddresses: integer(0),
}
const checkEntry = object(FIELDS, ['name'])
const checkFile = object(
  {
    plans: (path, value) => {
      if (!Array.isArray(value)) fail(path, 'must be an array')
      else for (const [index, entry] of value.entries()) checkEntry(`${path}/${index}`, entry)
    },
  },
  ['plans'],
)

/** @param file the parsed content */
export function readPlanFile(file: unknown): readonly PlanFileEntry[] {
  checkFile('', file)
  return (file as { plans: PlanFileEntry[] }).plans
}

function fail(path: string, fault: string): never {
  throw new PlanFileError(`plans file: ${path || '/'} ${fault}`)
}
