/** Converts between the node's JSON (already parsed, with exact u64 values) and the transaction model. */
import { type FieldFault, FieldReader, MAX_U64 } from './field-reader.ts'
import { normaliseScriptPublicKey } from './script-public-key.ts'
import type {
  CovenantBinding,
  SpentOutput,
  Transaction,
  TransactionInput,
  TransactionOutput,
} from './transaction.ts'

interface TransactionLimits {
  readonly inputs: number
  readonly outputs: number
  readonly signatureScriptBytes: number
  readonly payloadBytes: number
}

/** Consensus limits. The payload is limited by the transient mass of a block, of which each byte takes four units. */
const TRANSACTION_LIMITS: TransactionLimits = {
  inputs: 1_000,
  outputs: 1_000,
  signatureScriptBytes: 250_000,
  payloadBytes: 250_000,
}

/** Room for the largest payload or scripts as hex, plus the members of the maximum number of inputs and outputs. */
export const MAX_TRANSACTION_JSON_BYTES = 1024 * 1024

export type ReadTransaction =
  | { readonly ok: true; readonly transaction: Transaction }
  | { readonly ok: false; readonly faults: readonly FieldFault[] }

const U16 = 0xffff
const U32 = 0xffff_ffff

/**
 * Strict: every member that takes part in the transaction id must be present with the right type. A caller may omit
 * what the node fills in or ignores: `storageMass` (0), the budget or count that the version does not use, `covenant`,
 * `verboseData`. Unknown members are not read.
 */
export function readTransaction(
  json: unknown,
  path = 'transaction',
  limits = TRANSACTION_LIMITS,
): ReadTransaction {
  const reader = new FieldReader()
  const members = reader.members(json, path)
  if (members === undefined) return { ok: false, faults: reader.faults }

  const version = reader.integer(members.version, `${path}.version`, U16)
  if (version > 1) reader.fault(`${path}.version`, 'must be 0 or 1')
  const inputs: TransactionInput[] = []
  for (const [index, input] of reader.list(members.inputs, `${path}.inputs`, limits.inputs).entries()) {
    if (reader.isFull) break
    inputs.push(readInput(reader, input, `${path}.inputs[${index}]`, version, limits))
  }
  const outputs: TransactionOutput[] = []
  for (const [index, output] of reader.list(members.outputs, `${path}.outputs`, limits.outputs).entries()) {
    if (reader.isFull) break
    outputs.push(readOutput(reader, output, `${path}.outputs[${index}]`, version))
  }
  const transaction: Transaction = {
    version,
    inputs,
    outputs,
    lockTime: reader.unsigned(members.lockTime, `${path}.lockTime`, MAX_U64),
    subnetworkId: reader.fixedHex(members.subnetworkId, `${path}.subnetworkId`, 20),
    gas: reader.unsigned(members.gas, `${path}.gas`, MAX_U64),
    payload: reader.hex(members.payload, `${path}.payload`, limits.payloadBytes),
    storageMass: readStorageMass(reader, members.storageMass, members.mass, path),
  }
  return reader.faults.length === 0 ? { ok: true, transaction } : { ok: false, faults: reader.faults }
}

/** The node accepts either name, or both if they agree. */
function readStorageMass(reader: FieldReader, storageMass: unknown, mass: unknown, path: string): bigint {
  const first = optionalUnsigned(reader, storageMass, `${path}.storageMass`)
  const second = optionalUnsigned(reader, mass, `${path}.mass`)
  if (first !== null && second !== null && first !== second) {
    reader.fault(`${path}.mass`, 'differs from storageMass, of which it is the older name')
  }
  return first ?? second ?? 0n
}

function readInput(
  reader: FieldReader,
  json: unknown,
  path: string,
  version: number,
  limits: TransactionLimits,
): TransactionInput {
  const members = reader.members(json, path) ?? {}
  const outpoint = reader.members(members.previousOutpoint, `${path}.previousOutpoint`) ?? {}
  const input: TransactionInput = {
    previousOutpoint: {
      transactionId: reader.fixedHex(outpoint.transactionId, `${path}.previousOutpoint.transactionId`, 32),
      index: reader.integer(outpoint.index, `${path}.previousOutpoint.index`, U32),
    },
    signatureScript: reader.hex(
      members.signatureScript,
      `${path}.signatureScript`,
      limits.signatureScriptBytes,
    ),
    sequence: reader.unsigned(members.sequence, `${path}.sequence`, MAX_U64),
    sigOpCount: reader.integer(
      members.sigOpCount ?? (version === 0 ? undefined : 0),
      `${path}.sigOpCount`,
      0xff,
    ),
    computeBudget: reader.integer(members.computeBudget ?? 0, `${path}.computeBudget`, U16),
  }
  if (version === 0 && input.computeBudget !== 0)
    reader.fault(`${path}.computeBudget`, 'must be 0 in version 0')
  if (version === 1 && input.sigOpCount !== 0) {
    reader.fault(`${path}.sigOpCount`, 'must be 0 in version 1, which uses computeBudget')
  }
  return input
}

function readOutput(reader: FieldReader, json: unknown, path: string, version: number): TransactionOutput {
  const members = reader.members(json, path) ?? {}
  const key = normaliseScriptPublicKey(members.scriptPublicKey)
  if (!key.ok) reader.fault(`${path}.scriptPublicKey`, key.message)
  const covenant = readCovenant(reader, members.covenant, `${path}.covenant`)
  if (covenant !== null && version === 0) reader.fault(`${path}.covenant`, 'needs transaction version 1')
  return {
    value: reader.unsigned(members.value, `${path}.value`, MAX_U64),
    scriptPublicKey: key.ok ? key.hex : '0000',
    covenant,
  }
}

function readCovenant(reader: FieldReader, json: unknown, path: string): CovenantBinding | null {
  if (json === undefined || json === null) return null
  const members = reader.members(json, path)
  if (members === undefined) return null
  return {
    authorizingInput: reader.integer(members.authorizingInput, `${path}.authorizingInput`, U16),
    covenantId: reader.fixedHex(members.covenantId, `${path}.covenantId`, 32),
  }
}

function optionalUnsigned(reader: FieldReader, value: unknown, path: string): bigint | null {
  return value === undefined || value === null ? null : reader.unsigned(value, path, MAX_U64)
}

/**
 * The outputs that the inputs spend, as far as the node resolved them (`inputs[].verboseData.utxoEntry`, which only
 * getVirtualChainFromBlockV2 fills in). One entry per input; a member that is absent or malformed is null.
 */
export function readSpentOutputs(json: unknown): (SpentOutput | null)[] {
  const inputs = (json as { inputs?: unknown } | null | undefined)?.inputs
  if (!Array.isArray(inputs)) return []
  return inputs.map((input: { verboseData?: { utxoEntry?: unknown } | null } | null) =>
    readUtxoEntry(input?.verboseData?.utxoEntry),
  )
}

/** A UTXO entry as in getUtxosByAddresses and in resolved inputs. */
function readUtxoEntry(json: unknown): SpentOutput | null {
  if (typeof json !== 'object' || json === null) return null
  const entry = json as Record<string, unknown>
  const key = normaliseScriptPublicKey(entry.scriptPublicKey)
  return {
    amount: lenient((reader) => reader.unsigned(entry.amount, '', MAX_U64)),
    scriptPublicKey: key.ok ? key.hex : null,
    covenantId: lenient((reader) => reader.fixedHex(entry.covenantId, '', 32)),
    isCoinbase: typeof entry.isCoinbase === 'boolean' ? entry.isCoinbase : null,
    blockDaaScore: lenient((reader) => reader.unsigned(entry.blockDaaScore, '', MAX_U64)),
  }
}

function lenient<T>(read: (reader: FieldReader) => T): T | null {
  const reader = new FieldReader()
  const value = read(reader)
  return reader.faults.length === 0 ? value : null
}

/**
 * The form that every node version accepts. 64-bit integers are bigints here and must be serialised as JSON numbers
 * with all their digits, because the node refuses text.
 */
export function writeTransaction(transaction: Transaction) {
  return {
    version: transaction.version,
    inputs: transaction.inputs.map((input) => ({
      previousOutpoint: {
        transactionId: input.previousOutpoint.transactionId,
        index: input.previousOutpoint.index,
      },
      signatureScript: input.signatureScript,
      sequence: input.sequence,
      sigOpCount: input.sigOpCount,
      computeBudget: input.computeBudget,
      verboseData: null,
    })),
    outputs: transaction.outputs.map((output) => ({
      value: output.value,
      scriptPublicKey: output.scriptPublicKey,
      verboseData: null,
      covenant:
        output.covenant === null
          ? null
          : { authorizingInput: output.covenant.authorizingInput, covenantId: output.covenant.covenantId },
    })),
    lockTime: transaction.lockTime,
    subnetworkId: transaction.subnetworkId,
    gas: transaction.gas,
    payload: transaction.payload,
    storageMass: transaction.storageMass,
    mass: transaction.storageMass,
    verboseData: null,
  }
}
