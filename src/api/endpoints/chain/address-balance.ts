import { Type } from 'typebox'
import { base } from '../../../contract/costs.ts'
import { object } from '../../../contract/endpoint.ts'
import { CONTENT_TYPES } from '../../../contract/envelopes.ts'
import { optional, time } from '../../../contract/params.ts'
import { networkInfo } from '../../../core/chain/network.ts'
import { integerField, nullableTextField, textField } from '../../../core/rows/fields.ts'
import { endpoint } from '../services.ts'
import type { ChainData } from './chain-data.ts'
import { addressPathParam, requireNetwork } from './chain-params.ts'
import { nodeTime } from './node-time.ts'
import { pendingBalance } from './pending-balance.ts'
import { unusableAnswer, upstreamError } from './upstream-error.ts'

const AddressBalance = Type.Object({
  address: textField('The address asked for.'),
  asset: textField('KAS, TKAS on test networks.'),
  at: nullableTextField('The past time asked for; null: now.'),
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

/** Two calls are made for every answer. */
const cost = base(10).per('upstream call', 5, 2)

export const addressBalance = endpoint({
  path: 'GET /v1/addresses/{address}/balance',
  doc: {
    tag: 'node',
    summary: 'Balance of an address, now or at a past time',
    description:
      'Asked of a node. A past balance is what the node says now, less what the index has recorded since: it counts the confirmed transactions whose `block_time` is `at` or earlier. A time before the index begins, or before a gap in it, is refused. It takes a second or so, since node and index are compared at one moment of the chain; an address that has new transactions all the time may be refused with 503 (`address_busy`). The price is 5 for each of the two calls to the node, plus 10.',
  },
  access: { scope: 'node', tier: 'pro', feature: 'address_history' },
  params: { address: addressPathParam, at: optional(time('A past time. Left out: now.')) },
  // A past balance is read from the index.
  heavyCalls: ({ at }) => (at === undefined ? 1 : 0),
  cost,
  returns: object('AddressBalance', AddressBalance),
  errors: ['invalid_time_range', 'upstream_error', 'upstream_unavailable', 'upstream_timeout'],
  run: async ({ input, services, dryRun }) => {
    const { chain } = services
    const { address, at } = input
    requireNetwork(address, chain.upstreams.network)
    if (dryRun) return { kind: 'object', value: {} }
    const { confirmed, pending } =
      at === undefined
        ? await balanceNow(address, chain)
        : { confirmed: await chain.pastBalances.at(address, at), pending: null }
    const shown =
      pending === null
        ? 'null'
        : `{"incoming_sompi":${pending.incoming},"outgoing_sompi":${pending.outgoing},"transactions":${pending.transactions}}`
    const { coin } = networkInfo(chain.upstreams.network)
    const text = `{"address":${JSON.stringify(address)},"asset":"${coin}","at":${JSON.stringify(nodeTime(at ?? null))},"confirmed_sompi":${confirmed},"pending":${shown},"credits_used":${cost.charge({})}}`
    return { kind: 'text', text, contentType: CONTENT_TYPES.json }
  },
})

async function balanceNow(address: string, chain: ChainData) {
  const [balance, pending] = await Promise.all([
    chain.upstreams.call('getBalanceByAddress', { address }, { deadlineMs: chain.waitMs }),
    pendingBalance(address, chain),
  ])
  if (!balance.ok) throw upstreamError(balance.failure)
  const { balance: confirmed } = balance.value as { balance?: number | bigint }
  if (confirmed === undefined) throw unusableAnswer(balance.node, 'balance')
  return { confirmed, pending }
}
