import { type AssetSymbol, parseSymbol } from '../../src/core/symbol.ts'

/** What all faults of a sandbox can say, and the numbers that some of them add. */
export type FaultText<Kind extends string, Venue extends string, Numbers extends string> = {
  kind: Kind
  venue: Venue
  symbol?: AssetSymbol
  channel?: string
} & { [Name in Numbers]?: number }

/** Every field is checked: a fault that silently does nothing would make a test pass for the wrong reason. */
export function faultParser<Kind extends string, Venue extends string, Numbers extends string>(known: {
  kinds: readonly Kind[]
  venues: readonly Venue[]
  numbers: readonly Numbers[]
}): (text: string) => FaultText<Kind, Venue, Numbers> {
  const { kinds, venues, numbers } = known
  const fields = ['kind', 'venue', 'symbol', 'channel', ...numbers]
  return (text) => {
    const value = JSON.parse(text) as Record<string, unknown>
    if (typeof value !== 'object' || value === null) throw new RangeError('a fault is an object')
    const unknown = Object.keys(value).find((key) => !fields.includes(key))
    if (unknown !== undefined) throw new RangeError(`unknown field ${unknown}`)
    const kind = kinds.find((one) => one === value.kind)
    const venue = venues.find((one) => one === value.venue)
    if (kind === undefined) throw new RangeError(`kind must be one of ${kinds.join(', ')}`)
    if (venue === undefined) throw new RangeError(`venue must be one of ${venues.join(', ')}`)
    const spec: { kind: Kind; venue: Venue; symbol?: AssetSymbol; channel?: string } = { kind, venue }
    if (value.symbol !== undefined) {
      const symbol = typeof value.symbol === 'string' ? parseSymbol(value.symbol) : undefined
      if (symbol === undefined) throw new RangeError('unknown symbol')
      spec.symbol = symbol
    }
    if (value.channel !== undefined) {
      if (typeof value.channel !== 'string') throw new RangeError('channel must be text')
      spec.channel = value.channel
    }
    const given = numbers.flatMap((name) => {
      const number = value[name]
      if (number === undefined) return []
      if (typeof number !== 'number' || !Number.isFinite(number))
        throw new RangeError(`${name} must be a number`)
      return [[name, number] as const]
    })
    return { ...spec, ...Object.fromEntries(given) } as FaultText<Kind, Venue, Numbers>
  }
}
