import { Type } from 'typebox'
import { base } from '../../../contract/costs.ts'
import { object } from '../../../contract/endpoint.ts'
import { CONTENT_TYPES } from '../../../contract/envelopes.ts'
import { optional, time } from '../../../contract/params.ts'
import { isAmount } from '../../../core/chain/is-amount.ts'
import { networkInfo } from '../../../core/chain/network.ts'
import { integerField, nullableTimeField, textField } from '../../../core/rows/fields.ts'
import { elapsedMs } from '../../../kit/clock.ts'
import type { CallOptions } from '../../../upstreams/call-outcome.ts'
import { endpoint } from '../services.ts'
import { balanceNode } from './balance-node.ts'
import type { ChainData } from './chain-data.ts'
import { addressPathParam, requireNetwork } from './chain-params.ts'
import { nodeTime } from './node-time.ts'
import { pendingBalance } from './pending-balance.ts'
import { notOfOneNode, unusableAnswer, upstreamError } from './upstream-error.ts'

const AddressBalance = Type.Object({
  address: textField('The address asked for.'),
  asset: textField('KAS, TKAS on test networks.'),
  at: nullableTimeField('The past time asked for; null: now.'),
  confirmed_sompi: integerField('Sum of its unspent outputs, in sompi.'),
  pending: Type.Union(
    [
      Type.Object({
        incoming_sompi: integerField('What transactions in the mempool pay to it, in sompi.'),
        outgoing_sompi: integerField('What they spend of it, in sompi.'),
        transactions: integerField('How many they are.'),
      }),
      Type.Null(),
    ],
    { description: 'What the mempool would change; null for a past time.' },
  ),
  credits_used: integerField('Credits that this answer cost.'),
})

/** Two calls are charged, however many are needed for a consistent answer. */
const cost = base(10).per('upstream call', 5, 2)

export const addressBalance = endpoint({
  path: 'GET /v1/addresses/{address}/balance',
  doc: {
    tag: 'node',
    summary: 'Balance of an address, now or at a past time',
    description:
      'Asked of a node. A past balance is what the node says now, less what the index has recorded since: it counts the confirmed transactions whose `block_time` is `at` or earlier. A time before the index begins, or before a gap in it, is refused. It takes a second or so, since node and index are compared at one moment of the chain; it is refused with 503 where the address has new transactions all the time (`reason`: `address_busy`), or where the index has not caught up with the nodes (`index_behind`) or the nodes with the index (`nodes_behind`). The price is 10, plus 5 each for two calls to the node, also where more are made so that all comes from one moment.',
  },
  access: { scope: 'node', tier: 'pro', feature: 'address_history' },
  params: { address: addressPathParam, at: optional(time('A past time. Left out: now.')) },
  // A past balance also reads the index, which takes long for a busy address.
  heavyCalls: () => 1,
  cost,
  returns: object('AddressBalance', AddressBalance),
  errors: ['invalid_time_range', 'upstream_error', 'upstream_unavailable', 'upstream_timeout'],
  run: async ({ input, services, dryRun, isGone }) => {
    const { chain } = services
    const { address, at } = input
    requireNetwork(address, chain.upstreams.network)
    if (dryRun) return { kind: 'object', value: {} }
    const { confirmed, pending } =
      at === undefined
        ? await balanceNow(address, chain, isGone)
        : { confirmed: await chain.pastBalances.at(address, at, isGone), pending: null }
    const shown =
      pending === null
        ? 'null'
        : `{"incoming_sompi":${pending.incoming},"outgoing_sompi":${pending.outgoing},"transactions":${pending.transactions}}`
    const { coin } = networkInfo(chain.upstreams.network)
    const text = `{"address":${JSON.stringify(address)},"asset":"${coin}","at":${JSON.stringify(nodeTime(at ?? null))},"confirmed_sompi":${confirmed},"pending":${shown},"credits_used":${cost.charge({})}}`
    return { kind: 'text', text, contentType: CONTENT_TYPES.json }
  },
})

/** Attempts to read balance and mempool from one node at one moment. */
const MAX_TRIES = 3

/**
 * Reads everything from one node, because another one may lag behind and still have in its mempool what the first one
 * has already counted. The balance is compared before and after, because a transaction that is accepted in between
 * would be counted twice or not at all. All attempts share one time limit.
 */
export async function balanceNow(address: string, chain: ChainData, isGone: () => boolean = () => false) {
  const { upstreams, clock, waitMs } = chain
  const endsMs = elapsedMs(clock) + waitMs
  const limits = () => {
    const deadlineMs = endsMs - elapsedMs(clock)
    if (deadlineMs > 0) return { deadlineMs, isAbandoned: isGone }
    throw upstreamError({ kind: 'timeout', detail: `no balance within ${waitMs} ms` })
  }
  const confirmedOn = (stayOn: string | undefined) =>
    confirmedBalance(address, upstreams, { ...limits(), stayOn })
  const olderOutputs = { node: '', amounts: new Map<string, bigint>() }
  let before = await confirmedOn(balanceNode(upstreams.nodes()))
  for (let tries = 1; ; tries++) {
    const pending = await pendingBalance(address, chain, before.node, { limits, olderOutputs })
    const after = await confirmedOn(pending.node)
    const isOfOne = pending.isOfOne && before.node === pending.node && after.node === pending.node
    const isLast = tries >= MAX_TRIES
    // If the balance never stands still, a transaction accepted in between is left out rather than counted twice.
    if (isOfOne && (isLast || after.confirmed === before.confirmed))
      return { confirmed: before.confirmed, pending }
    if (isLast) throw notOfOneNode()
    before = after
  }
}

async function confirmedBalance(address: string, upstreams: ChainData['upstreams'], options: CallOptions) {
  const outcome = await upstreams.call('getBalanceByAddress', { address }, options)
  if (!outcome.ok) throw upstreamError(outcome.failure)
  const { balance } = outcome.value as { balance?: unknown }
  if (!isAmount(balance)) throw unusableAnswer(outcome.node, 'balance')
  return { confirmed: BigInt(balance), node: outcome.node }
}
