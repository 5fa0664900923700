/** The nine notifications and who gets them; subscriptions belong to their socket. */
import { decodeAddress, scriptOfAddress } from '../consensus/address.ts'
import type { LedgerUpdate } from '../consensus/ledger.ts'
import type { UtxoDifference } from '../consensus/utxo-set.ts'
import { acceptedIds } from './dag-methods.ts'
import { NodePanic } from './errors.ts'
import { u64 } from './json.ts'
import { boolean, type JsonObject, list, malformed, object, text } from './read-params.ts'
import type { NodeView } from './view.ts'

const SCOPES = [
  'BlockAdded',
  'VirtualChainChanged',
  'FinalityConflict',
  'FinalityConflictResolved',
  'UtxosChanged',
  'SinkBlueScoreChanged',
  'VirtualDaaScoreChanged',
  'PruningPointUtxoSetOverride',
  'NewBlockTemplate',
] as const
export type Scope = (typeof SCOPES)[number]

/** What a node publishes; each socket takes what it has subscribed to. */
export type NodeEvent =
  | { kind: 'update'; update: LedgerUpdate }
  | { kind: 'conflict'; hash: string }
  | { kind: 'conflict_resolved'; hash: string }
  | { kind: 'utxo_set_override' }

export class Subscriptions {
  readonly #scopes = new Set<Scope>()
  #withIds = false
  /** Undefined if all addresses are subscribed. */
  #scripts: Set<string> | undefined = new Set()

  start(params: JsonObject): void {
    const { scope, body } = readScope(params)
    if (scope === 'VirtualChainChanged') this.#withIds = boolean(body.include_accepted_transaction_ids)
    if (scope === 'UtxosChanged') {
      const scripts = readAddresses(body)
      if (scripts.length === 0) this.#scripts = undefined
      for (const script of scripts) this.#scripts?.add(script)
    }
    this.#scopes.add(scope)
  }

  stop(params: JsonObject): void {
    const { scope, body } = readScope(params)
    if (scope === 'VirtualChainChanged') boolean(body.include_accepted_transaction_ids)
    if (scope === 'UtxosChanged') {
      const scripts = readAddresses(body)
      if (scripts.length > 0 && this.#scripts !== undefined) {
        for (const script of scripts) this.#scripts.delete(script)
        if (this.#scripts.size > 0) return
      }
      this.#scripts = new Set()
    }
    this.#scopes.delete(scope)
  }

  get isEmpty(): boolean {
    return this.#scopes.size === 0
  }

  /** Frames for this socket, in the node's order. `shared` caches texts that are the same for all sockets. */
  frames(view: NodeView, event: NodeEvent, shared: Map<string, string>): string[] {
    const out: string[] = []
    const send = (scope: Scope, key: string, build: () => unknown) => {
      if (!this.#scopes.has(scope)) return
      const known = shared.get(key)
      const frame = known ?? notification(scope, build())
      if (known === undefined) shared.set(key, frame)
      out.push(frame)
    }
    const plain = (scope: Scope, build: () => unknown) => send(scope, scope, build)
    if (event.kind === 'conflict') plain('FinalityConflict', () => ({ violatingBlockHash: event.hash }))
    if (event.kind === 'conflict_resolved')
      plain('FinalityConflictResolved', () => ({ finalityBlockHash: event.hash }))
    if (event.kind === 'utxo_set_override') plain('PruningPointUtxoSetOverride', () => ({}))
    if (event.kind !== 'update') return out
    const { update } = event
    const record = view.ledger.record(update.block.header.hash)
    if (record !== undefined)
      plain('BlockAdded', () => ({ block: view.wire.block(view.ledger, record, true) }))
    plain('NewBlockTemplate', () => ({}))
    this.#utxos(view, update.utxos, out, shared)
    plain('SinkBlueScoreChanged', () => ({ sinkBlueScore: u64(update.sinkBlueScore) }))
    plain('VirtualDaaScoreChanged', () => ({ virtualDaaScore: u64(update.virtualDaaScore) }))
    send('VirtualChainChanged', `VirtualChainChanged ${this.#withIds}`, () => ({
      removedChainBlockHashes: update.removedChain,
      addedChainBlockHashes: update.addedChain,
      acceptedTransactionIds: this.#withIds ? acceptedIds(view, update.addedChain) : [],
    }))
    return out
  }

  #utxos(view: NodeView, utxos: UtxoDifference, out: string[], shared: Map<string, string>): void {
    if (!this.#scopes.has('UtxosChanged') || !view.hasUtxoIndex) return
    const scripts = this.#scripts
    const mine = (changes: UtxoDifference['added']) =>
      scripts === undefined ? changes : changes.filter(({ entry }) => scripts.has(entry.scriptPublicKey))
    const added = mine(utxos.added)
    const removed = mine(utxos.removed)
    if (added.length + removed.length === 0) return
    const build = () =>
      notification('UtxosChanged', {
        added: added.map(({ key, entry }) => view.wire.utxo(key, entry)),
        removed: removed.map(({ key, entry }) => view.wire.utxo(key, entry)),
      })
    if (scripts !== undefined) return void out.push(build())
    const frame = shared.get('UtxosChanged') ?? build()
    shared.set('UtxosChanged', frame)
    out.push(frame)
  }
}

function notification(scope: Scope, body: unknown): string {
  const method = `${scope[0]?.toLowerCase()}${scope.slice(1)}Notification`
  return JSON.stringify({ method, params: { [scope]: body } })
}

/** Exactly one tag, in PascalCase, with its fields in snake_case. */
function readScope(params: JsonObject): { scope: Scope; body: JsonObject } {
  const [entry, ...more] = Object.entries(params)
  const scope = SCOPES.find((known) => known === entry?.[0])
  if (entry === undefined || scope === undefined || more.length > 0) throw malformed()
  return { scope, body: object(entry[1]) }
}

function readAddresses(body: JsonObject): string[] {
  return list(body.addresses, (value) => {
    const decoded = decodeAddress(text(value))
    if (!decoded.ok && decoded.panics) throw new NodePanic('address payload length')
    if (!decoded.ok) throw malformed()
    return scriptOfAddress(decoded)
  })
}
