/** The node's notifications, in the node's spelling (PascalCase tags, snake_case members). */
const NOTIFICATION_NAMES = [
  'BlockAdded',
  'VirtualChainChanged',
  'UtxosChanged',
  'VirtualDaaScoreChanged',
  'SinkBlueScoreChanged',
  'NewBlockTemplate',
  'FinalityConflict',
  'FinalityConflictResolved',
  'PruningPointUtxoSetOverride',
] as const
export type NotificationName = (typeof NOTIFICATION_NAMES)[number]
export type PlainEvent = Exclude<NotificationName, 'UtxosChanged'>

/** An empty address list is never sent, because the node would take it as every address of the chain. */
export type NotificationScope =
  | { readonly event: PlainEvent }
  | { readonly event: 'UtxosChanged'; readonly addresses: readonly string[] }

/** What one socket should be subscribed to. */
export interface Wanted {
  readonly events: ReadonlySet<PlainEvent>
  readonly addresses: ReadonlySet<string>
}

export interface ScopeChange {
  readonly method: 'subscribe' | 'unsubscribe'
  readonly paramsText: string
  readonly events: readonly PlainEvent[]
  readonly addresses: readonly string[]
}

/** One frame with 100,000 addresses would block the socket; this many take a few milliseconds. */
const ADDRESSES_PER_FRAME = 500

export function isNotificationName(name: string): name is NotificationName {
  return (NOTIFICATION_NAMES as readonly string[]).includes(name)
}

export function wantedOf(scopes: Iterable<NotificationScope>): Wanted {
  const events = new Set<PlainEvent>()
  const addresses = new Set<string>()
  for (const scope of scopes) {
    if (scope.event !== 'UtxosChanged') events.add(scope.event)
    else for (const address of scope.addresses) addresses.add(address)
  }
  return { events, addresses }
}

/** The frames that lead from the active subscriptions to the wanted ones. */
export function scopeChanges(inPlace: Wanted, wanted: Wanted): ScopeChange[] {
  return [
    ...events('subscribe', wanted.events.difference(inPlace.events)),
    ...utxos('subscribe', wanted.addresses.difference(inPlace.addresses)),
    ...events('unsubscribe', inPlace.events.difference(wanted.events)),
    ...utxos('unsubscribe', inPlace.addresses.difference(wanted.addresses)),
  ]
}

function events(method: ScopeChange['method'], names: ReadonlySet<PlainEvent>): ScopeChange[] {
  return [...names].map((name) => ({
    method,
    paramsText:
      name === 'VirtualChainChanged'
        ? '{"VirtualChainChanged":{"include_accepted_transaction_ids":true}}'
        : `{"${name}":{}}`,
    events: [name],
    addresses: [],
  }))
}

function utxos(method: ScopeChange['method'], all: ReadonlySet<string>): ScopeChange[] {
  const list = [...all]
  const changes: ScopeChange[] = []
  for (let at = 0; at < list.length; at += ADDRESSES_PER_FRAME) {
    const addresses = list.slice(at, at + ADDRESSES_PER_FRAME)
    const paramsText = `{"UtxosChanged":{"addresses":${JSON.stringify(addresses)}}}`
    changes.push({ method, paramsText, events: [], addresses })
  }
  return changes
}
