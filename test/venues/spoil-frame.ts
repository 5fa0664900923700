/** Spoils recorded messages at random: types, keys, numbers, times, nesting, and the text itself. */
import type { SeededRandom } from '../seeded-random.ts'

const DAY_MS = 86_400_000
const MAX_LIST = 10_000
/** A message above 16 MiB is not read at all. */
const MAX_LIST_CHARS = 4 * 2 ** 20
/** An object that cannot become a text or a number. */
const UNPRINTABLE = { toString: 1, valueOf: 1 }

const ODD_VALUES: readonly unknown[] = [
  ...[null, true, false, 0, -1, 0.5, 1e21, 1e308, -1e308, 2 ** 53, 2 ** 63, 1e-7],
  ...[
    '',
    ' ',
    ' 1',
    '1e5',
    '-0',
    '-1',
    '0x10',
    'NaN',
    'Infinity',
    '1,000',
    '٣',
    '\u0000',
    '99999999999999999999',
  ],
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', '0.'.padEnd(60, '3'), 'x'.repeat(100_000)],
  ...[[], {}, [[]], [null], { length: 3 }, UNPRINTABLE, [UNPRINTABLE]],
]
const ODD_KEYS = ['__proto__', 'constructor', 'prototype', 'toString', '', 'length', '0']

type Place = { readonly parent: Record<string, unknown>; readonly key: string }

export function spoilFrame(text: string, random: SeededRandom): string {
  return random() < 0.2 ? spoilText(text, random) : spoilValue(text, random)
}

function spoilText(text: string, random: SeededRandom): string {
  const at = random.int(0, text.length)
  switch (random.int(0, 6)) {
    case 0:
      return text.slice(0, at)
    case 1:
      return (
        text.slice(0, at) + random.pick(['"', '}', '[', ',', '\\', '\ud800', 'NaN', '-']) + text.slice(at)
      )
    case 2:
      return text.replace('{', '{"__proto__":{"polluted":1},')
    case 3:
      return `${'['.repeat(20_000)}${text}${']'.repeat(20_000)}`
    case 4:
      return `[${Array.from({ length: random.int(2, 50) }, () => text).join()}]`
    case 5:
      return text.replace(/"([a-zA-Z_]+)":/, '"$1":1,"$1":')
    default:
      return renamed(text, random)
  }
}

function renamed(text: string, random: SeededRandom): string {
  const keys = [...text.matchAll(/"([a-zA-Z_]+)":/g)]
  if (keys.length === 0) return text
  return text.replace(random.pick(keys)[0], `"${random.pick(ODD_KEYS)}":`)
}

function spoilValue(text: string, random: SeededRandom): string {
  let root: unknown
  try {
    root = JSON.parse(text)
  } catch {
    return spoilText(text, random)
  }
  const holder = { root }
  const places = placesOf(holder)
  for (let left = random.int(1, 3); left > 0; left--) spoilAt(random.pick(places), random)
  return JSON.stringify(holder.root) ?? ''
}

function placesOf(holder: object): Place[] {
  const places: Place[] = []
  const visit = (parent: object) => {
    for (const key of Object.keys(parent)) {
      const members = parent as Record<string, unknown>
      places.push({ parent: members, key })
      const value = members[key]
      if (typeof value === 'object' && value !== null) visit(value)
    }
  }
  visit(holder)
  return places
}

function spoilAt({ parent, key }: Place, random: SeededRandom): void {
  const value = parent[key]
  const number = typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value))
  if (number && random() < 0.7) {
    const wrong = wrongNumber(Number(value), random)
    parent[key] = typeof value === 'string' ? String(wrong) : wrong
    return
  }
  switch (random.int(0, 4)) {
    case 0:
      delete parent[key]
      return
    case 1:
      parent[key] = Array.isArray(value) ? longList(value[0] ?? null) : [value]
      return
    case 2:
      parent[key] = deep(value, random.int(1, 500))
      return
    default:
      parent[key] = random.pick(ODD_VALUES)
  }
}

/** What is changed afterwards is changed in the first only, so that lists do not multiply. */
function longList(value: unknown): unknown[] {
  const copy: unknown = structuredClone(value)
  const chars = JSON.stringify(copy).length + 1
  const length = Math.min(MAX_LIST, Math.ceil(MAX_LIST_CHARS / chars))
  return [value, ...Array.from({ length }, () => copy)]
}

function wrongNumber(number: number, random: SeededRandom): number {
  return random.pick([
    ...[Math.floor(number / 1_000), number * 1_000, number + DAY_MS, number - DAY_MS, number + 365 * DAY_MS],
    ...[number + 1, number - 1, number + 1e12, -number, number + 0.5, number + 20_000, number - 20_000],
  ])
}

function deep(value: unknown, levels: number): unknown {
  let nested = value
  for (let level = 0; level < levels; level++) nested = level % 2 === 0 ? [nested] : { a: nested }
  return nested
}
