import type { EventKind } from '../events/kinds.ts'
import { createMatcher, type Matchable } from '../events/match.ts'
import type { Logger } from '../kit/log.ts'
import { nextTurn, Slice } from '../kit/time-slices.ts'
import type { JobsStore, SubscriptionRecord } from '../store/jobs.ts'
import { everySubscription } from './every-subscription.ts'

/**
 * All subscriptions in memory, matched by kind and address. The store is authoritative: whenever its version has
 * increased, whichever process raised it, the book reads the changed subscriptions again, or all of them if the store no
 * longer lists which they are.
 */
export interface SubscriptionBook {
  readonly all: ReadonlyMap<string, SubscriptionRecord>
  /** Ids of the active subscriptions that select the event. */
  match(event: Matchable): Iterable<string>
  readonly activeCount: number
  /** The version of these subscriptions, as counted by the store. */
  readonly version: number
  /** Resolves to true if something has changed. */
  reload(): Promise<boolean>
  close(): void
}

/** Watches addresses; the returned function ends it. */
export type WatchAddresses = (addresses: readonly string[]) => () => void

interface Entry {
  record: SubscriptionRecord
  withdraw: () => void
}

export function createSubscriptionBook(deps: {
  store: Pick<
    JobsStore,
    'getSubscription' | 'subscriptionPage' | 'subscriptionsVersion' | 'subscriptionChanges'
  >
  watch: WatchAddresses
  log: Logger
}): SubscriptionBook {
  const { store, log } = deps
  const matcher = createMatcher<string>()
  const entries = new Map<string, Entry>()
  const all = new Map<string, SubscriptionRecord>()
  let version = -1
  let reading = Promise.resolve(false)
  /** The read that is queued behind the running one. */
  let waiting: Promise<boolean> | undefined

  /** Entering many addresses takes milliseconds, so other work may run before and after it. */
  async function enter(record: SubscriptionRecord): Promise<() => void> {
    if (!record.active) return () => {}
    await nextTurn()
    const leave = matcher.add(record.id, {
      kinds: record.kinds as EventKind[],
      addresses: record.addresses,
    })
    let letGo = () => {}
    await nextTurn()
    try {
      if (record.addresses.length > 0) letGo = deps.watch(record.addresses)
    } catch (err) {
      log.error({ err, subscription: record.id }, 'the addresses of a subscription cannot be watched')
    }
    return () => {
      leave()
      letGo()
    }
  }

  async function read(): Promise<boolean> {
    const current = await store.subscriptionsVersion()
    if (current === version) return false
    const changed = await store.subscriptionChanges({ after: version, upTo: current })
    if (changed === undefined) await readAll()
    else await readSome(changed)
    version = current
    return true
  }

  async function readAll(): Promise<void> {
    const seen = new Set<string>()
    const slice = new Slice()
    for await (const record of everySubscription(store)) {
      if (slice.isOver) await slice.next()
      seen.add(record.id)
      await put(record)
    }
    for (const id of entries.keys()) {
      if (seen.has(id)) continue
      // Releasing many addresses takes milliseconds.
      if (slice.isOver) await slice.next()
      remove(id)
    }
  }

  async function readSome(ids: readonly string[]): Promise<void> {
    const slice = new Slice()
    for (const id of ids) {
      if (slice.isOver) await slice.next()
      const record = await store.getSubscription(id)
      if (record === undefined) remove(id)
      else await put(record)
    }
  }

  async function put(record: SubscriptionRecord): Promise<void> {
    const known = entries.get(record.id)
    all.set(record.id, record)
    if (known !== undefined && sameSelection(known.record, record)) {
      known.record = record
      return
    }
    // The new addresses are watched before the old ones are released, so that those in both stay watched throughout.
    const withdraw = await enter(record)
    known?.withdraw()
    entries.set(record.id, { record, withdraw })
  }

  function remove(id: string): void {
    const entry = entries.get(id)
    // Unless the book was closed in the meantime.
    if (entries.delete(id)) entry?.withdraw()
    all.delete(id)
  }

  return {
    all,
    match: (event) => matcher.match(event),
    get activeCount() {
      return matcher.size
    },
    get version() {
      return version
    },
    reload() {
      // Reads run one after the other. A change written during a read is seen by the queued one, which all callers in
      // the meantime share.
      const begin = () => {
        waiting = undefined
        return read()
      }
      if (waiting === undefined) {
        waiting = reading.then(begin, begin)
        reading = waiting
      }
      return waiting
    },
    close() {
      for (const entry of entries.values()) entry.withdraw()
      entries.clear()
    },
  }
}

function sameSelection(a: SubscriptionRecord, b: SubscriptionRecord): boolean {
  return a.active === b.active && sameList(a.kinds, b.kinds) && sameList(a.addresses, b.addresses)
}

function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index])
}
