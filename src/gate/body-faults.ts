import type { TSchema } from 'typebox'
import { Settings } from 'typebox/system'
import { Value } from 'typebox/value'
import type { Fault } from '../core/errors.ts'

const MOST_FAULTS = 50
/** The schema library stops after a few; a caller wants to see all at once. */
const MOST_ERRORS = 400

interface SchemaError {
  keyword: string
  instancePath: string
  message: string
  params: { requiredProperties?: string[]; additionalProperties?: string[]; allowedValue?: unknown }
}

/** Every fault of a body, each with its place, one per place. */
export function bodyFaults(schema: TSchema, value: unknown): Fault[] {
  const errors = allErrors(schema, value)
  const faults = new Map<string, Fault>()
  const add = (param: string, message: string, allowed?: readonly string[]) => {
    if (faults.has(param) || faults.size >= MOST_FAULTS) return
    const text = `${param} ${message}.`
    faults.set(param, { param, error: 'invalid_param', message: text, ...(allowed ? { allowed } : {}) })
  }
  const stray = new Set(
    errors.flatMap((error) =>
      (error.params.additionalProperties ?? []).map((name) => `${error.instancePath}/${name}`),
    ),
  )
  for (const error of errors) {
    const { keyword, instancePath, params } = error
    if (keyword === 'required') {
      for (const name of params.requiredProperties ?? [])
        add(placeOf(`${instancePath}/${name}`), 'is missing')
    } else if (keyword === 'additionalProperties') {
      for (const name of params.additionalProperties ?? []) {
        add(placeOf(`${instancePath}/${name}`), 'is not a field of this body')
      }
    } else if (stray.has(instancePath)) continue
    else if (keyword === 'const' || keyword === 'anyOf') {
      const allowed = constantsAt(errors, instancePath)
      if (allowed.length > 0) add(placeOf(instancePath), `must be one of ${allowed.join(', ')}`, allowed)
      else if (!errors.some((other) => isInside(other, error))) add(placeOf(instancePath), 'has a wrong form')
    } else add(placeOf(instancePath), error.message)
  }
  return [...faults.values()]
}

function allErrors(schema: TSchema, value: unknown): SchemaError[] {
  const { maxErrors } = Settings.Get()
  Settings.Set({ maxErrors: MOST_ERRORS })
  try {
    return [...Value.Errors(schema, value)] as SchemaError[]
  } finally {
    Settings.Set({ maxErrors })
  }
}

/** A choice of shapes failed; what failed within says more than the choice itself. */
function isInside(inner: SchemaError, outer: SchemaError): boolean {
  return inner !== outer && inner.instancePath.startsWith(outer.instancePath) && inner.keyword !== 'anyOf'
}

function constantsAt(errors: readonly SchemaError[], instancePath: string): string[] {
  return errors
    .filter((error) => error.keyword === 'const' && error.instancePath === instancePath)
    .map((error) => String(error.params.allowedValue))
}

/** `/kinds/0` is `kinds.0`; the whole is `body`. */
function placeOf(instancePath: string): string {
  if (instancePath === '') return 'body'
  return instancePath.slice(1, 121).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')
}
