/**
 * Schemas of events. They are kept apart from the code that writes events, so that the indexer thread does not load the
 * schema library.
 */
import { type Static, type TSchema, Type } from 'typebox'
import type { EventKind } from './kinds.ts'

const Hash = Type.String({ pattern: '^[0-9a-f]{64}$' })
const Score = Type.Integer({ minimum: 0 })
const Sompi = Type.Integer({ minimum: 0, description: 'sompi' })
const Address = Type.String()

/** In the same form as `parsed.outputs` of a transaction. */
const EventOutput = Type.Object({
  index: Type.Integer({ minimum: 0 }),
  amount_sompi: Sompi,
  address: Type.Union([Address, Type.Null()]),
  script_public_key: Type.String(),
  script_class: Type.String(),
  covenant: Type.Union([Type.Object({ id: Hash, authorizing_input: Type.Integer() }), Type.Null()]),
})

const Utxo = Type.Object({ tx_id: Hash, index: Type.Integer({ minimum: 0 }), amount_sompi: Sompi })

const Parsed = Type.Object({
  tx_id: Hash,
  stage: Type.Union([Type.Literal('mempool'), Type.Literal('accepted')]),
  tags: Type.Array(Type.String()),
  detail: Type.Object({}, { additionalProperties: true }),
  outputs: Type.Array(EventOutput),
})

/** Common members of events about an acceptance, which are retracted when the accepting block leaves the chain. */
const ACCEPTED = {
  tx_id: Hash,
  daa_score: Score,
  retracted: Type.Boolean(),
  retracts: Type.Union([Type.String(), Type.Null()]),
}
const CovenantCell = Type.Object({
  tx_id: Hash,
  index: Type.Integer({ minimum: 0 }),
  amount_sompi: Sompi,
  address: Type.Union([Address, Type.Null()]),
})
const Signed = Type.Union([Type.Boolean(), Type.Null()], {
  description: 'a key of the address has signed; false: none had to; null: not shown',
})
const TokenCell = Type.Object({
  holder: Type.Union([Type.String(), Type.Null()], {
    description: 'address, or kind and hex of another owner; null while it is hidden',
  }),
  amount: Type.Union([Type.String(), Type.Null()], {
    description: "digits, in the token's smallest unit; null while it is hidden",
  }),
})

const EVENT_DATA = {
  block_added: Type.Object({
    hash: Hash,
    daa_score: Score,
    blue_score: Score,
    timestamp: Type.String(),
    transaction_ids: Type.Array(Hash),
  }),
  virtual_chain_changed: Type.Object({
    removed: Type.Array(Hash),
    added: Type.Array(Hash),
    accepted: Type.Array(Type.Object({ accepting_block_hash: Hash, transaction_ids: Type.Array(Hash) })),
  }),
  virtual_daa_score_changed: Type.Object({ daa_score: Score }),
  sink_blue_score_changed: Type.Object({ blue_score: Score }),
  utxos_changed: Type.Object({
    address: Address,
    tx_id: Hash,
    added: Type.Array(Utxo),
    removed: Type.Array(Utxo),
    daa_score: Score,
    retracted: Type.Boolean(),
    retracts: Type.Union([Type.String(), Type.Null()]),
  }),
  mempool_entry: Type.Object({
    tx_id: Hash,
    fee_sompi: Type.Union([Sompi, Type.Null()], { description: 'sompi; null where an input is not known' }),
    is_orphan: Type.Boolean(),
    first_seen: Type.Union([Type.Literal('mempool'), Type.Literal('block')], {
      description: 'where it was seen first: block when it left the mempool between two polls',
    }),
    tags: Type.Array(Type.String()),
    outputs: Type.Array(EventOutput),
  }),
  covenant_execution: Parsed,
  krc20_activity: Parsed,
  native_asset_transfer: Parsed,
  scriptlang_event: Parsed,
  covenant_created: Type.Object({
    covenant_id: Hash,
    ...ACCEPTED,
    is_genesis: Type.Boolean({ description: 'the covenant begins here' }),
    outputs: Type.Array(CovenantCell),
  }),
  covenant_spent: Type.Object({
    covenant_id: Hash,
    ...ACCEPTED,
    is_burn: Type.Boolean({ description: 'no output carries it on' }),
    inputs: Type.Array(Type.Object({ ...CovenantCell.properties, signed: Signed })),
  }),
  token_transfer: Type.Object({
    token_id: Type.String(),
    form: Type.String({ description: 'krc20, kcc20 or kcc0020' }),
    ...ACCEPTED,
    operation: Type.String({ description: 'of KRC-20 its name, of a covenant token transition or burn' }),
    valid: Type.Union([Type.Literal(true), Type.Null()], {
      description: 'null: whether it had an effect is not known, because the token is older than the index',
    }),
    from: Type.Array(Type.Object({ ...TokenCell.properties, signed: Signed })),
    to: Type.Array(TokenCell),
  }),
} as const satisfies Record<EventKind, TSchema>

/** The data of each kind, with plain numbers. */
export type EventDataShape = { [K in EventKind]: Static<(typeof EVENT_DATA)[K]> }

export function eventSchema(kind: EventKind) {
  return Type.Object({
    id: Type.String({ pattern: '^evt_[0-9a-z]+$' }),
    seq: Type.Integer({ minimum: 1 }),
    kind: Type.Literal(kind),
    network: Type.String(),
    created_at: Type.String(),
    addresses: Type.Array(Address),
    data: EVENT_DATA[kind],
  })
}
