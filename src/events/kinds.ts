export const EVENT_KINDS = [
  'block_added',
  'virtual_chain_changed',
  'virtual_daa_score_changed',
  'sink_blue_score_changed',
  'utxos_changed',
  'mempool_entry',
  'covenant_execution',
  'krc20_activity',
  'native_asset_transfer',
  'scriptlang_event',
  'covenant_created',
  'covenant_spent',
  'token_transfer',
] as const
export type EventKind = (typeof EVENT_KINDS)[number]

/** Kinds about the chain as a whole. A filter by addresses does not narrow them. */
export const CHAIN_KINDS = [
  'block_added',
  'virtual_chain_changed',
  'virtual_daa_score_changed',
  'sink_blue_score_changed',
] as const satisfies readonly EventKind[]
export type ChainKind = (typeof CHAIN_KINDS)[number]

/** The kind of event that each tag of a parsed transaction causes. */
export const PARSED_KINDS = {
  covenant_execution: 'covenant_execution',
  krc20: 'krc20_activity',
  native_asset: 'native_asset_transfer',
  scriptlang: 'scriptlang_event',
} as const satisfies Record<string, EventKind>
export type ParsedKind = (typeof PARSED_KINDS)[keyof typeof PARSED_KINDS]

/**
 * What an acceptance did to covenants and tokens. These events are retracted when the accepting block leaves the chain.
 */
export const ACCEPTED_KINDS = [
  'covenant_created',
  'covenant_spent',
  'token_transfer',
] as const satisfies readonly EventKind[]

export function isEventKind(text: string): text is EventKind {
  return (EVENT_KINDS as readonly string[]).includes(text)
}

export function isChainKind(kind: EventKind): kind is ChainKind {
  return (CHAIN_KINDS as readonly EventKind[]).includes(kind)
}
