/**
 * Which branches of a wire type did real messages take? A branch is an optional key that was present, one that
 * was absent, an alternative of a union, a list that had elements.
 */
import { Check } from 'typebox/value'
import type { WireType } from '../../src/venues/adapter/wire-type.ts'

interface Schema {
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema | readonly Schema[]
}

export interface SchemaCoverage {
  see(value: unknown): void
  /** Branches that nothing took. */
  unseen(): string[]
}

export function schemaCoverage(type: WireType<unknown>): SchemaCoverage {
  const all = new Set<string>()
  const seen = new Set<string>()
  walk(type.schema as Schema, undefined, '', all, true)
  return {
    see: (value) => walk(type.schema as Schema, value, '', seen, false),
    unseen: () => [...all].filter((branch) => !seen.has(branch)),
  }
}

/** With `every`, names all branches there are; else those that the value takes. */
function walk(schema: Schema, value: unknown, path: string, found: Set<string>, every: boolean): void {
  for (const [index, option] of (schema.anyOf ?? []).entries()) {
    if (!every && !Check(option as Parameters<typeof Check>[0], value)) continue
    found.add(`${path}|${index}`)
    walk(option, value, path, found, every)
  }
  for (const [name, part] of Object.entries(schema.properties ?? {})) {
    const inner = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
    const isOptional = !schema.required?.includes(name)
    if (isOptional && (every || inner === undefined)) found.add(`${path}.${name} absent`)
    if (isOptional && (every || inner !== undefined)) found.add(`${path}.${name} present`)
    if (every || inner !== undefined) walk(part, inner, `${path}.${name}`, found, every)
  }
  if (schema.items === undefined) return
  if (Array.isArray(schema.items)) {
    for (const [index, part] of schema.items.entries()) {
      walk(part, Array.isArray(value) ? value[index] : undefined, `${path}[${index}]`, found, every)
    }
    return
  }
  const elements: unknown[] = Array.isArray(value) ? value : []
  if (every || elements.length > 0) found.add(`${path}[] filled`)
  if (every) walk(schema.items as Schema, undefined, `${path}[]`, found, every)
  for (const element of elements) walk(schema.items as Schema, element, `${path}[]`, found, every)
}
