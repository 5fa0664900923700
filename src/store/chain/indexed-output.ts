import { type ExactJson, parseExact } from '../../kit/exact-json.ts'
import type { IndexedOutput } from '../chain.ts'

/** Extracts one output of a transaction from its served text (`TransactionRecord.parsed`). */
export function outputOf(parsedText: string, index: number): IndexedOutput | undefined {
  const read = parseExact(parsedText)
  if (!read.ok) return undefined
  const outputs = (read.value as { outputs?: readonly { [member: string]: ExactJson }[] }).outputs
  const output = outputs?.[index]
  if (output === undefined) return undefined
  const covenant = output.covenant as { id?: ExactJson } | null | undefined
  return {
    amount: BigInt(output.amount_sompi as number | bigint),
    scriptPublicKey: String(output.script_public_key),
    covenantId: typeof covenant?.id === 'string' ? covenant.id : null,
  }
}
