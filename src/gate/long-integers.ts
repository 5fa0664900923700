/**
 * Integers that a double cannot hold are read as bigints. Where the schema takes a number or decimal text, they become
 * that text. Anywhere else they stay bigints, which fit no schema: as text they would also pass for hex digits, an
 * address or a name.
 */
interface Shape {
  readonly type?: string
  readonly items?: Shape
  readonly anyOf?: readonly Shape[]
  readonly properties?: Readonly<Record<string, Shape>>
}

/** Changes the value in place, as far as the schema describes it. */
export function longIntegersAsText(schema: Shape, value: unknown): unknown {
  if (typeof value === 'bigint') return takesBoth(schema) ? String(value) : value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const { items } = schema
    if (items === undefined) return value
    for (const [index, item] of value.entries()) {
      const read = longIntegersAsText(items, item)
      if (read !== item) value[index] = read
    }
    return value
  }
  const { properties = {} } = schema
  const members = value as Record<string, unknown>
  for (const name in properties) {
    const inner = properties[name]
    if (inner === undefined || !Object.hasOwn(members, name)) continue
    const read = longIntegersAsText(inner, members[name])
    if (read !== members[name]) members[name] = read
  }
  return value
}

function takesBoth({ anyOf = [] }: Shape): boolean {
  return ['integer', 'string'].every((type) => anyOf.some((form) => form.type === type))
}
