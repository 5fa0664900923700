/** Operators that check signatures and lock times. */
import { schnorr, secp256k1 } from '@noble/curves/secp256k1.js'
import type { UtxoEntry } from '../consensus/model.ts'
import { type Frame, type Operator, pop } from './frame.ts'
import { isSighashType } from './sighash.ts'
import { fromBoolean, ScriptError, toNumber } from './stack.ts'

const LOCK_TIME_THRESHOLD = 500_000_000_000n
const SEQUENCE_DISABLED = 1n << 63n
const SEQUENCE_MASK = 0xffffffffn

function spent(f: Frame): UtxoEntry {
  const entry = f.entries[f.index]
  if (entry === undefined) throw new ScriptError('Engine is not running on a transaction input')
  return entry
}

function quietly(check: () => boolean): boolean {
  try {
    return check()
  } catch {
    return false
  }
}

/** An empty or wrong signature yields false; a malformed one ends the script. */
function check(f: Frame, key: Uint8Array, signatureAndType: Uint8Array, ecdsa: boolean): boolean {
  if (signatureAndType.length === 0) return false
  const type = signatureAndType.at(-1) ?? 0
  const signature = signatureAndType.subarray(0, -1)
  if (!isSighashType(type)) throw new ScriptError(`invalid hash type 0x${type.toString(16).padStart(2, '0')}`)
  if (key.length !== (ecdsa ? 33 : 32)) throw new ScriptError('unsupported public key type')
  if (signature.length !== 64) throw new ScriptError('signature invalid: malformed signature')
  f.spendSigOps(1)
  const entry = spent(f)
  if (!ecdsa) return quietly(() => schnorr.verify(signature, f.sighash.schnorr(f.index, entry, type), key))
  const message = f.sighash.ecdsa(f.index, entry, type)
  return quietly(() => secp256k1.verify(signature, message, key, { prehash: false, lowS: false }))
}

const checkSig =
  (ecdsa: boolean, after: 'push' | 'verify'): Operator =>
  (f) => {
    const key = pop(f)
    const signature = pop(f)
    const ok = check(f, key, signature, ecdsa)
    if (after === 'push') f.push(fromBoolean(ok))
    else if (!ok) throw new ScriptError('script ran, but verification failed')
  }

const checkMultiSig =
  (ecdsa: boolean): Operator =>
  (f) => {
    const keyCount = Number(toNumber(pop(f)))
    if (keyCount < 0 || keyCount > 20) {
      throw new ScriptError(`invalid pubkey count: too many pubkeys ${keyCount} > 20`)
    }
    if (f.stack.length < keyCount) {
      throw new ScriptError(`opcode requires at least ${keyCount} but stack has only ${f.stack.length}`)
    }
    const keys = f.stack.splice(f.stack.length - keyCount)
    const sigCount = Number(toNumber(pop(f)))
    if (sigCount < 0 || sigCount > keyCount) {
      throw new ScriptError(`invalid signature count: more signatures than pubkeys ${sigCount} > ${keyCount}`)
    }
    if (f.stack.length < sigCount) {
      throw new ScriptError(`opcode requires at least ${sigCount} but stack has only ${f.stack.length}`)
    }
    const signatures = f.stack.splice(f.stack.length - sigCount)
    let next = 0
    let ok = true
    for (const signature of signatures) {
      while (next < keys.length && !check(f, keys[next] ?? new Uint8Array(), signature, ecdsa)) next += 1
      if (next >= keys.length) ok = false
      next += 1
    }
    if (!ok && signatures.some((signature) => signature.length > 0)) {
      throw new ScriptError('not all signatures empty on failed checkmultisig')
    }
    f.push(fromBoolean(ok))
  }

function checkLockTime(f: Frame): void {
  const wanted = littleEndian(pop(f))
  if (wanted < LOCK_TIME_THRESHOLD !== f.tx.lockTime < LOCK_TIME_THRESHOLD) {
    const text = `mismatched locktime types -- tx locktime ${f.tx.lockTime}, stack locktime ${wanted}`
    throw new ScriptError(`Unsatisfied lock time: ${text}`)
  }
  if (wanted > f.tx.lockTime) {
    const text = `locktime requirement not satisfied -- locktime is greater than the transaction locktime: ${wanted} > ${f.tx.lockTime}`
    throw new ScriptError(`Unsatisfied lock time: ${text}`)
  }
  if (f.tx.inputs[f.index]?.sequence === 0xffffffffffffffffn) {
    throw new ScriptError('Unsatisfied lock time: transaction input is finalized')
  }
}

function checkSequence(f: Frame): void {
  const wanted = littleEndian(pop(f))
  if ((wanted & SEQUENCE_DISABLED) !== 0n) return
  const sequence = f.tx.inputs[f.index]?.sequence ?? 0n
  if ((sequence & SEQUENCE_DISABLED) !== 0n) {
    throw new ScriptError(
      `Unsatisfied lock time: transaction sequence has sequence locktime disabled bit set: ${sequence}`,
    )
  }
  if ((wanted & SEQUENCE_MASK) > (sequence & SEQUENCE_MASK)) {
    const text = `locktime requirement not satisfied -- locktime is greater than the transaction locktime: ${wanted} > ${sequence}`
    throw new ScriptError(`Unsatisfied lock time: ${text}`)
  }
}

function littleEndian(item: Uint8Array): bigint {
  if (item.length > 8)
    throw new ScriptError(
      `Number too big: lock time value represented as ${[...item]} is longer than 8 bytes`,
    )
  let value = 0n
  for (let i = item.length - 1; i >= 0; i--) value = (value << 8n) | BigInt(item[i] ?? 0)
  return value
}

export const signatures: Record<number, Operator> = {
  169: checkMultiSig(true),
  171: checkSig(true, 'push'),
  172: checkSig(false, 'push'),
  173: checkSig(false, 'verify'),
  174: checkMultiSig(false),
  176: checkLockTime,
  177: checkSequence,
  215: (f) => {
    const key = pop(f)
    const message = pop(f)
    const signature = pop(f)
    f.spendSigOps(1)
    f.push(fromBoolean(quietly(() => schnorr.verify(signature, message, key))))
  },
}
