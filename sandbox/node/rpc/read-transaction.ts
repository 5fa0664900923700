/** Reads an RpcTransaction from a request, with the node's rules for which members may be absent. */
import type { TxBody, TxInput, TxOutput } from '../consensus/model.ts'
import { NodePanic, RpcError } from './errors.ts'
import {
  hash,
  hex,
  type Json,
  list,
  malformed,
  object,
  optional,
  u8,
  u16,
  u32,
  unsigned,
} from './read-params.ts'

export function readTransaction(value: Json): TxBody {
  const tx = object(value)
  const version = u16(tx.version)
  const storage = optional(tx.storageMass, unsigned)
  const mass = optional(tx.mass, unsigned)
  if (storage === undefined && mass === undefined) throw malformed()
  if (storage !== undefined && mass !== undefined && storage !== mass) throw malformed()
  return {
    version,
    inputs: list(tx.inputs, (input) => readInput(input, version)),
    outputs: list(tx.outputs, readOutput),
    lockTime: unsigned(tx.lockTime),
    subnetworkId: hex(tx.subnetworkId, 20),
    gas: unsigned(tx.gas),
    payload: hex(tx.payload),
    storageMass: storage ?? mass ?? 0n,
  }
}

function readInput(value: Json, version: number): TxInput {
  const input = object(value)
  const outpoint = object(input.previousOutpoint)
  const sigOpCount = u8(input.sigOpCount)
  const computeBudget = optional(input.computeBudget, u16) ?? 0
  if (version >= 1 && sigOpCount !== 0) throw inconsistent('sig_op_count', version)
  if (version === 0 && computeBudget !== 0) throw inconsistent('compute_budget', version)
  return {
    previousOutpoint: { transactionId: hash(outpoint.transactionId), index: u32(outpoint.index) },
    signatureScript: hex(input.signatureScript),
    sequence: unsigned(input.sequence),
    sigOpCount,
    computeBudget,
  }
}

const inconsistent = (field: string, version: number) =>
  new RpcError(`RpcTransactionInput.${field} is inconsistent with transaction version ${version}`)

function readOutput(value: Json): TxOutput {
  const output = object(value)
  const covenant = optional(output.covenant, (found) => {
    const { authorizingInput, covenantId } = object(found)
    return { authorizingInput: u16(authorizingInput), covenantId: hash(covenantId) }
  })
  return {
    value: unsigned(output.value),
    scriptPublicKey: readScriptPublicKey(output.scriptPublicKey),
    covenant: covenant ?? null,
  }
}

/** Hex with the version in front, or `{version, script}`. The object form panics on wrong member types. */
function readScriptPublicKey(value: Json): string {
  if (typeof value === 'string') {
    const found = hex(value)
    if (found.length < 4) throw malformed()
    return found
  }
  const { version, script } = object(value)
  if (version === undefined || script === undefined) throw malformed()
  if (typeof script !== 'string' || typeof version !== 'number' || !Number.isInteger(version)) {
    throw new NodePanic('unexpected conversion')
  }
  return u16(version).toString(16).padStart(4, '0') + hex(script)
}
