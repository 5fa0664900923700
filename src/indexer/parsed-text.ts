import { type ExactJson, parseExact, writeExact } from '../kit/exact-json.ts'
import type { ParsedTransaction } from '../parser/parse-transaction.ts'

/** The form in which a parsed transaction is stored and served. */
export function parsedText(parsed: ParsedTransaction): string {
  return writeExact(parsed as unknown as ExactJson)
}

/** The stored text holds plain integers; amounts become bigints again. */
export function readParsed(text: string): ParsedTransaction {
  const read = parseExact(text)
  if (!read.ok) throw new Error(`a stored transaction cannot be read: ${read.message}`)
  const parsed = read.value as unknown as ParsedTransaction
  const exact = <T extends { readonly amount_sompi: bigint | null }>(cell: T): T => ({
    ...cell,
    amount_sompi: cell.amount_sompi === null ? null : BigInt(cell.amount_sompi),
  })
  return { ...parsed, inputs: parsed.inputs.map(exact), outputs: parsed.outputs.map(exact) }
}
