/**
 * JSON Schema → a small tree of types that both renderers print. Every object gets a name: its own, that of a published
 * schema of the same structure, or the name of what holds it with the field's name behind it.
 */

import { singular } from '../../src/core/client-name.ts'

export type Schema = Readonly<Record<string, unknown>>

export type TypeNode =
  | { readonly kind: 'ref'; readonly name: string }
  | { readonly kind: 'number' | 'boolean' | 'null' | 'unknown' | 'time' }
  | { readonly kind: 'string'; readonly isTime: boolean }
  /** `wide`: can be above 2^53. */
  | { readonly kind: 'integer'; readonly wide: boolean }
  | { readonly kind: 'literal'; readonly values: readonly (string | number | boolean)[] }
  | { readonly kind: 'list'; readonly item: TypeNode }
  | { readonly kind: 'record'; readonly value: TypeNode }
  | { readonly kind: 'union'; readonly members: readonly TypeNode[] }
  | { readonly kind: 'both'; readonly members: readonly TypeNode[] }

export interface Field {
  readonly name: string
  readonly type: TypeNode
  readonly required: boolean
  readonly doc: string
}

export interface Definition {
  readonly name: string
  readonly doc: string
  /** An object, or another name for a type. */
  readonly shape: { readonly fields: readonly Field[] } | { readonly alias: TypeNode }
}

export interface TypeBook {
  readonly definitions: () => readonly Definition[]
  /** `hint` names an object that has no name of its own. */
  readonly typeOf: (schema: Schema, hint: string, fieldName?: string) => TypeNode
}

export function createTypeBook(components: Readonly<Record<string, Schema>>): TypeBook {
  const definitions = new Map<string, Definition>()
  const nameByStructure = new Map<string, string>()
  const known = (schema: Schema) => nameByStructure.get(structureOf(schema) ?? '')
  const remember = (schema: Schema, name: string) => {
    const structure = structureOf(schema)
    if (structure !== undefined) nameByStructure.set(structure, name)
  }
  for (const [name, schema] of Object.entries(components)) remember(schema, name)
  for (const [name, schema] of Object.entries(components)) define(name, schema)

  function define(name: string, schema: Schema): void {
    const doc = textOf(schema.description)
    // A place for it before its fields: what they hold is defined after it.
    definitions.set(name, { name, doc, shape: { fields: [] } })
    const shape = isPlainObject(schema)
      ? { fields: fieldsOf(name, schema) }
      : { alias: typeOf(schema, name, '', true) }
    definitions.set(name, { name, doc, shape })
  }

  function fieldsOf(owner: string, schema: Schema): Field[] {
    const required = (schema.required ?? []) as readonly string[]
    return Object.entries(schema.properties as Record<string, Schema>).map(([name, field]) => ({
      name,
      type: typeOf(field, owner + pascal(name), name),
      required: required.includes(name),
      doc: textOf(field.description),
    }))
  }

  function typeOf(schema: Schema, hint: string, fieldName = '', isOwn = false): TypeNode {
    if (typeof schema.$ref === 'string') return { kind: 'ref', name: schema.$ref.split('/').at(-1) ?? '' }
    const name = isOwn ? undefined : known(schema)
    if (name !== undefined) return { kind: 'ref', name }
    if (Array.isArray(schema.allOf))
      return { kind: 'both', members: membersOf(schema.allOf as Schema[], hint, fieldName) }
    const choices = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined
    if (choices !== undefined && isTime(textOf(schema.description))) return { kind: 'time' }
    if (choices !== undefined)
      return union(choices.map((each, n) => typeOf(each, choiceHint(choices, n, hint), fieldName)))
    if (Array.isArray(schema.type)) {
      const { enum: values, ...rest } = schema
      return union(
        (schema.type as string[]).map((type) =>
          type === 'null'
            ? { kind: 'null' as const }
            : typeOf(
                {
                  ...rest,
                  type,
                  ...(values ? { enum: (values as unknown[]).filter((v) => v !== null) } : {}),
                },
                hint,
                fieldName,
              ),
        ),
      )
    }
    if ('const' in schema) return { kind: 'literal', values: [schema.const as string] }
    if (Array.isArray(schema.enum)) return { kind: 'literal', values: schema.enum as string[] }
    switch (schema.type) {
      case 'string':
        return { kind: 'string', isTime: schema.format === 'date-time' }
      case 'integer':
        return { kind: 'integer', wide: isWide(schema, fieldName) }
      case 'number':
      case 'boolean':
      case 'null':
        return { kind: schema.type }
      case 'array':
        return schema.items === undefined
          ? { kind: 'list', item: { kind: 'unknown' } }
          : { kind: 'list', item: typeOf(schema.items as Schema, singular(hint), fieldName) }
      case 'object':
        return objectType(schema, hint)
      default:
        return { kind: 'unknown' }
    }
  }

  function membersOf(schemas: readonly Schema[], hint: string, fieldName: string): TypeNode[] {
    return schemas
      .filter((each) => each.$ref !== undefined || Object.keys((each.properties ?? {}) as object).length > 0)
      .map((each) => typeOf(each, hint, fieldName))
  }

  function objectType(schema: Schema, hint: string): TypeNode {
    if (!isPlainObject(schema)) {
      const value = Object.values((schema.patternProperties ?? {}) as Record<string, Schema>)[0]
      return {
        kind: 'record',
        value: value === undefined ? { kind: 'unknown' } : typeOf(value, `${hint}Value`),
      }
    }
    let name = hint
    for (let n = 2; definitions.has(name); n++) name = hint + n
    remember(schema, name)
    define(name, schema)
    return { kind: 'ref', name }
  }

  return { definitions: () => [...definitions.values()], typeOf }
}

/** A time that a caller gives, in any of its forms. */
export function isTime(description: string): boolean {
  return /ISO 8601/.test(description)
}

/** An object with named fields. */
function isPlainObject(schema: Schema): boolean {
  return schema.type === 'object' && Object.keys((schema.properties ?? {}) as object).length > 0
}

/** Of schemas that can have a name; the same for two that differ in nothing but the sentence about them. */
function structureOf({ description: _, ...schema }: Schema): string | undefined {
  return schema.type === 'object' || schema.anyOf !== undefined ? JSON.stringify(schema) : undefined
}

/** Amounts and scores of the chain are 64 bits wide; nothing else comes near 2^53. */
function isWide(schema: Schema, fieldName: string): boolean {
  return /sompi|^amount$|_score$/i.test(fieldName) || /\bsompi\b/i.test(textOf(schema.description))
}

function union(members: readonly TypeNode[]): TypeNode {
  const flat = members.flatMap((member) => (member.kind === 'union' ? member.members : [member]))
  const literals = flat.flatMap((member) => (member.kind === 'literal' ? member.values : []))
  const others = flat.filter((member) => member.kind !== 'literal')
  const unique = [...new Map(others.map((member) => [JSON.stringify(member), member])).values()]
  const all: TypeNode[] = [
    ...(literals.length > 0 ? [{ kind: 'literal' as const, values: [...new Set(literals)] }] : []),
    ...unique,
  ]
  return all.length === 1 && all[0] !== undefined ? all[0] : { kind: 'union', members: all }
}

/** Members of a union are told apart by the title, the constant, or a field that only one of them has. */
function choiceHint(choices: readonly Schema[], place: number, hint: string): string {
  const propertiesOf = (schema: Schema | undefined) => (schema?.properties ?? {}) as Record<string, Schema>
  const title = choices[place]?.title
  if (typeof title === 'string') return hint + pascal(title)
  const fields = Object.entries(propertiesOf(choices[place]))
  const constant = fields
    .map(([, field]) => field.const)
    .find((value) => typeof value === 'string' && /^[a-z]/.test(value))
  if (typeof constant === 'string') return hint + pascal(constant)
  const others = choices.filter((_, n) => n !== place)
  const own = fields.find(
    ([name]) => others.length > 0 && others.every((other) => !(name in propertiesOf(other))),
  )
  return own === undefined || others.every((other) => other.type !== 'object') ? hint : hint + pascal(own[0])
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function pascal(text: string): string {
  return text
    .split(/[^A-Za-z0-9]+/)
    .filter(Boolean)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
}
