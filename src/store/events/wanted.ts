import type { EventFilter } from '../events.ts'

/** The parts of an event that a filter checks. */
interface FilteredEvent {
  readonly kind: string
  /** Joined by spaces. */
  readonly addresses: string
}

/** Whether any of the filters selects an event; without filters every event is selected. */
export function wantedBy(filters: readonly EventFilter[] | undefined): (event: FilteredEvent) => boolean {
  if (filters === undefined) return () => true
  const prepared = filters.map(({ kinds, addresses }) => ({
    kinds: new Set(kinds),
    addresses: addresses && new Set(addresses),
  }))
  return ({ kind, addresses: list }) =>
    prepared.some(
      ({ kinds, addresses }) =>
        kinds.has(kind) &&
        (addresses === undefined ||
          (list !== '' && list.split(' ').some((address) => addresses.has(address)))),
    )
}
