/**
 * Validates a body against its schema and lists its faults: one per place, and no more than an answer shows. The length
 * of a list is checked before its items, so that a list that is too long has one fault and its items are not read.
 * TypeBox's own error search walks the whole value and is slow, so it is used for the innermost values only.
 */
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { Value } from 'typebox/value'
import { type InputFault, MAX_FAULTS } from '../core/errors.ts'

interface SchemaError {
  keyword: string
  instancePath: string
  message: string
  params: { requiredProperties?: string[]; additionalProperties?: string[]; allowedValue?: unknown }
}

/** A schema as plain data. */
interface Shape {
  readonly type?: string
  readonly items?: Shape
  readonly maxItems?: number
  readonly minProperties?: number
  readonly properties?: Readonly<Record<string, Shape>>
  readonly required?: readonly string[]
  readonly additionalProperties?: unknown
}

const compiled = new WeakMap<object, (value: unknown) => boolean>()

export function fits(schema: object, value: unknown): boolean {
  const known = compiled.get(schema)
  if (known !== undefined) return known(value)
  const validator = Compile(schema as TSchema)
  const check = (asked: unknown) => validator.Check(asked)
  compiled.set(schema, check)
  return check(value)
}

/** Empty if the body is valid. */
export function bodyFaults(schema: TSchema, value: unknown): InputFault[] {
  const search = new Search()
  search.look(schema as Shape, value, '')
  return [...search.faults.values()]
}

class Search {
  readonly faults = new Map<string, InputFault>()

  get #isFull(): boolean {
    return this.faults.size >= MAX_FAULTS
  }

  look(schema: Shape, value: unknown, path: string): void {
    if (schema.type === 'array' && schema.items !== undefined && Array.isArray(value)) {
      this.#list(schema, schema.items, value, path)
    } else if (schema.type === 'object' && isObject(value)) this.#members(schema, value, path)
    else if (!fits(schema, value)) this.#small(schema, value, path)
  }

  #list(schema: Shape, items: Shape, values: readonly unknown[], path: string): void {
    const { maxItems } = schema
    if (maxItems !== undefined && values.length > maxItems) {
      this.#add(path, `has ${values.length} entries; at most ${maxItems} are allowed`)
      return
    }
    const before = this.faults.size
    for (let index = 0; index < values.length && !this.#isFull; index++) {
      if (!fits(items, values[index])) this.look(items, values[index], `${path}/${index}`)
    }
    if (this.faults.size === before && !fits(schema, values)) this.#small(schema, values, path)
  }

  #members(schema: Shape, value: Readonly<Record<string, unknown>>, path: string): void {
    const { properties = {}, required = [], additionalProperties, minProperties = 0 } = schema
    for (const name of required) {
      if (!Object.hasOwn(value, name)) this.#add(`${path}/${name}`, 'is missing')
    }
    if (additionalProperties === false) {
      for (const name in value) {
        if (this.#isFull) return
        if (!Object.hasOwn(properties, name)) this.#add(`${path}/${name}`, 'is not a field of this body')
      }
    }
    for (const name in properties) {
      const inner = properties[name]
      if (inner !== undefined && Object.hasOwn(value, name)) this.look(inner, value[name], `${path}/${name}`)
    }
    if (minProperties > 0 && Object.keys(value).length < minProperties) {
      this.#add(path, `must have at least one of ${Object.keys(properties).join(', ')}`)
    }
  }

  /** A scalar or a union. */
  #small(schema: Shape, value: unknown, path: string): void {
    const errors = [...Value.Errors(schema as TSchema, value)] as SchemaError[]
    for (const error of errors) {
      const { keyword, instancePath, params } = error
      const place = path + instancePath
      if (keyword === 'required') {
        for (const name of params.requiredProperties ?? []) this.#add(`${place}/${name}`, 'is missing')
      } else if (keyword === 'const' || keyword === 'anyOf') {
        const allowed = constantsAt(errors, instancePath)
        if (allowed.length > 0) this.#add(place, `must be one of ${allowed.join(', ')}`, allowed)
        else if (!errors.some((other) => isInside(other, error))) this.#add(place, 'has a wrong form')
      } else this.#add(place, error.message)
    }
  }

  #add(path: string, message: string, allowed?: readonly string[]): void {
    const param = placeOf(path)
    if (this.#isFull || this.faults.has(param)) return
    const text = `${param} ${message}.`
    this.faults.set(param, { param, error: 'invalid_param', message: text, ...(allowed ? { allowed } : {}) })
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A fault inside one of the alternatives is more precise than the failed union itself. */
function isInside(inner: SchemaError, outer: SchemaError): boolean {
  return inner !== outer && inner.instancePath.startsWith(outer.instancePath) && inner.keyword !== 'anyOf'
}

function constantsAt(errors: readonly SchemaError[], instancePath: string): string[] {
  return errors
    .filter((error) => error.keyword === 'const' && error.instancePath === instancePath)
    .map((error) => String(error.params.allowedValue))
}

/** `/kinds/0` becomes `kinds.0`; the root is `body`. */
function placeOf(instancePath: string): string {
  if (instancePath === '') return 'body'
  return instancePath.slice(1, 121).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')
}
