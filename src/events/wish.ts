/** What somebody asks to be told about: checked once, the same way for webhooks and the stream. */
import { decodeAddress } from '../core/chain/address.ts'
import { type Network, networkInfo } from '../core/chain/network.ts'
import type { Fault } from '../core/errors.ts'
import { nearest } from '../core/nearest.ts'
import type { EventFilter } from '../store/events.ts'
import { EVENT_KINDS, type EventKind, isChainKind, isEventKind } from './kinds.ts'
import type { Wish } from './match.ts'

const MOST_FAULTS = 20

export interface AskedWish {
  readonly kinds: readonly string[]
  readonly addresses: readonly string[]
}

/** The wish without doubles, or everything that is wrong with it. */
export function checkWish(
  asked: AskedWish,
  limits: { network: Network; mostAddresses: number },
): { ok: true; wish: Required<Wish> } | { ok: false; faults: Fault[] } {
  const kinds = [...new Set(asked.kinds)]
  const addresses = [...new Set(asked.addresses)]
  const faults = [...kindFaults(kinds), ...addressFaults(addresses, limits)]
  if (addresses.length === 0 && kinds.includes('utxos_changed')) {
    faults.push(fault('addresses', 'addresses must name at least one address for the kind utxos_changed.'))
  }
  if (faults.length > 0) return { ok: false, faults: faults.slice(0, MOST_FAULTS) }
  return { ok: true, wish: { kinds: kinds as EventKind[], addresses } }
}

function kindFaults(kinds: readonly string[]): Fault[] {
  if (kinds.length === 0) {
    return [{ ...fault('kinds', 'kinds must name at least one kind.'), allowed: EVENT_KINDS }]
  }
  return kinds
    .filter((kind) => !isEventKind(kind))
    .map((kind) => {
      const near = nearest(kind.slice(0, 100), EVENT_KINDS)
      const hint = near === undefined ? `Kinds: ${EVENT_KINDS.join(', ')}.` : `Did you mean ${near}?`
      return { ...fault('kinds', `"${kind.slice(0, 100)}" is not a kind. ${hint}`), allowed: EVENT_KINDS }
    })
}

function addressFaults(
  addresses: readonly string[],
  { network, mostAddresses }: { network: Network; mostAddresses: number },
): Fault[] {
  if (addresses.length > mostAddresses) {
    return [
      fault('addresses', `addresses has ${addresses.length} entries; the plan allows ${mostAddresses}.`),
    ]
  }
  const { addressPrefix } = networkInfo(network)
  const faults: Fault[] = []
  for (const [index, text] of addresses.entries()) {
    if (faults.length === MOST_FAULTS) break
    const decoded = decodeAddress(text)
    const place = `addresses.${index}`
    if (!decoded.ok) {
      faults.push({ ...fault(place, `${place}: ${decoded.message}.`), reason: decoded.reason })
    } else if (decoded.address.prefix !== addressPrefix) {
      const message = `${place} belongs to another network; this one has ${addressPrefix}: addresses.`
      faults.push({ ...fault(place, message), reason: 'network' })
    }
  }
  return faults
}

function fault(param: string, message: string): Fault {
  return { param, error: 'invalid_param', message }
}

/** The wish as the log is asked for it: addresses narrow the kinds that have some. */
export function filtersOf({ kinds, addresses = [] }: Wish): EventFilter[] {
  if (addresses.length === 0) return [{ kinds }]
  const chain = kinds.filter((kind) => isChainKind(kind))
  const narrowed = kinds.filter((kind) => !isChainKind(kind))
  return [
    ...(chain.length > 0 ? [{ kinds: chain }] : []),
    ...(narrowed.length > 0 ? [{ kinds: narrowed, addresses }] : []),
  ]
}
