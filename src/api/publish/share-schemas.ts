/**
 * Moves repeated parts of schemas to named components.
 *
 * Equal schemas are one node, which knows its children. The nodes are visited from the largest to the smallest, so that
 * containers are decided before their contents. Each node learns how often it would be written; if that is worth a
 * name, it is written only once, and so is everything inside it.
 */
import { freeName, pascal } from './part-names.ts'

type Json = Record<string, unknown>

interface Node {
  readonly text: string
  readonly schema: Json
  /** Where the node was first seen. */
  readonly place: string
  readonly children: Node[]
  uses: number
  /** The name of its component, if it is one. */
  name?: string
}

/** Naming every small part would make the document harder to read. */
const WORTH_BYTES = 60
const REFERENCE_BYTES = 50

/**
 * @param named the components
 * @param others schemas outside them; `place` is the name that a schema gets if it is worth one
 */
export function shareSchemas(
  named: Json,
  others: readonly { readonly place: string; readonly schema: Json }[],
): { schemas: Json; shared: Map<object, Json> } {
  const nodes = new Map<string, Node>()
  const nodeOf = (schema: Json, place: string): Node => {
    const text = JSON.stringify(schema)
    const known = nodes.get(text)
    if (known !== undefined) return known
    const node: Node = { text, schema, place, children: [], uses: 0 }
    nodes.set(text, node)
    mapChildren(schema, (child, key) => {
      node.children.push(nodeOf(child, place + pascal(key)))
      return child
    })
    return node
  }
  const roots = Object.entries(named).map(([name, schema]) => ({ name, node: nodeOf(tidy(schema), name) }))
  for (const { name, node } of roots) node.name ??= name
  const outer = others.map(({ place, schema }) => ({ schema, node: nodeOf(tidy(schema), place) }))
  for (const { node } of outer) node.uses++

  const taken: Record<string, true> = Object.fromEntries(Object.keys(named).map((name) => [name, true]))
  const bySize = [...nodes.values()].sort((a, b) => b.text.length - a.text.length)
  for (const node of bySize) {
    if (node.name === undefined && isWorthName(node)) {
      node.name = freeName(node.place, taken)
      taken[node.name] = true
    }
    for (const child of node.children) child.uses += node.name === undefined ? node.uses : 1
  }

  const written = new Map<Node, Json>()
  const write = (node: Node): Json => {
    const known = written.get(node)
    if (known !== undefined) return known
    let next = 0
    const text = mapChildren(node.schema, () => use(node.children[next++] as Node))
    written.set(node, text)
    return text
  }
  const use = (node: Node): Json =>
    node.name === undefined ? write(node) : { $ref: `#/components/schemas/${node.name}` }
  const schemas: Json = {}
  for (const { name, node } of roots) schemas[name] = node.name === name ? write(node) : use(node)
  for (const node of bySize) {
    if (node.name !== undefined) schemas[node.name] ??= write(node)
  }
  return { schemas, shared: new Map(outer.map(({ schema, node }) => [schema, use(node)])) }
}

function isWorthName({ uses, text }: Node): boolean {
  return (uses - 1) * (text.length - REFERENCE_BYTES) > WORTH_BYTES
}

/** Keywords that contain a schema, and those that contain a list of schemas. */
const ONE = ['items', 'additionalProperties', 'not']
const LISTS = ['anyOf', 'oneOf', 'allOf', 'prefixItems']

function mapChildren(schema: Json, map: (child: Json, key: string) => Json): Json {
  const mapped: Json = { ...schema }
  for (const [key, value] of Object.entries(schema)) {
    if (typeof value !== 'object' || value === null) continue
    if (ONE.includes(key)) mapped[key] = map(value as Json, key === 'items' ? 'item' : '')
    if (LISTS.includes(key)) mapped[key] = (value as Json[]).map((each) => map(each, ''))
    if (key === 'properties') {
      mapped[key] = Object.fromEntries(
        Object.entries(value as Record<string, Json>).map(([name, each]) => [name, map(each, name)]),
      )
    }
  }
  return mapped
}

/**
 * Writes a schema more briefly: one list of types instead of a choice between a type and null, no empty conditions, and
 * what all shapes of a choice have in common outside the choice.
 */
function tidy(value: unknown): Json {
  const { 'x-wire': _internal, ...whole } = mapChildren(value as Json, tidy)
  const schema = withoutImplied(whole)
  const { allOf, anyOf, ...rest } = schema as { allOf?: Json[]; anyOf?: Json[] } & Json
  if (allOf !== undefined) {
    const telling = allOf.filter((each) => JSON.stringify(each) !== '{"type":"object"}')
    const [only] = telling
    return telling.length === 1 && only !== undefined && Object.keys(rest).length === 0
      ? only
      : { ...rest, allOf: telling }
  }
  if (anyOf === undefined) return schema
  const [first, second] = anyOf
  const orNull = anyOf.length === 2 && JSON.stringify(second) === '{"type":"null"}'
  const isPlain = typeof first?.type === 'string' && !('enum' in first) && !('const' in first)
  return orNull && isPlain && first !== undefined && !sharesKey(first, rest)
    ? { ...first, type: [first.type, 'null'], ...rest }
    : withoutCommon(anyOf, rest)
}

/** A constant implies its type, and an object without members needs no list of them. */
function withoutImplied(schema: Json): Json {
  const { type, properties, ...rest } = schema
  const { method } = (properties ?? {}) as { method?: { const?: unknown } }
  if (rest.title !== undefined && rest.title === method?.const) {
    const { title: _name, ...untitled } = schema
    return untitled
  }
  if ('const' in schema) return { ...rest, ...(properties === undefined ? {} : { properties }) }
  const isEmpty = type === 'object' && JSON.stringify(properties) === '{}'
  return isEmpty ? { type, ...rest } : schema
}

interface Shape extends Json {
  type: 'object'
  required?: string[]
  properties: Json
}

function withoutCommon(shapes: readonly Json[], rest: Json): Json {
  if (!shapes.every(isOpenObject) || 'type' in rest) return { ...rest, anyOf: shapes }
  const [first, ...others] = shapes
  const isCommon = (name: string) => {
    const text = JSON.stringify(first?.properties[name])
    return others.every((shape) => JSON.stringify(shape.properties[name]) === text)
  }
  const common = Object.keys(first?.properties ?? {}).filter(isCommon)
  if (common.length === 0) return { ...rest, anyOf: shapes }
  const isNeeded = (name: string) => shapes.every(({ required = [] }) => required.includes(name))
  const needed = (first?.required ?? []).filter(isNeeded)
  return {
    ...rest,
    type: 'object',
    ...(needed.length === 0 ? {} : { required: needed }),
    properties: Object.fromEntries(common.map((name) => [name, first?.properties[name]])),
    anyOf: shapes.map(({ type: _type, required = [], properties, ...shape }) => {
      const own = required.filter((name) => !needed.includes(name))
      return {
        ...shape,
        ...(own.length === 0 ? {} : { required: own }),
        properties: Object.fromEntries(Object.entries(properties).filter(([name]) => !common.includes(name))),
      }
    }),
  }
}

/** An object that allows other members, so that constraints on some of its members can be stated elsewhere. */
function isOpenObject(schema: Json): schema is Shape {
  return (
    schema.type === 'object' && schema.properties !== undefined && schema.additionalProperties === undefined
  )
}

function sharesKey(a: Json, b: Json): boolean {
  return Object.keys(a).some((key) => Object.hasOwn(b, key))
}
