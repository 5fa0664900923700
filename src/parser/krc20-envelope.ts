/**
 * The envelope in which a redeem script carries a KRC-20 operation:
 *
 *   <key check>  OP_FALSE OP_IF  "kasplex"  ( <odd number> <extra> )?  OP_0 <json>  OP_ENDIF
 *
 * The branch never runs; the key check in front of it says who signed. The name is compared without case,
 * and what follows the operation is not looked at, as the indexers do.
 */
import type { Address } from '../core/chain/address.ts'
import { OP } from './opcodes.ts'
import { type Instruction, smallNumber } from './read-script.ts'

export interface Krc20Envelope {
  readonly json: Uint8Array
  /** The signer's key; null for several keys. */
  readonly signer: Pick<Address, 'version' | 'payload'> | null
}

const MARKER = 'kasplex'
const MAX_KEYS = 15

export function readKrc20Envelope(instructions: readonly Instruction[]): Krc20Envelope | null {
  const check = readKeyCheck(instructions)
  if (check === null) return null
  const [no, branch, marker] = instructions.slice(check.end, check.end + 3)
  if (no?.op !== 0 || branch?.op !== OP.IF || !isMarker(marker?.data)) return null
  let at = check.end + 3
  const extra = smallNumber(instructions[at])
  if (extra !== undefined && extra % 2 === 1) at += 2
  const json = instructions[at + 1]?.data
  return instructions[at]?.op === 0 && json !== undefined ? { json, signer: check.signer } : null
}

function isMarker(data: Uint8Array | undefined): boolean {
  return data?.length === MARKER.length && Buffer.from(data).toString('latin1').toLowerCase() === MARKER
}

interface KeyCheck {
  readonly signer: Krc20Envelope['signer']
  /** The first instruction after the check. */
  readonly end: number
}

function readKeyCheck(instructions: readonly Instruction[]): KeyCheck | null {
  const [first, second] = instructions
  const key = first?.data
  if (key?.length === 32 && second?.op === OP.CHECK_SIG)
    return { signer: { version: 0, payload: key }, end: 2 }
  if (key?.length === 33 && second?.op === OP.CHECK_SIG_ECDSA) {
    return { signer: { version: 1, payload: key }, end: 2 }
  }
  return readMultisig(instructions)
}

/** m, the keys, their number, and the check. */
function readMultisig(instructions: readonly Instruction[]): KeyCheck | null {
  const needed = smallNumber(instructions[0])
  if (needed === undefined || needed > MAX_KEYS) return null
  let at = 1
  while (isKey(instructions[at])) at++
  const keys = at - 1
  const check = instructions[at + 1]?.op
  if (keys === 0 || smallNumber(instructions[at]) !== keys) return null
  if (check !== OP.CHECK_MULTISIG && check !== OP.CHECK_MULTISIG_ECDSA) return null
  return { signer: null, end: at + 2 }
}

function isKey(instruction: Instruction | undefined): boolean {
  return instruction?.data?.length === 32 || instruction?.data?.length === 33
}
