/**
 * The envelope in which a redeem script carries a KRC-20 operation, read as the reference indexer (kasplex/go-krc20d)
 * reads it:
 *
 *   <key check>  OP_FALSE OP_IF  "kasplex"  <entry> <entry>?  OP_ENDIF
 *   entry:  OP_0 <json>  or  <odd number> <extra>
 *
 * The branch never runs; the key check in front of it says who signed. The name is compared without case. Two
 * entries are looked at: of two objects the second counts, one entry must be followed by OP_ENDIF, and what comes
 * behind two is not looked at.
 */
import type { Address } from '../core/chain/address.ts'
import { OP } from './opcodes.ts'
import { readScript, type Script } from './read-script.ts'

export interface Krc20Envelope {
  readonly json: Uint8Array
  /** The signer's key; null for several keys. */
  readonly signer: Pick<Address, 'version' | 'payload'> | null
}

const MARKER = 'kasplex'
const MAX_KEYS = 15
const ENTRIES = 2
const MAX_PUSHES = 16
const MIN_PROGRAM_BYTES = 47
const MIN_SIGNATURE_SCRIPT_BYTES = 70

export function readKrc20Envelope(script: Script): Krc20Envelope | null {
  const check = readKeyCheck(script)
  if (check === null) return null
  const at = check.end
  if (script.op(at) !== 0 || script.op(at + 1) !== OP.IF || script.op(at + 2) !== MARKER.length) return null
  if (!isMarker(script.data(at + 2))) return null
  const json = readEntries(script, at + 3)
  return json !== null && json.length > 0 ? { json, signer: check.signer } : null
}

function readEntries(script: Script, start: number): Uint8Array | null {
  let json: Uint8Array | null = null
  for (let entry = 0; entry < ENTRIES; entry++) {
    const at = start + 2 * entry
    if (script.op(at) === OP.ENDIF) break
    const number = script.smallNumber(at)
    const data = isPlainPush(script.op(at + 1)) ? script.pushed(at + 1) : undefined
    if (data === undefined) return null
    if (script.op(at) === 0) json = data
    else if (number === undefined || number % 2 === 0) return null
  }
  return json
}

/** Whether the indexer finds the program in a signature script: a few plain pushes, of which the last is it. */
export function isFoundByIndexer(signatureScript: Uint8Array): boolean {
  if (signatureScript.length < MIN_SIGNATURE_SCRIPT_BYTES) return false
  const script = readScript(signatureScript, MAX_PUSHES)
  if (script?.ops.every(isPlainPush) !== true) return false
  return (script.data(script.length - 1)?.length ?? 0) >= MIN_PROGRAM_BYTES
}

/** Lengths of up to two bytes: the indexer reads no other push. */
function isPlainPush(op: number | undefined): boolean {
  return op !== undefined && op < OP.PUSH_DATA_4
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
