import type { EventKind } from '../../events/kinds.ts'

/** The description of each kind. `byAddress` means that it can be limited to addresses. */
export const KIND_INFO: Record<EventKind, { text: string; byAddress: boolean }> = {
  block_added: { text: 'a block joined the DAG', byAddress: false },
  virtual_chain_changed: { text: 'the selected chain moved', byAddress: false },
  virtual_daa_score_changed: { text: 'the DAA score rose', byAddress: false },
  sink_blue_score_changed: { text: 'the blue score rose', byAddress: false },
  utxos_changed: { text: 'an address gained or spent coins', byAddress: true },
  mempool_entry: { text: 'a transaction reached the mempool', byAddress: true },
  covenant_execution: { text: 'a covenant was executed', byAddress: true },
  krc20_activity: { text: 'a KRC-20 inscription', byAddress: true },
  native_asset_transfer: { text: 'a native asset moved', byAddress: true },
  scriptlang_event: { text: 'a script-language event', byAddress: true },
  covenant_created: { text: 'an output of a covenant was confirmed', byAddress: true },
  covenant_spent: { text: 'an output of a covenant was spent', byAddress: true },
  token_transfer: { text: 'tokens moved', byAddress: true },
}
export const EVENT_KIND_NAMES = Object.keys(KIND_INFO) as EventKind[]
/** Shown when no kind is chosen. */
export const NO_KIND = 'Choose at least one kind of event.'
/** The kind that makes no sense without addresses. */
export const NEEDS_ADDRESSES: EventKind = 'utxos_changed'

export function splitAddresses(text: string): string[] {
  return text.split(/[\s,]+/).filter((part) => part !== '')
}
