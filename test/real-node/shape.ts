/**
 * The shape of JSON values: which members they have, and of which kinds. A list is represented by one element that has
 * everything that any of its elements has.
 */
export type Shape = ReadonlyMap<string, ReadonlySet<string>>

export function shapeOf(values: readonly unknown[]): Shape {
  const found = new Map<string, Set<string>>()
  const note = (path: string, kind: string) => {
    const kinds = found.get(path) ?? new Set()
    kinds.add(kind)
    found.set(path, kinds)
  }
  const walk = (path: string, value: unknown): void => {
    if (Array.isArray(value)) {
      note(path, 'list')
      for (const each of value) walk(`${path}[]`, each)
    } else if (typeof value === 'object' && value !== null) {
      note(path, 'object')
      for (const [name, member] of Object.entries(value)) walk(`${path}.${name}`, member)
      note(`${path}{}`, Object.keys(value).sort().join(','))
    } else note(path, kindOf(value))
  }
  for (const value of values) walk('', value)
  return found
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (typeof value === 'bigint' || typeof value === 'number') {
    if (Number(value) > 1.6e12 && Number(value) < 2.2e12) return 'time in milliseconds'
    return Number.isInteger(Number(value)) ? 'whole number' : 'number'
  }
  if (typeof value !== 'string') return typeof value
  if (/^[0-9a-f]{64}$/.test(value)) return 'hash'
  if (/^(?:[0-9a-f]{2})+$/.test(value)) return 'hex'
  if (/^kaspa\w*:[a-z0-9]+$/.test(value)) return 'address'
  return value === '' ? 'empty text' : 'text'
}

/** What differs, one line each. `real` is what the real node sends. */
export function shapeDifferences(name: string, real: Shape, ours: Shape): string[] {
  const lines: string[] = []
  const isInside = (path: string, other: Shape) => {
    // Nothing is known about the elements of an empty list or a member that was null.
    const list = path.lastIndexOf('[]')
    const parent = path.slice(0, path.lastIndexOf('.'))
    const isNull = other.get(parent)?.has('object') === false && other.get(parent)?.has('null') === true
    return !isNull && (list === -1 || other.has(path.slice(0, list + 2)))
  }
  for (const [path, kinds] of real) {
    if (path.endsWith('{}')) continue
    const own = ours.get(path)
    if (own === undefined) {
      if (isInside(path, ours)) lines.push(`${name}${path}: ${[...kinds].join(' or ')}, missing in ours`)
    } else if (!likeEachOther(kinds, own))
      lines.push(`${name}${path}: ${[...kinds].join(' or ')}, ours ${[...own].join(' or ')}`)
  }
  for (const [path, names] of real) {
    const own = path.endsWith('{}') ? ours.get(path) : undefined
    if (own === undefined) continue
    const [always, ownAlways] = [inAll(names), inAll(own)]
    for (const member of ownAlways)
      if (!always.has(member))
        lines.push(`${name}${path.slice(0, -2)}.${member}: may be left out, never by ours`)
    for (const member of always)
      if (!ownAlways.has(member))
        lines.push(`${name}${path.slice(0, -2)}.${member}: always there, not in ours`)
  }
  for (const [path, kinds] of ours)
    if (!path.endsWith('{}') && !real.has(path) && isInside(path, real))
      lines.push(`${name}${path}: only in ours, ${[...kinds].join(' or ')}`)
  return lines
}

/** Members that every object has. */
function inAll(nameLists: ReadonlySet<string>): Set<string> {
  const [first = new Set<string>(), ...others] = [...nameLists].map((names) => new Set(names.split(',')))
  return others.reduce((common, names) => common.intersection(names), first)
}

const FAMILY: Record<string, string> = {
  'whole number': 'number',
  hash: 'text',
  hex: 'text',
  'empty text': 'text',
}

/** Whether they have a kind in common: of a member that may be null or absent, only one case may have been seen. */
function likeEachOther(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  const families = (kinds: ReadonlySet<string>) => new Set([...kinds].map((kind) => FAMILY[kind] ?? kind))
  const [left, right] = [families(a), families(b)]
  return [...left].some((kind) => right.has(kind))
}
