import { type ExactJson, parseExact } from '../../kit/exact-json.ts'
import type { IndexedOutput } from '../chain.ts'
import type { OutputPoint } from '../output-point.ts'

type StoredOutput = { readonly [member: string]: ExactJson }

/**
 * Extracts outputs from the served texts (`TransactionRecord.parsed`) of their transactions. Each text is read once: a
 * transaction with a thousand outputs takes milliseconds to read, and another one may spend all of them.
 */
export function indexedOutputs(
  points: readonly OutputPoint[],
  textOf: (txId: string) => string | undefined,
): (IndexedOutput | undefined)[] {
  const found: (IndexedOutput | undefined)[] = points.map(() => undefined)
  const places = Map.groupBy(points.entries(), ([, { txId }]) => txId)
  for (const [txId, own] of places) {
    const outputs = outputsIn(textOf(txId))
    for (const [place, { index }] of own) found[place] = readOutput(outputs[index])
  }
  return found
}

function outputsIn(parsedText: string | undefined): readonly StoredOutput[] {
  const read = parsedText === undefined ? undefined : parseExact(parsedText)
  return (read?.ok ? (read.value as { outputs?: readonly StoredOutput[] }).outputs : undefined) ?? []
}

function readOutput(output: StoredOutput | undefined): IndexedOutput | undefined {
  if (output === undefined) return undefined
  const covenant = output.covenant as { id?: ExactJson } | null | undefined
  return {
    amount: BigInt(output.amount_sompi as number | bigint),
    scriptPublicKey: String(output.script_public_key),
    covenantId: typeof covenant?.id === 'string' ? covenant.id : null,
  }
}
