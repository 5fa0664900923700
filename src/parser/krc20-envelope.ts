/**
 * The envelope in which a redeem script carries a KRC-20 operation, read as the reference indexer (kasplex/go-krc20d)
 * reads it:
 *
 *   <key check>  OP_FALSE OP_IF  "kasplex"  <entry> <entry>?  OP_ENDIF
 *   entry:  OP_0 <json>  or  <odd number> <extra>
 *
 * The branch never runs; the key check before it shows who signed. The marker is compared case-insensitively. At most
 * two entries are read, and of two objects the second counts. A single entry must be followed by OP_ENDIF; anything
 * after two entries is ignored.
 */
import type { Address } from '../core/chain/address.ts'
import { hexOfBytes } from '../core/chain/hex.ts'
import { scriptHash } from './keyed-hash.ts'
import { OP } from './opcodes.ts'
import { readScript, type Script } from './read-script.ts'

export interface Krc20Envelope {
  readonly json: Uint8Array
  readonly signer: KeyCheck['signer']
  readonly keyCheck: string
}

const MARKER = 'kasplex'
const MAX_KEYS = 15
/** The instruction that pushes the number n has the code 0x50 + n. */
const SMALL_NUMBER = 0x50
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
  if (json === null || json.length === 0) return null
  return { json, signer: check.signer, keyCheck: check.script }
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

/** Whether the reference indexer finds an envelope's program in a signature script. */
export function isFoundByIndexer(signatureScript: Uint8Array): boolean {
  return signatureScript.length >= MIN_SIGNATURE_SCRIPT_BYTES && lastPush(signatureScript) !== undefined
}

/** The key check at the start of an input's program, as the reference indexer finds it; empty if it finds none. */
export function keyCheckOf(signatureScript: Uint8Array): string {
  const program = lastPush(signatureScript)
  const script = program && readScript(program)
  return (script && readKeyCheck(script)?.script) ?? ''
}

/** The reference indexer reads a few plain pushes, of which the last is the program. */
function lastPush(signatureScript: Uint8Array): Uint8Array | undefined {
  const script = readScript(signatureScript, MAX_PUSHES)
  if (script?.ops.every(isPlainPush) !== true) return undefined
  const program = script.data(script.length - 1)
  return program !== undefined && program.length >= MIN_PROGRAM_BYTES ? program : undefined
}

/** The reference indexer reads only pushes whose length takes at most two bytes. */
function isPlainPush(op: number | undefined): boolean {
  return op !== undefined && op < OP.PUSH_DATA_4
}

function isMarker(data: Uint8Array | undefined): boolean {
  return data !== undefined && Buffer.from(data).toString('latin1').toLowerCase() === MARKER
}

interface KeyCheck {
  /** The owner of the key; for several keys, the address of the script that checks them. */
  readonly signer: Pick<Address, 'version' | 'payload'>
  /** The check as the reference indexer writes it, in hex. */
  readonly script: string
  /** The first instruction after the check. */
  readonly end: number
}

function readKeyCheck(script: Script): KeyCheck | null {
  const key = script.data(0)
  const check = script.op(1)
  if (key?.length === 32 && check === OP.CHECK_SIG) {
    return { signer: { version: 0, payload: key }, script: `20${hexOfBytes(key)}ac`, end: 2 }
  }
  if (key?.length === 33 && check === OP.CHECK_SIG_ECDSA) {
    return { signer: { version: 1, payload: key }, script: `21${hexOfBytes(key)}ab`, end: 2 }
  }
  return readMultisig(script)
}

/**
 * The required number, the keys, their number, and the check. The reference indexer rebuilds the script to find its
 * address and chooses the check by the keys: the ECDSA check if any key has 33 bytes, regardless of what the script
 * itself uses.
 */
function readMultisig(script: Script): KeyCheck | null {
  const needed = script.smallNumber(0)
  if (needed === undefined || needed > MAX_KEYS) return null
  const keys: Uint8Array[] = []
  for (let key = script.data(1); isKey(key); key = script.data(keys.length + 1)) keys.push(key)
  const at = keys.length + 1
  const check = script.op(at + 1)
  if (keys.length === 0 || keys.length > MAX_KEYS || script.smallNumber(at) !== keys.length) return null
  if (check !== OP.CHECK_MULTISIG && check !== OP.CHECK_MULTISIG_ECDSA) return null
  const written = Buffer.concat([
    Uint8Array.of(SMALL_NUMBER + needed),
    ...keys.flatMap((key) => [Uint8Array.of(key.length), key]),
    Uint8Array.of(SMALL_NUMBER + keys.length),
    Uint8Array.of(keys.some(({ length }) => length === 33) ? OP.CHECK_MULTISIG_ECDSA : OP.CHECK_MULTISIG),
  ])
  return { signer: { version: 8, payload: scriptHash(written) }, script: hexOfBytes(written), end: at + 2 }
}

function isKey(data: Uint8Array | undefined): data is Uint8Array {
  return data?.length === 32 || data?.length === 33
}
