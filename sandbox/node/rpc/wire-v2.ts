/** Accepted transactions with resolved inputs, at the four levels of detail. Omitted members are null. */

import type { AcceptedTx } from '../consensus/accept.ts'
import { classify } from '../consensus/address.ts'
import type { Header, TxInput, TxOutput, UtxoEntry } from '../consensus/model.ts'
import { RpcError } from './errors.ts'
import { u64 } from './json.ts'
import { malformed } from './read-params.ts'
import { blueWork, type Wire } from './wire.ts'

type Level = 'None' | 'Low' | 'High' | 'Full'
const LEVELS: readonly string[] = ['None', 'Low', 'High', 'Full'] satisfies Level[]

export function verbosityLevel(text: string): number {
  const level = LEVELS.indexOf(text)
  if (level < 0) throw malformed()
  return level
}

const from =
  (level: number) =>
  <T>(wanted: Level, value: T): T | null =>
    level >= LEVELS.indexOf(wanted) ? value : null

export function optionalHeader(header: Header, level: number) {
  const at = from(level)
  return {
    hash: header.hash,
    version: at('Low', header.version),
    parentsByLevel: at('High', runsOf(header.parentsByLevel)),
    hashMerkleRoot: at('High', header.hashMerkleRoot),
    acceptedIdMerkleRoot: at('High', header.acceptedIdMerkleRoot),
    utxoCommitment: at('Full', header.utxoCommitment),
    timestamp: at('Low', header.timestamp),
    bits: at('Low', header.bits),
    nonce: at('Low', u64(header.nonce)),
    daaScore: at('Low', u64(header.daaScore)),
    blueWork: at('Low', blueWork(header.blueWork)),
    blueScore: at('Low', u64(header.blueScore)),
    pruningPoint: at('Full', header.pruningPoint),
  }
}

/** Groups levels with the same parents; each group has the number of levels up to its end. */
function runsOf(levels: readonly (readonly string[])[]): [number, readonly string[]][] {
  const runs: [number, readonly string[]][] = []
  for (const [at, parents] of levels.entries()) {
    const last = runs.at(-1)
    if (last !== undefined && last[1].join() === parents.join()) last[0] = at + 1
    else runs.push([at + 1, parents])
  }
  return runs
}

/** Some members are present at every level, because the node converts resolved inputs as a whole. */
export function acceptedTransactionV2(
  wire: Wire,
  accepted: AcceptedTx,
  carrier: Header | undefined,
  level: number,
) {
  const at = from(level)
  const { tx, spent, blockHash } = accepted
  return {
    version: at('Full', tx.version),
    inputs: tx.inputs.map((input, i) => optionalInput(wire, input, spent[i], level)),
    outputs: tx.outputs.map((output) => optionalOutput(wire, output, level)),
    lockTime: at('Full', u64(tx.lockTime)),
    subnetworkId: tx.subnetworkId,
    gas: u64(tx.gas),
    payload: tx.payload,
    storageMass: u64(tx.storageMass),
    mass: u64(tx.storageMass),
    verboseData: {
      transactionId: at('Low', tx.id),
      hash: at('Low', tx.hash),
      computeMass: at('High', tx.computeMass),
      blockHash: at('Low', blockHash),
      blockTime: at('Low', carrier?.timestamp ?? 0),
    },
  }
}

function optionalInput(wire: Wire, input: TxInput, spent: UtxoEntry | undefined, level: number) {
  const at = from(level)
  return {
    previousOutpoint: at('High', input.previousOutpoint),
    signatureScript: at('Low', input.signatureScript),
    sequence: at('High', u64(input.sequence)),
    sigOpCount: at('High', input.sigOpCount),
    computeBudget: at('High', input.computeBudget),
    verboseData: { utxoEntry: spent === undefined ? null : optionalUtxo(wire, spent, level) },
  }
}

function optionalUtxo(wire: Wire, entry: UtxoEntry, level: number) {
  const at = from(level)
  return {
    amount: at('High', u64(entry.amount)),
    scriptPublicKey: at('High', entry.scriptPublicKey),
    blockDaaScore: at('Full', u64(entry.blockDaaScore)),
    isCoinbase: at('High', entry.isCoinbase),
    verboseData: scriptOwner(wire, entry.scriptPublicKey, level),
    covenantId: entry.covenantId,
  }
}

function optionalOutput(wire: Wire, output: TxOutput, level: number) {
  const at = from(level)
  return {
    value: at('Low', u64(output.value)),
    scriptPublicKey: at('Low', output.scriptPublicKey),
    verboseData: scriptOwner(wire, output.scriptPublicKey, level),
    covenant: at('Low', output.covenant),
  }
}

/**
 * The whole call fails for a script without an address. Consensus allows such a script, although no mempool relays it.
 */
function scriptOwner(wire: Wire, script: string, level: number) {
  const at = from(level)
  const address = at('Low', wire.addressOf(script))
  if (address === null && level > 0) throw new RpcError('The address is invalid')
  return { scriptPublicKeyType: at('Low', classify(script)), scriptPublicKeyAddress: address }
}
