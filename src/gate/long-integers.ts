/**
 * Integers that a double cannot hold are read as bigints. Where the schema takes a number or decimal text, they become
 * that text. Anywhere else they stay bigints, which fit no schema: as text they would also pass for hex digits, an
 * address or a name.
 */
interface Shape {
  readonly type?: string
  readonly items?: Shape
  readonly maxItems?: number
  readonly anyOf?: readonly Shape[]
  readonly properties?: Readonly<Record<string, Shape>>
}

/**
 * Changes the value in place, as far as the schema describes it. A list that is too long is refused later, so its items
 * are not read.
 */
export function longIntegersAsText(schema: Shape, value: unknown): unknown {
  if (typeof value === 'bigint') return takesBoth(schema) ? String(value) : value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const { items, maxItems = Number.POSITIVE_INFINITY } = schema
    if (items === undefined || value.length > maxItems || !mayTakeBoth(items)) return value
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

const knownToTakeBoth = new WeakMap<Shape, boolean>()

/** Whether anything in values of this form takes a number or decimal text, so that they have to be read. */
function mayTakeBoth(schema: Shape): boolean {
  const known = knownToTakeBoth.get(schema)
  if (known !== undefined) return known
  const { items, properties = {} } = schema
  const inner = [...Object.values(properties), ...(items === undefined ? [] : [items])]
  const found = takesBoth(schema) || inner.some(mayTakeBoth)
  knownToTakeBoth.set(schema, found)
  return found
}

function takesBoth({ anyOf = [] }: Shape): boolean {
  return ['integer', 'string'].every((type) => anyOf.some((form) => form.type === type))
}
