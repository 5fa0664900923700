import type { Param } from '../../contract/params.ts'
import type { ToolEndpoint } from './endpoint-call.ts'
import type { ArgumentSchema } from './tool.ts'

/** Rows per answer; more would fill the model's context. */
export const MAX_ROWS = 100
export const DEFAULT_ROWS = 50
export const DEFAULT_MAX_CREDITS = 1_000
export const MAX_MAX_CREDITS = 1_000_000

export const MAX_CREDITS_SCHEMA: ArgumentSchema = {
  type: 'integer',
  minimum: 0,
  maximum: MAX_MAX_CREDITS,
  default: DEFAULT_MAX_CREDITS,
  description: 'Most credits this call may cost.',
}

export const DRY_RUN_SCHEMA: ArgumentSchema = {
  type: 'boolean',
  description: 'Only tell the price; free.',
}

/** The arguments that continue a list, taken from the previous answer. */
export const CURSORS: readonly string[] = ['after', 'cursor']
const MAX_DESCRIPTION_CHARS = 90
const KEPT_KEYWORDS = ['type', 'enum', 'minimum', 'maximum', 'default'] as const
const WORDS_OF_KIND: Partial<Record<Param['kind'], string>> = {
  time: 'ISO 8601 with Z, a date, or epoch.',
}

/**
 * The arguments of a tool over one or more endpoints, derived from their declarations. The description of an argument
 * says which endpoints have it, if not all do. Allowed values are the union, because the gate lists the exact ones when
 * it refuses a value.
 */
export function argumentsOf(members: ReadonlyMap<string, ToolEndpoint>): Record<string, ArgumentSchema> {
  const names = new Set([...members.values()].flatMap(({ params }) => Object.keys(params)))
  const schemas: Record<string, ArgumentSchema> = {}
  for (const name of names) {
    const having = [...members].flatMap(([member, { params }]) => {
      const param = params[name]
      return param === undefined ? [] : [{ member, param }]
    })
    const only = having.length === members.size ? '' : `${having.map(({ member }) => member).join(', ')}: `
    schemas[name] = merged(
      name,
      having.map(({ param }) => param),
      only,
    )
  }
  return schemas
}

/** The arguments that every endpoint requires. */
export function requiredOf(members: ReadonlyMap<string, ToolEndpoint>): string[] {
  const [first, ...others] = members.values()
  if (first === undefined) return []
  return Object.keys(first.params).filter((name) =>
    [first, ...others].every(({ params }) => params[name]?.required === true),
  )
}

function merged(name: string, params: readonly Param[], only: string): ArgumentSchema {
  const [first] = params
  if (first === undefined) return {}
  if (CURSORS.includes(name)) return { type: 'string', description: 'From `rest` of the answer before.' }
  if (name === 'limit') return { type: 'integer', minimum: 1, maximum: MAX_ROWS, default: DEFAULT_ROWS }
  const schema: Record<string, unknown> = {}
  for (const keyword of KEPT_KEYWORDS) {
    if (first.schema[keyword] !== undefined) schema[keyword] = first.schema[keyword]
  }
  const values = params.map((param) => param.schema.enum as readonly string[] | undefined)
  if (values.every((allowed) => allowed !== undefined))
    schema.enum = [...new Set(values.flatMap((allowed) => allowed ?? []))]
  else delete schema.enum
  const some = [...new Set(values.flatMap((allowed) => allowed ?? []))]
  if (params.some((param) => param.schema.default !== schema.default)) delete schema.default
  const words = WORDS_OF_KIND[first.kind]
  // Enumerated values need no description.
  const text = schema.enum === undefined ? `${shortened(first.description)}${words ? ` ${words}` : ''}` : ''
  const suggested = schema.enum === undefined && some.length > 0 ? ` Such as ${some.join(', ')}.` : ''
  const description = `${only}${text}${suggested}`.trim().replace(/:$/, ' only')
  if (description !== '') schema.description = description
  return schema
}

/** The first sentence. */
function shortened(text: string): string {
  const [sentence = text] = text.split(/(?<=\.)\s/)
  return sentence.length <= MAX_DESCRIPTION_CHARS ? sentence : `${sentence.slice(0, MAX_DESCRIPTION_CHARS)}…`
}
