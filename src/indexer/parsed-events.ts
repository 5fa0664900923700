/** The events that a transaction's tags make, once for each stage. */
import { PARSED_KINDS, type ParsedKind } from '../events/kinds.ts'
import type { ExactJson } from '../kit/exact-json.ts'
import type { ParsedTransaction } from '../parser/parse-transaction.ts'
import type { EventBatch } from './batch.ts'
import { transactionAddresses } from './index-address.ts'

export function addParsedEvents(
  batch: EventBatch,
  parsed: ParsedTransaction,
  stage: 'mempool' | 'accepted',
): void {
  for (const [tag, kind] of Object.entries(PARSED_KINDS) as [keyof typeof PARSED_KINDS, ParsedKind][]) {
    const detail = parsed.details[tag]
    if (detail === undefined) continue
    const { tx_id, tags, outputs } = parsed
    // The detail is the parser's own object; its members are described with the tags.
    const data = { tx_id, stage, tags, detail: detail as unknown as Record<string, ExactJson>, outputs }
    batch.add(kind, data, transactionAddresses(parsed))
  }
}
