/**
 * Law 6: an event states what happened on the network. It may leave out what the index cannot know yet: inputs of a
 * transaction that is not accepted, if they spend outputs that were never logged.
 */
import { isDeepStrictEqual } from 'node:util'
import type { StoredEvent } from '../../../src/store/events.ts'
import type { ChainArchive } from './archive.ts'
import type { TransactionTruth, TruthInput, TruthOf } from './transaction-truth.ts'
import { CHAIN_NETWORK } from './world.ts'

/** The data of events of any kind, as far as it is compared. */
type Data = Readonly<Record<string, unknown>>

export interface EventText {
  readonly kind: string
  readonly network: string
  readonly created_at: string
  readonly addresses: readonly string[]
  readonly data: Data
}

const TAG_OF_KIND: Readonly<Record<string, string>> = {
  covenant_execution: 'covenant_execution',
  krc20_activity: 'krc20',
  native_asset_transfer: 'native_asset',
  scriptlang_event: 'scriptlang',
}

const MAX_SHOWN = 300
const shown = (value: unknown) => (JSON.stringify(value) ?? 'nothing').slice(0, MAX_SHOWN)

export type EventContents = ReturnType<typeof createEventContents>

export function createEventContents(archive: ChainArchive, truthOf: TruthOf) {
  /** Transactions named in the log, whose outputs the index therefore has. */
  const logged = new Set<string>()

  function judge(event: StoredEvent, text: EventText): string[] {
    if (event.kind === 'gap') return []
    const { kind, network, created_at, addresses, data } = text
    const wrong = different(event, { kind, network, created_at, addresses } as unknown as Data, {
      kind: event.kind,
      network: CHAIN_NETWORK,
      created_at: new Date(event.createdAtMs).toISOString(),
      addresses: event.addresses,
    })
    const txId = data.tx_id as string | undefined
    if (txId === undefined) return [...wrong, ...judgeChain(event, data)]
    const truth = truthOf(txId)
    if (truth === undefined) return [...wrong, `6 ${kind} ${event.seq} is about ${txId}, which never was`]
    wrong.push(...judgeTransaction(event, data, truth))
    logged.add(txId)
    return wrong
  }

  function judgeChain(event: StoredEvent, data: Data): string[] {
    switch (event.kind) {
      case 'block_added': {
        const block = archive.dagBlock(String(data.hash))
        if (block === undefined) return [`6 ${event.seq} is about block ${data.hash}, which never was`]
        return different(event, data, {
          daa_score: block.daaScore,
          blue_score: block.blueScore,
          timestamp: new Date(block.timeMs).toISOString(),
          transaction_ids: block.txIds,
        })
      }
      case 'virtual_chain_changed':
        return different(event, data, {
          accepted: (data.added as string[]).map((hash) => ({
            accepting_block_hash: hash,
            transaction_ids: archive.block(hash)?.accepted.map(({ txId }) => txId),
          })),
        })
      case 'virtual_daa_score_changed':
        return archive.scores.daa.has(data.daa_score as number) ? [] : [neverWas(event, data.daa_score)]
      case 'sink_blue_score_changed':
        return archive.scores.blue.has(data.blue_score as number) ? [] : [neverWas(event, data.blue_score)]
    }
    return []
  }

  function judgeTransaction(event: StoredEvent, data: Data, truth: TransactionTruth): string[] {
    const { kind } = event
    if (kind === 'mempool_entry' || data.stage === 'mempool') return judgeSeen(event, data, truth)
    if (!archive.acceptedWith(truth.txId).has(data.daa_score as number) && data.stage !== 'accepted')
      return [`6 ${kind} ${event.seq}: no chain block of DAA score ${data.daa_score} accepted ${truth.txId}`]
    switch (kind) {
      case 'utxos_changed':
        return different(event, data, movementOf(truth, String(data.address)))
      case 'covenant_spent':
      case 'covenant_created':
        return judgeCovenant(event, data, truth)
    }
    if (TAG_OF_KIND[kind] === undefined) return []
    const { tags, outputs } = truth
    return [
      ...different(event, data, { tags, outputs }),
      ...different(event, { addresses: event.addresses }, { addresses: addressesOf(truth) }),
      ...judgeDetail(event, data.detail as Data, truth),
    ]
  }

  /** An event about a transaction before its acceptance. */
  function judgeSeen(event: StoredEvent, data: Data, truth: TransactionTruth): string[] {
    const isKnown = (input: TruthInput) => logged.has(input.txId)
    const isWhole = truth.inputs.every(isKnown)
    const { outputs, tags, inputs } = truth
    const wrong = different(event, data, { outputs })
    if (event.kind === 'mempool_entry') {
      const isUnknown = data.fee_sompi === null && !isWhole
      if (!isUnknown) wrong.push(...different(event, data, { fee_sompi: Number(truth.fee) }))
    }
    const needed = addressesOf({ ...truth, inputs: inputs.filter(isKnown) })
    const all = new Set(addressesOf(truth))
    if (
      needed.some((address) => !event.addresses.includes(address)) ||
      event.addresses.some((address) => !all.has(address))
    )
      wrong.push(`6 ${event.kind} ${event.seq} is filed under ${event.addresses.join(' ')}`)
    const named = data.tags as string[]
    if (isWhole) wrong.push(...different(event, data, { tags }))
    else if (named.some((tag) => !tags.includes(tag)))
      wrong.push(`6 ${event.kind} ${event.seq} has the tags ${named.join()}, it should have ${tags.join()}`)
    const tag = TAG_OF_KIND[event.kind]
    if (tag !== undefined && !tags.includes(tag))
      wrong.push(`6 ${event.kind} ${event.seq} is about ${truth.txId}, which is nothing of that kind`)
    else if (tag !== undefined && isWhole) wrong.push(...judgeDetail(event, data.detail as Data, truth))
    return wrong
  }

  function judgeDetail(event: StoredEvent, detail: Data, truth: TransactionTruth): string[] {
    switch (event.kind) {
      case 'krc20_activity': {
        const { form, sender, operation } = truth.krc20 ?? {}
        const found = (detail.operations as Data[]).map((one) => {
          const { op, tick, amt, to } = one.operation as Data
          return { form: one.form, sender: one.sender, op, tick, amt, to }
        })
        const { op, amt = null, to = null } = operation ?? {}
        // May be written in upper or lower case, but is shown in one of them.
        const tick = operation?.tick.toUpperCase()
        return different(event, { operations: found }, { operations: [{ form, sender, op, tick, amt, to }] })
      }
      case 'covenant_execution': {
        const actions = (detail.actions as Data[]).map(({ kind, covenant_id }) => ({ kind, covenant_id }))
        const expected = truth.covenants.map(({ id, spent, created }) => ({
          kind: spent.length === 0 ? 'genesis' : created.length === 0 ? 'burn' : 'continuation',
          covenant_id: id,
        }))
        return different(event, { actions }, { actions: expected })
      }
      case 'native_asset_transfer': {
        const assets = (detail.assets as Data[]).flatMap(({ asset_id, inputs }) =>
          (inputs as Data[]).map(({ owner, amount }) => ({ asset_id, owner, amount: Number(amount) })),
        )
        const expected = truth.inputs.flatMap(({ program, covenantId }) =>
          program?.kind === 'token'
            ? [{ asset_id: covenantId, owner: program.key, amount: Number(program.amount) }]
            : [],
        )
        return different(event, { assets }, { assets: expected })
      }
      default: {
        const inputs = (detail.programs as Data[]).map(({ input }) => input)
        const expected = truth.inputs.flatMap(({ program }, input) =>
          program?.kind === 'token' || program?.kind === 'counter' ? [input] : [],
        )
        return different(event, { inputs }, { inputs: expected })
      }
    }
  }

  return { judge }
}

function judgeCovenant(event: StoredEvent, data: Data, truth: TransactionTruth): string[] {
  const covenant = truth.covenants.find(({ id }) => id === data.covenant_id)
  if (covenant === undefined) return [neverWas(event, data.covenant_id)]
  const { spent, created } = covenant
  const inputs = spent.map(({ txId, index, amount, address }) => ({
    ...{ tx_id: txId, index, amount_sompi: Number(amount), address },
    // Every program of the simulated traffic requires the key.
    signed: true,
  }))
  const outputs = created.map(({ index, amount_sompi, address }) => ({
    ...{ tx_id: truth.txId, index, amount_sompi, address },
  }))
  const cells = event.kind === 'covenant_spent' ? inputs : outputs
  const addresses = [...new Set(cells.flatMap(({ address }) => address ?? []))]
  return [
    ...different(
      event,
      data,
      event.kind === 'covenant_spent'
        ? { is_burn: created.length === 0, inputs }
        : { is_genesis: spent.length === 0, outputs },
    ),
    ...different(event, { addresses: event.addresses }, { addresses }),
  ]
}

function movementOf({ txId, inputs, outputs }: TransactionTruth, address: string): Data {
  const isOwn = (cell: { readonly address: string | null }) => cell.address === address
  return {
    added: outputs.filter(isOwn).map(({ index, amount_sompi }) => ({ tx_id: txId, index, amount_sompi })),
    removed: inputs
      .filter(isOwn)
      .map((input) => ({ tx_id: input.txId, index: input.index, amount_sompi: Number(input.amount) })),
  }
}

function addressesOf({ inputs, outputs }: Pick<TransactionTruth, 'inputs' | 'outputs'>): readonly string[] {
  return [...new Set([...inputs, ...outputs].flatMap(({ address }) => address ?? []))]
}

const neverWas = ({ kind, seq }: StoredEvent, value: unknown) =>
  `6 ${kind} ${seq} has ${value}, which never was`

/** The first member that is not as expected. */
function different({ kind, seq }: StoredEvent, found: Data, expected: Data): string[] {
  for (const [name, value] of Object.entries(expected))
    if (!isDeepStrictEqual(found[name], value))
      return [`6 ${kind} ${seq}: ${name} is ${shown(found[name])}, on the chain ${shown(value)}`]
  return []
}
