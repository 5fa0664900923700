import type { Resolve, Schema } from './document.ts'

/** The type of a value, in a few words. */
function typeText(schema: Schema, resolve: Resolve): string {
  const plain = resolve<Schema>(schema as { $ref: string })
  if (Array.isArray(plain.enum)) return plain.enum.map((value) => JSON.stringify(value)).join(' | ')
  if ('const' in plain) return JSON.stringify(plain.const)
  const choices = (plain.anyOf ?? plain.oneOf) as Schema[] | undefined
  if (choices !== undefined && plain.properties === undefined)
    return [...new Set(choices.map((each) => typeText(each, resolve)))].join(' | ')
  if (plain.type === 'array') return `${typeText((plain.items ?? {}) as Schema, resolve)}[]`
  const type = Array.isArray(plain.type) ? plain.type.join(' | ') : String(plain.type ?? 'any')
  return typeof plain.format === 'string' ? `${type} (${plain.format})` : type
}

export function boundsText(schema: Schema): string {
  const { minimum, maximum, default: fallback } = schema as Record<string, unknown>
  return [
    minimum !== undefined || maximum !== undefined ? `${minimum ?? '…'} to ${maximum ?? '…'}` : '',
    fallback === undefined ? '' : `default ${JSON.stringify(fallback)}`,
  ]
    .filter(Boolean)
    .join(', ')
}

export interface FieldLine {
  readonly name: string
  readonly type: string
  readonly description: string
  readonly isOptional: boolean
  readonly inner: Schema | undefined
}

/** The fields of an object, or of the objects in a list or choice. */
export function fieldsOf(schema: Schema, resolve: Resolve): FieldLine[] {
  const shapes = shapesOf(schema, resolve)
  const lines = new Map<string, FieldLine>()
  for (const shape of shapes) {
    const required = (shape.required ?? []) as string[]
    for (const [name, field] of Object.entries((shape.properties ?? {}) as Record<string, Schema>)) {
      if (lines.has(name)) continue
      const plain = resolve<Schema>(field as { $ref: string })
      lines.set(name, {
        name,
        type: typeText(field, resolve),
        description: String(plain.description ?? ''),
        isOptional: !required.includes(name),
        inner: shapesOf(field, resolve).some((each) => each.properties !== undefined) ? field : undefined,
      })
    }
  }
  return [...lines.values()]
}

/** `dry_run` is described once instead of with every answer. */
const PREVIEW = '#/components/schemas/DryRun'

function shapesOf(schema: Schema, resolve: Resolve): Schema[] {
  if (schema.$ref === PREVIEW) return []
  const plain = resolve<Schema>(schema as { $ref: string })
  const choices = ((plain.anyOf ?? plain.oneOf ?? plain.allOf) as Schema[] | undefined) ?? []
  const items = plain.type === 'array' ? [plain.items as Schema] : []
  return [plain, ...[...choices, ...items].flatMap((each) => shapesOf(each, resolve))]
}
