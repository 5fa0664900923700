/**
 * The program that an input runs. An output paid to a script hash hides its program; the input that spends it reveals
 * it as the last push of the signature script.
 */
import { bytesOfHex, hexOfBytes } from '../core/chain/hex.ts'
import type { SpentOutput, TransactionInput } from '../core/chain/transaction.ts'
import { hasIllegalOp } from './illegal-op.ts'
import { scriptHash } from './keyed-hash.ts'
import { readPushes, readScript, type Script } from './read-script.ts'
import { classifyScript } from './script-class.ts'

export interface Reveal {
  readonly input: number
  readonly program: Uint8Array
  readonly script: Script
  /** The values that the signature script pushes before the program. */
  readonly arguments: readonly Uint8Array[]
  /**
   * `verified`: the program's hash is the one in the spent script. `claimed`: the spent script is unknown, and the last
   * push looks like a program.
   */
  readonly proof: 'verified' | 'claimed'
}

/** A signature with its type byte, which spends an output paid to a public key. It is never a program. */
const SIGNATURE_BYTES = 65
const SIGNATURE_PUSH_HEX = 2 + SIGNATURE_BYTES * 2

export function revealOf(input: TransactionInput, index: number, spent: SpentOutput | null): Reveal | null {
  const { signatureScript } = input
  const spentScript = spent?.scriptPublicKey ?? null
  if (spentScript === null) {
    if (signatureScript.length <= SIGNATURE_PUSH_HEX && signatureScript.startsWith('41')) return null
  } else if (classifyScript(spentScript) !== 'scripthash') {
    return null
  }
  if (signatureScript === '') return null
  const pushes = readPushes(bytesOfHex(signatureScript))
  const program = pushes?.at(-1)
  if (pushes === undefined || program === undefined || program.length === 0) return null
  if (spentScript !== null && hexOfBytes(scriptHash(program)) !== spentScript.slice(8, -2)) return null
  const script = readScript(program)
  if (script === undefined || hasIllegalOp(script, pushes.at(-2))) return null
  return {
    input: index,
    program,
    script,
    arguments: pushes.slice(0, -1),
    proof: spentScript === null ? 'claimed' : 'verified',
  }
}
