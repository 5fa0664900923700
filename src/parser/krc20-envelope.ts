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
import type { Script } from './read-script.ts'

export interface Krc20Envelope {
  readonly json: Uint8Array
  /** The signer's key; null for several keys. */
  readonly signer: Pick<Address, 'version' | 'payload'> | null
}

const MARKER = 'kasplex'
const MAX_KEYS = 15

export function readKrc20Envelope(script: Script): Krc20Envelope | null {
  const check = readKeyCheck(script)
  if (check === null) return null
  let at = check.end
  if (script.op(at) !== 0 || script.op(at + 1) !== OP.IF || script.op(at + 2) !== MARKER.length) return null
  if (!isMarker(script.data(at + 2))) return null
  at += 3
  const extra = script.smallNumber(at)
  if (extra !== undefined && extra % 2 === 1) at += 2
  const json = script.data(at + 1)
  // The indexers read lengths of one and two bytes only.
  if (script.op(at) !== 0 || script.op(at + 1) === OP.PUSH_DATA_4) return null
  return json !== undefined ? { json, signer: check.signer } : null
}

function isMarker(data: Uint8Array | undefined): boolean {
  return data !== undefined && Buffer.from(data).toString('latin1').toLowerCase() === MARKER
}

interface KeyCheck {
  readonly signer: Krc20Envelope['signer']
  /** The first instruction after the check. */
  readonly end: number
}

function readKeyCheck(script: Script): KeyCheck | null {
  const key = script.data(0)
  const check = script.op(1)
  if (key?.length === 32 && check === OP.CHECK_SIG) return { signer: { version: 0, payload: key }, end: 2 }
  if (key?.length === 33 && check === OP.CHECK_SIG_ECDSA) {
    return { signer: { version: 1, payload: key }, end: 2 }
  }
  return readMultisig(script)
}

/** m, the keys, their number, and the check. */
function readMultisig(script: Script): KeyCheck | null {
  const needed = script.smallNumber(0)
  if (needed === undefined || needed > MAX_KEYS) return null
  let at = 1
  while (isKey(script.data(at))) at++
  const keys = at - 1
  const check = script.op(at + 1)
  if (keys === 0 || script.smallNumber(at) !== keys) return null
  if (check !== OP.CHECK_MULTISIG && check !== OP.CHECK_MULTISIG_ECDSA) return null
  return { signer: null, end: at + 2 }
}

function isKey(data: Uint8Array | undefined): boolean {
  return data?.length === 32 || data?.length === 33
}
